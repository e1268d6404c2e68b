"""The audit's recorder for PyTorch: a program once forward and once backward, as plain data."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from surrogate.auditing import (
    Call,
    NothingReturnedError,
    Nudge,
    Trace,
    came_back,
    first_asked,
    nudged,
    same_random_state,
    untracked,
)
from surrogate_torch._audit_leaks import Leaks, functions_as_one_op
from surrogate_torch._audit_numbers import note_passing, size_of, span_of
from surrogate_torch._audit_questions import Probe
from surrogate_torch._audit_recorder import Recorder
from surrogate_torch._audit_sources import Untouched, modules_in_sight, optimizers_in_sight, sources
from surrogate_torch._node import Node

Tensor = Any
Function = Callable[..., Any]


class Audited:
    """A program with its arguments, ready to run as often as the audit asks.

    Args:
        native: a context in which no override is in force, for questions to ops.
        light: hold no tensor that the program would let go.
    """

    def __init__(
        self,
        fn: Function,
        args: Sequence[Any],
        loss: Function | None,
        wrt: Any,
        native: Callable[[], Any],
        *,
        light: bool = False,
    ) -> None:
        self.fn, self.args, self.loss, self._native, self._light = fn, args, loss, native, light
        self.modules = modules_in_sight(fn, args)
        self.sources = sources(fn, args, wrt, self.modules)
        self._names = {
            id(child): ".".join(part for part in (prefix, name) if part)
            for prefix, module in self.modules.items()
            for name, child in module.named_modules()
        }

    def trace(self) -> Trace:
        """Forward, backward, and what left for Python."""
        with same_random_state() as restore, self._untouched() as untouched:

            def again(nudge: Nudge | None) -> float:
                untouched.restore()
                restore()
                return _number(self._forward(untouched, nudge)[1])

            def changed(names: frozenset[str], factor: float) -> Trace:
                untouched.restore()
                restore()
                with torch.no_grad():
                    for name in names:
                        x = self.sources[name]
                        untouched.keep(x)
                        x.copy_(_nudged(x) * factor)
                recorder, out = self._forward(untouched, None)
                return begun(recorder, self.sources, out)

            recorder, out = self._forward(untouched, None)
            trace = begun(recorder, self.sources, out)
            with _Failing(lambda: trace):
                judged(trace, recorder, out, self.sources, self._native, again=False)
            came_back(trace, _number(out), again)
            untracked(trace, changed)
            return trace

    def asked(self, intercept: Callable[..., Any]) -> Trace:
        """The first gradient that the program asks for."""
        with same_random_state(), self._untouched() as untouched:
            return first_asked(
                lambda caught: intercept(caught, written=untouched.keep), lambda: self.fn(*self.args)
            )

    def _untouched(self) -> Untouched:
        return Untouched(self.modules, [*self.sources.values()], optimizers_in_sight(self.fn, self.args))

    def _forward(self, untouched: Untouched, nudge: Nudge | None) -> tuple[Recorder, Tensor]:
        recorder = Recorder(nudge, untouched.keep, self._names, light=self._light)
        with (
            _Failing(lambda: begun(recorder, self.sources, None)),
            recording(recorder),
            torch.enable_grad(),
        ):
            out = self.fn(*self.args)
            return recorder, scalar(out if self.loss is None else self.loss(out))


class _Failing:
    """An error of the program takes with it what was recorded until then."""

    def __init__(self, trace: Callable[[], Trace]) -> None:
        self._trace = trace

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, Exception) and not isinstance(error, NothingReturnedError):
            error.surrogate_trace = self._trace()  # type: ignore[attr-defined]


def recording(recorder: Recorder) -> ExitStack:
    """Everything that a recording needs in force; compiled code runs eagerly and stays compiled."""
    stack = ExitStack()
    compiler = "torch._dynamo" in sys.modules
    stack.enter_context(torch.compiler.set_stance("force_eager") if compiler else nullcontext())
    stack.enter_context(functions_as_one_op(recorder))
    stack.enter_context(Leaks(recorder))
    stack.enter_context(recorder)
    return stack


def scalar(out: Any) -> Tensor:
    """The loss: the output if it is one number, else a fixed random projection of its float tensors.

    A plain sum of a softmax, or of a normalisation, has no gradient.
    """
    if isinstance(out, torch.Tensor) and out.numel() == 1:
        return out.reshape(())
    tensors = [x for x in tree_flatten(out)[0] if isinstance(x, torch.Tensor)]
    if not tensors:
        raise NothingReturnedError
    generator = torch.Generator().manual_seed(0)
    total = torch.zeros(())
    for x in [x for x in tensors if x.is_floating_point()] or [x.float() for x in tensors]:
        total = total + (x * torch.randn(x.shape, generator=generator).to(x)).sum().to(total.device)
    return total


def begun(recorder: Recorder, named: dict[str, Tensor], out: Tensor | None) -> Trace:
    """A trace of what was recorded, without what a backward pass tells."""
    loss = None if out is None else recorder.tensors.used(out)
    recorder.tensors.settle()
    calls = recorder.seen()
    for call in calls:
        call.live_out = [recorder.tensors.state[vid][0] for vid in call.outs]
    return Trace("torch", calls, recorder.tensors.known, _ids(recorder, named), loss)


def _ids(recorder: Recorder, named: dict[str, Tensor]) -> dict[int, str]:
    """Ids of the sources; a negative one for a source that was not met.

    A parameter that is written to has several: it was initialised before, or is updated after it was used.
    The source is the first one that something live is made of.
    """
    made = {vid for vid, (_, node) in recorder.tensors.state.items() if node is not None}
    used = {i for call in recorder.calls if not made.isdisjoint(call.outs) for i in call.ins}
    names = {id(x): name for name, x in named.items()}
    found: dict[str, int] = {}
    for vid, x in recorder.tensors.held.items():
        name = names.get(id(x))
        if name is not None and recorder.tensors.state[vid] == (True, None) and found.get(name) not in used:
            found[name] = vid
    return {found.get(name, -1 - number): name for number, name in enumerate(named)}


def judged(
    trace: Trace,
    recorder: Recorder,
    out: Tensor,
    named: dict[str, Tensor],
    native: Callable[[], Any],
    *,
    again: bool,
) -> None:
    """Add what the ops' own derivatives and a backward pass tell.

    Args:
        again: whether the program itself will go backwards later.
    """
    _ask(trace, recorder, native)
    hooks = _listening(trace, recorder)
    gradients: Sequence[Tensor | None] = [None] * len(named)
    try:
        if out.requires_grad and not out.is_leaf:
            gradients = torch.autograd.grad(
                out, list(named.values()), torch.ones_like(out), allow_unused=True, retain_graph=again
            )
    except (RuntimeError, NotImplementedError):
        if not any(call.raises for call in trace.calls):  # else the op that raises is the finding
            raise
    finally:
        for hook in hooks:
            hook.remove()
    for (name, x), gradient in zip(named.items(), gradients, strict=True):
        trace.grads[name] = size_of(gradient, x)


def _ask(trace: Trace, recorder: Recorder, native: Callable[[], Any]) -> None:
    """Ask every call that something live goes through what its derivative is like."""
    probe, live = Probe(), set(trace.sources)
    for call in trace.calls:
        if live.isdisjoint(call.ins) or not call.live_out:
            continue
        rule = _rule(recorder, call)
        if rule is not None:
            call.rule = rule
        elif any(call.live_out) and id(call) in recorder.given:
            with native():
                call.zero_in, call.raises = probe.ask(call.name, *recorder.given[id(call)])
        live.update(vid for vid, ok in zip(call.outs, call.live_out, strict=True) if ok)


def _rule(recorder: Recorder, call: Call) -> str | None:
    """Id of the gradient that an override gave this call: its node carries it."""
    node: Any = recorder.tensors.state[call.outs[0]][1] if call.outs else None
    ours = issubclass(getattr(type(node), "_forward_cls", type(node)), Node)
    return str(node.rule.id) if ours else None


def _listening(trace: Trace, recorder: Recorder) -> list[Any]:
    """Hooks on the autograd nodes, which note the cotangents."""
    hooks, seen = [], set[int]()
    for call in trace.calls:
        for vid in call.outs:
            node = recorder.tensors.state[vid][1]
            if node is not None and vid not in seen:
                seen.add(vid)
                hooks.append(node.register_hook(functools.partial(_arrived, call)))
                break
    return hooks


def _arrived(call: Call, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor | None]) -> None:
    """A node has turned the cotangents of its outputs into those of its inputs."""
    arrived = next((x for x in outputs if x is not None), None)
    if arrived is not None:
        call.g_out = span_of(arrived)
        call.g_in = [span_of(x) for x in inputs]
        note_passing(call, arrived, inputs[0] if inputs else None)


def _nudged(x: Tensor) -> Tensor:
    return x * nudged(1.0) if x.dtype.is_complex else x * 1.01 + 0.003


def _number(out: Tensor) -> float:
    return float(out.detach().real)
