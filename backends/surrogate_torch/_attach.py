"""Rules that belong to a module: in force inside its forward, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

import surrogate


class Attached:
    """The ``forward`` of one module under rules.

    It lies in the module's ``__dict__``: so it is copied and pickled with the module, and adds nothing to its
    ``state_dict``.
    """

    def __init__(self, module: nn.Module, rules: Mapping[str, Any]) -> None:
        self.module, self.rules, self.on = module, rules, True
        self.before = module.__dict__.get("forward")  # somebody's own, or rules attached before
        self._run = _under(rules)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._inside(self.native, *args, **kwargs)

    def native(self, *args: Any, **kwargs: Any) -> Any:
        """What the module would run without us."""
        if isinstance(self.before, Attached):
            return self.before.native(*args, **kwargs)
        if self.before is not None:
            return self.before(*args, **kwargs)
        return type(self.module).forward(self.module, *args, **kwargs)

    def take_off(self) -> None:
        """Undo it, also where somebody has put a forward of theirs over it meanwhile."""
        self.on = False
        if self.module.__dict__.get("forward") is not self:
            return
        left = self.before
        while isinstance(left, Attached) and not left.on:
            left = left.before
        if left is None:
            del self.module.forward
        else:
            self.module.forward = left

    def _inside(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run ``function`` under these rules, which lie inside those that were attached before."""
        if isinstance(self.before, Attached):
            return self.before._inside(self._own, function, *args, **kwargs)
        return self._own(function, *args, **kwargs)

    def _own(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self._run(function, *args, **kwargs) if self.on else function(*args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_run"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._run = _under(self.rules)


class Attachment:
    """What :func:`attach` returns.

    Attributes:
        rules: name of the module -> its op mapping; ``""`` is the model itself.
    """

    def __init__(self, rules: Mapping[str, Mapping[str, Any]], attached: list[Attached]) -> None:
        self.rules = rules
        self._attached = attached

    def undo(self) -> None:
        """Take the rules off all modules. Undoing twice does nothing."""
        for one in reversed(self._attached):
            one.take_off()
        self._attached = []

    def __repr__(self) -> str:
        return f"<Attachment {dict(self.rules)}>"


def attach(module: nn.Module, rules: Mapping[str, Any]) -> Attachment:
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
    chosen = surrogate.rules_by_name(rules, modules)
    made = [Attached(modules[name], one) for name, one in chosen.items()]  # all are checked before any is put
    for one in made:
        one.module.forward = one
    return Attachment(chosen, made)


def _under(rules: Mapping[str, Any]) -> Callable[..., Any]:
    return surrogate.override("torch", dict(rules))(_call)


def _call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)
