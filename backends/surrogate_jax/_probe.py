"""A trial when the backend loads: do the hooks see what they must, and nothing else?

The names of :mod:`surrogate_jax._hooks` may all be there and still mean something else in another
version. So a small function is traced under an override of every op, and what was captured is counted.
"""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import jax
import jax.numpy as jnp

import surrogate
from surrogate_jax._hooks import incompatible


def _nothing(xp: Any, x: Any) -> float:
    return 0.0


def _spelled(x: Any) -> Any:
    """One spelling for each way of seeing one."""
    y = (
        jnp.sign(x)
        + jax.lax.floor(x)
        + jax.nn.relu(x)
        + x % 2.0
        + x.clip(-1.0, 1.0)
        + jnp.round(x, 2)
        + (x > 0)
        + jnp.argmax(x)
    )
    return y + sum(divmod(x, 2.0)) + jnp.vectorize(jnp.ceil)(x) + jax.lax.map(jnp.trunc, x)


def _composite(x: Any) -> Any:
    """Functions of JAX's that call overridden ops in themselves or in their derivatives."""
    moved = jax.jvp(lambda x: jax.lax.rem(x, x + 3.0), (x,), (x,))[1]
    return jnp.percentile(x, 30.0) + jnp.linalg.norm(x) + moved


_EXPECTED = Counter(
    sign=1, round=1, greater=1, argmax=1, floor=1, relu=1, mod=2, clip=1, floor_divide=1, ceil=1, trunc=1
)


def probe(backend: surrogate.Backend) -> None:
    """Trace both functions and look at what was captured.

    Raises:
        IncompatibleFrameworkError: names what was missed, or captured though it is JAX's own.
    """
    x = jax.ShapeDtypeStruct((3,), jnp.float32)
    with jax.disable_jit(False):
        user, own = _captured(backend, _spelled, x), _captured(backend, _composite, x)
    if user != _EXPECTED:
        raise incompatible(f"seeing calls of {_names(_EXPECTED - user or user - _EXPECTED)}")
    if own - Counter({"fmod": 1}):  # lax.rem is called here, in code that is not JAX's
        raise incompatible(f"telling the user's calls of {_names(own)} from its own")


def _captured(backend: surrogate.Backend, function: Any, x: Any) -> Counter[str]:
    override = surrogate.override(backend, _rules(backend))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", surrogate.NothingCapturedWarning)  # an error says it better
        with override:
            jax.make_jaxpr(lambda x: function(x))(x)  # a function that JAX has no trace of
    return +override.hits


def _rules(backend: surrogate.Backend) -> dict[str, Any]:
    """A rule for every op; one for an index is of the upstream gradient."""
    return {op: "identity" if surrogate.op(op).one_hot else _nothing for op in backend.ops}


def _names(counted: Counter[str]) -> str:
    return ", ".join(sorted(counted))
