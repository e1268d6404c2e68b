"""An audit leaves no trace in Python's and NumPy's random state."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def same_random_state() -> Iterator[Callable[[], None]]:
    """Put the random state of Python and NumPy back at the end; what it yields does so at once."""
    python, numpy = random.getstate(), np.random.get_state()

    def restore() -> None:
        random.setstate(python)
        np.random.set_state(numpy)

    try:
        yield restore
    finally:
        restore()
