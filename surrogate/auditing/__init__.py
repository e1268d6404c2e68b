"""The audit behind :func:`surrogate.audit`, and what a backend's recorder is made of.

A backend takes part by one method, :meth:`surrogate.Backend.record`, which runs a program once and
returns a :class:`Trace`. What is in a trace and how it is judged knows no framework.
"""

from __future__ import annotations

from surrogate.auditing._ask import report_of as report_of
from surrogate.auditing._asked import NothingReturnedError as NothingReturnedError, first_asked as first_asked
from surrogate.auditing._finding import (
    KINDS as KINDS,
    SEVERITIES as SEVERITIES,
    Finding as Finding,
)
from surrogate.auditing._graph import Graph as Graph, passing as passing, tainted as tainted
from surrogate.auditing._layers import Layer as Layer
from surrogate.auditing._left import (
    Nudge as Nudge,
    Rerun as Rerun,
    came_back as came_back,
    nudged as nudged,
    untracked as untracked,
)
from surrogate.auditing._measure import (
    BATCH as BATCH,
    bounds_of as bounds_of,
    note_activation as note_activation,
    span_of as span_of,
)
from surrogate.auditing._place import user_place as user_place
from surrogate.auditing._report import Report as Report
from surrogate.auditing._trace import (
    Call as Call,
    Place as Place,
    Size as Size,
    Span as Span,
    Trace as Trace,
    Value as Value,
)
from surrogate.auditing._untouched import same_random_state as same_random_state
from surrogate.auditing._vocabulary import (
    ADDITIVE as ADDITIVE,
    COMPARE as COMPARE,
    DELIBERATE as DELIBERATE,
    HEAVY as HEAVY,
    LINEAR as LINEAR,
    SATURATING as SATURATING,
    SHAPE_ONLY as SHAPE_ONLY,
    SINGULAR as SINGULAR,
    STRICT as STRICT,
)
from surrogate.auditing._wrt import Wanted as Wanted
