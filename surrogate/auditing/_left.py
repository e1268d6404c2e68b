"""Values that leave the framework for Python: do they come back?

A value that is only logged changes nothing. Whether it does is tried: the program runs again with the value
changed by one per cent at that place, and the loss is compared bit for bit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from surrogate.auditing._graph import tainted
from surrogate.auditing._trace import Call, Place, Trace

#: Says, at a place where a value leaves, whether it is to be changed there.
Nudge = Callable[[Place], bool]

#: Runs the program again and returns its loss; a place where the nudge says so hands out a changed value.
Rerun = Callable[[Nudge | None], float]

RANDOM = "the program is random, so nobody can tell whether the values that left for Python came back"


def nudged(value: Any) -> Any:
    """A number, list or array of floats, changed a little; anything else as it is."""
    if isinstance(value, float):
        return value * 1.01 + 0.003
    if isinstance(value, list):
        return [nudged(one) for one in value]
    if isinstance(value, (np.ndarray, np.floating)) and value.dtype.kind == "f":
        changed = value * 1.01 + 0.003
        return np.asarray(changed, value.dtype) if isinstance(value, np.ndarray) else type(value)(changed)
    return value


def came_back(trace: Trace, loss: float, rerun: Rerun | None) -> None:
    """Set ``reaches`` of the trace's escapes: does the loss change when the value does?

    Args:
        trace: what was recorded; of its escapes, those matter that a source leads to.
        loss: the loss of the recorded run.
        rerun: None where the program cannot run again.
    """
    depends = tainted(trace)
    places: defaultdict[Place, list[Call]] = defaultdict(list)
    for call in trace.calls:
        i = call.ins[0] if call.escape and call.ins else None
        if i is not None and call.reaches is None and i in depends and trace.values[i].inexact:
            places[call.place].append(call)
    if not places or rerun is None:
        return
    again = rerun(None)
    if again != loss and not (np.isnan(again) and np.isnan(loss)):
        trace.notes.append(RANDOM)
        return
    for place, calls in places.items():
        moved = _moves(rerun, place, loss)
        for call in calls:
            call.reaches = moved


def _moves(rerun: Rerun, place: Place, loss: float) -> bool:
    try:
        changed = rerun(lambda where: where == place)
    except Exception:  # the program stumbles over the changed value, so it uses it
        return True
    return changed != loss and not (np.isnan(changed) and np.isnan(loss))
