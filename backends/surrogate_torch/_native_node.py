"""The autograd node of one of PyTorch's own operators under a formula."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction

from surrogate import NativeCall, NativeGradient, Values
from surrogate_torch._scope import EVERY, flags, suspended

_below_autograd = torch._C._AutoDispatchBelowAutograd
_after_autograd = torch._C._after_autograd_keyset
_in_transform = torch._C._are_functorch_transforms_active
_unpack_dual = torch._C._VariableFunctions._unpack_dual


class Operands:
    """The arguments of a call, taken apart into tensors and the rest, and put together again.

    Attributes:
        tensors: the tensors, also those in lists, in order.
        names: what the operator's schema calls them.
        attributes: every other argument by name.
    """

    __slots__ = ("_args", "_kwargs", "_overload", "attributes", "names", "tensors")

    def __init__(self, overload: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self._overload, self._args, self._kwargs = overload, args, kwargs
        self.tensors: list[Any] = []
        self.names: list[str] = []
        self.attributes: dict[str, Any] = {}
        for at, argument in enumerate(overload._schema.arguments):
            given = at < len(args)
            if not given and argument.name not in kwargs and not argument.has_default_value():
                continue
            value = args[at] if given else kwargs.get(argument.name, argument.default_value)
            if isinstance(value, torch.Tensor):
                self.tensors.append(value)
                self.names.append(argument.name)
            elif isinstance(value, list | tuple) and any(isinstance(x, torch.Tensor) for x in value):
                found = [(x, f"{argument.name}[{i}]") for i, x in enumerate(value)]
                self.tensors.extend(x for x, _ in found if isinstance(x, torch.Tensor))
                self.names.extend(name for x, name in found if isinstance(x, torch.Tensor))
            else:
                self.attributes[argument.name] = value

    def put(self, tensors: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The call's arguments with other tensors."""
        given = iter(tensors)

        def each(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                return next(given)
            return type(value)(map(each, value)) if isinstance(value, list | tuple) else value

        order = [a.name for a in self._overload._schema.arguments]
        named = sorted(self._kwargs, key=order.index)
        return [each(value) for value in self._args], {name: each(self._kwargs[name]) for name in named}

    def run(self, tensors: Sequence[Any]) -> Any:
        """The operator on other tensors, natively, from the top."""
        args, kwargs = self.put(tensors)
        return suspended(EVERY, self._overload, *args, **kwargs)


class Asked:
    """A formula asked about one call."""

    __slots__ = ("gradient", "operands")

    def __init__(self, gradient: NativeGradient, operands: Operands) -> None:
        self.gradient, self.operands = gradient, operands

    def cotangents(self, inputs: Sequence[Any], outputs: Sequence[Any], upstream: Sequence[Any]) -> Any:
        """One per input, checked."""
        formula = self.gradient.formula
        g = upstream[0] if len(upstream) == 1 else tuple(upstream)
        found = formula.cotangents(self._call(inputs, outputs), g, self.gradient.params)
        for cotangent, x, name in zip(found, inputs, self.operands.names, strict=True):
            if cotangent is not None:
                formula.check(cotangent, name, cotangent.shape, x.shape, cotangent.dtype, x.dtype)
        return found

    def tangents(self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """One per floating output."""
        formula = self.gradient.formula
        found = formula.tangent(self._call(inputs, outputs), tuple(tangents), self.gradient.params)
        return tuple(found) if isinstance(found, tuple | list) else (found,)

    def _call(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> NativeCall:
        operands = self.operands
        native = _native_vjp(operands, inputs)
        return NativeCall(Values(inputs, operands.names), Values(outputs), operands.attributes, native)


def _native_vjp(operands: Operands, inputs: Sequence[Any]) -> Callable[[Any], Any]:
    """The operator's own cotangents: it runs again, in whatever differentiates the formula."""

    def native(g: Any) -> Any:
        at = [i for i, x in enumerate(inputs) if x.is_floating_point()]
        upstream = g if isinstance(g, tuple) else (g,)

        def run(*floats: Any) -> tuple[Any, ...]:
            full = list(inputs)
            for i, x in zip(at, floats, strict=True):
                full[i] = x
            found = operands.run(full)
            results = found if isinstance(found, tuple | list) else (found,)
            return tuple(y for y in results if y.is_floating_point())

        floats = [inputs[i] for i in at]
        if _in_transform():
            _, pull = torch.func.vjp(run, *floats)
            found = pull(tuple(upstream))
        else:
            again = torch.is_grad_enabled()
            with torch.enable_grad():
                leaves = [
                    x.view_as(x) if x.requires_grad and again else x.detach().requires_grad_() for x in floats
                ]
                found = torch.autograd.grad(
                    run(*leaves), leaves, upstream, allow_unused=True, create_graph=again
                )
        full: list[Any] = [None] * len(inputs)
        for i, cotangent in zip(at, found, strict=True):
            full[i] = cotangent
        return full[0] if len(full) == 1 else tuple(full)

    return native


def _leaf(x: Any, again: bool) -> Any:
    """What the operator runs on once more: connected to ``x`` where derivatives of the formula are wanted."""
    return x.view_as(x) if again and x.requires_grad else x.detach().requires_grad_()


class Native(_SingleLevelFunction):
    """The node; applied to what is asked, how to run the operator below autograd, and its tensors."""

    @staticmethod
    def forward(ctx: Any, asked: Asked, run: Callable[[], Any], outer: Any, *tensors: Any) -> Any:
        if outer is None:
            with _below_autograd():
                found = run()
        else:
            before, flags.below = flags.below, True
            try:
                with (
                    _below_autograd(),
                    torch.set_grad_enabled(outer[0]),
                    forward_ad._set_fwd_grad_enabled(outer[1]),
                ):
                    found = run()
            finally:
                flags.below = before
        outputs = tuple(found) if isinstance(found, tuple | list) else (found,)
        ctx.asked, ctx.count = asked, len(tensors)
        ctx.floats = tuple(y.is_floating_point() for y in outputs)
        ctx.mark_non_differentiable(*(y for y, real in zip(outputs, ctx.floats, strict=True) if not real))
        ctx.save_for_backward(*tensors, *outputs)
        ctx.save_for_forward(*tensors, *outputs)
        return outputs if isinstance(found, tuple | list) else found

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> Any:
        saved = ctx.saved_tensors
        inputs, outputs = saved[: ctx.count], saved[ctx.count :]
        g = [one for one, real in zip(upstream, ctx.floats, strict=True) if real]
        found = suspended(EVERY, ctx.asked.cotangents, inputs, outputs, g)
        return (None, None, None, *found)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        nested, saved = _in_transform(), ctx.saved_tensors
        if nested:  # this level's primals: an outer level's tangents stay on them
            saved = [_unpack_dual(t, 0)[0] for t in saved]
        inputs, outputs = saved[: ctx.count], saved[ctx.count :]
        given = [torch.zeros_like(x) if t is None else t for t, x in zip(tangents[3:], inputs, strict=True)]
        with forward_ad._set_fwd_grad_enabled(nested):
            found = iter(suspended(EVERY, ctx.asked.tangents, inputs, outputs, given))
        full = tuple(next(found) if real else None for real in ctx.floats)
        return full if len(full) > 1 else full[0]

    # compiled autograd tells nodes apart by this: formulas are part of it
    @staticmethod
    def _compiled_autograd_key(ctx: Any) -> tuple[int, int]:
        return (ctx._autograd_function_id, hash(ctx.asked.gradient.digest) & ((1 << 63) - 1))
