"""Which rules an op obeys at this moment, seen from inside a kernel."""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

import torch
from torch.autograd.graph import _engine_run_backward

from surrogate import Backend, RuleSet, Site, State
from surrogate_torch._traced import in_compiled_code, site

R = TypeVar("R")

_graph_task = torch._C._current_graph_task_id
_modes = torch._C._len_torch_dispatch_stack
_ENGINE = _engine_run_backward.__code__

#: No op has a rule.
NO_RULES = RuleSet({})
#: No op.
NONE: frozenset[str] = frozenset()


class _Flags(threading.local):
    """What this thread is doing."""

    native: frozenset[str] = NONE  # the ops that code of PyTorch, or a formula, is using for itself
    caller: tuple[int, contextvars.Context | None] = (-1, None)  # an engine thread's pass, and its caller
    local = False  # inside an override that was entered in this thread
    deferred = False  # running what will run again to be recorded
    below = False  # in a torch.func layer under one that has captured, and counted, this call
    carried: tuple[Any, ...] = ()  # origins of the operands of a native op that is running
    met = False  # an op of a tensor with an origin has been seen by a kernel for such


flags = _Flags()


class _Every(frozenset[str]):
    """The set of all ops."""

    def __contains__(self, op: object) -> bool:
        return True


#: All ops.
EVERY = _Every()

#: Why a call under a rule stays native.
PYTORCHS_OWN = "called by a function of PyTorch's"


def suspended(ops: frozenset[str], function: Callable[..., R], *args: Any, **kwargs: Any) -> R:
    """``function(*args, **kwargs)`` with some ops native, or with :data:`EVERY` op.

    Every: as ``backend.exactly(None)`` does, at the price of a flag; a formula is evaluated so. Some: those
    that an op of PyTorch's uses for itself. No context manager: an interrupt may come before the first line
    of its ``__exit__``, but not between two assignments.
    """
    before = flags.native
    flags.native = ops if before is NONE or ops is EVERY else before if before is EVERY else before | ops
    try:
        return function(*args, **kwargs)
    finally:
        flags.native = before


class Scope:
    """The rules in force where an op runs."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.state = backend.store.state

    def here(self, op: str) -> State | None:
        """The state this op obeys; None for an op that is not the user's, which stays native.

        Called by kernels only, at most one frame of ours above the caller of the op.
        """
        if flags.native is not NONE and op in flags.native:
            if flags.native is not EVERY:  # a formula's
                self._not_yours(op)
            return None
        if _graph_task() == -1:
            return self.state()
        state = self._in_backward(sys._getframe(1))
        if state is None:
            self._not_yours(op)
        return state

    def _not_yours(self, op: str) -> None:
        state = self.state()
        if state.traced:
            self.missed(state, op, PYTORCHS_OWN)

    def site(self) -> Site | FrameType | None:
        """From where the op that runs is called, also in code that a compiler traces."""
        return site(self._backend)

    def missed(self, state: State, op: str, why: str) -> None:
        """Tell why an op of the user's stays native; what a compiler made of one runs without them."""
        if not in_compiled_code():
            state.missed(op, why, self.site())

    def is_idle(self) -> bool:
        """Whether an op is native and there is nothing to look at: no rule, no backward pass, no compiler."""
        return (
            flags.native is NONE and _graph_task() == -1 and self.state().rules is NO_RULES and not _modes()
        )

    def current(self) -> RuleSet:
        """The rules in force for the user's code that runs now; what a compiled frame's guard compares."""
        return self.current_state().rules

    def current_state(self) -> State:
        """What is in force for the user's code that runs now."""
        return self.state() if _graph_task() == -1 else self._around(sys._getframe(1))

    def _in_backward(self, frame: FrameType | None) -> State | None:
        """Ops that run while the engine does: a native node's own, or a hook's or recomputation's.

        A native node calls its ops from the engine, so the nearest frame that is not ours is the one
        that started the engine, or there is none on an engine thread. Hooks and recomputations are
        Python, hence nearer.
        """
        while frame is not None and frame.f_globals.get("__package__") == __package__:
            frame = frame.f_back
        if frame is None or frame.f_code is _ENGINE:
            return None
        return self._around(frame)

    def _around(self, frame: FrameType | None) -> State:
        """What the user's code sees: on a thread of the engine's, the overrides of the thread it works for.

        Such a thread did not start the engine, and has no overrides of its own unless a hook or a
        recomputation enters one. PyTorch keeps a copy of the caller's context for it, until a backward pass
        that starts on this thread has ended: so it is remembered for the rest of the pass.
        """
        while frame is not None and frame.f_code is not _ENGINE:
            frame = frame.f_back
        if frame is not None or flags.local:
            return self.state()
        if torch._C._is_key_in_tls("context"):
            flags.caller = (_graph_task(), torch._C._get_obj_in_tls("context"))
        task, context = flags.caller
        return self.state() if context is None or task != _graph_task() else context.copy().run(self.state)
