"""Putting the kernels over PyTorch's own, once per process and at the first override."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch._guards import CompileContext

from surrogate import Backend
from surrogate_torch import _capture, _discrete, _foreach
from surrogate_torch._boundary import hide
from surrogate_torch._checkpoint import bind_recomputations
from surrogate_torch._consumers import Consumers
from surrogate_torch._fused import FusedWindow
from surrogate_torch._inplace import SurrogateInplace
from surrogate_torch._node import Surrogate, SurrogateUnary
from surrogate_torch._operators import bind_operators
from surrogate_torch._scope import Scope
from surrogate_torch._script import keep_autograd
from surrogate_torch._shield import shields
from surrogate_torch._spellings import SPELLINGS, UNARY

_KEY = "Autograd"
_FRONT = "FuncTorchDynamicLayerFrontMode"

#: What PyTorch calls of our nodes.
_STEPS = [
    vars(node)[step].__func__
    for node in (Surrogate, SurrogateUnary, SurrogateInplace, FusedWindow)
    for step in ("forward", "backward", "jvp")
    if step in vars(node)
]


class Installation:
    """The kernels, in place as long as this object lives: PyTorch takes them out with their library.

    Making it changes nothing. Every step of :meth:`complete` may be done again where it was interrupted.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._todo: list[tuple[Any, Any, str]] = []
        self._discrete: list[tuple[Any, Any, str]] = []
        self._library: Any = None
        self._comparing: Any = None
        self._consumers: Consumers | None = None
        self.owes_reset = False

    def complete(self) -> None:
        """Do what is left to do."""
        if not self._todo:
            self._todo = _kernels_of(Scope(self._backend))
        hide([kernel for _, kernel, _ in self._todo] + _STEPS)
        self.put_in()
        bind_recomputations(self._backend)
        bind_operators(self._backend)
        keep_autograd()
        self._forget()  # what was compiled before has no guards of ours

    def complete_discrete(self) -> None:
        """The same for the ops that give booleans and integers, and what is made of them."""
        if not self._discrete:
            self._discrete = list(_discrete.kernels(Scope(self._backend)))
        hide([kernel for _, kernel, _ in self._discrete])
        self._comparing = self._consumers = None  # what was begun before goes
        self._comparing = self._put(self._discrete)
        self._consumers = Consumers()
        self._forget()  # no guard of what was compiled before is about a comparison

    def _forget(self) -> None:
        self.owes_reset = "torch._dynamo" in sys.modules
        self.settle()

    def settle(self) -> None:
        """Make the compiler forget what it has, at once or, where it is at work, when rules change again."""
        if self.owes_reset and CompileContext.try_get() is None:
            self.owes_reset = False
            torch.compiler.reset()

    def put_in(self) -> None:
        """Put the kernels over PyTorch's."""
        self._library = None  # one that was begun before goes
        self._library = self._put(self._todo)

    def _put(self, todo: Sequence[tuple[Any, Any, str]]) -> Any:
        library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="(?s).*Overriding a previously registered kernel")
            for overload, kernel, key in todo:
                library.impl(overload.name(), kernel, key, with_keyset=True)
                overload._dispatch_cache.clear()  # a compiler that ran before has looked kernels up
        return library

    def take_out(self) -> None:
        """Take them away, to time one against the other: what they have captured keeps its rule."""
        self._library._destroy()
        for overload, _, _ in self._todo:
            overload._dispatch_cache.clear()


def _kernels_of(scope: Scope) -> list[tuple[Any, Any, str]]:
    """Overload, kernel and dispatch key of all; every native kernel is taken before ours is put over it."""
    todo: list[tuple[Any, Any, str]] = []
    for spelling in SPELLINGS:
        make = _capture.unary if spelling in UNARY else _capture.general
        targets = [(spelling.overload, make)]
        if spelling.inplace is not None:
            targets.append((spelling.inplace, _capture.inplace))
        for overload, builder in targets:
            native = torch.library.get_kernel(overload, "AutogradCPU")
            todo.append((overload, builder(spelling, native, scope), _KEY))
            front = _capture.front(overload, torch.library.get_kernel(overload, _FRONT))
            if front is not None:
                todo.append((overload, front, _FRONT))
    todo.extend(_foreach.kernels(scope))
    todo.extend(shields())
    return todo
