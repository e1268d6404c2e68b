"""Calls with an operand that has an origin: what they give has one too, or carries its gradient.

A jit of JAX's own is entered: its jaxpr is evaluated primitive by primitive on the twins, while the value is
that of the jit. Where the origin ends (a jit of the user's, a loop) a warning says so.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import jaxpr_as_fun

import surrogate
from surrogate_jax._consumers import RULES, Step, origins_of, result
from surrogate_jax._formula import graft_p
from surrogate_jax._hooks import PRIVATE, PUBLIC, is_passing
from surrogate_jax._origins import Origin, any_alive, origin_of, set_origin
from surrogate_jax._scope import is_suspended, suspended

Array = Any

#: Primitives that run functions of the user's: the origin of an operand ends there.
CUTS: Mapping[str, str] = {
    "scan_p": "a loop (lax.scan, fori_loop, map)",
    "remat_p": "a checkpointed function",
    "while_p": "a loop (lax.while_loop, fori_loop)",
    "cond_p": "lax.cond or lax.switch",
}
#: Primitives that are looked at for the origins of their operands.
LOOKED_AT = (*RULES, *CUTS, "sign_p", "abs_p", "clamp_p", "lt_p", "le_p", "gt_p", "ge_p")

_warned: set[tuple[str, int, str]] = set()


def concerned(args: Sequence[Any]) -> bool:
    """Whether an operand has an origin."""
    return any_alive() and not is_suspended() and any(origin_of(x) is not None for x in args)


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
    found = [
        _carried(value, origin) for value, origin in zip(values, result(name, step), strict=False)
    ] or values
    return list(found) if several else found[0]


def entered(bind: Callable[..., Any], args: Sequence[Any], params: Mapping[str, Any]) -> Sequence[Any]:
    """Bind a jit of which an operand has an origin."""
    values = bind(*args, **params)
    if PRIVATE not in (params["jaxpr"].jaxpr.debug_info.func_src_info or ""):
        _warn(f"the jitted function {params['name']}", sys._getframe(2))
        return values
    inside = jaxpr_as_fun(params["jaxpr"])(*args)
    return [_like(value, other) for value, other in zip(values, inside, strict=True)]


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
    if not isinstance(carrier, jax.core.Tracer):
        return value
    with suspended(value):
        return graft_p.bind(
            lax.stop_gradient(value), lax.convert_element_type(carrier, value.dtype), closed=""
        )


def _warn(what: str, frame: FrameType | None) -> None:
    """Say once per line of the user's that a gradient ends."""
    while frame is not None and (frame.f_code.co_filename.startswith(PUBLIC) or is_passing(frame)):
        frame = frame.f_back
    if frame is None:
        return
    line = frame.f_code.co_filename, frame.f_lineno, what
    if line in _warned:
        return
    _warned.add(line)
    warnings.warn_explicit(
        f"a boolean or an integer that an overridden op gave goes into {what}: its gradient ends there. Cast "
        "it to a float before, or compare inside.",
        surrogate.SurrogateWarning,
        line[0],
        line[1],
    )
