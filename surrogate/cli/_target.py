"""Arguments that name a gradient: ``sign:hardtanh(width=2)``, or only an op."""

from __future__ import annotations

import surrogate
from surrogate._errors import UnknownOpError


def split(target: str) -> tuple[str, str]:
    """``"sign:hardtanh"`` as op and spec; the spec is empty if only an op was named.

    Raises:
        UnknownOpError: no op has this name; suggests ops that have a gradient so named.
    """
    op, _, spec = (part.strip() for part in target.partition(":"))
    known = surrogate.gradients()
    if op not in known:
        owners = [name for name, names in known.items() if op.partition("(")[0] in names]
        if owners and not spec:
            ids = ", ".join(f"{owner}:{op}" for owner in owners)
            raise UnknownOpError(f"{op!r} is no op but a gradient: write {ids}.")
    return surrogate.op(op).name, spec
