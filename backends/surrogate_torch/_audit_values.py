"""The tensors of a recorded run as numbered values, and which of them carry a gradient."""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any

import torch

from surrogate.auditing import Value

Tensor = Any

#: How many of the newest values are held where others are not: whether a value carries a gradient is not
#: settled before what makes its node has returned, which runs a few more ops.
_NEWEST = 6


class Values:
    """Ids of tensors; a tensor that is written to has a new one afterwards.

    Whether a value carries a gradient is read when it is next used: ``requires_grad`` and ``grad_fn`` are
    final then, so that views and ops in place need no special case.

    Args:
        light: hold no tensor that the program would let go. Otherwise all are held until the end.

    Attributes:
        known: id -> what the value was.
        held: id -> the tensor, where it is held.
        state: id -> whether it requires a gradient, and its node.
    """

    def __init__(self, *, light: bool = False) -> None:
        self.known: dict[int, Value] = {}
        self.held: dict[int, Tensor] = {}
        self.state: dict[int, tuple[bool, Any]] = {}
        self._ids: dict[int, int] = {}  # id() of a tensor -> id of its present value
        self._families: dict[int, dict[int, Any]] = {}  # a storage -> weak references by id()
        self._made: set[int] = set()  # storages that the program has made while it was recorded
        self._newest: deque[int] = deque()
        self._light = light

    def id_of(self, x: Tensor, *, new: bool = False) -> int:
        """The id of a tensor's present value; a new one where it was written to or not seen before."""
        if new or id(x) not in self._ids:
            vid = len(self.known)  # these are never forgotten: they are small
            inexact = x.is_floating_point() or x.is_complex()
            self.known[vid] = Value(str(x.dtype).removeprefix("torch."), inexact, tuple(x.shape))
            self._ids[id(x)] = vid
            self.held[vid] = x  # so that no other tensor gets its id()
            self._join_family(x, made=new)
            if self._light and new:
                self._newest.append(vid)
                if len(self._newest) > _NEWEST:
                    self._let_go(self._newest.popleft())
        return self._ids[id(x)]

    def used(self, x: Tensor) -> int:
        """The id of a tensor that is used now."""
        vid = self.id_of(x)
        self.state.setdefault(vid, _carries(x))
        return vid

    def settle(self) -> None:
        """Read of every value that is still held whether it carries a gradient: the program has ended."""
        for vid, x in self.held.items():
            self.state.setdefault(vid, _carries(x))

    def rewritten(self, target: Tensor) -> list[tuple[list[int], list[int]]]:
        """Ids before and after a write, of every known tensor of the target's storage.

        One pair of lists for each tensor that autograd takes for one, with its views; the target's first.
        What was detached shares the memory and not the gradient, so that it is another.
        """
        groups: dict[int, list[Tensor]] = {_owner(target): [target]}
        for x in self._family_of(target):
            if x is not target:
                groups.setdefault(_owner(x), []).append(x)
        found = []
        for members in groups.values():
            before = [self._ids[id(x)] for x in members if x is not target and id(x) in self._ids]
            found.append((before, [self.id_of(x, new=True) for x in members]))
        return found

    def forget(self, kept: set[int]) -> None:
        """Let go of all tensors but these and leaves."""
        for vid in [vid for vid, x in self.held.items() if vid not in kept and not x.is_leaf]:
            x = self.held.pop(vid)
            self.state.pop(vid, None)
            if self._ids.get(id(x)) == vid:
                del self._ids[id(x)]

    # -- memory ----------------------------------------------------------------------------------

    def _let_go(self, vid: int) -> None:
        """Hold a value no longer; its id() is free once the program lets go of it too."""
        x = self.held.pop(vid, None)
        if x is None:
            return
        self.state.setdefault(vid, _carries(x))
        key = id(x)
        weakref.finalize(x, self._gone, key, vid)

    def _gone(self, key: int, vid: int) -> None:
        if self._ids.get(key) == vid:
            del self._ids[key]

    # -- storages --------------------------------------------------------------------------------

    def is_the_programs(self, x: Tensor) -> bool:
        """Whether its memory was there before anything was recorded; a view of such memory is too."""
        return self._storage_of(x) is None or x.untyped_storage()._cdata not in self._made

    def _join_family(self, x: Tensor, *, made: bool) -> None:
        family = self._storage_of(x)
        if family is None:
            return
        if not self._family_of(x):  # a new storage, or another one at the address of one that is gone
            storage = x.untyped_storage()._cdata
            (self._made.add if made else self._made.discard)(storage)
        family[id(x)] = weakref.ref(x)

    def _family_of(self, x: Tensor) -> list[Tensor]:
        """The known tensors of one storage that are alive."""
        family = self._storage_of(x) or {}
        alive = [ref() for ref in family.values()]
        return [y for y in alive if y is not None and _same_storage(x, y)]

    def _storage_of(self, x: Tensor) -> dict[int, Any] | None:
        if x.layout != torch.strided:
            return None
        try:
            return self._families.setdefault(x.untyped_storage()._cdata, {})
        except (RuntimeError, NotImplementedError):  # a subclass without storage
            return None


def _owner(x: Tensor) -> int:
    """id() of the tensor that this is a view of, for autograd."""
    return id(x._base if x._is_view() else x)


def _same_storage(x: Tensor, y: Tensor) -> bool:
    """The address of a storage that is gone may be another's now."""
    return bool(x.untyped_storage()._cdata == y.untyped_storage()._cdata)


def without_numbers(x: Any) -> Any:
    """A tensor as a question to its op needs it: shape and dtype, and the numbers only of small integers."""
    if not isinstance(x, torch.Tensor) or x.layout != torch.strided:
        return x
    return (
        torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta") if x.is_floating_point() else x
    )


def _carries(x: Tensor) -> tuple[bool, Any]:
    """Whether a tensor requires a gradient, and its node."""
    try:
        return x.requires_grad, x.grad_fn
    except RuntimeError:  # a view made under no_grad, written to elsewhere: PyTorch refuses to say
        return False, None
