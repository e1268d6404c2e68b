"""What the operands of a call are: differentiated or not, real, arrays or lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import autograd.numpy as anp
import numpy as np

from surrogate_autograd._hooks import getval, isbox
from surrogate_autograd._sum import meta

Array = Any


def is_boxed(x: Any) -> bool:
    """Whether ``x``, or an element of a list or tuple, is being differentiated."""
    return isbox(x) or (type(x) in (list, tuple) and any(map(is_boxed, x)))


def gather(x: Any) -> Array:
    """A list or tuple with differentiated elements as one array; anything else as it is."""
    if isbox(x):
        return anp.array(list(x)) if isinstance(getval(x), (list, tuple)) else x
    return anp.array(x) if is_boxed(x) else x


def handles_ufuncs(x: Any) -> bool:
    """Whether ``x`` is neither a box nor NumPy's, and handles ufuncs itself, as xarray does."""
    handler = getattr(type(x), "__array_ufunc__", None)
    return handler is not None and handler is not np.ndarray.__array_ufunc__ and not isbox(x)


def are_real(operands: Iterable[Array]) -> bool:
    """Whether all that is differentiated is real and floating, and the rest is real."""
    return all(meta(x).dtype.kind in ("f" if isbox(x) else "biuf") for x in operands)
