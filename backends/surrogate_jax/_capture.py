"""Catching an op when JAX binds its primitive, and putting the captured call in its place.

The op is replaced in the trace itself, so what is decided is decided when the op is traced: whatever
JAX does with the trace later (differentiate, batch, checkpoint, export) carries the rule along.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

import jax
from surrogate_jax import _spellings as spellings
from surrogate_jax._call import Call
from surrogate_jax._hooks import JIT_FRAMES, find, primitive, replace_bind
from surrogate_jax._origin import Origin, in_pallas_kernel, origin
from surrogate_jax._primitive import surrogate_p
from surrogate_jax._scope import agree, in_keys, suspended
from surrogate_jax._spellings import Piece, Spelled

import surrogate

#: Primitives that clip, heaviside, ... reach first when jax_disable_jit leaves no jit to see.
_WATCHED = ("max_p", "min_p", "lt_p", "ge_p", "gt_p")


def install(backend: surrogate.Backend) -> None:
    """Put the hooks in front of JAX's primitives."""
    replace_bind(find("jax.extend.core.primitives:jit_p"), lambda bind: _jit_hook(backend, bind))
    replace_bind(
        find("jax._src.custom_derivatives:custom_jvp_call_p"), lambda bind: _nn_hook(backend, bind)
    )
    for name in spellings.LAX:
        replace_bind(primitive(name), lambda bind, name=name: _lax_hook(backend, bind, name))
    for name in _WATCHED:
        replace_bind(primitive(name), lambda bind: _watch_hook(backend, bind))


def _in_force(backend: surrogate.Backend, args: Sequence[Any]) -> surrogate.State | None:
    """The state an op obeys here; None where nothing is in force or no gradient can be recorded."""
    if suspended():
        return None
    state = backend.state()
    if not state.rules and in_keys() is None:
        return None
    if not any(isinstance(x, jax.core.Tracer) for x in args):
        return None
    agree(state)
    return state if state.rules else None


def _jit_hook(backend: surrogate.Backend, bind: Callable[..., Any]) -> Callable[..., Any]:
    def hooked(*args: Any, **params: Any) -> Any:
        state = _in_force(backend, args)
        if state is None:
            return bind(*args, **params)
        info = params["jaxpr"].jaxpr.debug_info
        ops = spellings.ops_of_jit(params["name"], info.func_src_info)
        if not any(op in state.rules for op in ops) or not _called_by_user(sys._getframe(1), _is_jit_call):
            return bind(*args, **params)
        spelled = spellings.read_jit(args, params)
        if spelled is None:
            return bind(*args, **params)
        return _replace(state, spelled, lambda: bind(*args, **params))

    return hooked


def _lax_hook(backend: surrogate.Backend, bind: Callable[..., Any], name: str) -> Callable[..., Any]:
    op, function = spellings.LAX[name]
    read = spellings.read_lax(name)

    def is_lax_call(found: Origin) -> bool:
        return found.depth == 1 and found.function == function and found.file.endswith("lax.py")

    def hooked(*args: Any, **params: Any) -> Any:
        state = _in_force(backend, args)
        if state is None:
            return bind(*args, **params)
        _refuse_disable_jit(state, sys._getframe(1))
        if op not in state.rules or not _called_by_user(sys._getframe(1), is_lax_call):
            return bind(*args, **params)
        spelled = read(args, params)
        if spelled is None:
            return bind(*args, **params)
        return _replace(state, spelled, lambda: [bind(*args, **params)])[0]

    return hooked


def _nn_hook(backend: surrogate.Backend, bind: Callable[..., Any]) -> Callable[..., Any]:
    def hooked(*args: Any, **params: Any) -> Any:
        state = _in_force(backend, args)
        if state is None:
            return bind(*args, **params)
        # the function comes first among the operands (0.7), or among the parameters
        function = params["subfuns"][0] if "subfuns" in params else args[0]
        operands = [x for x in args if not callable(getattr(x, "call_wrapped", None))]
        name = _nn_name(function)
        if (
            name is None
            or spellings.NN[name] not in state.rules
            or not _called_by_user(sys._getframe(1), _is_custom_jvp_call)
        ):
            return bind(*args, **params)
        spelled = spellings.read_nn(name, operands)
        if spelled is None:
            return bind(*args, **params)
        return _replace(state, spelled, lambda: bind(*args, **params))

    return hooked


def _watch_hook(backend: surrogate.Backend, bind: Callable[..., Any]) -> Callable[..., Any]:
    def hooked(*args: Any, **params: Any) -> Any:
        if jax.config.jax_disable_jit:
            state = _in_force(backend, args)
            if state is not None:
                _refuse_disable_jit(state, sys._getframe(1))
        return bind(*args, **params)

    return hooked


def _replace(state: surrogate.State, spelled: Spelled, native: Callable[[], Sequence[Any]]) -> Sequence[Any]:
    """The results of a call: captured where a rule is in force for the piece, native elsewhere."""
    gradients = [state.rules.get(piece.op) for piece in spelled.pieces]
    rest = native() if None in gradients else [None] * len(gradients)
    results = []
    for piece, gradient, untouched in zip(spelled.pieces, gradients, rest, strict=True):
        if gradient is None:
            results.append(untouched)
            continue
        state.captured(piece.op)
        results.append(surrogate_p.bind(*spelled.operands, call=_call(piece, gradient)))
    return results


def _call(piece: Piece, gradient: surrogate.Gradient) -> Call:
    return Call(gradient.at(piece.decimals), piece.native, piece.numbers)


# -- who called -------------------------------------------------------------------------------------


def _called_by_user(frame: FrameType, is_call: Callable[[Origin], bool]) -> bool:
    return is_call(origin(frame)) and not in_pallas_kernel(frame)


def _is_jit_call(found: Origin) -> bool:
    return found.depth == 0 and found.function in JIT_FRAMES


def _is_custom_jvp_call(found: Origin) -> bool:
    return found.depth == 0 and found.function == "__call__" and found.file.endswith("custom_derivatives.py")


def _nn_name(function: Any) -> str | None:
    info = getattr(function, "debug_info", None)
    source = getattr(info, "func_src_info", None) or ""
    name, _, file = source.partition(" at ")
    return name if name in spellings.NN and file.startswith(spellings.PRIVATE + "nn") else None


def _refuse_disable_jit(state: surrogate.State, frame: FrameType) -> None:
    """Under jax_disable_jit a jnp function is plain Python: what it calls must not pass unseen.

    Raises:
        UnsupportedOpError: the user called a jnp function whose op is overridden.
    """
    if not jax.config.jax_disable_jit:
        return
    outermost = origin(frame).outermost
    if outermost is None:
        return
    file, function = outermost
    for folder, functions in spellings.FUNCTIONS.items():
        if file.startswith(folder) and function in functions:
            found = functions[function]
            ops = (found,) if isinstance(found, str) else found
            overridden = [op for op in ops if op in state.rules]
            if overridden:
                raise surrogate.UnsupportedOpError(
                    f"the override of {overridden[0]!r} cannot see jnp.{function} under jax_disable_jit: "
                    "JAX then runs its functions as plain Python. Turn jax_disable_jit off for this part."
                )
