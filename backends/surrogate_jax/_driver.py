"""How the conformance kit drives JAX."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from surrogate import Driver, Spelling, UnknownNameError
from surrogate_jax import _uses

Array = Any
Function = Callable[..., Array]


_MODULES = {"jnp": jnp, "lax": lax}


def _both(*names: str) -> dict[str, Function | Spelling]:
    """Functions of ``jnp`` and ``lax`` by name."""
    found = (name.split(".") for name in names)
    return {f"{module}.{name}": getattr(_MODULES[module], name) for module, name in found}


def _named(op: str) -> dict[str, Function | Spelling]:
    """The functions of the op's name."""
    return _both(*(f"{place}.{op}" for place, module in _MODULES.items() if hasattr(module, op)))


_AWAY, _EVEN = lax.RoundingMethod.AWAY_FROM_ZERO, lax.RoundingMethod.TO_NEAREST_EVEN

#: What is written in other ways than by the functions of the op's name.
_SPELLINGS: dict[str, dict[str, Function | Spelling]] = {
    "sign": {
        **_both("jnp.sign", "lax.sign"),
        "tree.map": lambda x: jax.tree.map(jnp.sign, {"a": x})["a"],
        "apply_along_axis": lambda x: jnp.apply_along_axis(jnp.sign, 0, x),
        "vectorize": jnp.vectorize(jnp.sign),
        "frompyfunc": lambda x: jnp.frompyfunc(lambda v: jnp.sign(v), 1, 1)(x),
    },
    "round": {
        **_both("jnp.round", "jnp.around", "jnp.rint"),
        "round(x, 1)": Spelling(lambda x: jnp.round(x, 1), attributes={"decimals": 1}),
        "x.round()": lambda x: x.round(),
        "x.round(0)": lambda x: x.round(0),
        "x.round(-1)": Spelling(lambda x: x.round(-1), attributes={"decimals": -1}),
        "lax.round": lax.round,
        "lax.round to even": lambda x: lax.round(x, _EVEN),
        "lax.round away": lambda x: lax.round(x, _AWAY),
    },
    "trunc": {
        "jnp.trunc": jnp.trunc,
        "jnp.modf": lambda x: jnp.modf(x)[1],
        **({"jnp.fix": jnp.fix} if hasattr(jnp, "fix") else {}),
    },
    "abs": {**_both("jnp.abs", "jnp.absolute", "jnp.fabs", "lax.abs"), "abs(x)": abs},
    "relu": {"nn.relu": jax.nn.relu, "nn.relu(x=x)": lambda x: jax.nn.relu(x=x)},
    "relu6": {"nn.relu6": jax.nn.relu6},
    "mod": {
        "x % y": operator.mod,
        **_both("jnp.mod", "jnp.remainder"),
        "x.__mod__(y)": lambda x, y: x.__mod__(y),
        "y.__rmod__(x)": lambda x, y: y.__rmod__(x),
        "divmod(x, y)[1]": lambda x, y: divmod(x, y)[1],
        "jnp.divmod(x, y)[1]": lambda x, y: jnp.divmod(x, y)[1],
        "x % 2": Spelling(lambda x: x % 2, {"y": 2.0}),
        "2.0 % y": Spelling(lambda y: 2.0 % y, {"x": 2.0}),
        "numpy.float32(2) % y": Spelling(lambda y: np.float32(2) % y, {"x": 2.0}),
    },
    "fmod": _both("jnp.fmod", "lax.rem"),
    "floor_divide": {
        "x // y": operator.floordiv,
        "jnp.floor_divide": jnp.floor_divide,
        "x.__floordiv__(y)": lambda x, y: x.__floordiv__(y),
        "y.__rfloordiv__(x)": lambda x, y: y.__rfloordiv__(x),
        "divmod(x, y)[0]": lambda x, y: divmod(x, y)[0],
        "jnp.divmod(x, y)[0]": lambda x, y: jnp.divmod(x, y)[0],
        "2 // y": Spelling(lambda y: 2 // y, {"x": 2.0}),
    },
    "clip": {
        "jnp.clip": jnp.clip,
        "jnp.clip(x, max, min)": lambda x, lo, hi: jnp.clip(x, max=hi, min=lo),
        "x.clip(lo, hi)": lambda x, lo, hi: x.clip(lo, hi),
        "x.clip(max, min)": lambda x, lo, hi: x.clip(max=hi, min=lo),
        "lax.clamp": lambda x, lo, hi: lax.clamp(lo, x, hi),
        "jnp.clip(x, -1, None)": Spelling(lambda x: jnp.clip(x, -1, None), {"lo": -1.0, "hi": math.inf}),
        "jnp.clip(x, None, hi)": Spelling(lambda x, hi: jnp.clip(x, None, hi), {"lo": -math.inf}),
        "lax.clamp of numbers": Spelling(
            lambda x: lax.clamp(x.dtype.type(-0.5), x, x.dtype.type(0.25)), {"lo": -0.5, "hi": 0.25}
        ),
    },
    "maximum": _both("jnp.maximum", "lax.max"),
    "minimum": _both("jnp.minimum", "lax.min"),
}


@jax.tree_util.register_pytree_node_class
class _Held:
    """An array in a box, as a ``Param`` of flax holds it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __jax_array__(self) -> Any:
        return self.value

    def tree_flatten(self) -> tuple[tuple[Any], None]:
        return (self.value,), None

    @classmethod
    def tree_unflatten(cls, _: None, parts: tuple[Any]) -> _Held:
        return cls(*parts)


class JaxDriver(Driver):
    """JAX by its own transformations."""

    def asarray(self, x: Any) -> Array:
        """The array on the default device, of the same dtype."""
        return jnp.asarray(x)

    def on(self, device: str) -> AbstractContextManager[None]:
        """The first device of a platform: ``gpu``, ``tpu``, ``cpu``."""
        try:
            found = jax.devices(device)[0]
        except RuntimeError as error:
            raise UnknownNameError(
                f"JAX has no device {device!r} here: {str(error).splitlines()[0]}"
            ) from error
        context: AbstractContextManager[None] = jax.default_device(found)
        return context

    def numpy(self, x: Array) -> Any:
        """The array on the host."""
        return np.asarray(x)

    def convertible(self) -> Mapping[str, Callable[[Any], Any]]:
        """What turns into an array by ``__jax_array__``, weakly typed scalars, and arrays of a subclass."""
        return {
            "a subclass of NumPy's": lambda x: x.view(np.memmap),
            "an object with __jax_array__": lambda x: _Held(jnp.asarray(x)),
            "a weakly typed scalar": lambda x: jnp.asarray(float(x[0])),
        }

    def spellings(self, op: str) -> Mapping[str, Function | Spelling]:
        """Functions of ``jnp``, ``lax`` and ``nn``, methods and operators."""
        return _SPELLINGS.get(op) or _uses.SPELLINGS.get(op) or _named(op)

    def consumers(self) -> Mapping[str, Mapping[str, Function]]:
        """Functions of ``jnp``, ``lax`` and ``nn``, methods and operators."""
        return _uses.CONSUMERS

    def grad(self, f: Function, inputs: Sequence[Array], g: Array) -> tuple[Array, tuple[Array, ...]]:
        """``jax.vjp``."""
        y, pull = jax.vjp(f, *inputs)
        return y, pull(g)

    def jvp(self, f: Function, inputs: Sequence[Array], tangents: Sequence[Array]) -> tuple[Array, Array]:
        """``jax.jvp``."""
        y, moved = jax.jvp(f, tuple(inputs), tuple(tangents))
        return y, moved

    def compile(self, f: Function) -> Function:
        """``jax.jit``."""
        compiled: Function = jax.jit(f)
        return compiled

    def vmap(self, f: Function) -> Function:
        """``jax.vmap``."""
        mapped: Function = jax.vmap(f)
        return mapped

    def residuals(self, f: Function, inputs: Sequence[Array]) -> int:
        """Bytes of the arrays in the pullback of ``jax.vjp``."""
        _, pull = jax.vjp(f, *inputs)
        return sum(x.nbytes for x in jax.tree.leaves(pull))
