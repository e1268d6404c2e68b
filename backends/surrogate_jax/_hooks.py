"""Every private hook in JAX that this backend stands on, and the check that they are there.

Public API is used everywhere else: ``jax.make_user_context``, ``jax.extend.core.Primitive``,
``jax.interpreters`` and ``jax.extend.source_info_util.register_exclusion``.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, TypeVar

import jax
from jax import lax
from jax.extend import source_info_util

import surrogate
from surrogate import Hook, check_hooks
from surrogate_jax._operands import JitCall

TESTED = "0.7.2, 0.10.2 and 0.12.0"

#: This backend's sources.
HERE = Path(__file__).parent
#: JAX's sources.
PUBLIC = str(Path(jax.__file__).parent) + os.sep
#: JAX's private sources; what is called from here is JAX's own doing.
PRIVATE = PUBLIC + "_src" + os.sep


F = TypeVar("F", bound=Callable[..., Any])
Undo = Callable[[], None]
#: What makes of a function the one that stands in front of it.
Make = Callable[[Callable[..., Any]], Callable[..., Any]]


#: What ``x.at[index]`` is.
AT = "jax._src.numpy.array_methods:_IndexUpdateRef"

HOOKS = (
    Hook("jax:make_user_context", "rules become part of every key JAX caches under (public from 0.7.2)"),
    Hook("jax.extend.core.primitives:jit_p", "a jnp function is a jit of JAX's own: its bind sees each call"),
    Hook("jax.nn:relu.__class__", "jax.nn.relu is an object of a Python class, which can look first"),
    Hook("jax.nn:relu6.__class__", "jax.nn.relu6 likewise"),
    Hook("jax:custom_jvp.__call__", "what a derivative rule of the user's calls obeys the rules of the call"),
    Hook("jax:custom_vjp.__call__", "likewise"),
    Hook("jax.custom_batching:custom_vmap.__call__", "likewise a batching rule of the user's"),
    Hook(AT + ".set", "a number that is put where a mask with an origin holds"),
    Hook("asyncio:Handle._run", "the keys follow the async task that runs"),
    Hook("jax._src.core:unsafe_am_i_under_a_jit", "whether a repaired disagreement may already be cached"),
    Hook("jax._src.core:trace_state_clean", "whether a function's call may be differentiated at all"),
    Hook("jax._src.core:trace_ctx.trace", "whether a tracer that an origin holds can be used here"),
    Hook("jax.interpreters.ad:is_undefined_primal", "which operands a transpose is asked for"),
    Hook("jax.interpreters.ad:primitive_jvps", "the derivative of our primitives"),
    Hook("jax.interpreters.ad:primitive_transposes", "the reverse mode of our primitives"),
    Hook("jax.interpreters.batching:primitive_batchers", "vmap of our primitives"),
    Hook("jax.interpreters.mlir:register_lowering", "compilation of our primitives"),
    Hook("jax.interpreters.mlir:lower_fun", "compilation of our primitives"),
    Hook("jax._src.checkify:error_checks", "checkify finds in our primitives what it finds in native ones"),
    Hook("jax._src.checkify:checkify_jaxpr", "likewise"),
    Hook("jax.interpreters.partial_eval:dce_jaxpr", "a forward pass without what JAX computes in vain"),
    Hook("jax._src.source_info_util:user_frames", "the line of the user's that an audit names"),
)

#: Functions of JAX whose frame binds jit_p for a call made in Python: 0.7 to 0.9, and from 0.10. What was
#: given to ``jit`` is their local variable ``fun``, what that is called with ``args`` and ``kwargs``.
JIT_FRAMES = ("_python_pjit_helper", "_run_python_pjit")
#: Below it lies what a function that was given to ``jit`` binds while it is traced.
TRACING_FRAME = "_infer_params"


#: Looked for when ``jax.experimental.sparse`` is imported; without them sparse arrays are refused.
SPARSE = "jax.experimental.sparse.transform"
SPARSE_HOOKS = (
    Hook(
        "jax.experimental.sparse.transform:_zero_preserving_unary_op",
        "JAX's rule for an op on the entries of a sparse array",
    ),
    Hook("jax.experimental.sparse.transform:sparse_rules_bcoo", "where sparsify looks for the rule of an op"),
    Hook("jax.experimental.sparse.transform:sparse_rules_bcsr", "the same for the other format"),
)

#: Primitives that run functions which JAX has traced once.
BODIES = ("scan_p", "while_p", "cond_p", "remat_p")

#: What traces a function of which no compiled form was found, what then runs it, and the module of both.
#: Where a version has no such functions, what compiled code has captured is not told again.
TRACING, RUNNING = "_infer_params", "_pjit_call_impl_python"
RUN: Any = importlib.import_module("jax._src.pjit")
if not (hasattr(RUN, TRACING) and hasattr(RUN, RUNNING)):
    RUN = None

#: Private sources from which functions of the user's are called that may be compiled.
_CALLING = tuple(PRIVATE + name for name in ("tree_util.py",))


#: Functions of JAX that make a jaxpr which JAX keeps for all callers.
TRACERS = tuple(
    f"jax._src.interpreters.partial_eval:{name}"
    for name in ("trace_to_jaxpr", "trace_to_jaxpr_dynamic", "trace_to_jaxpr_dynamic2")
)


def find(where: str) -> Any:
    """The object at ``module:attribute``.

    Raises:
        IncompatibleFrameworkError: it is gone.
    """
    try:
        return Hook(where, "").find()
    except (ImportError, AttributeError) as error:
        raise incompatible(where) from error


def incompatible(what: str) -> surrogate.IncompatibleFrameworkError:
    """The error that refuses this version of JAX."""
    return surrogate.IncompatibleFrameworkError(
        f"the backend for jax stands on {what}, which jax {jax.__version__} does not have or does otherwise. "
        f"Tested with {TESTED}."
    )


def check() -> None:
    """Look for every hook of the table.

    Raises:
        IncompatibleFrameworkError: one is gone; names it and the tested versions.
    """
    check_hooks("jax", HOOKS, TESTED)


def primitive(name: str) -> Any:
    """A primitive of ``jax.lax`` by name."""
    return find(f"jax.lax:{name}")


def replace(target: Any, name: str, make: Make) -> Undo:
    """Put ``make(original)`` in front of a method of an object or a class; what is returned takes it away."""
    before = vars(target).get(name)
    setattr(target, name, make(getattr(target, name)))

    def undo() -> None:
        if before is None:
            delattr(target, name)  # the class's own shows again
        else:
            setattr(target, name, before)

    return undo


def replace_each(hooks: Iterable[tuple[Any, Make]]) -> list[Undo]:
    """Put a function in front of the ``bind`` of each primitive; returns how to take them away.

    Raises:
        ValueError: one primitive has two hooks, if under two names: the second would see the calls of
            the first as somebody else's and leave them native.
    """
    wanted = list(hooks)
    seen: set[int] = set()
    for target, _ in wanted:
        if id(target) in seen:
            raise ValueError(f"the primitive {target} is hooked twice, under two names of the tables")
        seen.add(id(target))
    return [replace(target, "bind", make) for target, make in wanted]


def replace_class(target: Any, make: Callable[[type], type]) -> Undo:
    """Give an object the class ``make(its class)``; what is returned gives the first back."""
    before = type(target)
    target.__class__ = make(before)

    def undo() -> None:
        target.__class__ = before

    return undo


#: Codes of hooks that may lie over others.
_passing: set[CodeType] = set()


def passing(hook: F) -> F:
    """A hook that others may lie under: it is looked through."""
    _passing.add(hook.__code__)
    return hook


def is_passing(frame: FrameType) -> bool:
    """Whether a frame is of such a hook."""
    return frame.f_code in _passing


def caller(frame: FrameType) -> FrameType:
    """From where a hooked function was called: the nearest frame that is no hook."""
    while frame.f_code in _passing and frame.f_back is not None:
        frame = frame.f_back
    return frame


def looks_up(frame: FrameType) -> bool:
    """Whether a look-up from this frame is JAX's own, and no call of a compiled function."""
    file = frame.f_code.co_filename
    return file.startswith(PRIVATE) and not file.startswith(_CALLING)


def jit_call(frame: FrameType) -> JitCall | None:
    """The function that is being called through ``jit`` and its arguments, if this frame does that.

    None for anything but a function as it was written. The name and the source that JAX keeps are also
    those of ``jit(partial(jnp.clip, max=1))`` and ``jit(grad(jnp.sign))``, which are no calls of the op.
    """
    if frame.f_code.co_name not in JIT_FRAMES:
        return None
    fun = frame.f_locals.get("fun")
    if type(fun) is not FunctionType or hasattr(fun, "__wrapped__"):
        return None
    return JitCall(fun, frame.f_locals["args"], frame.f_locals["kwargs"])


def set_for_all_threads(context: Any, value: Any) -> None:
    """Set a user context where no thread has a value of its own. Not public in 0.7."""
    (context if hasattr(context, "set_global") else context._obj).set_global(value)


def sixty_four_bits() -> AbstractContextManager[Any]:
    """A block in which 64-bit dtypes are on. Public under another name before 0.8."""
    found: AbstractContextManager[Any] = find(
        "jax:enable_x64" if hasattr(jax, "enable_x64") else "jax.experimental:enable_x64"
    )(True)
    return found


def tracing_for_a_cache() -> bool:
    """Whether a jaxpr is being made here, by ``jit`` or a control-flow function, that JAX will keep."""
    return bool(find("jax._src.core:unsafe_am_i_under_a_jit")())


def is_tracing() -> bool:
    """Whether any transformation of JAX's is under way here."""
    return not find("jax._src.core:trace_state_clean")()


def traces_in_force() -> list[Any]:
    """The trace that binds primitives here, and those around it."""
    found, trace = [], find("jax._src.core:trace_ctx").trace
    while trace is not None:
        found.append(trace)
        trace = getattr(trace, "parent_trace", None)
    return found


def varying_axes(x: Any) -> frozenset[str]:
    """The mesh axes of ``shard_map`` along which a value differs from device to device."""
    aval = jax.typeof(x)
    axes: frozenset[str] = getattr(aval, "vma", None) or frozenset()  # 0.7 to 0.9
    return axes or frozenset(getattr(getattr(aval, "mat", None), "varying", ()))


def vary(x: Any, axes: frozenset[str]) -> Any:
    """``x`` as a value that differs along ``axes``; the transpose sums over them."""
    names = tuple(sorted(axes))
    return lax.pcast(x, names, to="varying") if hasattr(lax, "pcast") else lax.pvary(x, names)


def hide_our_frames() -> None:
    """Let JAX name the user's line, not ours, in jaxprs, errors and HLO metadata."""
    source_info_util.register_exclusion(str(Path(__file__).parent) + os.sep)
    core = Path(surrogate.__file__).parent
    for part in ("_", "catalogue" + os.sep):
        source_info_util.register_exclusion(str(core) + os.sep + part)


def user_frames(source_info: Any) -> Any:
    """The frames of an equation that are not JAX's own, innermost first."""
    function = find("jax._src.source_info_util:user_frames")
    whole = "source_info" in inspect.signature(function).parameters  # before JAX 0.8
    return function(source_info if whole else source_info.traceback)


def pallas_is_loaded() -> bool:
    """Whether a Pallas kernel can be around us at all."""
    return "jax._src.pallas.pallas_call" in sys.modules


#: Sources of Pallas: what is traced below a frame of theirs is a kernel.
PALLAS = PRIVATE + "pallas" + os.sep
