"""Parameters with a shape, and learned ones, where ``torch.func.vmap`` maps an op.

PyTorch hands the op on with the mapped axis where it happens to be, and a parameter's shape would meet the
wrong axes. Here, while the op is still called as the user wrote it, that axis is put in front of all others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from surrogate import Rule
from surrogate_torch._learned import inputs_of, standing, tensors_of

_functorch = torch._C._functorch


def call(
    rule: Rule, inputs: Sequence[Any], function: Callable[..., Any], args: Sequence[Any], kwargs: Any
) -> Any:
    """``function(*args, **kwargs)``, of an op under this rule that the innermost transform maps.

    Raises:
        ParameterError: a parameter's shape does not broadcast to the inputs' as the user sees them.
    """
    rule.check(inputs)
    level = _functorch.current_level()
    learned = tensors_of(rule, inputs_of(rule, ()))
    mapped = [x for x in (*args, *learned.values()) if _is_mapped(x, level)]
    if not mapped:
        return function(*args, **kwargs)
    size = _value(mapped[0]).shape[0]
    if not any(_is_mapped(x, level) for x in args):  # of parameters alone; the value has the axis too
        first = next(i for i, x in enumerate(args) if isinstance(x, torch.Tensor))
        whole = args[first].expand(size, *args[first].shape)
        args = [*args[:first], _functorch._add_batch_dim(whole, 0, level), *args[first + 1 :]]
    else:
        args = [_functorch._add_batch_dim(_value(x), 0, level) if _is_mapped(x, level) else x for x in args]
    rank = max(x.ndim for x in args if isinstance(x, torch.Tensor))
    below = {
        handle: _aligned(_value(x), rank) if _is_mapped(x, level) else x for handle, x in learned.items()
    }
    return standing(below, function, *args, **kwargs)


def is_mapping() -> bool:
    """Whether the innermost transform is ``vmap``."""
    top = _functorch.peek_interpreter_stack()
    return top is not None and top.key() == _functorch.TransformType.Vmap


def _is_mapped(x: Any, level: int) -> bool:
    return (
        isinstance(x, torch.Tensor)
        and _functorch.is_batchedtensor(x)
        and _functorch.maybe_get_level(x) == level
    )


def _value(x: Any) -> Any:
    """What a mapped tensor is made of, the mapped axis in front."""
    return _functorch.get_unwrapped(x).movedim(_functorch.maybe_get_bdim(x), 0)


def _aligned(x: Any, rank: int) -> Any:
    """With as many axes between the mapped one and its own as it takes to broadcast as it did without."""
    return x.reshape(x.shape[0], *(1,) * (rank + 1 - x.ndim), *x.shape[1:])
