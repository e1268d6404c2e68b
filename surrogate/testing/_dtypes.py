"""What the kit must know of float dtypes: ranges, neighbours, rounding. bfloat16 comes from ml_dtypes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype of this name, ``bfloat16`` included.

    Raises:
        ModuleNotFoundError: bfloat16 without ml_dtypes; says what to install.
    """
    if name == "bfloat16":
        try:
            import ml_dtypes
        except ModuleNotFoundError as error:
            message = 'bfloat16 is checked with ml_dtypes: pip install "surrogate-gradients[testing]"'
            raise ModuleNotFoundError(message, name=error.name) from error
        found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return found
    return np.dtype(name)


@dataclass(frozen=True)
class Limits:
    """The range of a dtype.

    Attributes:
        bits: of the significand, the hidden one included.
        tiny: the smallest normal number.
        subnormal: a number below it, with a short significand.
    """

    bits: int
    tiny: float
    subnormal: float

    def flush(self, x: Array) -> Array:
        """``x`` with subnormal numbers replaced by 0."""
        return np.where(np.abs(x) < np.asarray(self.tiny, x.dtype), np.zeros_like(x), x)

    def spacing(self, x: Array) -> Any:
        """The distance between neighbours of the dtype at the float64 numbers ``x``."""
        _, exponent = np.frexp(np.maximum(np.abs(x), self.tiny))
        return np.ldexp(1.0, exponent - self.bits)


#: What the kit knows: bits of the significand, and the exponent of the smallest normal number.
DTYPES = {
    "float16": (11, -14),
    "bfloat16": (8, -126),
    "float32": (24, -126),
    "float64": (53, -1022),
}


@cache
def limits(name: str) -> Limits:
    """The range of the dtype of this name."""
    bits, lowest = DTYPES[name]
    return Limits(bits, 2.0**lowest, 2.0 ** (lowest - 2))


def rounded(x: Array, name: str) -> Array:
    """float64 numbers rounded once to the dtype, as float64."""
    with np.errstate(all="ignore"):
        return x.astype(numpy_dtype(name)).astype(np.float64)


def represents(name: str, value: float) -> bool:
    """Whether the dtype has exactly this number."""
    return bool(rounded(np.array(value), name) == value)


def neighbours(name: str, value: float) -> list[float]:
    """The numbers of the dtype next to ``value``, rounded to it, on either side."""
    at = np.asarray(value, np.float64).astype(numpy_dtype(name))
    return [float(np.nextafter(at, at.dtype.type(end))) for end in (-np.inf, np.inf)]


def widened(name: str) -> str:
    """The dtype in which formulas are evaluated."""
    return "float32" if name in ("float16", "bfloat16") else name
