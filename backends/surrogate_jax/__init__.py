"""The JAX backend of ``surrogate``."""

from __future__ import annotations

import surrogate
from surrogate_jax._backend import JaxBackend


@surrogate.hookimpl
def surrogate_backend(name: str) -> surrogate.Backend | None:
    """The backend named ``"jax"``."""
    return JaxBackend() if name == "jax" else None
