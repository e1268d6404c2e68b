"""The autograd node of one of PyTorch's own operators under a formula."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction

from surrogate import NativeCall, NativeGradient, Values
from surrogate_torch._origins import origin_of
from surrogate_torch._scope import EVERY, flags, suspended

_below_autograd = torch._C._AutoDispatchBelowAutograd
_after_autograd = torch._C._after_autograd_keyset
_in_transform = torch._C._are_functorch_transforms_active
_functorch = torch._C._functorch
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

    def call(self) -> tuple[list[Any], dict[str, Any]]:
        """The arguments as they are."""
        return list(self._args), self._kwargs

    def apart(self) -> tuple[list[Any], Operands]:
        """Of each tensor the handle of its origin, None where it has none; and the operands without."""
        origins = [origin_of(x) for x in self.tensors]
        plain = [x if o is None else x.detach() for x, o in zip(self.tensors, origins, strict=True)]
        return [None if o is None else o.number() for o in origins], Operands(
            self._overload, *self.put(plain)
        )

    def run(self, tensors: Sequence[Any]) -> Any:
        """The operator on other tensors, natively, from the top."""
        args, kwargs = self.put(tensors)
        return suspended(EVERY, self._overload, *args, **kwargs)


class Asked:
    """A formula asked about one call.

    Attributes:
        gradient, operands: the formula, and what it is about.
        handles: of each tensor the handle of its origin, None where it has none. See :mod:`_origins`.
    """

    __slots__ = ("gradient", "handles", "operands")

    def __init__(self, gradient: NativeGradient, operands: Operands, handles: Sequence[Any]) -> None:
        self.gradient, self.operands, self.handles = gradient, operands, tuple(handles)

    def given(self) -> list[Any]:
        """What the node is applied to: the tensors, and handles after them."""
        return [*self.operands.tensors, *(handle for handle in self.handles if handle is not None)]

    def cotangents(
        self, inputs: Sequence[Any], outputs: Sequence[Any], upstream: Sequence[Any], needs: Sequence[bool]
    ) -> list[Any]:
        """One per input and one per handle, checked."""
        formula = self.gradient.formula
        g = upstream[0] if len(upstream) == 1 else tuple(upstream)
        wanted = [need or h is not None for need, h in zip(needs, self.handles, strict=True)]
        found = formula.cotangents(self._call(inputs, outputs, wanted), g, self.gradient.params)
        of_inputs: list[Any] = []
        of_handles: list[Any] = []
        for cotangent, x, handle, name in zip(found, inputs, self.handles, self.operands.names, strict=True):
            real = x.is_floating_point() or x.is_complex()
            if cotangent is not None:
                dtype = x.dtype if real else cotangent.dtype
                formula.check(cotangent, name, cotangent.shape, x.shape, cotangent.dtype, dtype)
            of_inputs.append(cotangent if real else None)
            if handle is not None:
                of_handles.append(None if cotangent is None else cotangent.to(handle.dtype))
        return of_inputs + of_handles

    def tangents(self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """One per floating output, from those of the inputs and of the handles."""
        formula, of_handles = self.gradient.formula, iter(tangents[len(inputs) :])
        full = [t if h is None else next(of_handles) for t, h in zip(tangents, self.handles, strict=False)]
        wanted = [x.is_floating_point() or h is not None for x, h in zip(inputs, self.handles, strict=True)]
        found = formula.tangent(self._call(inputs, outputs, wanted), tuple(full), self.gradient.params)
        return tuple(found) if isinstance(found, tuple | list) else (found,)

    def _call(self, inputs: Sequence[Any], outputs: Sequence[Any], wanted: Sequence[bool]) -> NativeCall:
        operands = self.operands
        return NativeCall(
            Values(inputs, operands.names),
            Values(outputs),
            operands.attributes,
            _native_vjp(operands, inputs),
            transposed=partial(_transposed, inputs, [y for y in outputs if y.is_floating_point()]),
            wanted=wanted,
        )


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
        if _in_transform() and not _in_rule.on:
            _, pull = torch.func.vjp(run, *floats)
            found = pull(tuple(upstream))
        else:
            again = _is_recorded((*floats, *upstream))
            with torch.enable_grad():
                leaves = [x.view_as(x) if x.requires_grad and again else _leaf(x) for x in floats]
                found = torch.autograd.grad(
                    run(*leaves), leaves, upstream, allow_unused=True, create_graph=again
                )
        full: list[Any] = [None] * len(inputs)
        for i, cotangent in zip(at, found, strict=True):
            full[i] = cotangent
        return full[0] if len(full) == 1 else tuple(full)

    return native


class _InRule(threading.local):
    """Whether a node's ``jvp`` runs in this thread: ``torch.func`` cannot be entered there."""

    on = False


_in_rule = _InRule()


def _is_recorded(tensors: Sequence[Any]) -> bool:
    """Whether what is made of these may be differentiated: an outer transform does not say."""
    return torch.is_grad_enabled() and (_in_transform() or any(x.requires_grad for x in tensors))


def _leaf(x: Any) -> Any:
    """A leaf of autograd's, also inside of a transform."""
    before = _functorch.get_inplace_requires_grad_allowed()
    try:
        _functorch.set_inplace_requires_grad_allowed(True)
        return x.detach().requires_grad_()
    finally:
        _functorch.set_inplace_requires_grad_allowed(before)


def _transposed(
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    pull: Callable[[Any], Sequence[Any]],
    tangents: Sequence[Any],
) -> Any:
    """The tangents of the outputs, from cotangents that are linear in the upstream gradient."""

    def run(*upstream: Any) -> tuple[Any, ...]:
        found = pull(upstream[0] if len(upstream) == 1 else upstream)
        pairs = zip(found, tangents, strict=True)
        return tuple((c * t).sum() for c, t in pairs if c is not None and t.is_floating_point())

    again = _is_recorded((*inputs, *tangents))
    with torch.enable_grad():
        leaves = [_leaf(torch.zeros_like(y)) for y in outputs]
        return torch.autograd.grad(sum(run(*leaves)), leaves, create_graph=again, materialize_grads=True)


class Native(_SingleLevelFunction):
    """The node; applied to what is asked, how to run the operator below autograd, its tensors and handles."""

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
        ctx.asked, ctx.count = asked, len(asked.operands.tensors)
        tensors = tensors[: ctx.count]
        ctx.floats = tuple(y.is_floating_point() for y in outputs)
        ctx.mark_non_differentiable(*(y for y, real in zip(outputs, ctx.floats, strict=True) if not real))
        ctx.save_for_backward(*tensors, *outputs)
        ctx.save_for_forward(*tensors, *outputs)
        return outputs if isinstance(found, tuple | list) else found

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> Any:
        saved = ctx.saved_tensors
        if not _in_transform():  # the pull of torch.func.vjp may run after its transform
            saved = [_functorch.unwrap_if_dead(x) for x in saved]
        inputs, outputs = saved[: ctx.count], saved[ctx.count :]
        g = [one for one, real in zip(upstream, ctx.floats, strict=True) if real]
        needs = ctx.needs_input_grad[3 : 3 + ctx.count]
        found = suspended(EVERY, ctx.asked.cotangents, inputs, outputs, g, needs)
        return (None, None, None, *found)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        nested, saved = _in_transform(), ctx.saved_tensors
        if nested:  # this level's primals: an outer level's tangents stay on them
            saved = [_unpack_dual(t, 0)[0] for t in saved]
        inputs, outputs = saved[: ctx.count], saved[ctx.count :]
        like = [*inputs, *(h for h in ctx.asked.handles if h is not None)]
        given = [torch.zeros_like(x) if t is None else t for t, x in zip(tangents[3:], like, strict=True)]
        before, _in_rule.on = _in_rule.on, True
        try:
            with forward_ad._set_fwd_grad_enabled(nested):
                found = iter(suspended(EVERY, ctx.asked.tangents, inputs, outputs, given))
        finally:
            _in_rule.on = before
        full = tuple(next(found) if real else None for real in ctx.floats)
        return full if len(full) > 1 else full[0]

    # compiled autograd tells nodes apart by this: formulas are part of it
    @staticmethod
    def _compiled_autograd_key(ctx: Any) -> tuple[int, int]:
        return (ctx._autograd_function_id, hash(ctx.asked.gradient.digest) & ((1 << 63) - 1))
