"""Formulas for PyTorch's own operators that come with the backend."""

from __future__ import annotations

from typing import Any

import torch

from surrogate import FormulaError, NativeCall

POOL = "aten::max_pool2d_with_indices"


def spread(call: NativeCall, g: Any) -> Any:
    """Every element of a pooling window gets an equal share: the derivative of the mean."""
    given = call.attributes
    if set(given["dilation"]) != {1}:
        raise FormulaError(f"{POOL}:spread is for windows without dilation, not {given['dilation']}.")
    where = given["kernel_size"], given["stride"], given["padding"], given["ceil_mode"], True, None
    return torch.ops.aten.avg_pool2d_backward(g, call.inputs[0], *where)


def finite(call: NativeCall, g: Any) -> Any:
    """The root's derivative, and 0 where the root is 0."""
    root = call.outputs[0]
    return torch.where(root > 0, g / (2 * torch.where(root > 0, root, 1)), 0)


#: native name -> formulas by name.
PACK = {POOL: {"spread": spread}, "aten::sqrt": {"finite": finite}}
