"""Ops that change their tensor, such as ``nn.ReLU(inplace=True)``, in memory that is there already.

For rules that keep no input. Otherwise, and where a transform or compiler looks on, the op is run beside the
tensor and its result copied into it, which takes two tensors more and twice the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from surrogate import Kind, Rule
from surrogate_torch._node import Capture, Node, save_best, vjp_best
from surrogate_torch._plain import in_forward_mode, is_plain, no_modes
from surrogate_torch._scope import EVERY, suspended

_below_autograd = torch._C._AutoDispatchBelowAutograd


def is_simple(x: Any, rule: Rule, inputs: Sequence[Any], needs: tuple[bool, ...]) -> bool:
    """Whether the node below is for this call: of a tensor that is no leaf and no view, and of numbers."""
    return (
        rule.kept(needs) is not Kind.INPUTS
        and not any(isinstance(other, torch.Tensor) for other in inputs[1:])
        and not in_forward_mode()
        and no_modes()
        and is_plain(x)
        and not x.is_leaf
        and not x._is_view()
    )


class SurrogateInplace(Node):
    """A node for an op that changes its first input; applied to a :class:`Capture` and that tensor."""

    @staticmethod
    def forward(ctx: Any, capture: Capture, x: Any) -> Any:
        ctx.rule, ctx.needs = capture.rule, capture.needs
        with _below_autograd():
            saved = save_best(capture.rule, capture.inputs, capture.needs)
            capture.forward()
        ctx.mark_dirty(x)
        ctx.save_for_backward(*saved)
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        saved = ctx.saved_tensors
        return None, suspended(EVERY, vjp_best, ctx.rule, saved, g, ctx.needs)[0]
