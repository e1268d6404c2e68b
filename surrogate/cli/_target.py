"""Arguments that name a gradient: ``sign:hardtanh(width=2)``, or only an op."""

from __future__ import annotations

import surrogate
from surrogate._errors import UnknownOpError
from surrogate._registry import registry
from surrogate._spec import split_id


def split(target: str) -> tuple[str, str]:
    """``"sign:hardtanh"`` as op and spec; the spec is empty if only an op was named.

    Raises:
        UnknownOpError: no op has this name; suggests ops that have a gradient so named.
    """
    op, spec = split_id(target)
    known = surrogate.gradients()
    if not registry.knows(op):
        written, _, rest = (part.strip() for part in target.partition("="))
        if written in known:  # as in --rules
            raise UnknownOpError(f"{target!r} is read as an op: write {written}:{rest}.")
        presets = [name for name in known if target.strip() in surrogate.presets(name)]
        if presets:
            ids = ", ".join(f"{owner}:{target.strip()}" for owner in presets)
            raise UnknownOpError(f"{target!r} is no op but a preset: write {ids}.")
        owners = [name for name, names in known.items() if op.partition("(")[0] in names]
        if owners and not spec:
            ids = ", ".join(f"{owner}:{op}" for owner in owners)
            raise UnknownOpError(f"{op!r} is no op but a gradient: write {ids}.")
    return surrogate.op(op).name, spec
