"""The autograd node that carries a rule: native forward, our derivative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd.function import _SingleLevelFunction

from surrogate import Kind, Rule
from surrogate_torch import _forward, _namespace as xp, _parameter, _program, _select
from surrogate_torch._blocks import LARGE, by_blocks
from surrogate_torch._layouts import at_entries, is_dense
from surrogate_torch._learned import a_level_below
from surrogate_torch._modes import in_forward, in_grad
from surrogate_torch._plain import is_large, sees_ops
from surrogate_torch._scope import EVERY, flags, suspended
from surrogate_torch._together import value_and_mask

_below_autograd = torch._C._AutoDispatchBelowAutograd
_after_autograd = torch._C._after_autograd_keyset
_in_transform = torch._C._are_functorch_transforms_active
_is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor
_unpack_dual = torch._C._VariableFunctions._unpack_dual


class Capture:
    """One op call that gets a rule: how to run it, and what its derivative needs.

    Attributes:
        overload, keys, args, kwargs: the native call.
        boxed: whether no number stands in a Tensor slot, so that ``overload`` may be redispatched.
        rule: the rule.
        inputs: the op's inputs: tensors and Python numbers.
        needs: which of them want a derivative.
    """

    __slots__ = ("args", "boxed", "inputs", "keys", "kwargs", "needs", "overload", "rule")

    def __init__(
        self,
        overload: Any,
        keys: Any,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        boxed: bool,
        rule: Rule,
        inputs: Sequence[Any],
        needs: tuple[bool, ...],
    ) -> None:
        self.overload = overload
        self.keys = keys
        self.args = args
        self.kwargs = kwargs
        self.boxed = boxed
        self.rule = rule
        self.inputs = inputs
        self.needs = needs

    def tensors(self) -> list[Any]:
        """The inputs that are tensors, in order."""
        return [x for x in self.inputs if isinstance(x, torch.Tensor)]

    def forward(self) -> Any:
        """The op's native value, below autograd."""
        if self.boxed:
            found = _forward.value(self.overload, self.args, self.kwargs)
            if found is not None:
                return found
            return self.overload.redispatch(self.keys & _after_autograd, *self.args, **self.kwargs)
        return self.overload(*self.args, **self.kwargs)


_INTEGER = (1 << 63) - 1


class Node(_SingleLevelFunction):
    """What all nodes have in common. ``ctx.rule`` is the rule."""

    # torch.compile's compiled autograd tells nodes apart by this: rules are part of it
    @staticmethod
    def _compiled_autograd_key(ctx: Any) -> tuple[int, int]:
        return (ctx._autograd_function_id, hash(ctx.rule.digest) & _INTEGER)


class Surrogate(Node):
    """A node for any op; applied to a :class:`Capture` and its tensors."""

    @staticmethod
    def forward(ctx: Any, capture: Capture, outer: tuple[bool, bool] | None, *tensors: Any) -> Any:
        """``outer``: the grad modes to restore for outer transforms; None outside torch.func."""
        rule, inputs, needs = capture.rule, capture.inputs, capture.needs
        if outer is None:
            with _below_autograd():
                y = capture.forward()
                above = any(map(sees_ops, inputs))
                saved = () if above else _save(rule, inputs, needs, y.dtype)
        else:
            above = True
            grad, forward = outer
            before, flags.below = flags.below, True
            try:
                with _below_autograd():
                    y = a_level_below(rule, inputs, in_grad, grad, in_forward, forward, capture.forward)
            finally:
                flags.below = before
        if above:
            saved = suspended(EVERY, _save, rule, inputs, needs, y.dtype)
        if _parameter.read:
            y = suspended(EVERY, _parameter.tied, y)
        ctx.rule, ctx.needs, ctx.dtype, ctx.shape = rule, needs, y.dtype, y.shape
        ctx.operands = [(x.shape, x.dtype) if isinstance(x, torch.Tensor) else None for x in inputs]
        ctx.numbers = [None if isinstance(value, torch.Tensor) else value for value in saved]
        kept = [value for value in saved if isinstance(value, torch.Tensor)]
        ctx.save_for_backward(*kept)
        ctx.save_for_forward(*kept)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        saved = ctx.saved_tensors  # may run a checkpoint's recomputation, which is the user's
        return None, None, *suspended(EVERY, _cotangents, ctx, saved, g)

    @staticmethod
    def jvp(ctx: Any, _capture: None, _outer: None, *tangents: Any) -> Any:
        nested = _in_transform()
        saved = ctx.saved_tensors
        if nested:  # this level's primals: an outer level's tangents stay on them
            saved = [_unpack_dual(t, 0)[0] if _is_wrapped(t) else t for t in saved]  # a parameter is not
        return suspended(EVERY, in_forward, nested, _tangent, ctx, saved, tangents)


class SurrogateUnary(Node):
    """A node for an op of one tensor outside torch.func: the short way."""

    @staticmethod
    def forward(ctx: Any, overload: Any, keys: Any, rule: Rule, x: Any) -> Any:
        ctx.rule = rule
        saved: Sequence[Any] | None
        with _below_autograd():
            small = type(x) is torch.Tensor and x.numel() < LARGE
            both = None if small else value_and_mask(overload, rule, x)
            if both is not None:
                y, saved = both[0], both[1:]
            else:
                y = overload.redispatch(keys & _after_autograd, x)
                saved = rule.save(xp, (x,), _ONE) if small else None
        if saved is None:
            if sees_ops(x):
                saved = suspended(EVERY, save_best, rule, (x,), _ONE)
            else:
                with _below_autograd():
                    saved = save_best(rule, (x,), _ONE)
        if _parameter.read:
            y = suspended(EVERY, _parameter.tied, y)
        if saved:
            ctx.save_for_backward(*saved)
            ctx.save_for_forward(*saved)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        saved, before = ctx.saved_tensors, flags.native
        flags.native = EVERY  # suspended(), written out: it is a tenth of a small op's backward
        try:
            rule = ctx.rule
            small = g.layout is torch.strided and not is_large(g, _select.LARGE)
            found = rule.vjp(xp, saved, g, _ONE) if small else vjp_best(rule, saved, g, _ONE)
            return None, None, None, found[0]
        finally:
            flags.native = before

    @staticmethod
    def jvp(ctx: Any, _overload: None, _keys: None, _rule: None, tangent: Any) -> Any:
        return suspended(EVERY, in_forward, False, ctx.rule.jvp, xp, ctx.saved_tensors, (tangent,), _ONE)


_ONE = (True,)


def _cotangents(ctx: Any, saved: Sequence[Any], g: Any) -> list[Any]:
    """One for each operand that is a tensor."""
    found = vjp_best(ctx.rule, _restore(ctx, saved), g, ctx.needs)
    return [
        None if c is None else _to_operand(c, *operand)
        for c, operand in zip(found, ctx.operands, strict=True)
        if operand is not None
    ]


def _tangent(ctx: Any, saved: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The output's tangent, in its shape."""
    given = iter(tangents)
    aligned = [None if operand is None else _cast(next(given), ctx.dtype) for operand in ctx.operands]
    tangent = ctx.rule.jvp(xp, _restore(ctx, saved), aligned, ctx.needs)
    if tangent is None:
        like = next(t for t in aligned if t is not None)
        return like.new_zeros(ctx.shape)
    return tangent if tangent.shape == ctx.shape else tangent.expand(ctx.shape).clone()


def _save(rule: Rule, inputs: Sequence[Any], needs: tuple[bool, ...], dtype: Any) -> Sequence[Any]:
    """What the rule keeps. The inputs themselves are kept as they are, so that they stay in the graph."""
    if rule.kept(needs) is Kind.INPUTS:
        return rule.save(xp, inputs, needs)
    return save_best(rule, [_cast(x, dtype) for x in inputs], needs)


def save_best(rule: Rule, inputs: Sequence[Any], needs: tuple[bool, ...]) -> Sequence[Any]:
    """:meth:`Rule.save`; masks are made by blocks, and packed for a compiler."""
    if rule.kept(needs) is not Kind.MASK:
        return rule.save(xp, inputs, needs)
    if not rule.elementwise:
        return _select.packed(rule.save(xp, inputs, needs))
    return _select.packed(by_blocks(lambda part: rule.save(xp, part, needs), inputs))


def vjp_best(rule: Rule, saved: Sequence[Any], g: Any, needs: tuple[bool, ...]) -> Sequence[Any]:
    """:meth:`Rule.vjp`: at a sparse gradient's entries; by blocks where it is several passes over memory."""
    found: Sequence[Any]
    if not is_dense(g):
        if not rule.forward_mode or not rule.elementwise or g.layout is not torch.sparse_coo:
            return rule.vjp(xp, saved, g.to_dense(), needs)
        return at_entries(lambda values, g: rule.vjp(xp, values, g, needs), saved, g)
    if rule.kept(needs) is Kind.CONSTANT or rule.selects(needs) or not rule.elementwise:
        found = rule.vjp(xp, saved, g, needs)
    elif (programmed := _program.vjp(rule, saved, g, needs)) is not None:
        return programmed
    else:
        found = by_blocks(lambda part: rule.vjp(xp, part[:-1], part[-1], needs), [*saved, g])
    return [_select.owned(c, g) for c in found]


def _restore(ctx: Any, tensors: Sequence[Any]) -> list[Any]:
    """What the rule kept, with inputs in the output's dtype."""
    left = iter(tensors)
    saved = [next(left) if number is None else number for number in ctx.numbers]
    if ctx.rule.kept(ctx.needs) is Kind.MASK:
        return saved
    return [_cast_up(value, ctx.dtype) for value in saved]


def _cast_up(x: Any, dtype: Any) -> Any:
    """An input in the output's dtype; what is wider is a parameter, and stays as it is."""
    return x if isinstance(x, torch.Tensor) and x.dtype.itemsize > dtype.itemsize else _cast(x, dtype)


def _cast(x: Any, dtype: Any) -> Any:
    return x.to(dtype) if isinstance(x, torch.Tensor) and x.dtype != dtype else x


def _to_operand(c: Any, shape: Any, dtype: Any) -> Any:
    """A cotangent of the output's shape and dtype as an operand's: undo broadcasting and promotion."""
    if c.shape != shape:
        c = (c if is_dense(c) else c.to_dense()).sum_to_size(shape)
    return _cast(c, dtype)
