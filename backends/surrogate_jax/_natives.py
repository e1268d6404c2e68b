"""JAX's own primitives by name: hooks on those that have had a rule, and on no others."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp

import surrogate
from surrogate import NativeCall, NativeGradient, NativeKit, UnknownOpError, UnsupportedOpError, Values
from surrogate_jax._consumers import Step, origins_of, result
from surrogate_jax._entered import carried_on, concerned, consumed, step_by_step
from surrogate_jax._formula import Call, formula_p
from surrogate_jax._hooks import (
    JIT_FRAMES,
    PRIVATE,
    TRACING_FRAME,
    caller,
    find,
    is_passing,
    jit_call,
    passing,
    replace,
)
from surrogate_jax._pack import EVERY, FUNCTIONS, PACK
from surrogate_jax._scope import agree, called, captured, in_keys, is_suspended, suspended
from surrogate_jax._whose import INDEXING, in_pallas_kernel, origin

Array = Any
Bind = Callable[..., Any]

#: Public functions by last name -> the primitives that they are another name of. A primitive that is bound
#: below another function of JAX's is that function's own, and stays native.
ENDS: dict[str, tuple[str, ...]] = {
    "abs": ("abs",),
    "argsort": ("sort",),
    "cbrt": ("cbrt",),
    "conv": ("conv_general_dilated",),
    "conv_general_dilated": ("conv_general_dilated",),
    "cos": ("cos",),
    "cumsum": ("cumsum",),
    "dot": ("dot_general",),
    "dynamic_index_in_dim": ("dynamic_slice",),
    "dynamic_slice_in_dim": ("dynamic_slice",),
    "exp": ("exp",),
    "log": ("log",),
    "matmul": ("dot_general",),
    "max": ("reduce_max",),
    "maximum": ("max",),
    "min": ("reduce_min",),
    "minimum": ("min",),
    "prod": ("reduce_prod",),
    "reduce_window": ("reduce_window_max", "reduce_window_min", "reduce_window_sum"),
    **dict.fromkeys(INDEXING, ("gather", "dynamic_slice")),
    "rsqrt": ("rsqrt",),
    "sin": ("sin",),
    "sort": ("sort",),
    "sqrt": ("sqrt",),
    "sum": ("reduce_sum",),
    "take": ("gather",),
    "take_along_axis": ("gather",),
    "tan": ("tan",),
    "tanh": ("tanh",),
    "top_k": ("top_k",),
}
#: Functions of several steps: what they are made of.
_COMPOSITES: dict[str, tuple[str, ...]] = {
    "logsumexp": ("exp", "log", "reduce_max", "reduce_sum"),
    "softmax": ("exp", "reduce_max", "reduce_sum", "div"),
}
#: Primitives that run functions: what is inside of them has primitives of its own.
_RUNNING = frozenset(
    {"jit", "pjit", "scan", "while", "cond", "custom_vjp_call", "custom_jvp_call", "checkpoint", "remat2"}
)
_INTEGER = frozenset(
    {"argmax", "argmin", "eq", "ne", "lt", "le", "gt", "ge", "is_finite", "and", "or", "not"}
)
_CUSTOM = "custom_jvp_call:"
_JIT = "jit:"
#: Where JAX's functions are public.
_MODULES = ("jax.nn", "jax.numpy", "jax.numpy.linalg", "jax.scipy.special", "jax.scipy.ndimage")


class Natives(NativeKit):
    """Native names are primitives' names.

    ``custom_jvp_call:name`` is a function with a rule of its own, ``jit:name`` a function of JAX's that is
    compiled by itself (``jit:norm``), as a whole.
    """

    def __init__(self, backend: surrogate.Backend) -> None:
        self._backend = backend
        self._hooked: set[str] = set()
        self._in_jits: set[str] = set()
        self.ship("jax", {**PACK, **FUNCTIONS}, EVERY)

    def canonical(self, name: str) -> str:
        if name.startswith(_CUSTOM):
            return name
        if name.startswith(_JIT):
            return _known_jit(name)
        known = _primitives()
        if name not in known and name not in _RUNNING:
            near = self.suggest(name, known)
            raise UnknownOpError(f"JAX has no primitive {name!r}{near} Native names are those in a jaxpr.")
        if name in _RUNNING:
            raise UnsupportedOpError(
                f"the primitive {name!r} cannot be overridden: it runs other functions; name the primitives "
                "inside, or 'custom_jvp_call:name' for a function with a rule of its own."
            )
        if name in _INTEGER:
            raise UnsupportedOpError(
                f"the primitive {name!r} cannot be overridden: its results are integers or booleans, which "
                "carry no gradient."
            )
        return name

    def ends_in(self, path: str) -> tuple[str, ...]:
        root, _, last = path.rpartition(".")
        if root.partition(".")[0] not in ("jax", "jnp", "lax"):
            return ()
        if last in ENDS or last in _COMPOSITES:
            return ENDS.get(last) or _COMPOSITES[last]
        if root.endswith("lax") and last in _primitives():
            return (last,)
        public = getattr(sys.modules.get(root.replace("jnp", "jax.numpy")), last, None)
        if isinstance(public, jax.custom_jvp):
            return (f"{_CUSTOM}{public.__name__}",)
        return (_JIT + last,) if _JIT + last in _jits() else ()

    def prepare(self, gradient: NativeGradient) -> None:
        name = gradient.key
        if name in self._hooked:
            return
        self._hooked.add(name)
        if name.startswith(_CUSTOM):
            if not any(one.startswith(_CUSTOM) for one in self._hooked - {name}):
                replace(find("jax:custom_jvp"), "__call__", functools.partial(_custom_hook, self._backend))
            return
        if not name.startswith(_JIT):
            replace(_primitives()[name], "bind", functools.partial(_hook, self._backend, name))
        if not self._in_jits:  # one hook for all names: each more would be a call more per jit, for good
            jit = find("jax.extend.core.primitives:jit_p")
            replace(jit, "bind", functools.partial(_jit_hook, self._backend, self._in_jits))
        self._in_jits.add(name)


@functools.cache
def _primitives() -> dict[str, Any]:
    """JAX's primitives by name."""
    modules = (importlib.import_module(name) for name in ("jax.lax", "jax.extend.core.primitives"))
    return {
        value.name: value for module in modules for name, value in vars(module).items() if name.endswith("_p")
    }


@functools.cache
def _jits() -> frozenset[str]:
    """JAX's public functions that are compiled by themselves."""
    kind = type(jax.jit(lambda x: x))
    modules = map(importlib.import_module, _MODULES)
    return frozenset(_JIT + name for one in modules for name, f in vars(one).items() if type(f) is kind)


def _known_jit(name: str) -> str:
    if name not in _jits():
        raise UnknownOpError(
            f"JAX has no public function {name.removeprefix(_JIT)!r} that it compiles by itself"
            f"{NativeKit.suggest(name, _jits())} Of one that you compile, give the function as the key."
        )
    return name


def _in_force(
    backend: surrogate.Backend, names: Collection[str], args: Sequence[Any]
) -> tuple[Any, frozenset[str]]:
    """The state, and which of these names a rule here may concern; no names where none does."""
    if is_suspended():
        return None, frozenset()
    state = backend.state()
    found = frozenset(name for name in (*state.rules, *(in_keys() or ())) if name in names)
    if not found or not (any(isinstance(x, jax.core.Tracer) for x in args) or concerned(args)):
        return state, frozenset()
    return state, found


def _is_users(name: str, frame: FrameType) -> bool:
    """Whether a primitive is bound by a function that is another name of it, called by the user."""
    found = origin(frame)
    if found.outermost is None:  # jax.lax.some_p.bind(...), or JAX evaluates what it has traced before
        return not frame.f_code.co_filename.startswith(PRIVATE)
    file, function = found.outermost
    in_lax = _LAX in file.replace("\\", "/")
    if _under_jax_jit(frame):
        return False  # the trace is kept, for whatever function of JAX's calls it next
    return name in ENDS.get(function, ()) or (in_lax and not function.startswith(("_", "<")))


_LAX = "/_src/lax/"


def _under_jax_jit(frame: FrameType | None) -> bool:
    """Whether a function of JAX's own that is compiled by itself lies between here and the user's code."""
    while frame is not None and (frame.f_code.co_filename.startswith(PRIVATE) or is_passing(frame)):
        if frame.f_code.co_name in (*JIT_FRAMES, TRACING_FRAME):
            return True
        frame = frame.f_back
    return False


def _hook(backend: surrogate.Backend, name: str, bind: Bind) -> Bind:
    def hooked(*args: Any, **params: Any) -> Any:
        state, here = _in_force(backend, (name,), args)
        frame = caller(sys._getframe(1))
        if not here or in_pallas_kernel(frame):
            return bind(*args, **params)
        if not _is_users(name, frame) and not _ends_here(name, bind, args, params):
            return bind(*args, **params)
        several = _primitives()[name].multiple_results
        return _captured(state, name, bind, args, params, frame, several=several)

    return passing(hooked)


def _captured(
    state: surrogate.State,
    name: str,
    bind: Bind,
    args: Sequence[Any],
    params: dict[str, Any],
    frame: FrameType,
    *,
    several: bool,
) -> Any:
    agree(state)
    gradient: Any = state.rule(name, frame)
    if gradient is None:
        return bind(*args, **params)
    if not any(jnp.issubdtype(jnp.result_type(x), jnp.inexact) for x in args):
        return bind(*args, **params)
    place = captured(state, name, frame)
    value = _Value(bind, tuple(params.items()), several, len(args))

    def formula(*args: Any, twins: Sequence[Array | None] = (), **_: Any) -> Any:
        at = tuple(i for i, twin in enumerate(twins) if twin is not None)
        asked = _Asked(gradient, value, params, at)
        call = Call(value, len(args) + len(at), asked, asked.push, place=place)
        found = formula_p.bind(*map(jnp.asarray, args), *(twins[i] for i in at), call=call)
        return found if several else found[0]

    if not concerned(args):
        return formula(*args)
    if not _ends_here(name, bind, args, params):
        return consumed(f"{name}_p", formula, args, params)
    with suspended(*args):
        twins = [None if o is None else o.twin() for o in origins_of(args)]
    carried_on()
    return formula(*args, twins=twins)


def _ends_here(name: str, bind: Bind, args: Sequence[Any], params: dict[str, Any]) -> bool:
    """Whether an operand has an origin that goes on through this primitive by a formula alone."""
    if not concerned(args):
        return False
    return all(found is None for found in result(f"{name}_p", Step(bind, args, params, origins_of(args))))


def _jit_hook(backend: surrogate.Backend, names: Collection[str], bind: Bind) -> Bind:
    """A jnp function is a jit of JAX's own: another name of primitives is done step by step."""

    def hooked(*args: Any, **params: Any) -> Any:
        state, here = _in_force(backend, names, args)
        if here:
            frame = caller(sys._getframe(1))
            call = jit_call(frame)
            function = call.function.__code__.co_name if call else ""
            found = origin(frame)
            if found.depth == 0:
                whole = _JIT + function
                if call and whole in here and call.function.__module__.startswith("jax."):
                    return _captured(state, whole, bind, args, params, frame, several=True)
                inside = here.intersection(ENDS.get(function, ()))
            elif found.depth == 1 and found.outermost:  # a function around its jit
                inside = here.intersection(ENDS.get(found.outermost[1], ()))
            else:
                inside = frozenset()
            if inside:
                steps = functools.partial(_evaluate, state, inside, params["jaxpr"], args, frame)
                return step_by_step(steps, function or params["name"], frame) if concerned(args) else steps()
        return bind(*args, **params)

    return passing(hooked)


def _evaluate(
    state: surrogate.State, names: Collection[str], closed: Any, args: Sequence[Any], frame: FrameType
) -> list[Any]:
    """A jaxpr, with these primitives captured."""
    called(closed)  # where it was traced under the rule it holds the formula already
    jaxpr = closed.jaxpr
    values: dict[Any, Any] = {}

    def read(x: Any) -> Any:
        return x.val if hasattr(x, "val") else values[x]

    values.update(zip(jaxpr.constvars, closed.consts, strict=True))
    values.update(zip(jaxpr.invars, args, strict=True))
    for step in jaxpr.eqns:
        given = [read(x) for x in step.invars]
        name = step.primitive.name
        if name in names:
            native = functools.partial(type(step.primitive).bind, step.primitive)
            several = step.primitive.multiple_results
            found = _captured(state, name, native, given, step.params, frame, several=several)
        elif name in ("jit", "pjit"):
            found = _evaluate(state, names, step.params["jaxpr"], given, frame)
        else:
            found = step.primitive.bind(*given, **step.params)
        several = step.primitive.multiple_results
        values.update(zip(step.outvars, found if several else [found], strict=True))
    return [read(x) for x in jaxpr.outvars]


def _custom_hook(backend: surrogate.Backend, native: Callable[..., Any]) -> Callable[..., Any]:
    """Calls of functions with a derivative rule of their own, by the function's name."""

    @functools.wraps(native)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        name = _CUSTOM + str(getattr(self, "__name__", ""))
        leaves, shape = jax.tree_util.tree_flatten((args, kwargs))
        state, here = _in_force(backend, (name,), leaves)
        gradient: Any = state.rule(name, caller(sys._getframe(1))) if here else None
        if gradient is None:
            return native(self, *args, **kwargs)
        agree(state)
        place = captured(state, name, caller(sys._getframe(1)))
        at = [i for i, x in enumerate(leaves) if isinstance(x, jax.Array)]
        outs: list[Any] = []

        def run(*arrays: Any) -> Any:
            full = list(leaves)
            for i, x in zip(at, arrays, strict=True):
                full[i] = x
            given, named = jax.tree_util.tree_unflatten(shape, full)
            found, out = jax.tree_util.tree_flatten(native(self, *given, **named))
            outs[:] = [out]
            return found

        value = _Value(run, (), True, len(at))
        asked = _Asked(gradient, value, {})
        arrays = [leaves[i] for i in at]
        found = formula_p.bind(*arrays, call=Call(value, len(at), asked, asked.push, place=place))
        return jax.tree_util.tree_unflatten(outs[0], found)

    return call


@dataclass(frozen=True, eq=False)
class _Value:
    """How the native results are computed, from the first operands."""

    bind: Bind
    params: tuple[tuple[str, Any], ...]
    several: bool
    count: int

    def __call__(self, *operands: Any) -> Sequence[Any]:
        found = self.bind(*operands[: self.count], **dict(self.params))
        return found if self.several else [found]


@dataclass(frozen=True, eq=False)
class _Asked:
    """A formula asked about one call. Behind the inputs come the float twins of some of them.

    Attributes:
        at: the positions of the inputs that have a twin.
    """

    gradient: NativeGradient
    value: _Value
    params: dict[str, Any]
    at: tuple[int, ...] = ()

    def __call__(self, operands: Sequence[Any], outputs: Sequence[Any], upstream: Sequence[Any]) -> Any:
        formula, inputs, twins = self.gradient.formula, *self._parts(operands)
        real = [g for g, y in zip(upstream, outputs, strict=True) if _is_real(y)]
        call = self._call(inputs, outputs)
        given = formula.cotangents(call, real[0] if len(real) == 1 else tuple(real), self.gradient.params)
        for cotangent, x, name in zip(given, inputs, call.inputs.names, strict=True):
            if cotangent is not None:
                dtype = x.dtype if _is_real(x) else cotangent.dtype
                formula.check(cotangent, name, cotangent.shape, x.shape, cotangent.dtype, dtype)
        found = [c if _is_real(x) else None for c, x in zip(given, inputs, strict=True)]
        of_twins = zip((given[i] for i in self.at), twins, strict=True)
        return [*found, *(None if c is None else c.astype(twin.dtype) for c, twin in of_twins)]

    def push(self, operands: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> Any:
        formula, (inputs, _), (moved, of_twins) = (
            self.gradient.formula,
            self._parts(operands),
            self._parts(tangents),
        )
        for i, tangent in zip(self.at, of_twins, strict=True):
            moved[i] = tangent
        found = formula.tangent(self._call(inputs, outputs), tuple(moved), self.gradient.params)
        given = iter(found if isinstance(found, tuple | list) else (found,))
        return [next(given) if _is_real(y) else jnp.zeros_like(y) for y in outputs]

    def _parts(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        n = self.value.count
        return list(operands[:n]), list(operands[n:])

    def _call(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> NativeCall:
        names = ["operand"] if len(inputs) == 1 else [f"operand {i}" for i in range(len(inputs))]
        return NativeCall(
            Values(inputs, names),
            Values(outputs),
            self.params,
            self._native(inputs),
            transposed=functools.partial(_transposed, [y for y in outputs if _is_real(y)]),
            wanted=[_is_real(x) or i in self.at for i, x in enumerate(inputs)],
        )

    def _native(self, inputs: Sequence[Any]) -> Callable[[Any], Any]:
        def native(g: Any) -> Any:
            at = [i for i, x in enumerate(inputs) if _is_real(x)]

            def run(*floats: Any) -> list[Any]:
                full = list(inputs)
                for i, x in zip(at, floats, strict=True):
                    full[i] = x
                return [y for y in self.value(*full) if _is_real(y)]

            _, pull = jax.vjp(run, *(inputs[i] for i in at))
            found: list[Any] = [None] * len(inputs)
            for i, cotangent in zip(at, pull(list(g) if isinstance(g, tuple) else [g]), strict=True):
                found[i] = cotangent
            return found[0] if len(found) == 1 else tuple(found)

        return native


def _transposed(
    outputs: Sequence[Any], pull: Callable[[Any], Sequence[Any]], tangents: Sequence[Any]
) -> Sequence[Any]:
    """The tangents of the outputs, from cotangents that are linear in the upstream gradient."""

    def run(*upstream: Any) -> Any:
        found = pull(upstream[0] if len(upstream) == 1 else upstream)
        pairs = zip(found, tangents, strict=True)
        return sum(jnp.sum(c * t) for c, t in pairs if c is not None and _is_real(t))

    _, back = jax.vjp(run, *map(jnp.zeros_like, outputs))
    return list(back(jnp.ones((), outputs[0].dtype)))


def _is_real(x: Any) -> bool:
    return bool(jnp.issubdtype(x.dtype, jnp.inexact))
