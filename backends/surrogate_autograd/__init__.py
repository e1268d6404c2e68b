"""The backend for HIPS autograd: the functions and operators of ``autograd.numpy``.

What it cannot do, and how that shows:

- ``relu`` and ``relu6`` are no functions of autograd: asking for them is refused.
- Natively a rounding ends differentiation: its result is a plain array, and may be an index or an
  ``int``. Under a rule for it the result is differentiated, so that ``a[np.floor(x).astype(int)]`` and
  ``int(np.floor(x))`` raise, as they do for any other differentiated value. Give such a call the rule
  ``"native"``.
- ``out=`` and ``where=`` of a captured op raise.
- The built-in ``round(x)`` and ``int(x)`` of a differentiated value raise, with us and without.
"""

from __future__ import annotations

import surrogate
from surrogate_autograd._backend import AutogradBackend

__all__ = ["AutogradBackend", "surrogate_backend"]


@surrogate.hookimpl
def surrogate_backend(name: str) -> AutogradBackend | None:
    """The backend, if it is asked for by its name."""
    return AutogradBackend() if name == "autograd" else None
