"""What ops make of a tensor with an origin, op by op. The kernels that ask are in :mod:`_consumers`.

A handler gets a :class:`Use` and gives the op's result, with an origin if it is a boolean or integer again,
or None where the op carries nothing on: it then runs natively, and the gradient is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._guards import TracingContext

from surrogate_torch import _links
from surrogate_torch._origins import Discrete, Origin, marked, origin_of, quick_cast
from surrogate_torch._plain import in_forward_mode
from surrogate_torch._scope import flags

aten = torch.ops.aten
_tracing = TracingContext.try_get


class Use:
    """One call of an op of which an operand has an origin.

    Attributes:
        overload, args, kwargs: the call.
    """

    __slots__ = ("_native", "args", "kwargs", "overload")

    def __init__(
        self,
        overload: Any,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        native: Callable[[Sequence[Any], dict[str, Any]], Any],
    ) -> None:
        self.overload, self.args, self.kwargs, self._native = overload, args, kwargs, native

    def native(self, *args: Any) -> Any:
        """The result as PyTorch gives it, of these arguments or its own.

        Its forward derivative may run the op again, on tangents beside the same booleans.
        """
        return self._carried(self._native, args or self.args, self.kwargs)

    def plainly(self, f: Callable[..., Any], *more: Any) -> Any:
        """``f`` of the first argument as a tensor without an origin."""
        return self._carried(_links.past, f, self.args[0].detach(), *more)

    def _carried(self, f: Callable[..., Any], *args: Any) -> Any:
        """``f(*args)``, to which the arguments have no origin."""
        before = flags.carried
        flags.carried = (*before, *(o for x in _flat(self.args) if (o := origin_of(x)) is not None))
        try:
            return f(*args)
        finally:
            flags.carried = before

    def origin(self, i: int) -> Origin | None:
        """That of the i-th argument."""
        return origin_of(self.args[i]) if i < len(self.args) else None

    def again(self, *args: Any) -> Any:
        """The op with other arguments, none of which has an origin."""
        return _links.past(self.overload, *args, **self.kwargs)


Handler = Callable[[Use], Any]


def twin(x: Any, dtype: Any) -> Any:
    """A tensor with an origin as the float that it is, in the graph; anything else as it is."""
    if origin_of(x) is None:
        return x
    quick = quick_cast(x, dtype) if type(x) is Discrete else None
    return x.to(dtype) if quick is None else quick


def _cast(handle: Any, dtype: Any) -> Any:
    return handle if handle.dtype == dtype else handle.to(dtype)


def cast(use: Use) -> Any:
    """``b.float()``, ``b.to(device)``, ``b.long()``."""
    origin, found = use.origin(0), use.native()
    assert origin is not None
    if found.is_floating_point():
        return _links.plus(found, _cast(origin.number().to(found.device), found.dtype))
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
    x_origin = origin_of(x)
    if integer is _remainder and x_origin is not None and _is_itself(x_origin, y):
        return marked(use.native(), Origin(x_origin.handle, one_hot=True))  # torch.take_along_dim wraps so
    handle = integer(use)
    found = use.native()
    return None if handle is None else marked(found, Origin(handle.expand(found.shape)))


def _handle_of(x: Any) -> Any:
    origin = origin_of(x)
    return None if origin is None else origin.number()


def _value(x: Any, like: Any) -> Any:
    """A number or a tensor as a factor of a handle; in the graph, for a second derivative."""
    x = x if isinstance(x, torch.Tensor) else torch.tensor(x)
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


def _is_itself(origin: Origin, n: Any) -> bool:
    """Whether ``i % n`` is the index ``i`` itself."""
    return origin.one_hot and isinstance(n, int) and n >= origin.handle.shape[-1]


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
    dims = [dims] if isinstance(dims, int) else list(dims or range(x.dim()))
    product = x.to(origin.handle.dtype)
    if against:
        product = 1 - product
    for dim in sorted((dim % x.dim() for dim in dims), reverse=True):
        product = product.prod(dim, keepdim)
    return marked(use.native(), Origin(_links.scaled(product, _value(-1 if against else 1, product))))


def every(use: Use) -> Any:
    """``all``."""
    return _every(use, against=False)


def some(use: Use) -> Any:
    """``any``."""
    return _every(use, against=True)


def select(use: Use) -> Any:
    """``where(b, u, v)``: ``u - v`` by b; u and v keep theirs."""
    b, u, v = use.args
    origin, dtype = origin_of(b), torch.result_type(u, v)
    if not dtype.is_floating_point:
        return _select_integers(use)
    u, v = twin(u, dtype), twin(v, dtype)
    found = use.native(b, u, v)
    if origin is None:
        return found
    return _links.plus(found, _links.scaled(_cast(origin.number(), dtype), u - v))


def _select_integers(use: Use) -> Any:
    b, u, v = use.args
    origin, found = origin_of(b), use.native()
    parts = []
    if origin is not None:
        handle = origin.number()
        parts.append(_links.scaled(handle, _value(u, handle) - _value(v, handle)))
    for value, turned in ((u, False), (v, True)):
        handle = _handle_of(value)
        if handle is not None:
            here = b.to(handle.dtype)
            parts.append(_links.scaled(handle, 1 - here if turned else here))
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
    return _links.plus(use.native(), _links.scaled(_cast(origin.number(), x.dtype), value - x))


def fill_in_place(use: Use) -> Any:
    """``masked_fill_``."""
    x, b, value = use.args
    origin = origin_of(b)
    if origin is None or not x.is_floating_point():
        return None
    value, before = torch.as_tensor(value, dtype=x.dtype, device=x.device), x.clone()
    found = use.native()
    return _links.past(found.add_, _links.scaled(_cast(origin.number(), x.dtype), value - before))


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
    for _ in range(x.dim() - b.dim()):
        b = b.unsqueeze(-1)
    value = values.reshape(()).to(x.dtype)
    if use.overload is aten.index_put_.default and _tracing() is not None and in_forward_mode():
        return x.masked_fill_(b, value)  # what a compiler makes of copy_ has no forward mode
    found = torch.where(b, value, x)
    return x.copy_(found) if use.overload is aten.index_put_.default else found


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
    if origin.one_hot and use.overload is aten.cumsum.default:
        origin = Origin(origin.number())  # a sum of indices is no index
    if use.overload is aten.constant_pad_nd.default:
        rest = rest[:1]  # what is filled in comes from nowhere
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
        _links.zeros(part, part.shape, dtype) if origin is None else _cast(origin.number(), dtype)
        for part, origin in zip(parts, origins, strict=True)
    ]
    return marked(found, Origin(use.again(handles, *rest)))


def one_hot(use: Use) -> Any:
    """``one_hot(i, n)`` of an index along an axis."""
    origin = use.origin(0)
    if origin is None or not origin.one_hot:
        return None
    handle = origin.handle
    n = use.args[1] if len(use.args) > 1 else use.kwargs.get("num_classes", -1)
    # PyTorch's own asks whether all classes are below n, which no compiler can know; here they are
    found = use.plainly(_one_hot, n) if n >= handle.shape[-1] else use.native()
    n = found.shape[-1]
    if handle.shape[-1] != n:
        handle = torch.nn.functional.pad(handle, (0, n - handle.shape[-1]))
    return marked(found, Origin(handle))


def _one_hot(i: Any, n: int) -> Any:
    return (i.unsqueeze(-1) == torch.arange(n, device=i.device)).to(torch.int64)


def is_class(use: Use) -> Any:
    """``i == k`` of an index along an axis: whether the class is k."""
    i, k = use.args[:2]
    if origin_of(i) is None:
        i, k = k, i
    origin = origin_of(i)
    if origin is None or not origin.one_hot or (isinstance(k, torch.Tensor) and origin_of(k) is not None):
        return None
    found, n = use.native(), origin.handle.shape[-1]
    k = torch.as_tensor(k, device=i.device)
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
        return _links.plus(found, added.movedim(list(range(n)), list(range(p, p + n))))
    return _links.plus(use.native(), _beside_others(table, indices, given, p, origin))


def _beside_others(table: Any, indices: Any, given: list[int], p: int, origin: Origin) -> Any:
    """The handle of ``table[..., i, k]``, several indices of which the one at ``p`` has an origin."""
    shape = torch.broadcast_shapes(*(indices[n].shape for n in given))
    rest = [n for n in range(table.dim()) if n not in given]
    others = [indices[n].expand(shape) for n in given if n != p]
    rows = table.permute(*(n for n in given if n != p), *rest, p)[tuple(others)]
    one_hot = origin.handle.expand(*shape, rows.shape[-1])
    one_hot = one_hot.reshape(*shape, *(1 for _ in rest), rows.shape[-1])
    found = _links.chosen(one_hot, rows)
    if given != list(range(given[0], given[-1] + 1)):
        return found  # what is looked up by indices that are not side by side comes first
    n = len(shape)
    return found.movedim(list(range(n)), list(range(given[0], given[0] + n)))


def embedded(use: Use) -> Any:
    """``embedding(weight, i)``."""
    weight, i = use.args[:2]
    origin = origin_of(i)
    if origin is None or not origin.one_hot:
        return None
    return _links.plus(use.native(), _links.contracted(origin.handle, weight))


def selected(use: Use) -> Any:
    """``index_select(x, dim, i)``; or the selection of a tensor with an origin."""
    x, dim, i = use.args[:3]
    origin = origin_of(i)
    if origin is None:
        return carried(use)
    if not origin.one_hot or not x.is_floating_point() or i.dim() != 1:
        return None
    return _links.plus(use.native(), _links.contracted(origin.handle, x.movedim(dim, 0)).movedim(0, dim))


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
    return _links.plus(use.native(), _links.chosen(origin.handle, x.movedim(dim, -1).unsqueeze(dim)))


def taken(use: Use) -> Any:
    """``take_along_dim(x, i, dim)``: ``gather`` of what is broadcast."""
    x, i = use.args[:2]
    dim = use.args[2] if len(use.args) > 2 else use.kwargs.get("dim")
    if origin_of(i) is None or dim is None or x.dim() != i.dim():
        return None
    dim %= x.dim()
    shape = list(torch.broadcast_shapes(x.movedim(dim, 0).shape[1:], i.movedim(dim, 0).shape[1:]))
    sizes = [[*shape[:dim], one.shape[dim], *shape[dim:]] for one in (x, i)]
    return torch.gather(x.expand(sizes[0]), dim, i.expand(sizes[1]))


_INDEXED = (aten.index.Tensor,)
