"""Putting the hooks in while an override is alive anywhere, and taking them out after the last."""

from __future__ import annotations

from surrogate import Backend
from surrogate_autograd._capture import Capture
from surrogate_autograd._operators import Operators
from surrogate_autograd._recomputed import Recomputation
from surrogate_autograd._spellings import SPELLINGS


class Installation:
    """The hooks. Those of :class:`Recomputation` stay: what ran natively is differentiated natively, too."""

    def __init__(self, backend: Backend) -> None:
        self._capture = Capture(backend.state, SPELLINGS)
        self._operators = Operators(backend.state)
        self._recomputation = Recomputation(backend)
        self._recomputation.install()

    def put_in(self) -> None:
        """Ops are captured from now on."""
        self._capture.install()
        self._operators.install()
        self._recomputation.install()

    def take_out(self) -> None:
        """autograd is again as its authors made it."""
        self._capture.remove()
        self._operators.remove()
