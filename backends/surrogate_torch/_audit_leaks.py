"""What the dispatcher does not show an audit: values that leave, leaves made by hand, autograd Functions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten
from torch.utils.checkpoint import CheckpointFunction

from surrogate.auditing import Call, user_place
from surrogate_torch._audit_recorder import OWN, Recorder

Tensor = Any

#: Ways for a value to leave, and what the audit calls them.
_LEAVES = {"tolist": "tolist", "numpy": "numpy", "__array__": "numpy", "__bool__": "bool"}

_BY_HAND = "made a leaf by hand: this silences the error and nothing learns"


class Leaks(TorchFunctionMode):
    """Watches the functions of tensors that run no op, or that hide the ops they run."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        of_tensor = bool(args) and isinstance(args[0], torch.Tensor)
        if name in _LEAVES and of_tensor:
            return self._left(func, _LEAVES[name], args, kwargs)
        if of_tensor and _makes_a_leaf(func, name, args):
            return self._leaf(func, name, args, kwargs)
        if name == "__get__" and of_tensor and _attribute(func) == "data":
            return self._data(func, args)
        return func(*args, **kwargs)

    def _left(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        self._recorder.paused += 1
        try:
            value = func(*args, **kwargs)
        finally:
            self._recorder.paused -= 1
        return self._recorder.leaves(name, args[0], value)

    def _leaf(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        recorder, x = self._recorder, args[0]
        before = recorder.tensors.used(x)
        out = func(*args, **kwargs)
        after = recorder.tensors.id_of(x, new=True)
        recorder.tensors.state[after] = False, None
        call = Call("requires_grad", name, user_place(OWN), [before], [after], [False], why=_BY_HAND)
        recorder.calls.append(call)
        return out

    def _data(self, func: Any, args: Any) -> Any:
        """``x.data``: the value without its history, in the same memory."""
        recorder = self._recorder
        before = recorder.tensors.used(args[0])
        recorder.paused += 1
        try:
            out = func(*args)
        finally:
            recorder.paused -= 1
        after = recorder.tensors.id_of(out, new=True)
        recorder.measure(after, out)
        call = Call("detach", "data", user_place(OWN), [before], [after], [False], why="detach")
        recorder.calls.append(call)
        return out


def _attribute(func: Any) -> str:
    """Of a getter or setter, the attribute."""
    return str(getattr(getattr(func, "__self__", None), "__name__", ""))


def _makes_a_leaf(func: Any, name: str, args: Any) -> bool:
    """Whether ``x.requires_grad_()`` or ``x.requires_grad = True``, where x does not require one yet."""
    if name == "requires_grad_":
        wanted = args[1] if len(args) > 1 else True
    elif name == "__set__" and _attribute(func) == "requires_grad":
        wanted = args[1]
    else:
        return False
    return wanted is True and args[0].grad_fn is None and not args[0].requires_grad


@contextmanager
def functions_as_one_op(recorder: Recorder) -> Iterator[None]:
    """Record each ``autograd.Function`` as one op: what it computes inside has its own derivative.

    A reentrant checkpoint is run as what it is, a plain call.
    """
    real = torch.autograd.Function.__dict__["apply"]

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if recorder.paused:
            return real.__func__(cls, *args, **kwargs)
        if cls is CheckpointFunction:
            function, _preserve, *rest = args
            return function(*rest)
        number = len(recorder.calls)
        ins: list[int | None] = [recorder.tensors.used(x) for x in _tensors((args, kwargs))]
        out = real.__func__(cls, *args, **kwargs)
        del recorder.calls[number:]
        results = _tensors(out)
        outs = [recorder.tensors.id_of(x, new=True) for x in results]
        for vid, x in zip(outs, results, strict=True):
            recorder.measure(vid, x)
        name = f"autograd.Function {cls.__name__}"
        recorder.calls.append(Call(cls.__name__, name, user_place(OWN), ins, outs, [True] * len(outs)))
        return out

    torch.autograd.Function.apply = classmethod(apply)
    try:
        yield
    finally:
        torch.autograd.Function.apply = real


def _tensors(nested: Any) -> list[Tensor]:
    return [x for x in tree_flatten(nested)[0] if isinstance(x, torch.Tensor)]
