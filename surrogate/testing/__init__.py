"""The conformance kit: tells a backend's author, and their users, exactly what it can do.

With pytest, two lines::

    class TestMine(surrogate.testing.Conformance):
        backend = "mine"

Without pytest, :func:`check_backend` runs the same checks and returns a report.
"""

from surrogate.testing._agreement import Agreement as Agreement, agreements as agreements
from surrogate.testing._anything import check_rule as check_rule
from surrogate.testing._conformance import Conformance as Conformance
from surrogate.testing._expected import ConformanceWarning as ConformanceWarning
from surrogate.testing._failure import BrokenPromiseError as BrokenPromiseError
from surrogate.testing._installed import installed_backends as installed_backends
from surrogate.testing._matrix import as_html as as_html, as_text as as_text, matrix as matrix, write as write
from surrogate.testing._plan import Check as Check, plan as plan
from surrogate.testing._report import (
    Report as Report,
    Result as Result,
    check_backend as check_backend,
    result as result,
)
from surrogate.testing._target import Target as Target
from surrogate.testing._undone import undone as undone
from surrogate.testing._uses import USES as USES, Use as Use

__all__ = sorted(name for name in globals() if name[0].isalpha())  # pytest adds names like @pytest_ar
