"""``abs`` for formulas: JAX's value, and derivative 0 at 0 where JAX's own is 1."""

from __future__ import annotations

from typing import Any

from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from surrogate_jax._scope import suspended


def _value(x: Any) -> Any:
    with suspended(x):
        return lax.abs(x)


def _jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    with suspended(x):
        return magnitude(x), lax.mul(t, lax.sign(x))


magnitude_p = Primitive("surrogate_abs")
magnitude_p.def_impl(_value)
magnitude_p.def_abstract_eval(lambda x: x)
mlir.register_lowering(magnitude_p, mlir.lower_fun(_value, multiple_results=False))
batching.defvectorized(magnitude_p)
ad.primitive_jvps[magnitude_p] = _jvp


def magnitude(x: Any) -> Any:
    """``|x|`` of a floating array."""
    return magnitude_p.bind(x)
