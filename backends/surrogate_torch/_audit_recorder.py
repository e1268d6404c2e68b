"""Recording what PyTorch's dispatcher runs: every ATen op, with the user's line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from surrogate.auditing import SHAPE_ONLY, Call, Nudge, Value, nudged, user_place
from surrogate_torch._audit_names import read
from surrogate_torch._audit_numbers import note_activation, span_of

Tensor = Any

#: Where no line of the user's is.
OWN = tuple(str(Path(file).parent) + os.sep for file in (torch.__file__, __file__))

#: The call of an op that was recorded: overload, args, kwargs.
Given = tuple[Any, tuple[Any, ...], dict[str, Any]]


class Recorder(TorchDispatchMode):
    """The calls and values of one run.

    Whether a value carries a gradient is read when it is next used: ``requires_grad`` and ``grad_fn`` are
    final then, so that views and ops in place need no special case. A write gives new ids to every known
    tensor of the storage.

    Args:
        nudge: says at which places a value that leaves for Python comes back changed.
        written: is told of a tensor before it is written to.
        modules: id() of a module -> its name.
    """

    def __init__(
        self,
        nudge: Nudge | None = None,
        written: Callable[[Tensor], None] | None = None,
        modules: Mapping[int, str] | None = None,
    ) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.values: dict[int, Value] = {}
        self.held: dict[int, Tensor] = {}
        self.given: dict[int, Given] = {}
        self.state: dict[int, tuple[bool, Any]] = {}  # id of a value -> requires_grad, grad_fn
        self.paused = 0
        self.forgotten = 0  # how many calls went at the last forget()
        self._ids: dict[int, int] = {}  # id() of a tensor -> id of its present value
        self._storages: dict[int, dict[int, Tensor]] = {}
        self._nudge = nudge
        self._written = written
        self._modules = modules or {}

    # -- values ----------------------------------------------------------------------------------

    def vid(self, x: Tensor, *, new: bool = False) -> int:
        """The id of a tensor's present value; a new one where it was written to or not seen before."""
        if new or id(x) not in self._ids:
            vid = len(self.values)  # values are never forgotten: they are small
            self._ids[id(x)] = vid
            self.held[vid] = x  # kept alive: no other tensor gets its id()
            inexact = x.is_floating_point() or x.is_complex()
            self.values[vid] = Value(str(x.dtype).removeprefix("torch."), inexact, tuple(x.shape))
            family = self._family(x)
            if family is not None:
                family[id(x)] = x
        return self._ids[id(x)]

    def used(self, x: Tensor) -> int:
        """The id of a tensor that is used now: whether it carries a gradient is final."""
        vid = self.vid(x)
        self.state.setdefault(vid, (x.requires_grad, x.grad_fn))
        return vid

    def _family(self, x: Tensor) -> dict[int, Tensor] | None:
        """The known tensors of one storage."""
        if x.layout != torch.strided:
            return None
        try:
            return self._storages.setdefault(x.untyped_storage()._cdata, {})
        except (RuntimeError, NotImplementedError):  # a subclass without storage
            return None

    def measure(self, vid: int, x: Tensor) -> None:
        """Note the range of a value."""
        if self.values[vid].inexact:
            self.paused += 1
            try:
                self.values[vid].span = span_of(x)
            finally:
                self.paused -= 1

    def forget(self, before: int) -> None:
        """Let go of the calls before this one, and of the tensors that no later call knows."""
        self.forgotten = before
        gone, self.calls[:before] = self.calls[:before], []
        kept = {vid for call in self.calls for vid in (*call.ins, *call.outs)}
        for call in gone:
            self.given.pop(id(call), None)
        for vid in [vid for vid, x in self.held.items() if vid not in kept and not x.is_leaf]:
            x = self.held.pop(vid)
            if self._ids.get(id(x)) == vid:
                del self._ids[id(x)]
            self.state.pop(vid, None)
        alive = {id(x) for x in self.held.values()}
        for family in self._storages.values():
            for key in [key for key in family if key not in alive]:
                del family[key]

    # -- calls -----------------------------------------------------------------------------------

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.paused:
            return func(*args, **kwargs)
        flat = tree_flatten((args, kwargs))[0]
        ins: list[int | None] = [self.used(x) for x in flat if isinstance(x, torch.Tensor)]
        targets = _targets(func, args, kwargs)
        if self._written is not None:
            for x in targets:
                self._written(x)
        out = func(*args, **kwargs)
        named = read(func, args, kwargs, flat)
        place, path = user_place(OWN), _module_path(self._modules)
        outs = self._rewritten(targets, ins)
        fresh = [x for x in tree_flatten(out)[0] if isinstance(x, torch.Tensor)]
        outs += [self.vid(x, new=True) for x in fresh if not any(x is target for target in targets)]
        call = Call(named.name, str(func), place, ins, outs, [True] * len(outs), named.consts, named.bounds)
        call.path = path
        call.why = "detach" if named.name == "detach" else "" if torch.is_grad_enabled() else "no_grad"
        self.calls.append(call)
        self.given[id(call)] = func, args, kwargs
        return self._finish(call, out)

    def _finish(self, call: Call, out: Any) -> Any:
        """Measure the outputs; a number that comes out leaves for Python."""
        if call.name == "_local_scalar_dense":
            call.name = "item"
            return self.left(call, out)
        if call.name not in SHAPE_ONLY:
            for vid in call.outs:
                self.measure(vid, self.held[vid])
            if call.outs and self.values[call.outs[0]].inexact:
                self.paused += 1
                try:
                    with torch.no_grad():
                        note_activation(call, self.held[call.outs[0]])
                finally:
                    self.paused -= 1
        return out

    def _rewritten(self, targets: list[Tensor], ins: list[int | None]) -> list[int]:
        """New ids for what was written to and for every known tensor of its storage, the target first."""
        outs = []
        for target in targets:
            family = [x for x in (self._family(target) or {}).values() if x is not target]
            for x in (target, *family):
                if x is not target:
                    ins.append(self._ids[id(x)])
                outs.append(self.vid(x, new=True))
        return outs

    def left(self, call: Call, value: Any) -> Any:
        """A value leaves for Python. In another run the one in question comes back changed."""
        call.escape = True
        return nudged(value) if self._nudge is not None and self._nudge(call.place) else value

    def leaves(self, name: str, x: Tensor, value: Any) -> Any:
        """The same for a way that the dispatcher does not see."""
        call = Call(name, name, user_place(OWN), [self.used(x)], [], [])
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
