"""The JAX backend of ``surrogate``: an op is caught when it is traced, and carries its rule from there on.

Rules are part of every key JAX caches under, so no compiled function is ever stale, and equal rules
are traced once. Load the backend (``surrogate.load_backend("jax")``) before the first ``jit`` of a long
program: what was compiled before is traced once more.

Limits, each with what happens:

* ``jax_disable_jit``: jnp functions of overridden ops raise; ``lax`` and ``jax.nn`` functions work.
* An override belongs to its thread. In a thread that was given a copy of the context
  (``asyncio.to_thread``) tracing an overridden op raises; a function compiled before runs natively.
* Async tasks are followed on every loop that runs ``asyncio.Handle``. On uvloop, and with eager tasks, a
  disagreement raises or is repaired when an op is traced; a cached call is not checked.
* ``use()`` in another thread, while this one is inside an override: the next trace of an overridden op
  raises once, and is right from then on.
* Pallas kernels, and whatever JAX calls in its own functions and derivative rules, stay native.
* ``round(x)`` without digits is an integer in JAX: a rule for ``astype`` carries its gradient.
* ``jax.experimental.jet`` has no rule for a captured op and raises; ``sparsify`` has one where JAX has.
* ``modf`` is ``fmod(x, 1)`` and ``trunc``; ``divmod`` is ``floor_divide`` and ``mod``.
"""

from __future__ import annotations

import surrogate
from surrogate_jax import _hooks as _hooks

_hooks.check()  # before the modules that take the hooks at import

from surrogate_jax._backend import JaxBackend  # noqa: E402


@surrogate.hookimpl
def surrogate_backend(name: str) -> surrogate.Backend | None:
    """The backend named ``"jax"``."""
    return JaxBackend() if name == "jax" else None
