"""JAX as a backend: what it claims, how it is told of rules, and how the conformance kit drives it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from surrogate_jax import _namespace, _scope
from surrogate_jax._capture import install
from surrogate_jax._hooks import TESTED, check, hide_our_frames

import surrogate

Array = Any
Function = Callable[..., Array]

_CALLS: dict[str, Function] = {
    "sign": jnp.sign,
    "round": jnp.round,
    "floor": jnp.floor,
    "ceil": jnp.ceil,
    "trunc": jnp.trunc,
    "mod": operator.mod,
    "fmod": jnp.fmod,
    "floor_divide": operator.floordiv,
    "heaviside": jnp.heaviside,
    "clip": jnp.clip,
    "relu": jax.nn.relu,
    "relu6": jax.nn.relu6,
    "abs": jnp.abs,
}


class JaxBackend(surrogate.Backend):
    """Ops are caught while JAX traces them, and staged as a primitive that carries the rule."""

    name = "jax"
    framework = "jax"
    tested = TESTED
    ops = frozenset(_CALLS)
    transforms = frozenset({"forward", "vmap", "compile", "second", "residuals"})
    dtypes = ("float16", "bfloat16", "float32", "float64")
    xp = _namespace

    def __init__(self) -> None:
        check()
        hide_our_frames()
        install(self)

    def apply(self, rules: surrogate.RuleSet | None, scope: str) -> None:
        """Put the rules into the keys JAX caches under; the hooks read :meth:`state`."""
        if scope == "process":
            assert rules is not None
            _scope.set_process(rules)
        else:
            _scope.set_local(rules)

    # -- for the conformance kit --------------------------------------------------------------------

    def asarray(self, x: Any) -> Array:
        """The array on the default device, of the same dtype."""
        with jax.enable_x64(True):
            return jnp.asarray(x)

    def numpy(self, x: Array) -> Any:
        """The array on the host."""
        return np.asarray(x)

    def call(self, op: str, *inputs: Array, **attributes: Any) -> Array:
        """The op as a jnp function, an operator or a jax.nn function."""
        return _CALLS[op](*inputs, **attributes)

    def grad(self, f: Function, inputs: Sequence[Array], g: Array) -> tuple[Array, tuple[Array, ...]]:
        """``jax.vjp``."""
        y, pull = jax.vjp(f, *inputs)
        return y, pull(g)

    def jvp(self, f: Function, inputs: Sequence[Array], tangents: Sequence[Array]) -> tuple[Array, Array]:
        """``jax.jvp``."""
        return jax.jvp(f, tuple(inputs), tuple(tangents))

    def compile(self, f: Function) -> Function:
        """``jax.jit``."""
        return jax.jit(f)

    def vmap(self, f: Function) -> Function:
        """``jax.vmap``."""
        return jax.vmap(f)

    def residuals(self, f: Function, inputs: Sequence[Array]) -> int:
        """Bytes of the arrays in the pullback of ``jax.vjp``."""
        _, pull = jax.vjp(f, *inputs)
        return sum(x.nbytes for x in jax.tree.leaves(pull))
