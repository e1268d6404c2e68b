"""Watching a script until it asks for a gradient: recorded from its start, judged when it does."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

import torch

from surrogate.auditing import Trace
from surrogate_torch._audit import begun, judged, recording
from surrogate_torch._audit_recorder import Recorder
from surrogate_torch._audit_sources import trained

Tensor = Any


@contextmanager
def watching(
    caught: Callable[[Trace], None],
    step: int,
    native: Callable[[], Any],
    written: Callable[[Tensor], None] | None = None,
) -> Iterator[None]:
    """Hand over the trace of the ``step``-th gradient that the program asks for.

    ``Tensor.backward``, ``torch.autograd.backward`` and ``torch.autograd.grad`` are replaced until then. A
    gradient with ``create_graph=True`` from ``grad`` is part of a loss and does not count. ``written`` is
    told of tensors that were there before, before they are written to.
    """
    watch = _Watch(caught, step, native, written)
    watch.begin()
    try:
        yield
    finally:
        watch.end()


class _Watch:
    def __init__(
        self,
        caught: Callable[[Trace], None],
        step: int,
        native: Callable[[], Any],
        written: Callable[[Tensor], None] | None,
    ) -> None:
        self._caught, self._left, self._native = caught, step, native
        self._recorder = Recorder(written=written)
        self._marks = [0, 0]
        self._real: list[tuple[Any, str, Any]] = []

    def begin(self) -> None:
        self._modes = recording(self._recorder)
        engine, tensor = torch.autograd, torch.Tensor
        self._replace(engine, "backward", lambda real: self._backward(real, _roots_of_function))
        self._replace(tensor, "backward", lambda real: self._backward(real, _roots_of_method))
        self._replace(engine, "grad", self._grad)

    def end(self) -> None:
        """Stop watching; the program goes on as if nobody had watched."""
        for owner, name, real in reversed(self._real):
            setattr(owner, name, real)
        self._real.clear()
        self._modes.close()

    def _replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        real = getattr(owner, name)
        self._real.append((owner, name, real))
        setattr(owner, name, wraps(real)(make(real)))

    def _backward(self, real: Any, roots: Callable[..., list[Tensor]]) -> Any:
        def backward(*args: Any, **kwargs: Any) -> Any:
            if self._is_asking():
                self._asked(roots(*args, **kwargs), None)
            return self._unwatched(real, args, kwargs)

        return backward

    def _grad(self, real: Any) -> Any:
        def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, *args: Any, **kwargs: Any) -> Any:
            create = kwargs.get("create_graph", len(args) > 1 and args[1])
            if self._is_asking() and not create:
                self._asked(_weighted(outputs, grad_outputs), _several(inputs))
            call = (outputs, inputs, grad_outputs, *args)
            return real(*call, **kwargs) if create else self._unwatched(real, call, kwargs)

        return grad

    def _is_asking(self) -> bool:
        """Whether it is the program that asks, and not one of these functions that calls another."""
        return bool(self._real) and not self._recorder.paused

    def _unwatched(self, real: Any, args: Any, kwargs: Any) -> Any:
        """A backward pass is not part of the program that is recorded."""
        self._recorder.paused += 1
        try:
            return real(*args, **kwargs)
        finally:
            self._recorder.paused -= 1

    def _asked(self, roots: list[Tensor], inputs: list[Tensor] | None) -> None:
        """The program asks for a gradient: of the sum of these."""
        self._left -= 1
        if self._left:
            self._forget()
            return
        out = torch.stack([root.reshape(()) for root in roots]).sum()
        names = _modules_by_name()  # the frames of the program are there now
        self.end()
        named = _sources(self._recorder, inputs, names)
        with torch.random.fork_rng(devices=[]):
            trace = begun(self._recorder, named, out)
            judged(trace, self._recorder, out, named, self._native, again=True)
        self._caught(trace)

    def _forget(self) -> None:
        """Let go of what was recorded before the last gradient but one: a loss may span two of them."""
        self._recorder.forget(self._marks.pop(0))
        self._marks = [mark - self._recorder.forgotten for mark in self._marks] + [len(self._recorder.calls)]


def _roots_of_function(tensors: Any, grad_tensors: Any = None, *rest: Any, **kwargs: Any) -> list[Tensor]:
    return _weighted(tensors, grad_tensors)


def _roots_of_method(x: Tensor, gradient: Any = None, *rest: Any, **kwargs: Any) -> list[Tensor]:
    return _weighted(x, gradient)


def _weighted(outputs: Any, weights: Any) -> list[Tensor]:
    """Numbers whose gradient is what is asked for: a vector-Jacobian product is that of a weighted sum."""
    outs = _several(outputs)
    given = [None] * len(outs) if weights is None else _several(weights)
    return [x if w is None else (x * w).sum() for x, w in zip(outs, given, strict=True)]


def _several(x: Any) -> list[Any]:
    return [x] if isinstance(x, torch.Tensor) or not isinstance(x, Sequence) else list(x)


def _sources(recorder: Recorder, inputs: list[Tensor] | None, names: dict[int, str]) -> dict[str, Tensor]:
    """What is differentiated by: what the program names, or every parameter of every module there is."""
    used = {id(x) for x in recorder.tensors.held.values()}
    parameters = _parameters(names, used)
    if inputs is not None:
        known = {id(p): name for name, p in parameters.items()}
        return {known.get(id(x), f"input{k}"): x for k, x in enumerate(inputs)}
    if any(id(p) in used for p in parameters.values()):
        return parameters
    leaves = {id(x): x for x in recorder.tensors.held.values() if x.requires_grad and x.is_leaf}
    return {names.get(k, f"leaf{n}"): x for n, (k, x) in enumerate(leaves.items())}


def _parameters(names: dict[int, str], used: set[int]) -> dict[str, Tensor]:
    """The parameters of the program's modules; with the name of the variable before if there are several.

    A module that took no part in the loss, and that no frame of the program names, is somebody else's.
    """
    modules = [x for x in gc.get_objects() if issubclass(type(x), torch.nn.Module)]
    inner = {id(child) for module in modules for child in module.children()}
    roots = [x for x in modules if id(x) not in inner and any(p.requires_grad for p in x.parameters())]
    roots = [x for x in roots if id(x) in names or any(id(p) in used for p in x.parameters())]
    found: dict[str, Tensor] = {}
    seen: set[int] = set()
    for number, module in enumerate(roots):
        prefix = f"{names.get(id(module), f'{type(module).__name__}{number}')}." if len(roots) > 1 else ""
        for name, parameter in trained(module).items():
            if id(parameter) not in seen:
                seen.add(id(parameter))
                found[prefix + name] = parameter
    return found


def _modules_by_name() -> dict[int, str]:
    """id() of modules and tensors that the program's frames name."""
    found: dict[int, str] = {}
    frame: Any = sys._getframe(1)
    while frame is not None:
        for name, x in (*frame.f_locals.items(), *frame.f_globals.items()):
            if isinstance(x, (torch.nn.Module, torch.Tensor)):
                found.setdefault(id(x), name)
        frame = frame.f_back
    return found
