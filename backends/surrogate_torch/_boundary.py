"""Entering an override inside a compiled function: the compiler steps out there, and says why.

What is inside the block then runs eagerly, under the override. A function compiled with
``fullgraph=True`` cannot step out: the compiler refuses it, with the text below.
"""

from __future__ import annotations

import surrogate
from surrogate import Backend

_REASON = (
    "a surrogate override begins or ends inside a compiled function. The rules are read when the compiler "
    "traces, so put 'with surrogate.override(...)' around the call of the compiled function, or compile "
    "without fullgraph=True"
)


def mark(backend: Backend) -> None:
    """Tell the compiler not to trace the core's ``use`` and ``override``; once per process.

    These attributes are what ``torch.compiler.disable`` sets; it is not called here because it would
    import the compiler.
    """
    store = type(backend.store)
    for function in (
        surrogate.Override.__init__,
        surrogate.ScopedOverride.__init__,
        surrogate.ScopedOverride.__enter__,
        surrogate.ScopedOverride.__exit__,
        surrogate.ProcessOverride.__init__,
        surrogate.ProcessOverride.__exit__,
        surrogate.ProcessOverride.undo,
        store.push,
        store.pop,
        store.exactly,
    ):
        function.__dict__.update(
            _torchdynamo_disable=True,
            _torchdynamo_disable_msg=_REASON,
            _torchdynamo_disable_recursive=True,
        )
