"""Where a gradient through a boolean or an integer ends: said once for each line, where it can be seen."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

import surrogate
from surrogate_tensorflow._consumers import ARITHMETIC
from surrogate_tensorflow._moves import MOVES

if TYPE_CHECKING:
    from surrogate_tensorflow._backend import TensorFlowBackend

_CONTROL = "it decides which code runs"
_PLACES = "it says where elements are"
_NOTHING = "this op has no meaning for floats"
_LOOP = "it is a loop variable"

#: Op types that end a gradient, and why.
_WHY = {
    "If": _CONTROL,
    "StatelessIf": _CONTROL,
    "Case": _CONTROL,
    "StatelessCase": _CONTROL,
    "While": _LOOP,
    "StatelessWhile": _LOOP,
    "Where": _PLACES,
    "ScatterNd": _PLACES,
    "TensorScatterAdd": _PLACES,
    "TensorScatterUpdate": _PLACES,
    "GatherV2": "it is an index, and of no argmax",
    "GatherNd": _PLACES,
    "ResourceGather": "it is an index, and of no argmax",
    "ResourceGatherNd": _PLACES,
    "OneHot": "it is an index, and of no argmax",
    "UnsortedSegmentSum": _PLACES,
    "SegmentSum": _PLACES,
    "StridedSlice": _PLACES,
    "Equal": "two integers are compared for which no rule holds",
    "NotEqual": "two integers are compared for which no rule holds",
    "Cast": "an integer becomes a boolean",
    "StatefulPartitionedCall": "it is an argument of a compiled function",
    "PartitionedCall": "it is an argument of a compiled function",
    "EagerPyFunc": "it is an argument of a Python function in a graph",
}

TYPES = frozenset(_WHY)


def warn(backend: TensorFlowBackend, op_type: str, why: str = "") -> None:
    """Say that the gradient ends in the line of the user's code that runs now.

    Warns:
        SurrogateWarning: naming what ended it.
    """
    frame: Any = backend.store.callers.user_frame(sys._getframe(1))
    text = (
        f"the gradient of a boolean or an integer under a rule ends here, at {op_type}: "
        f"{why or _WHY.get(op_type, _PLACES if op_type in MOVES | ARITHMETIC else _NOTHING)}."
    )
    if frame is None:
        warnings.warn(text, surrogate.SurrogateWarning, stacklevel=2)
        return
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(
        text,
        surrogate.SurrogateWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__"),
        registry=registry,
    )
