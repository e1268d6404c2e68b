"""Calls with an operand that has an origin: what they give has one too, or carries its gradient.

A jit of JAX's own is entered: its jaxpr is evaluated primitive by primitive on the twins, while the value is
that of the jit. Where the origin ends (a jit of the user's, a loop) a warning says so.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import jaxpr_as_fun

import surrogate
from surrogate_jax._consumers import RULES, Step, origins_of, result
from surrogate_jax._formula import graft_p
from surrogate_jax._hooks import PRIVATE, PUBLIC, caller, is_passing
from surrogate_jax._origins import Origin, any_alive, origin_of, set_origin
from surrogate_jax._scope import is_suspended, suspended
from surrogate_jax._whose import INDEXING, origin

Array = Any

#: Primitives that run functions of the user's: the origin of an operand ends there.
CUTS: Mapping[str, str] = {
    "scan_p": "a loop (lax.scan, fori_loop, map)",
    "remat_p": "a checkpointed function",
    "while_p": "a loop (lax.while_loop, fori_loop)",
    "cond_p": "lax.cond or lax.switch",
}
#: Primitives that carry an origin at most for an index, or never.
_ENDS = (
    "sign_p", "abs_p", "clamp_p", "lt_p", "le_p", "gt_p", "ge_p", "sort_p", "top_k_p", "argmax_p",
    "argmin_p", "scatter_add_p", "scatter_mul_p", "scatter_min_p", "scatter_max_p",
    "dynamic_update_slice_p", "shift_left_p", "shift_right_logical_p", "shift_right_arithmetic_p",
    "population_count_p", "clz_p", "cumprod_p", "cummax_p", "cummin_p", "integer_pow_p", "pow_p",
    "bitcast_convert_type_p",
)  # fmt: skip
#: Primitives that are looked at for the origins of their operands.
LOOKED_AT = (*RULES, *CUTS, *_ENDS)


class _Jit(threading.local):
    """The jits of JAX's own that are being entered here.

    Attributes:
        depth: how many; where an origin ends inside of one says nothing yet.
        grafted: whether a float in there carries a gradient on.
    """

    depth = 0
    grafted = False


_jit = _Jit()
#: Functions of JAX's that look up, and compare the index with 0 before; and the primitives' own.
_LOOK_UPS = (*INDEXING, "gather", "dynamic_slice")
_OURS = str(Path(__file__).parent)
_warned: set[tuple[str, int]] = set()


def concerned(args: Sequence[Any]) -> bool:
    """Whether an operand has an origin."""
    return any_alive() and not is_suspended() and any(origin_of(x) is not None for x in args)


def _corrects_an_index(frame: FrameType) -> bool:
    """Whether JAX compares an index with 0 before it looks up: the look-up says what becomes of it."""
    found = origin(caller(frame))
    return found.outermost is not None and found.outermost[1] in _LOOK_UPS and found.function not in _LOOK_UPS


def consumed(name: str, bind: Callable[..., Any], args: Sequence[Any], params: Mapping[str, Any]) -> Any:
    """Bind a primitive of which an operand has an origin."""
    native = bind(*args, **params)
    if name in CUTS:
        if any(origin_of(x) is not None for x in _carried_in(name, args, params)):
            _warn(CUTS[name], sys._getframe(2))
        return native
    step = Step(bind, args, params, origins_of(args))
    several = isinstance(native, list | tuple)
    values = native if several else [native]
    origins = result(name, step)
    if all(origin is None for origin in origins):
        if not _jit.depth and not _corrects_an_index(sys._getframe(2)):
            _warn(f"{name.removesuffix('_p')}, which carries none on here", sys._getframe(2))
        return native
    found = [_carried(value, origin) for value, origin in zip(values, origins, strict=True)]
    return found if several else found[0]


def floats(operands: Sequence[Any]) -> Sequence[Any]:
    """Operands of an overridden op; those that have an origin as the floats that the op makes of them."""
    if not concerned(operands):
        return operands
    dtype = jnp.result_type(*operands)
    with suspended(*operands):
        return [
            x if o is None else lax.convert_element_type(o.twin(), dtype)
            for x, o in zip(operands, origins_of(operands), strict=True)
        ]


def entered(bind: Callable[..., Any], args: Sequence[Any], params: Mapping[str, Any]) -> Sequence[Any]:
    """Bind a jit of which an operand has an origin."""
    values = bind(*args, **params)
    if PRIVATE not in (params["jaxpr"].jaxpr.debug_info.func_src_info or ""):
        _warn(f"the jitted function {params['name']}", sys._getframe(2))
        return values
    inside = step_by_step(partial(jaxpr_as_fun(params["jaxpr"]), *args), params["name"], sys._getframe(2))
    return [_like(value, other) for value, other in zip(values, inside, strict=True)]


def step_by_step(run: Callable[[], Sequence[Any]], name: str, frame: FrameType) -> Sequence[Any]:
    """Run the steps of a jit of which an operand has an origin: if none carries it on that is told."""
    before = _jit.grafted
    _jit.depth, _jit.grafted = _jit.depth + 1, False
    try:
        found = run()
        carries = _jit.grafted or any(origin_of(x) is not None for x in found)
    finally:
        _jit.depth, _jit.grafted = _jit.depth - 1, before or _jit.grafted
    if not carries and not _jit.depth and not _corrects_an_index(frame):
        _warn(f"{name}, which carries none on here", frame)
    return found


def carried_on() -> None:
    """A float carries the gradient of an operand's origin on."""
    _jit.grafted = True


def _carried_in(name: str, args: Sequence[Any], params: Mapping[str, Any]) -> Sequence[Any]:
    """The operands of a loop without what its functions close over, which keeps its origin inside."""
    closed = params.get("num_consts", 0) + params.get("cond_nconsts", 0) + params.get("body_nconsts", 0)
    return args[closed:]


def _carried(value: Array, origin: Origin | None) -> Array:
    """A result with its origin; of a float, with the gradient of the origin's twin."""
    if origin is None:
        return value
    if not jnp.issubdtype(value.dtype, jnp.floating):
        return set_origin(value, origin)
    return _graft(value, origin.twin())


def _like(value: Array, inside: Array) -> Array:
    """The value of a jit, with what the same value from inside has."""
    origin = origin_of(inside)
    if origin is not None:
        return set_origin(value, origin)
    return _graft(value, inside) if jnp.issubdtype(value.dtype, jnp.floating) else value


def _graft(value: Array, carrier: Array) -> Array:
    """The value itself, with the gradient of the carrier."""
    carried_on()
    if not isinstance(carrier, jax.core.Tracer):
        return value
    with suspended(value):
        return graft_p.bind(
            lax.stop_gradient(value), lax.convert_element_type(carrier, value.dtype), closed=""
        )


def _warn(what: str, frame: FrameType | None) -> None:
    """Say once per line of the user's that a gradient ends."""
    while frame is not None and (frame.f_code.co_filename.startswith((PUBLIC, _OURS)) or is_passing(frame)):
        frame = frame.f_back
    if frame is None:
        return
    line = frame.f_code.co_filename, frame.f_lineno
    if line in _warned:
        return
    _warned.add(line)
    warnings.warn_explicit(
        f"a boolean or an integer that an overridden op gave goes into {what}: its gradient ends there. Cast "
        "it to a float before, or compare inside.",
        surrogate.SurrogateWarning,
        *line,
    )
