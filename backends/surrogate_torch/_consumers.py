"""Kernels on the ops that take part in what becomes of a comparison.

They lie on a dispatch key that only a :class:`Discrete` tensor's ops pass, so that all others pay nothing.
Where no such tensor can be, in a compiler and in ``torch.func``, they are put on the Autograd key for the
time being.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._guards import TracingContext

from surrogate_torch import _capture, _carried, _origins
from surrogate_torch._boundary import hide
from surrogate_torch._carried import Handler, Use
from surrogate_torch._layers import AUTOGRAD, FRONT, Layer, Rank, put, take_out
from surrogate_torch._links import KEY
from surrogate_torch._origins import origin_of
from surrogate_torch._scope import flags

aten = torch.ops.aten

_functorch = torch._C._functorch
_tracing = TracingContext.try_get
_excluding = torch._C._ExcludeDispatchKeyGuard
_KEYS = torch._C.DispatchKeySet(torch._C._parse_dispatch_key(KEY))
#: The alias does not reach ops without a derivative of their own.
_COMPOSITE_KEYS = ("AutogradCPU", "AutogradCUDA", "AutogradMPS", "AutogradXPU", "AutogradMeta")


def _table() -> dict[Any, Handler]:
    """Overload -> what it makes of an origin."""
    named: dict[Handler, str] = {
        _carried.arithmetic: "add.Tensor add.Scalar sub.Tensor sub.Scalar rsub.Tensor rsub.Scalar mul.Tensor "
        "mul.Scalar div.Tensor div.Scalar add_.Tensor sub_.Tensor mul_.Tensor div_.Tensor pow.Tensor_Tensor "
        "floor_divide.default floor_divide.Scalar remainder.Tensor remainder.Scalar maximum.default "
        "minimum.default",
        _carried.negative: "neg.default",
        _carried.logical_not: "logical_not.default bitwise_not.default",
        _carried.logical_and: "logical_and.default bitwise_and.Tensor bitwise_and.Scalar __and__.Tensor",
        _carried.logical_or: "logical_or.default bitwise_or.Tensor bitwise_or.Scalar __or__.Tensor",
        _carried.logical_xor: "logical_xor.default bitwise_xor.Tensor bitwise_xor.Scalar __xor__.Tensor",
        _carried.every: "all.default all.dim all.dims",
        _carried.some: "any.default any.dim any.dims",
        _carried.total: "sum.default sum.dim_IntList",
        _carried.count: "count_nonzero.default count_nonzero.dim_IntList",
        _carried.average: "mean.default mean.dim",
        _carried.select: "where.self",
        _carried.fill: "masked_fill.Scalar masked_fill.Tensor",
        _carried.fill_in_place: "masked_fill_.Scalar masked_fill_.Tensor",
        _carried.put: "index_put.default index_put_.default",
        _carried.copied: "copy_.default",
        _carried.joined: "cat.default stack.default",
        _carried.is_class: "eq.Scalar eq.Tensor",
        _carried.one_hot: "one_hot.default",
        _carried.embedded: "embedding.default",
        _carried.selected: "index_select.default",
        _carried.gathered: "gather.default",
        _carried.taken: "take_along_dim.default",
        _carried.carried: "view.default _unsafe_view.default _reshape_alias.default permute.default "
        "t.default transpose.int squeeze.default squeeze.dim squeeze.dims unsqueeze.default expand.default "
        "select.int slice.Tensor index.Tensor split.Tensor split_with_sizes.default unbind.int clone.default "
        "alias.default flip.default roll.default repeat.default diagonal.default tril.default triu.default "
        "unfold.default constant_pad_nd.default cumsum.default as_strided.default",
        _carried.cast: "_to_copy.default",
    }
    found = {}
    for handler, names in named.items():
        for name in names.split():
            packet, _, overload = name.partition(".")
            found[getattr(getattr(aten, packet), overload)] = handler
    return found


def _has_origin(args: Sequence[Any]) -> bool:
    for arg in args:
        if isinstance(arg, torch.Tensor):
            if origin_of(arg) is not None:
                return True
        elif isinstance(arg, list | tuple) and _has_origin(arg):
            return True
    return False


def _without(arg: Any) -> Any:
    """An argument without origins."""
    if isinstance(arg, torch.Tensor):
        return arg.detach() if origin_of(arg) is not None else arg
    return [_without(one) for one in arg] if isinstance(arg, list | tuple) else arg


def _eager(overload: Any, handler: Handler) -> Callable[..., Any]:
    """The kernel on the key of :class:`Discrete`."""

    def native(args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        with _excluding(_KEYS):
            return overload(*map(_without, args), **kwargs)

    def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
        if _has_origin(args) and torch.is_grad_enabled():
            found = handler(Use(overload, args, kwargs, native))
            if found is not None:
                flags.met = True
                return found
            if overload in with_formulas:
                with _excluding(_KEYS):
                    return overload(*args, **kwargs)  # a formula may take the gradient on
        return native(args, kwargs)

    return kernel


def _traced(overload: Any, handler: Handler, native: Any) -> Callable[..., Any]:
    """The kernel on the Autograd key."""
    pass_on = _capture.PassOn("", overload, native)

    def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
        if _has_origin(args):
            found = handler(Use(overload, args, kwargs, functools.partial(pass_on.run, keys)))
            if found is not None:
                return found
        return pass_on.run(keys, args, kwargs)

    return kernel


#: The handlers by overload.
HANDLERS = _table()
#: The overloads that have had a formula.
with_formulas: set[Any] = set()


class Consumers:
    """The kernels, in place as long as this object lives.

    Those on the Autograd key cost every op something: they are there while a compiler traces under a rule,
    and from a transform of ``torch.func`` on until no rule for such an op is in force.
    """

    def __init__(self) -> None:
        self._fallback = torch.library.Library("_", "IMPL")
        self._fallback.fallback(torch.library.fallthrough_kernel, KEY)
        self._library = torch.library.Library("aten", "IMPL")
        for overload, handler in HANDLERS.items():
            kernel = _eager(overload, handler)
            hide([kernel])
            self._library.impl(overload.name(), kernel, KEY, with_keyset=True)
        hide([vars(_origins.Discrete)["__torch_function__"].__func__])
        self._lock = threading.Lock()
        self._todo: list[Layer] = []
        self._attributes: Any = None
        self._compiling = False
        _origins.on_attribute[:] = [self.put_in]

        for overload in _OURS:
            _capture.handlers[overload] = HANDLERS[overload]

    def put_in(self) -> None:
        """Put them on the Autograd key, where they are not."""
        if not self._compiling and _tracing() is not None and "torch._dynamo" in sys.modules:
            self._compiling = True
            callbacks = torch._dynamo.callback.callback_handler
            if self._compiled not in callbacks.end_callbacks:  # a reset of the compiler forgets them
                callbacks.register_end_callback(self._compiled)
        if self._attributes is not None:
            return
        with self._lock:
            if self._attributes is None:
                self._todo = list(_on_autograd())
                self._attributes = put(self._todo)

    def _compiled(self, event: Any) -> None:
        """No compiler is at work any more."""
        self._compiling = False
        self.take_out()

    def take_out(self) -> None:
        """Take them from the Autograd key, unless somebody needs them there."""
        if self._attributes is None or self._compiling or _origins.on_attributes:
            return
        with self._lock:
            libraries, self._attributes = self._attributes or [], None
            take_out(self._todo, libraries)


#: Ops of the catalogue on whose kernels this relies.
USED = frozenset({"floor_divide", "mod", "maximum", "minimum"})
#: Overloads whose Autograd kernel is one of the rules' own, which asks by itself.
_OURS = (
    aten.floor_divide.default,
    aten.floor_divide.Scalar,
    aten.remainder.Tensor,
    aten.remainder.Scalar,
    aten.maximum.default,
    aten.minimum.default,
    aten._to_copy.default,
    aten.eq.Scalar,
    aten.eq.Tensor,
)


#: Ops without a derivative of their own.
_COMPOSED = (aten.one_hot.default, aten.take_along_dim.default)


def _is_mapped(weight: Any, i: Any) -> bool:
    """Whether a transform maps both, and the index has an origin below."""
    if not (_functorch.is_batchedtensor(weight) and _functorch.is_batchedtensor(i)):
        return False
    while _functorch.is_functorch_wrapped_tensor(i):
        i = _functorch.get_unwrapped(i)
        if origin_of(i) is not None:
            return True
    return False


def _looking_up(native: Any) -> Callable[..., Any]:
    """Above torch.func's layers: ``embedding`` of a mapped table as ``table[i]``: it numbers rows anew."""

    def kernel(keys: Any, weight: Any, i: Any, padding_idx: int = -1, *how: bool) -> Any:
        if padding_idx == -1 and not any(how) and _is_mapped(weight, i):
            return aten.index.Tensor(weight, [i])
        return native.call_boxed(keys, weight, i, padding_idx, *how)

    return kernel


def _on_autograd() -> Iterator[Layer]:
    for overload, handler in HANDLERS.items():
        if overload in _OURS:
            continue
        for key in _COMPOSITE_KEYS if overload in _COMPOSED else (AUTOGRAD,):
            yield Layer(overload, key, Rank.ORIGIN, functools.partial(_traced, overload, handler))
        if overload is aten.embedding.default:
            yield Layer(overload, FRONT, Rank.ORIGIN, _looking_up)
        else:
            yield from _capture.front(overload, Rank.ORIGIN)
