"""Recording what PyTorch's dispatcher runs: every ATen op, with the user's line."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from surrogate.auditing import SHAPE_ONLY, Call, Nudge, nudged, user_place
from surrogate_torch._audit_names import read
from surrogate_torch._audit_numbers import note_activation, span_of
from surrogate_torch._audit_values import Values, without_numbers

Tensor = Any

#: Where no line of the user's is.
OWN = tuple(str(Path(file).parent) + os.sep for file in (torch.__file__, __file__))

#: Integers and booleans above this are not kept for questions to their op in a light recording.
_LARGE = 1 << 20

#: The call of an op that was recorded: overload, args, kwargs.
Given = tuple[Any, tuple[Any, ...], dict[str, Any]]


class Recorder(TorchDispatchMode):
    """The calls and values of one run.

    Args:
        nudge: says at which places a value that leaves for Python comes back changed.
        written: is told of a tensor that was there before, before it is written to.
        modules: id() of a module -> its name.
        light: hold no tensor that the program would let go.
    """

    def __init__(
        self,
        nudge: Nudge | None = None,
        written: Callable[[Tensor], None] | None = None,
        modules: Mapping[int, str] | None = None,
        *,
        light: bool = False,
    ) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.given: dict[int, Given] = {}
        self.paused = 0
        self.forgotten = 0  # how many calls went at the last forget()
        self.tensors = Values(light=light)
        self._aliases: dict[int, Call] = {}  # calls that tell what a write did to a detached tensor
        self._light = light
        self._nudge = nudge
        self._written = written
        self._modules = modules or {}

    def measure(self, vid: int, x: Tensor) -> None:
        """Note the range of a value."""
        value = self.tensors.known[vid]
        if value.inexact:
            self.paused += 1
            try:
                value.span = span_of(x)
            finally:
                self.paused -= 1

    def forget(self, before: int) -> None:
        """Let go of the calls before this one, and of the tensors that no later call knows."""
        self.forgotten = before
        gone, self.calls[:before] = self.calls[:before], []
        for call in gone:
            self.given.pop(id(call), None)
        self.tensors.forget(
            {vid for call in self.calls for vid in (*call.ins, *call.outs) if vid is not None}
        )

    def seen(self) -> list[Call]:
        """The calls; a write to memory that a detached tensor shares only where that one is used later."""
        used: set[int | None] = set()
        kept = []
        for call in reversed(self.calls):
            if id(call) not in self._aliases or not used.isdisjoint(call.outs):
                used.update(call.ins)
                kept.append(call)
        return kept[::-1]

    # -- calls -----------------------------------------------------------------------------------

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.paused:
            return func(*args, **kwargs)
        flat = tree_flatten((args, kwargs))[0]
        ins: list[int | None] = [self.tensors.used(x) for x in flat if isinstance(x, torch.Tensor)]
        targets = _targets(func, args, kwargs)
        if self._written is not None:
            for x in filter(self.tensors.is_the_programs, targets):
                self._written(x)
        out = func(*args, **kwargs)
        named = read(func, args, kwargs, flat)
        place, path = user_place(OWN), _module_path(self._modules)
        outs, given = [], [*ins]
        aliases: list[tuple[list[int], list[int]]] = []
        for target in targets:
            (before, after), *others = self.tensors.rewritten(target)
            ins += before
            outs += after
            aliases += others
        fresh = [x for x in tree_flatten(out)[0] if isinstance(x, torch.Tensor)]
        fresh = [x for x in fresh if not any(x is target for target in targets)]
        outs += [self.tensors.id_of(x, new=True) for x in fresh]
        call = Call(named.name, str(func), place, ins, outs, [True] * len(outs), named.consts, named.bounds)
        call.path = path
        call.why = "detach" if named.name == "detach" else "" if torch.is_grad_enabled() else "no_grad"
        self.calls.append(call)
        for before, after in aliases:
            alias = dataclasses.replace(call, ins=[*given, *before], outs=after, live_out=[True] * len(after))
            self.calls.append(alias)
            self._aliases[id(alias)] = alias
        if not self._light:
            self.given[id(call)] = func, args, kwargs
        elif all(
            x.numel() <= _LARGE for x in flat if isinstance(x, torch.Tensor) and not x.is_floating_point()
        ):
            self.given[id(call)] = func, *tree_map(without_numbers, (args, kwargs))
        return self._finish(call, out, (*targets, *fresh))

    def _finish(self, call: Call, out: Any, results: Sequence[Tensor]) -> Any:
        """Measure the outputs; a number that comes out leaves for Python."""
        if call.name == "_local_scalar_dense":
            call.name = "item"
            return self.left(call, out)
        if call.name not in SHAPE_ONLY:
            for x in results:
                self.measure(self.tensors.id_of(x), x)
            if results and results[0].is_floating_point():
                self.paused += 1
                try:
                    with torch.no_grad():
                        note_activation(call, results[0])
                finally:
                    self.paused -= 1
        return out

    def left(self, call: Call, value: Any) -> Any:
        """A value leaves for Python. In another run the one in question comes back changed."""
        call.escape = True
        return nudged(value) if self._nudge is not None and self._nudge(call.place) else value

    def leaves(self, name: str, x: Tensor, value: Any) -> Any:
        """The same for a way that the dispatcher does not see."""
        call = Call(name, name, user_place(OWN), [self.tensors.used(x)], [], [])
        self.calls.append(call)
        return self.left(call, value)


def _targets(overload: Any, args: Any, kwargs: Any) -> list[Tensor]:
    """The tensors that a call writes to."""
    found = []
    for number, argument in enumerate(overload._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            given = args[number] if number < len(args) else kwargs.get(argument.name)
            found += [x for x in (given if isinstance(given, (list, tuple)) else [given]) if _is_tensor(x)]
    return found


def _is_tensor(x: Any) -> bool:
    return isinstance(x, torch.Tensor)


def _module_path(names: Mapping[int, str]) -> str:
    """Name of the innermost module whose ``forward`` runs; empty outside all that are known."""
    frame = sys._getframe(2)
    while names and frame is not None:
        code = frame.f_code
        if code.co_name == "forward" and code.co_argcount:
            name = names.get(id(frame.f_locals.get(code.co_varnames[0])))
            if name is not None:
                return name
        frame = frame.f_back  # type: ignore[assignment]  # None ends the walk
    return ""
