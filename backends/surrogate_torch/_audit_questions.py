"""Is a derivative zero everywhere? The op is asked: run alone on random numbers, through its own backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from surrogate_torch._audit_names import NOT_ASKED

Tensor = Any

#: Larger calls that are no pointwise ones are not asked.
_LARGE = 1 << 20

#: Elements that a pointwise op is asked on.
_POINTS = 96

#: Scales of the draws for other ops.
_SCALES = (1.0, 6.0, 0.1, 40.0)


#: What floats are drawn as: normal of this scale, probabilities, or (None) points of every size.
Draw = float | Literal["probability"] | None


class Answer(NamedTuple):
    """Positions of the tensor arguments by which the derivative is zero; the message where it has none."""

    zero: frozenset[int] = frozenset()
    raises: str = ""


class Probe:
    """Answers, kept for equal calls."""

    def __init__(self) -> None:
        self._known: dict[Any, Answer] = {}

    def ask(self, name: str, overload: Any, args: Any, kwargs: Any) -> Answer:
        """What the op's own derivative is like. Call it where no mode and no override is in force."""
        if name in NOT_ASKED:
            return Answer()
        flat, spec = tree_flatten((args, kwargs))
        tensors = [k for k, x in enumerate(flat) if isinstance(x, torch.Tensor)]
        floats = [k for k in tensors if flat[k].is_floating_point()]
        pointwise = torch.Tag.pointwise in overload.tags
        large = not pointwise and sum(flat[k].numel() for k in tensors) > _LARGE
        if not floats or large or any(flat[k].layout != torch.strided for k in tensors):
            return Answer()
        key = overload, *(_kind(x, len(tensors) > 1 or not pointwise) for x in flat)
        if key not in self._known:
            asked = _Asked(overload, flat, spec, tensors, floats, pointwise)
            self._known[key] = asked.answer()
        return self._known[key]


def _kind(x: Any, with_shape: bool) -> Any:
    if isinstance(x, torch.Tensor):
        return (tuple(x.shape) if with_shape else None), x.dtype
    return x if isinstance(x, (int, float, str, bool, type(None))) else repr(x)


class _Asked(NamedTuple):
    """One call to be asked: its arguments without nesting, and where tensors and floats are in them."""

    overload: Any
    flat: list[Any]
    spec: Any
    tensors: list[int]
    floats: list[int]
    pointwise: bool

    def answer(self) -> Answer:
        try:
            alive = self._asked_by((None,) if self.pointwise else _SCALES)
        except (RuntimeError, NotImplementedError) as error:
            text = str(error).partition("\n")[0]
            if "is not implemented" in text or "not differentiable" in text:
                return Answer(raises=text[:90])
            try:
                alive = self._asked_by(("probability",))  # what bernoulli takes, say
            except (RuntimeError, NotImplementedError):
                return Answer()  # it cannot be asked this way: taken as alive
        order = {k: number for number, k in enumerate(self.tensors)}
        return Answer(frozenset(order[k] for k in self.floats if k not in alive))

    def _asked_by(self, draws: Sequence[Draw]) -> set[int]:
        generator = torch.Generator().manual_seed(7)
        alive: set[int] = set()
        for draw in draws:
            alive |= self._alive(self._drawn(draw, generator), generator)
            if len(alive) == len(self.floats):
                break
        return alive

    def _drawn(self, draw: Draw, generator: torch.Generator) -> list[Any]:
        """The arguments with other numbers in them."""
        new = list(self.flat)
        for k in self.tensors:
            x = self.flat[k]
            if k in self.floats:
                y = _numbers(draw, x.shape, generator)
                device = "cpu" if x.is_meta else x.device  # of a light recording
                new[k] = y.to(device, x.dtype).requires_grad_(True)
            elif draw is None and x.dtype == torch.bool:
                new[k] = torch.arange(_POINTS, device=x.device) % 2 == 0
            else:
                new[k] = x.clone() if draw is not None else x.reshape(-1)[:1].expand(_POINTS).clone()
        return new

    def _alive(self, new: list[Any], generator: torch.Generator) -> set[int]:
        """The float arguments by which the derivative at these numbers is not all zero."""
        leaves = [new[k] for k in self.floats]
        copies = [x.clone() if k in self.floats else x for k, x in enumerate(new)]
        with torch.enable_grad():
            args, kwargs = tree_unflatten(copies, self.spec)
            out = [y for y in tree_flatten(self.overload(*args, **kwargs))[0] if _has_gradient(y)]
            if not out:
                return set()
            weights = [torch.randn(y.shape, generator=generator).to(y) for y in out]
            found = torch.autograd.grad(out, leaves, weights, allow_unused=True)
        return {k for k, g in zip(self.floats, found, strict=True) if g is not None and bool((g != 0).any())}


def _numbers(draw: Draw, shape: Any, generator: torch.Generator) -> Tensor:
    if draw is None:
        return _points(generator)
    if draw == "probability":
        return torch.rand(shape, generator=generator)
    return torch.randn(shape, generator=generator) * draw


def _points(generator: torch.Generator) -> Tensor:
    """Both signs and six decades: every side of a clip or of a threshold is met."""
    half = torch.logspace(-3, 3, _POINTS // 2)
    return torch.cat([half, -half])[torch.randperm(_POINTS, generator=generator)]


def _has_gradient(y: Any) -> bool:
    return isinstance(y, torch.Tensor) and y.requires_grad and (y.is_floating_point() or y.is_complex())
