"""What a program is differentiated by, and leaving the program as it was."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import CodeType, FunctionType, MethodType
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from surrogate import SpecError
from surrogate.auditing import Wanted

Tensor = Any


def modules_in_sight(fn: Any, args: Sequence[Any]) -> dict[str, torch.nn.Module]:
    """The modules that a program can reach: itself, its arguments, what its function closes over or names.

    A module that is part of another one is not listed by itself.
    """
    found: dict[str, torch.nn.Module] = {}
    for name, x in (*_in_sight(fn), *((f"arg{k}", x) for k, x in enumerate(args))):
        if isinstance(x, torch.nn.Module) and not any(x is known for known in found.values()):
            found[name] = x
    inner = {id(child) for x in found.values() for child in x.modules() if child is not x}
    return {name: x for name, x in found.items() if id(x) not in inner}


def optimizers_in_sight(fn: Any, args: Sequence[Any]) -> list[torch.optim.Optimizer]:
    """The optimisers that a program can reach in the same way."""
    seen = [x for _, x in _in_sight(fn)]
    return [x for x in (*seen, *args) if isinstance(x, torch.optim.Optimizer)]


def _in_sight(fn: Any) -> Iterator[tuple[str, Any]]:
    """Names and values of what a function may use."""
    if isinstance(fn, torch.nn.Module):
        yield "", fn
    elif isinstance(fn, functools.partial):
        yield from _in_sight(fn.func)
        yield from ((f"arg{k}", x) for k, x in enumerate(fn.args))
        yield from fn.keywords.items()
    elif isinstance(fn, MethodType):
        yield "self", fn.__self__
        yield from vars(fn.__self__).items() if hasattr(fn.__self__, "__dict__") else ()
        yield from _in_sight(fn.__func__)
    elif isinstance(fn, FunctionType):
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
            try:
                yield name, cell.cell_contents
            except ValueError:  # not assigned yet
                continue
        for name in _names(fn.__code__):
            if name in fn.__globals__:
                yield name, fn.__globals__[name]


def _names(code: CodeType) -> Iterator[str]:
    """The global names that a function and those inside it read."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def sources(
    fn: Any, args: Sequence[Any], wrt: Any, modules: Mapping[str, torch.nn.Module]
) -> dict[str, Tensor]:
    """What to differentiate by, by name.

    Raises:
        SpecError: ``wrt`` is of no known form, or nothing in sight requires a gradient.
    """
    found = _default(args, modules) if wrt is None else _named(wrt, _default(args, modules))
    if not found:
        raise SpecError(
            "nothing in sight requires a gradient: no parameter of a module, no argument. Say with wrt= "
            "what to differentiate by."
        )
    for name, x in found.items():
        if not isinstance(x, torch.Tensor) or not x.requires_grad or not x.is_leaf:
            raise SpecError(f"wrt: {name} is no leaf tensor that requires a gradient.")
    return found


def trained(module: torch.nn.Module) -> dict[str, Tensor]:
    """The parameters of a module that require a gradient, by the names that they have uncompiled."""
    named = module.named_parameters()
    return {name.replace("_orig_mod.", ""): p for name, p in named if p.requires_grad}


def _default(args: Sequence[Any], modules: Mapping[str, torch.nn.Module]) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for prefix, module in modules.items():
        for name, parameter in trained(module).items():
            found[f"{prefix}.{name}" if prefix and len(modules) > 1 else name] = parameter
    for k, arg in enumerate(args):
        leaves = [
            x for x in tree_flatten(arg)[0] if isinstance(x, torch.Tensor) and x.requires_grad and x.is_leaf
        ]
        for number, x in enumerate(leaves):
            if not any(x is known for known in found.values()):
                found[f"arg{k}" if len(leaves) == 1 else f"arg{k}[{number}]"] = x
    return found


def _named(wrt: Any, known: Mapping[str, Tensor]) -> dict[str, Tensor]:
    if isinstance(wrt, torch.nn.Module):
        return trained(wrt)
    return Wanted(wrt).picked(known)


class Untouched(ExitStack):
    """PyTorch's random state, buffers, gradients, optimisers, and whatever is written to, as they were.

    Buffers go back at the end and between runs, after the backward pass: batch normalisation saves them.
    """

    def __init__(
        self,
        modules: Mapping[str, torch.nn.Module],
        leaves: Sequence[Tensor],
        optimizers: Sequence[torch.optim.Optimizer],
    ) -> None:
        super().__init__()
        self._optimizers = [(o, {p: dict(state) for p, state in o.state.items()}) for o in optimizers]
        buffers = {id(b): b for module in modules.values() for b in module.buffers()}
        self._saved: dict[int, tuple[Tensor, Tensor]] = {}
        for buffer in buffers.values():
            self.keep(buffer)
        parameters = [p for module in modules.values() for p in module.parameters()]
        self._gradients = [(p, p.grad) for p in {id(p): p for p in (*parameters, *leaves)}.values()]
        self._cpu = torch.get_rng_state()
        self._cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
        self.callback(self._with_gradients)
        self.callback(self.restore)  # runs first
        for p, _ in self._gradients:
            p.grad = None  # so that a backward pass of the program's own accumulates into new ones

    def keep(self, x: Tensor) -> None:
        """Remember a tensor that is about to be written to, if the program did not make it."""
        if id(x) not in self._saved:
            self._saved[id(x)] = x, x.detach().clone()

    def restore(self) -> None:
        """Put back all but the gradients."""
        torch.set_rng_state(self._cpu)
        if self._cuda:
            torch.cuda.set_rng_state_all(self._cuda)
        with torch.no_grad():
            for x, old in self._saved.values():
                x.copy_(old) if x.shape == old.shape else x.set_(old)
        for optimizer, states in self._optimizers:
            optimizer.state.clear()
            optimizer.state.update({p: dict(state) for p, state in states.items()})
        for p, _ in self._gradients:
            p.grad = None

    def _with_gradients(self) -> None:
        for p, gradient in self._gradients:
            p.grad = gradient
