"""Rules per module: in force inside its forward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

import surrogate


def attach(module: nn.Module, rules: Mapping[str, Any]) -> surrogate.Attachment:
    """Put rules in force inside the forward of a module, and of no other.

    Rules of an inner module win over those of an outer one, later ones over earlier ones, and all over an
    override around the call. They are kept by ``copy.deepcopy`` and by pickling the module, add no key to
    ``state_dict``, and hold under ``torch.compile`` and in checkpoints.

    Args:
        module: a module, or a model.
        rules: an op mapping for the module, ``{"sign": "tanh"}``, or a mapping from patterns over the names
            of its submodules to op mappings, ``{"encoder.*": {"round": "identity"}, "*.act": {...}}``. Where
            several patterns match, the longest wins.

    Returns:
        A handle: ``undo()`` takes them off again. A copy of the module keeps its own.

    Raises:
        TypeError: it is no ``torch.nn.Module``.
        UnknownNameError: a pattern matches no module; with the nearest names.
        What :func:`surrogate.override` raises. Nothing is attached then.
    """
    if not isinstance(module, nn.Module):
        raise TypeError(f"attach takes a torch.nn.Module, not {type(module).__name__}.")
    modules = dict(module.named_modules())
    return surrogate.Attachment(*surrogate.attached(modules, rules, method="forward", backend="torch"))
