"""What ops make of a tensor with an origin, op by op. The kernels that ask are in :mod:`_consumers`.

A handler gets a :class:`Use` and gives the op's result, with an origin if it is a boolean or integer again,
or None where the op carries nothing on: it then runs natively, and the gradient is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from surrogate_torch import _links
from surrogate_torch._origin import Origin, marked, origin_of

aten = torch.ops.aten


class Use:
    """One call of an op of which an operand has an origin.

    Attributes:
        overload, args, kwargs: the call.
        native: runs it, without origins.
    """

    __slots__ = ("args", "kwargs", "native", "overload")

    def __init__(self, overload: Any, args: Sequence[Any], kwargs: dict[str, Any], native: Callable[[], Any]):
        self.overload, self.args, self.kwargs, self.native = overload, args, kwargs, native

    def origin(self, i: int) -> Origin | None:
        """That of the i-th argument."""
        return origin_of(self.args[i]) if i < len(self.args) else None

    def again(self, *args: Any) -> Any:
        """The op with other arguments."""
        return self.overload(*args, **self.kwargs)


Handler = Callable[[Use], Any]


def twin(x: Any, dtype: Any) -> Any:
    """A tensor as a float: in the graph if it has an origin."""
    origin = origin_of(x)
    if origin is None:
        return x
    return _cast(origin.number(), dtype) + x.detach().to(dtype)


def _cast(handle: Any, dtype: Any) -> Any:
    return handle if handle.dtype == dtype else handle.to(dtype)


def cast(use: Use) -> Any:
    """``b.float()``, ``b.to(device)``, ``b.long()``."""
    origin, found = use.origin(0), use.native()
    assert origin is not None
    if found.is_floating_point():
        return _cast(origin.number().to(found.device), found.dtype) + found
    if found.is_complex():
        return None
    if found.dtype is torch.bool:
        return marked(found, Origin(origin.number().to(found.device)))
    return marked(found, Origin(origin.handle.to(found.device), origin.one_hot))


def arithmetic(use: Use) -> Any:
    """With a float: as the twin's. Of integers: as the same on floats."""
    x, y = use.args[0], use.args[1]
    dtype = torch.result_type(x, y)
    if use.overload in _DIVISIONS and not dtype.is_floating_point:
        dtype = torch.get_default_dtype()
    if dtype.is_floating_point:
        return use.again(twin(x, dtype), twin(y, dtype), *use.args[2:])
    if dtype.is_complex:
        return None
    integer = _INTEGER.get(use.overload)
    if integer is None:
        return None
    handle = integer(use)
    found = use.native()
    return None if handle is None else marked(found, Origin(handle.expand(found.shape)))


def _handle_of(x: Any) -> Any:
    origin = origin_of(x)
    return None if origin is None else origin.number()


def _value(x: Any, like: Any) -> Any:
    """A number or a tensor as a factor of a handle."""
    x = x.detach() if isinstance(x, torch.Tensor) else torch.tensor(x)
    return x.to(like.device, like.dtype)


def _sum(parts: Sequence[Any]) -> Any:
    left = [part for part in parts if part is not None]
    return left[0] if len(left) == 1 else left[0] + left[1]


def _signed(first: float, second: float) -> Callable[[Use], Any]:
    """``first * x + second * y * alpha``."""

    def handle(use: Use) -> Any:
        alpha = use.kwargs.get("alpha", use.args[2] if len(use.args) > 2 else 1)
        factors = (first, second * alpha) if second * first > 0 or first > 0 else (first * alpha, second)
        parts = []
        for x, factor in zip(use.args, factors, strict=False):
            found = _handle_of(x)
            parts.append(
                found if found is None or factor == 1 else _links.scaled(found, _value(factor, found))
            )
        return _sum(parts)

    return handle


def _product(use: Use) -> Any:
    x, y = use.args[:2]
    a, b = _handle_of(x), _handle_of(y)
    return _sum(
        [
            None if a is None else _links.scaled(a, _value(y, a)),
            None if b is None else _links.scaled(b, _value(x, b)),
        ]
    )


def _quotient(use: Use) -> Any:
    """``x // c``: as ``x / c``."""
    handle = _handle_of(use.args[0])
    if handle is None or _handle_of(use.args[1]) is not None:
        return None
    return _links.scaled(handle, 1 / _value(use.args[1], handle))


def _remainder(use: Use) -> Any:
    """``x % c``: as ``x``."""
    return None if _handle_of(use.args[1]) is not None else _handle_of(use.args[0])


_DIVISIONS = (aten.div.Tensor, aten.div.Scalar, aten.div_.Tensor, aten.div_.Scalar)
_INTEGER: dict[Any, Callable[[Use], Any]] = {
    aten.add.Tensor: _signed(1, 1),
    aten.add.Scalar: _signed(1, 1),
    aten.sub.Tensor: _signed(1, -1),
    aten.sub.Scalar: _signed(1, -1),
    aten.rsub.Tensor: _signed(-1, 1),
    aten.rsub.Scalar: _signed(-1, 1),
    aten.mul.Tensor: _product,
    aten.mul.Scalar: _product,
    aten.floor_divide.default: _quotient,
    aten.floor_divide.Scalar: _quotient,
    aten.remainder.Tensor: _remainder,
    aten.remainder.Scalar: _remainder,
}


def negative(use: Use) -> Any:
    """``-i``."""
    origin = use.origin(0)
    assert origin is not None
    handle = origin.number()
    return marked(use.native(), Origin(_links.scaled(handle, _value(-1, handle))))


def _logic(by_x: Callable[[Any], Any]) -> Handler:
    """An op of two booleans; ``by_x(y)`` is the derivative of its multilinear extension by x."""

    def handler(use: Use) -> Any:
        x, y = use.args[:2]
        if any(isinstance(v, torch.Tensor) and v.dtype is not torch.bool for v in (x, y)):
            return None
        parts = []
        for one, other in ((x, y), (y, x)):
            handle = _handle_of(one)
            parts.append(None if handle is None else _links.scaled(handle, by_x(_value(other, handle))))
        found = use.native()
        handle = _sum(parts).expand(found.shape)
        return marked(found, Origin(handle))

    return handler


logical_and = _logic(lambda y: y)
logical_or = _logic(lambda y: 1 - y)
logical_xor = _logic(lambda y: 1 - 2 * y)


def logical_not(use: Use) -> Any:
    """``~b``; of integers nothing is known."""
    return negative(use) if use.args[0].dtype is torch.bool else None


def _reduced(handle: Any, dims: Any, keepdim: bool) -> Any:
    dims = [dims] if isinstance(dims, int) else list(dims or range(handle.dim()))
    return handle.sum(dims, keepdim) if dims else handle


def _dims(use: Use) -> tuple[Any, bool]:
    named = {argument.name: i for i, argument in enumerate(use.overload._schema.arguments)}

    def given(name: str, default: Any) -> Any:
        i = named.get(name)
        if i is None:
            return default
        return use.args[i] if i < len(use.args) else use.kwargs.get(name, default)

    return given("dim", None), given("keepdim", False)


def total(use: Use) -> Any:
    """``b.sum()``, an integer; with a float dtype as the twin's."""
    origin, dtype = use.origin(0), use.kwargs.get("dtype")
    assert origin is not None
    if dtype is not None and dtype.is_floating_point:
        return use.again(twin(use.args[0], dtype), *use.args[1:])
    dims, keepdim = _dims(use)
    return marked(use.native(), Origin(_reduced(origin.number(), dims, keepdim)))


def count(use: Use) -> Any:
    """``count_nonzero`` of booleans."""
    return total(use) if use.args[0].dtype is torch.bool else None


def average(use: Use) -> Any:
    """``b.mean(dtype=...)``."""
    dtype = use.kwargs.get("dtype")
    return None if dtype is None else use.again(twin(use.args[0], dtype), *use.args[1:])


def _every(use: Use, against: bool) -> Any:
    """``all``, or ``any`` as the ``all`` of what is not: by one, the product over the others."""
    x, origin = use.args[0], use.origin(0)
    assert origin is not None
    if x.dtype is not torch.bool:
        return None
    dims, keepdim = _dims(use)
    value = x.detach()
    stops = value if against else ~value
    dims = [dims] if isinstance(dims, int) else list(dims or range(x.dim()))
    stopping = stops.sum(dims, True) if dims else stops.long()
    others = (stopping == 0) | ((stopping == 1) & stops)
    handle = _links.scaled(origin.number(), others)
    return marked(use.native(), Origin(_reduced(handle, dims, keepdim)))


def every(use: Use) -> Any:
    """``all``."""
    return _every(use, against=False)


def some(use: Use) -> Any:
    """``any``."""
    return _every(use, against=True)


def select(use: Use) -> Any:
    """``where(b, u, v)``: ``u - v`` by b; u and v keep theirs."""
    b, u, v = use.args
    origin, found = origin_of(b), None
    if not torch.result_type(u, v).is_floating_point:
        return _select_integers(use)
    dtype = torch.result_type(u, v)
    found = use.again(b.detach(), twin(u, dtype), twin(v, dtype))
    return found if origin is None else found + _links.scaled(_cast(origin.number(), dtype), u - v)


def _select_integers(use: Use) -> Any:
    b, u, v = use.args
    origin, found = origin_of(b), use.native()
    parts = []
    if origin is not None:
        handle = origin.number()
        parts.append(_links.scaled(handle, _value(u, handle) - _value(v, handle)))
    for value, here in ((u, b.detach()), (v, ~b.detach())):
        handle = _handle_of(value)
        if handle is not None:
            parts.append(_links.scaled(handle, here))
    handle = parts[0]
    for part in parts[1:]:
        handle = handle + part
    return marked(found, Origin(handle.expand(found.shape)))


def fill(use: Use) -> Any:
    """``masked_fill(x, b, value)``: ``value - x`` by b."""
    x, b, value = use.args
    origin = origin_of(b)
    if origin is None or not x.is_floating_point():
        return None
    value = torch.as_tensor(value, dtype=x.dtype, device=x.device)
    found = aten.masked_fill.Tensor(x, b.detach(), value)
    return found + _links.scaled(_cast(origin.number(), x.dtype), value - x)


def fill_in_place(use: Use) -> Any:
    """``masked_fill_``."""
    found = fill(use)
    return None if found is None else _write(use.args[0], found)


def _write(x: Any, found: Any) -> Any:
    return x.copy_(found)


def put(use: Use) -> Any:
    """``x[b] = number``, also of a constant tensor."""
    x, indices, values = use.args[:3]
    accumulate = use.args[3] if len(use.args) > 3 else use.kwargs.get("accumulate", False)
    b = indices[0] if len(indices) == 1 else None
    if (
        b is None
        or b.dtype is not torch.bool
        or accumulate
        or values.numel() != 1
        or not x.is_floating_point()
    ):
        return None
    origin = origin_of(b)
    assert origin is not None
    mask, handle = b.detach(), _cast(origin.number(), x.dtype)
    for _ in range(x.dim() - b.dim()):
        mask, handle = mask.unsqueeze(-1), handle.unsqueeze(-1)
    value = values.reshape(()).to(x.dtype)
    found = aten.masked_fill.Tensor(x, mask, value) + _links.scaled(handle, value - x)
    return _write(x, found) if use.overload is aten.index_put_.default else found


def copied(use: Use) -> Any:
    """``x.copy_(b)``, as in ``x[0] = b``."""
    x, b = use.args[:2]
    if not x.is_floating_point() or origin_of(b) is None:
        return None
    return use.again(x, twin(b, x.dtype), *use.args[2:])


def carried(use: Use) -> Any:
    """An op that moves elements: the handle is moved too."""
    rest, origin = use.args[1:], use.origin(0)
    if origin is None:
        return indexed(use) if use.overload in _INDEXED else None
    if any(origin_of(one) is not None for one in _flat(rest)):
        return None
    kwargs = {key: value for key, value in use.kwargs.items() if key != "dtype"}
    found = use.native()
    made = origin.made(lambda handle: use.overload(handle, *rest, **kwargs))
    if isinstance(found, torch.Tensor):
        return marked(found, made)
    return [marked(part, one) for part, one in zip(found, made, strict=True)]


def _flat(args: Sequence[Any]) -> list[Any]:
    return [x for arg in args for x in (arg if isinstance(arg, list | tuple) else (arg,))]


def joined(use: Use) -> Any:
    """``cat``, ``stack``: parts without an origin add nothing."""
    parts, rest = use.args[0], use.args[1:]
    found = use.native()
    if found.is_floating_point():
        return use.again([twin(part, found.dtype) for part in parts], *rest)
    origins = [origin_of(part) for part in parts]
    dtype = next(origin.handle.dtype for origin in origins if origin is not None)
    handles = [
        _links.zeros(part.detach(), part.shape, dtype) if origin is None else _cast(origin.number(), dtype)
        for part, origin in zip(parts, origins, strict=True)
    ]
    return marked(found, Origin(use.again(handles, *rest)))


def one_hot(use: Use) -> Any:
    """``one_hot(i, n)`` of an index along an axis."""
    origin, found = use.origin(0), use.native()
    if origin is None or not origin.one_hot:
        return None
    handle, n = origin.handle, found.shape[-1]
    if handle.shape[-1] != n:
        handle = torch.nn.functional.pad(handle, (0, n - handle.shape[-1]))
    return marked(found, Origin(handle))


def is_class(use: Use) -> Any:
    """``i == k`` of an index along an axis: whether the class is k."""
    i, k = use.args[:2]
    if origin_of(i) is None:
        i, k = k, i
    origin = origin_of(i)
    if origin is None or not origin.one_hot or (isinstance(k, torch.Tensor) and origin_of(k) is not None):
        return None
    found, n = use.native(), origin.handle.shape[-1]
    k = torch.as_tensor(k, device=i.device).detach()
    entry = k.unsqueeze(-1) == torch.arange(n, device=i.device)
    return marked(found, Origin(_links.chosen(origin.handle, entry).expand(found.shape)))


def indexed(use: Use) -> Any:
    """``table[i]``, ``x[n, i]``: the gradient by class j is that of ``table[j]``."""
    table, indices = use.args[:2]
    at = [n for n, index in enumerate(indices) if index is not None and origin_of(index) is not None]
    if len(at) != 1 or not table.is_floating_point():
        return None
    (p,), origin = at, origin_of(indices[at[0]])
    given = [n for n, index in enumerate(indices) if index is not None]
    if origin is None or not origin.one_hot:
        return None
    if len(given) == 1:
        found, n = use.native(), origin.handle.dim() - 1
        added = _links.contracted(origin.handle, table.movedim(p, 0))
        return found + added.movedim(list(range(n)), list(range(p, p + n)))
    if len(given) != table.dim():
        return None
    others = [index.detach() for n, index in enumerate(indices) if n != p]
    rows = table.movedim(p, -1)[tuple(others)]
    return use.native() + _links.chosen(origin.handle, rows)


def embedded(use: Use) -> Any:
    """``embedding(weight, i)``."""
    weight, i = use.args[:2]
    origin = origin_of(i)
    if origin is None or not origin.one_hot:
        return None
    return use.native() + _links.contracted(origin.handle, weight)


def selected(use: Use) -> Any:
    """``index_select(x, dim, i)``; or the selection of a tensor with an origin."""
    x, dim, i = use.args[:3]
    origin = origin_of(i)
    if origin is None:
        return carried(use)
    if not origin.one_hot or not x.is_floating_point() or i.dim() != 1:
        return None
    return use.native() + _links.contracted(origin.handle, x.movedim(dim, 0)).movedim(0, dim)


def gathered(use: Use) -> Any:
    """``gather(x, dim, i)``."""
    x, dim, i = use.args[:3]
    origin = origin_of(i)
    if origin is None:
        return carried(use)
    if not origin.one_hot or not x.is_floating_point() or not x.dim():
        return None
    dim %= x.dim()
    for other in range(x.dim()):
        if other != dim:
            x = x.narrow(other, 0, i.shape[other])
    return use.native() + _links.chosen(origin.handle, x.movedim(dim, -1).unsqueeze(dim))


_INDEXED = (aten.index.Tensor,)
