"""Is a derivative zero everywhere? The op is asked, on random numbers; there is no list of such ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from surrogate.auditing import HEAVY, Call
from surrogate_autograd import _hooks
from surrogate_autograd._audit_values import plain

#: Both signs and six decades: every side of a clip is met. The middle ones first, they mostly suffice.
_SCALES = (1.0, 6.0, 0.1, 40.0, 0.01, 300.0, 1e-3, 1e3)

#: Larger calls are not asked.
_LARGE = 1 << 20


class Probe:
    """Answers, kept for equal calls."""

    def __init__(self) -> None:
        self._known: dict[Any, frozenset[int]] = {}

    def zero_inputs(
        self, call: Call, function: Any, args: Any, kwargs: Any, argnums: tuple[int, ...]
    ) -> frozenset[int]:
        """Positions, among the call's inputs, of those by which the derivative is zero for all draws."""
        size = sum(np.size(args[k]) for k in argnums)
        if call.name in HEAVY or size > _LARGE:
            return frozenset()
        key = function, tuple(map(_kind, args)), repr(kwargs), argnums
        if key not in self._known:
            alive = _alive(function, tuple(map(plain, args)), kwargs, argnums)
            self._known[key] = frozenset(k for k in argnums if k not in alive)
        return frozenset(_position(args, argnums, k) for k in self._known[key])


def _kind(x: Any) -> Any:
    """Equal for arguments that give the same answer: arrays of one shape, and equal other values."""
    return (np.shape(x), np.asarray(plain(x)).dtype) if isinstance(x, np.ndarray) else (type(x), repr(x))


def _position(args: Any, argnums: tuple[int, ...], k: int) -> int:
    """Position among the inputs of a recorded call, which leave out what is no array."""
    return sum(
        1 for n, x in enumerate(args[:k]) if n in argnums or isinstance(x, (np.ndarray, np.floating, float))
    )


def _alive(function: Any, args: Any, kwargs: Any, argnums: tuple[int, ...]) -> set[int]:
    """The arguments by which autograd's own derivative is not zero for some draw.

    The other arrays are drawn too in the end: a state that starts as zeros is a factor of zero for once.
    """
    draw, alive = np.random.RandomState(7), set[int]()
    arrays = {k for k, x in enumerate(args) if isinstance(x, np.ndarray) and x.dtype.kind in "fc"}
    for scale, drawn in [(s, argnums) for s in _SCALES] + [(s, {*argnums, *arrays}) for s in _SCALES]:
        new = [
            np.asarray(draw.randn(*np.shape(x)) * scale, np.asarray(x).dtype) if k in drawn else x
            for k, x in enumerate(args)
        ]
        try:
            with np.errstate(all="ignore"):
                value = function(*new, **kwargs)
                pull = _hooks.primitive_vjps[function](argnums, value, tuple(new), kwargs)
                found = pull(np.asarray(draw.randn(*np.shape(value)), np.asarray(value).dtype))
                alive |= {k for k, x in zip(argnums, found, strict=True) if np.any(x)}
        except Exception:  # it cannot be asked this way (a matrix that must be definite): taken as alive
            return set(argnums)
        if len(alive) == len(argnums):
            break
    return alive
