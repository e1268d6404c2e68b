"""Kernels of ours one on top of another: of an operator and dispatch key, PyTorch is given one function.

Where a mode is active, as while it compiles, PyTorch looks a Python kernel up by operator and key and knows
the newest only: one that lies below it and is called would be the newest again, without end.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Any, NamedTuple

import torch
from torch._guards import CompileContext

from surrogate_torch._boundary import hide

Kernel = Callable[..., Any]
AUTOGRAD = "Autograd"
#: Above the layers of ``torch.func``.
FRONT = "FuncTorchDynamicLayerFrontMode"


class Rank(IntEnum):
    """What a kernel does, from the lowest to the topmost."""

    SHIELD = 0  # keeps ops native that PyTorch uses for itself
    RULE = 1  # looks for the rule of an op of the catalogue
    ORIGIN = 2  # carries the origin of booleans and integers on
    NATIVE = 3  # looks for the rule of an operator by its own name


class Layer(NamedTuple):
    """One kernel to be put over an operator's own.

    Attributes:
        overload, key: where.
        rank: above and below which others.
        make: the kernel, given what it passes on to; that has ``call_boxed(keys, *args, **kwargs)``.
    """

    overload: Any
    key: str
    rank: Rank
    make: Callable[[Any], Kernel]


class Below:
    """A kernel of ours as what another one passes on to."""

    __slots__ = ("call_boxed",)

    def __init__(self, kernel: Kernel) -> None:
        self.call_boxed = kernel


class _Stack:
    """An operator's own kernel, and those of ours over it."""

    def __init__(self, overload: Any, key: str) -> None:
        self.own = torch.library.get_kernel(overload, "AutogradCPU" if key == AUTOGRAD else key)
        self.makers: dict[Rank, Callable[[Any], Kernel]] = {}

    def kernel(self) -> Kernel:
        """The topmost."""
        below: Any = self.own
        for rank in sorted(self.makers):
            kernel = self.makers[rank](below)
            hide([kernel])
            below = Below(kernel)
        return kernel


#: Whether code that the compiler keeps has no guard of an operator that has a kernel of ours by now.
_unguarded = False
_stacks: dict[tuple[Any, str], _Stack] = {}


def forget_compiled() -> None:
    """Have code that was compiled before compiled again; once the compiler is done, if it is at work."""
    global _unguarded
    if "torch._dynamo" in sys.modules:
        _unguarded = CompileContext.try_get() is not None
        if not _unguarded:
            torch.compiler.reset()


def is_unguarded() -> bool:
    """Whether :func:`forget_compiled` is still to be done."""
    return _unguarded and CompileContext.try_get() is None


def put(layers: Iterable[Layer]) -> list[Any]:
    """Put kernels in; they stay as long as the libraries that are returned."""
    libraries: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*Overriding a previously registered kernel")
        for overload, key, rank, make in layers:
            if (overload, key) not in _stacks:
                _stacks[overload, key] = _Stack(overload, key)
            stack, space = _stacks[overload, key], overload.namespace
            stack.makers[rank] = make
            if space not in libraries:
                libraries[space] = torch.library.Library(space, "IMPL")
            libraries[space].impl(overload.name(), stack.kernel(), key, with_keyset=True)
            overload._dispatch_cache.clear()  # a compiler that ran before has looked kernels up
    return list(libraries.values())


def take_out(layers: Iterable[Layer], libraries: Iterable[Any]) -> None:
    """Take kernels out again that were put in last, and are in these libraries."""
    for library in libraries:
        library._destroy()
    for overload, key, rank, _ in layers:
        _stacks[overload, key].makers.pop(rank, None)
        overload._dispatch_cache.clear()
