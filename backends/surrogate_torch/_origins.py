"""Booleans and integers that know where they come from.

A comparison under a rule leaves an :class:`Origin` with its result: a *handle*, a float tensor in autograd's
graph that is zero everywhere, takes no memory, and whose gradient is that of the result taken for a float.
What is made of the result is made of the handle too; a cast to float is the value plus the handle.

In eager mode the result is a :class:`Discrete`, a tensor whose ops pass a dispatch key that nobody else uses:
the kernels there (see :mod:`_consumers`) cost other tensors nothing. A compiler, and a transform of
``torch.func``, cannot hold such a tensor; there the origin is an attribute, and the kernels lie on the
Autograd key meanwhile.
"""

from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._guards import TracingContext

from surrogate import SurrogateWarning
from surrogate_torch import _links
from surrogate_torch._scope import flags

_KEY = torch._C._parse_dispatch_key(_links.KEY)
_including = torch._C._IncludeDispatchKeyGuard
_without_subclass = torch._C.DisableTorchFunctionSubclass
_in_transform = torch._C._are_functorch_transforms_active
_tracing = TracingContext.try_get
_modes = torch._C._len_torch_dispatch_stack  # such a mode may not know a subclass
_NAME = "_surrogate_origin"

#: Called when an origin is left where no :class:`Discrete` can be.
on_attribute: list[Callable[[], None]] = []
#: The origins that were left so under ``torch.func`` and are alive.
on_attributes: weakref.WeakSet[Origin] = weakref.WeakSet()


class Origin:
    """Where a boolean or integer tensor comes from.

    Attributes:
        handle: zeros in autograd's graph, of the tensor's shape; of an index along an axis, with one more
            axis at the end, of its one-hot vector.
        one_hot: whether it is an index's.
        version: the tensor's version; changed in place since, it comes from elsewhere.
    """

    __slots__ = ("__weakref__", "handle", "one_hot", "version")

    def __init__(self, handle: Any, one_hot: bool = False) -> None:
        self.handle = handle
        self.one_hot = one_hot
        self.version = 0

    def number(self) -> Any:
        """The handle of the tensor taken for a number."""
        if not self.one_hot:
            return self.handle
        classes = torch.arange(self.handle.shape[-1], dtype=self.handle.dtype, device=self.handle.device)
        return _links.contracted(self.handle, classes)

    def made(self, f: Callable[[Any], Any]) -> Any:
        """Of what a structural op makes of the tensor: its origin, or one for each of several results."""
        if not self.one_hot:
            found = f(self.handle)
            return Origin(found) if isinstance(found, torch.Tensor) else [Origin(part) for part in found]
        shape = self.handle.shape[:-1]
        places = f(torch.arange(1, shape.numel() + 1, device=self.handle.device).reshape(shape))
        if isinstance(places, torch.Tensor):
            return Origin(_links.moved(self.handle, places), one_hot=True)
        return [Origin(_links.moved(self.handle, part), one_hot=True) for part in places]


class Discrete(torch.Tensor):
    """A boolean or integer tensor with an origin, in eager mode; a plain tensor in everything else."""

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        dtype = _CASTS.get(func)
        if dtype is not None and len(args) == 1 and not kwargs and torch.is_grad_enabled():
            with _without_subclass():
                found = quick_cast(args[0], dtype)
            if found is not None:
                return found
        name = getattr(func, "__name__", "")
        if (name == "__get__" and func not in _TRANSPOSED) or name in _OF_TENSORS:
            with _without_subclass():
                return func(*args, **(kwargs or {}))
        if name in _TAKEN_OUT or name in _BRANCHES:
            if name in _BRANCHES:
                _warn_cut(name)
            with _without_subclass():
                return func(*[x.detach() if isinstance(x, Discrete) else x for x in args], **(kwargs or {}))
        if name == "__getitem__" and isinstance(args[1], Discrete):
            func = _row  # Python would take a single index for a number
        before, flags.met = flags.met, False
        try:
            with _without_subclass(), _including(_KEY):
                found = func(*args, **(kwargs or {}))
                cut = not flags.met and torch.is_grad_enabled() and _is_result(found)
                cut = cut and any(origin_of(x) is not None for x in args)
            if cut:
                _warn_cut(name)
            return found
        finally:
            flags.met = before


def quick_cast(x: Any, dtype: Any) -> Any:
    """``x.to(dtype)`` of a :class:`Discrete` in one step, where nothing has to be converted; else None."""
    origin = origin_of(x)
    if origin is None or origin.one_hot or origin.handle.dtype is not dtype:
        return None
    return _links.plus(origin.handle, x.detach())


#: Casts of most code.
_CASTS = {torch.Tensor.float: torch.float32, torch.Tensor.double: torch.float64}


def _names(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


#: Functions that ask about a tensor, or cut on purpose.
_OF_TENSORS = _names(
    "size dim stride numel nelement is_contiguous element_size data_ptr requires_grad_ __len__ __hash__",
    "is_floating_point is_complex is_signed ndimension storage_offset untyped_storage get_device is_shared",
    "detach record_stream register_hook retain_grad _is_view __set__ new_zeros new_ones new_empty new_full",
    "zeros_like ones_like empty_like full_like rand_like randn_like randint_like",
)
#: Attributes that are tensors of the same elements.
_TRANSPOSED = frozenset(getattr(torch.Tensor, name).__get__ for name in ("T", "mT", "H", "mH"))
#: Functions that take the values out of PyTorch, where nobody expects a gradient.
_TAKEN_OUT = _names(
    "__repr__ __format__ __deepcopy__ __reduce_ex__ numpy equal allclose __array__ __dlpack__",
    "__dlpack_device__",
)
#: Python's control flow.
_BRANCHES = _names("__bool__ item __int__ __float__ __index__ __contains__ tolist is_nonzero")
_warned: set[tuple[str, int]] = set()


def _row(table: Any, index: Any) -> Any:
    """``table[i]``."""
    return torch.ops.aten.index.Tensor(table, [index])


def _is_result(found: Any) -> bool:
    """Whether a call gave tensors without an origin."""
    if isinstance(found, Discrete):
        return False  # it may have returned its operand
    return isinstance(found, torch.Tensor) or (
        isinstance(found, list | tuple) and any(isinstance(part, torch.Tensor) for part in found)
    )


def _warn_cut(what: str) -> None:
    """Warn, once per line, that a gradient ends here."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "torch":
        frame = frame.f_back
    place = frame.f_code.co_filename, frame.f_lineno
    if place in _warned:
        return
    _warned.add(place)
    warnings.warn_explicit(
        f"surrogate: {what} cuts the gradient of a comparison, argmax or cast that has a rule: it is "
        "control flow, an index that is no argmax's, or an op that is not known to carry one.",
        SurrogateWarning,
        *place,
    )


def origin_of(x: Any) -> Origin | None:
    """The origin of a tensor that has one; to be asked by kernels."""
    found: Origin | None = getattr(x, _NAME, None)
    if found is None or found in flags.carried or x._version != found.version:
        return None
    return found


def prepare() -> None:
    """Have the kernels that see an attribute put in place."""
    for call in on_attribute:
        call()


def marked(x: Any, origin: Origin) -> Any:
    """``x`` with an origin."""
    origin.version = x._version
    if _tracing() is None and not _in_transform() and not _modes():
        if "torch._dynamo" in sys.modules:
            torch._dynamo.config.nontraceable_tensor_subclasses.add(Discrete)  # it cannot trace ours
        x = torch.Tensor._make_subclass(Discrete, x)
    else:
        if _tracing() is None:
            on_attributes.add(origin)
        prepare()
    setattr(x, _NAME, origin)
    return x
