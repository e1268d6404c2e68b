"""The kernels of ops that turn floats into booleans and integers: they leave an origin with the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch

from surrogate import Rule
from surrogate_torch import _capture, _forward, _links
from surrogate_torch._layers import AUTOGRAD, FRONT, Layer, Rank
from surrogate_torch._learned import inputs_of
from surrogate_torch._node import Capture
from surrogate_torch._origins import Origin, marked, prepare
from surrogate_torch._scope import Scope, flags
from surrogate_torch._spellings import DISCRETE, Args, Call, Kwargs

aten = torch.ops.aten

_COMPARISONS = {
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "equal": "eq",
    "not_equal": "ne",
}


class Handle(Capture):
    """A call whose node's value is the handle of its result, and not the result.

    Attributes:
        shape: the handle's.
    """

    __slots__ = ("shape",)

    def __init__(self, rule: Rule, inputs: Sequence[Any], needs: tuple[bool, ...], shape: Sequence[int]):
        super().__init__(None, None, (), {}, False, rule, inputs, needs)
        self.shape = shape

    def forward(self) -> Any:
        floating = [x for x in self.tensors() if x.is_floating_point()]
        dtype = floating[0].dtype
        for x in floating[1:]:
            dtype = torch.promote_types(dtype, x.dtype)
        return _links.zeros(floating[0], self.shape, dtype)


def layers(scope: Scope) -> Iterator[Layer]:
    """The kernels over what gives booleans and integers."""
    for overload, read, finish in _spellings():
        yield Layer(overload, AUTOGRAD, Rank.RULE, partial(_kernel, overload, read, finish, scope))
        yield _on_top(overload, read, scope)
    for overload, read in _COMPOSED.items():
        yield _on_top(overload, read, scope)


def _on_top(overload: Any, read: Callable[[Args, Kwargs], Any], scope: Scope) -> Layer:
    """A kernel above torch.func's layers: what becomes of a result below them is seen there only."""

    def make(native: Any) -> Callable[..., Any]:
        kernel = _capture.mapping(overload, read, scope, _capture.fronting(overload, native))

        def prepared(keys: Any, *args: Any, **kwargs: Any) -> Any:
            if not DISCRETE.isdisjoint(scope.state().rules):
                prepare()
            return kernel(keys, *args, **kwargs)

        return prepared

    return Layer(overload, FRONT, Rank.RULE, make)


#: ``finish(call, gradient, needs, found, learned)``: the origin of a result that was found natively.
Finish = Callable[[Any, Any, tuple[bool, ...], Any, Any], Origin]


def _kernel(
    overload: Any,
    read: Callable[[Args, Kwargs], Any],
    finish: Finish,
    scope: Scope,
    native: Any,
) -> Callable[..., Any]:
    pass_on = _capture.PassOn("", overload, native)
    is_idle, run = scope.is_idle, pass_on.run

    def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
        if is_idle():
            return run(keys, args, kwargs)
        call = read(args, kwargs)
        if call is None:
            return run(keys, args, kwargs)
        state, gradient = _capture.look_up(call.op, scope)
        if state is None or gradient is None:
            return run(keys, args, kwargs)
        learned = inputs_of(gradient.rule, ()) if gradient.rule.learned else ()
        needs = _capture.needs_of((*call.inputs, *learned))
        if not needs:
            _capture.not_now(state, call, scope)
            return run(keys, args, kwargs)
        _capture.count_once(state, call.op, scope)
        before, flags.below = flags.below, True
        try:
            found = _forward.value(overload, args, kwargs)
            if found is None:
                found = run(keys, args, kwargs)
        finally:
            flags.below = before
        return marked(found, finish(call, gradient, needs, found, learned))

    return kernel


def _elementwise(call: Call, gradient: Any, needs: tuple[bool, ...], found: Any, learned: Any) -> Origin:
    return Origin(_capture.apply(Handle(gradient.rule, (*call.inputs, *learned), needs, found.shape)))


class _Along(Call):
    """An argmax or argmin: ``dim`` and ``keepdim``."""

    dim: int | None = None
    keepdim: bool = False


def _index(call: Any, gradient: Any, needs: tuple[bool, ...], found: Any, learned: Any) -> Origin:
    (x,) = call.inputs
    flat = call.dim is None
    if flat:
        x = x.reshape(-1)
    dim = 0 if flat else call.dim
    handle = _capture.apply(Handle(gradient.at(axis=dim), (x,), needs, x.shape))
    if x.dim():
        handle = handle.movedim(dim, -1)
    handle = handle.reshape(
        *([1] * found.dim() if flat else handle.shape[:-1]), handle.shape[-1] if x.dim() else 1
    )
    if call.keepdim and not flat:
        handle = handle.unsqueeze(dim if dim >= 0 else dim - 1)
    return Origin(handle, one_hot=True)


def _to(what: str) -> Finish:
    def finish(call: Call, gradient: Any, needs: tuple[bool, ...], found: Any, learned: Any) -> Origin:
        return Origin(
            _capture.apply(Handle(gradient.at(to=what), (*call.inputs, *learned), needs, found.shape)).to(
                found.device
            )
        )

    return finish


def _cast(call: Call, gradient: Any, needs: tuple[bool, ...], found: Any, learned: Any) -> Origin:
    return _to("bool" if found.dtype is torch.bool else "integer")(call, gradient, needs, found, learned)


def _sorted(call: Any, gradient: Any, needs: tuple[bool, ...], found: Any, learned: Any) -> Origin:
    x, boundaries = call.inputs
    if not isinstance(x, torch.Tensor):
        x = torch.as_tensor(x, dtype=boundaries.dtype, device=boundaries.device)
    rule = gradient.at(side="right") if call.right else gradient.rule
    return Origin(_capture.apply(Handle(rule, (x, boundaries), needs, found.shape)))


class _Boundaries(Call):
    right = False


def _read_comparison(op: str) -> Callable[[Args, Kwargs], Call | None]:
    return lambda args, kwargs: Call(op, tuple(args[:2]))


def _read_index(op: str) -> Callable[[Args, Kwargs], Any]:
    def read(args: Args, kwargs: Kwargs) -> Any:
        x, dim, keepdim = (*args, None, False)[:3] if len(args) < 3 else args
        call = _Along(op, (x,))
        call.dim, call.keepdim = dim, bool(keepdim)
        return call

    return read


def _read_cast(args: Args, kwargs: Kwargs) -> Call | None:
    x, dtype = args[0], kwargs.get("dtype")
    if dtype is None or dtype.is_floating_point or dtype.is_complex or not x.is_floating_point():
        return None
    return Call("astype", (x,))


def _read_sorted(first: str) -> Callable[[Args, Kwargs], Any]:
    """``bucketize(x, boundaries)`` and ``searchsorted(boundaries, x)``."""

    def read(args: Args, kwargs: Kwargs) -> Any:
        x, boundaries = args[:2] if first == "x" else (args[1], args[0])
        if kwargs.get("sorter") is not None:
            return None
        call = _Boundaries("searchsorted", (x, boundaries))
        call.right = bool(kwargs.get("right")) or kwargs.get("side") == "right"
        return call

    return read


def _spellings() -> Iterator[tuple[Any, Callable[[Args, Kwargs], Any], Finish]]:
    for op, name in _COMPARISONS.items():
        packet = getattr(aten, name)
        for overload in (packet.Tensor, packet.Scalar):
            yield overload, _read_comparison(op), _elementwise
    for op in ("argmax", "argmin"):
        yield getattr(aten, op).default, _read_index(op), _index
    yield aten._to_copy.default, _read_cast, _cast
    for overload in (aten.bucketize.Tensor, aten.bucketize.Scalar):
        yield overload, _read_sorted("x"), _sorted
    for overload in (aten.searchsorted.Tensor, aten.searchsorted.Scalar):
        yield overload, _read_sorted("boundaries"), _sorted


def _read_to(args: Args, kwargs: Kwargs) -> Call | None:
    return Call("astype", (args[0],)) if args[0].is_floating_point() else None


#: What torch.func takes apart into those ops below its layers.
_COMPOSED = {
    getattr(getattr(aten, packet), overload): read
    for packet, read, overloads in (
        ("to", _read_to, ("dtype", "dtype_layout", "device", "other")),
        *(
            (name, _read_comparison(name), ("Tensor", "Scalar"))
            for name in ("greater", "greater_equal", "less", "less_equal", "not_equal")
        ),
    )
    for overload in overloads
}
