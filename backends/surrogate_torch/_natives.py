"""PyTorch's own operators by name: kernels over those that have had a rule, and over no others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch._functorch.utils import enable_single_level_autograd_function

from surrogate import Backend, NativeGradient, NativeKit, UnknownOpError, UnsupportedOpError
from surrogate_torch import _consumers, _guards, _pack
from surrogate_torch._capture import PassOn, front, needs_of, tracing
from surrogate_torch._carried import Use
from surrogate_torch._ends import ENDS
from surrogate_torch._layers import AUTOGRAD, Layer, Rank, forget_compiled, put
from surrogate_torch._native_node import Asked, Native, Operands
from surrogate_torch._origins import origin_of
from surrogate_torch._scope import Scope, flags

_after_autograd = torch._C._after_autograd_keyset
_in_transform = torch._C._are_functorch_transforms_active
#: Operators whose results are integers or booleans.
_INTEGER = frozenset(
    (
        *("all", "any", "argmax", "argmin", "argsort", "bincount", "bucketize", "count_nonzero", "nonzero"),
        *("bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "searchsorted", "signbit"),
        *("eq", "ge", "gt", "le", "lt", "ne", "isfinite", "isinf", "isnan", "isneginf", "isposinf"),
        *("logical_and", "logical_not", "logical_or", "logical_xor"),
    )
)


class Natives(NativeKit):
    """Native names are ``namespace::name`` or ``namespace::name.overload``, of any ``torch.ops``."""

    def __init__(self, backend: Backend) -> None:
        self._scope = Scope(backend)
        self._libraries: list[Any] = []  # PyTorch takes kernels out with their library
        self._installed = _consumers.with_formulas
        self.ship("torch", _pack.PACK, _pack.EVERY)

    def canonical(self, name: str) -> str:
        overloads = _overloads(name)
        problems = [problem for overload in overloads if (problem := _problem(overload))]
        if len(problems) == len(overloads):
            raise UnsupportedOpError(f"the operator {name!r} cannot be overridden: {problems[0]}.")
        return name

    def ends_in(self, path: str) -> tuple[str, ...]:
        root, _, last = path.rpartition(".")
        if root.partition(".")[0] != "torch" or root.startswith("torch.ops"):
            return ()
        if last in ENDS:
            return ENDS[last]
        packet = getattr(torch.ops.aten, last, None) if root.count(".") < 3 else None
        if packet is None or all(_problem(getattr(packet, one)) for one in packet.overloads()):
            return ()
        return (f"aten::{last}",)

    def prepare(self, gradient: NativeGradient) -> None:
        uses = getattr(gradient.formula.function, "__code__", None)
        for overload in _overloads(gradient.key):
            if _problem(overload):
                continue
            random = torch.Tag.nondeterministic_seeded in overload.tags
            if random and uses is not None and "native" in uses.co_names:
                raise UnsupportedOpError(
                    f"{gradient.id} asks for call.native(g), which runs the operator again, but "
                    f"{overload.name()} draws random numbers: write the formula without it."
                )
            self._install(overload)

    def _install(self, overload: Any) -> None:
        if overload in self._installed:
            return
        layers = [Layer(overload, AUTOGRAD, Rank.NATIVE, partial(_kernel, overload, self._scope))]
        layers += front(overload, Rank.NATIVE)
        changing = _in_place(overload)
        if changing is not None:
            make = partial(_inplace_kernel, changing, overload, self._scope)
            layers.append(Layer(changing, AUTOGRAD, Rank.NATIVE, make))
        self._libraries += put(layers)
        self._installed.add(overload)
        forget_compiled()


def _names(overload: Any) -> tuple[str, ...]:
    """The keys that a rule for this overload may have, the nearest first."""
    full = overload.name()
    return tuple(dict.fromkeys((full, full.partition(".")[0], f"{full.partition('.')[0]}.default")))


def _look_up(overload: Any, scope: Scope) -> tuple[Any, str, Any]:
    """State, key and gradient of a call; None where it stays native."""
    names = _names(overload)
    state = scope.here(names[0])
    if state is None:
        return None, "", None
    traced = tracing() is not None
    for name in names:
        if not traced and name not in state.rules:
            continue
        gradient: Any = state.rule(name, scope.site() if traced else sys._getframe(2))
        if traced:
            gradient = _guards.note(name, gradient, scope)
        if gradient is not None:
            return state, name, gradient
    return state, "", None


def _kernel(overload: Any, scope: Scope, native: Any) -> Callable[..., Any]:
    pass_on = PassOn(overload.name(), overload, native)

    def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
        if scope.is_idle():
            return pass_on.run(keys, args, kwargs)
        state, name, gradient = _look_up(overload, scope)
        if gradient is None:
            return pass_on.run(keys, args, kwargs)
        operands = Operands(overload, args, kwargs)
        handles: Sequence[Any] = (None,) * len(operands.tensors)
        if any(origin_of(x) is not None for x in operands.tensors):
            handler = _consumers.HANDLERS.get(overload)  # where an origin goes on by itself, it does
            use = Use(overload, args, kwargs, lambda given, named: kernel(keys, *given, **named))
            found = None if handler is None else handler(use)
            if found is not None:
                return found
            handles, operands = operands.apart()
            given, kwargs = operands.call()
            args = tuple(given)
        if not needs_of([*operands.tensors, *handles]) or not any(map(_is_real, operands.tensors)):
            return pass_on.run(keys, args, kwargs)
        flags.met = True
        if tracing() is None:
            state.captured(name, kept=False, frame=sys._getframe(1))
        else:
            _guards.count(state, name, scope)
        if pass_on.takes(args):
            run = partial(overload.redispatch, keys & _after_autograd, *args, **kwargs)
        else:
            run = partial(overload, *args, **kwargs)
        asked = Asked(gradient, operands, handles)
        if not _in_transform():
            return Native.apply(asked, run, None, *asked.given())
        modes = torch.is_grad_enabled(), torch._C._is_fwd_grad_enabled()
        with enable_single_level_autograd_function():
            return Native.apply(asked, run, modes, *asked.given())

    return kernel


def _is_real(x: Any) -> bool:
    return bool(x.is_floating_point())


def _inplace_kernel(changing: Any, overload: Any, scope: Scope, native: Any) -> Callable[..., Any]:
    """The kernel of the overload that changes its first argument: the other's result is copied into it."""
    pass_on = PassOn(changing.name(), changing, native)

    def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
        if scope.is_idle() or _look_up(overload, scope)[2] is None or not needs_of(args):
            return pass_on.run(keys, args, kwargs)
        return args[0].copy_(overload(args[0].clone(), *args[1:], **kwargs))

    return kernel


def _in_place(overload: Any) -> Any:
    """The overload that does the same in place, or None."""
    packet = getattr(getattr(torch.ops, overload.namespace), f"{overload._opname}_", None)
    return getattr(packet, overload._overloadname, None) if packet is not None else None


def _overloads(name: str) -> list[Any]:
    namespace, _, rest = name.partition("::")
    base, _, wanted = rest.partition(".")
    packet = getattr(getattr(torch.ops, namespace), base, None) if namespace and base else None
    known = [] if packet is None else packet.overloads()
    if packet is None or (wanted and wanted not in known):
        names = [f"{namespace}::{base}.{one}" for one in known] or list(_all_names())
        raise UnknownOpError(
            f"unknown operator {name!r}{NativeKit.suggest(name, names)} It is written 'aten::sort' or "
            "'aten::sort.stable', as in torch.ops."
        )
    chosen = [wanted] if wanted else known
    return [getattr(packet, one) for one in chosen]


def _all_names() -> Iterator[str]:
    return (name.partition(".")[0] for name in torch._C._dispatch_get_all_op_names())


def _problem(overload: Any) -> str:
    """Why an overload cannot have a formula; empty if it can."""
    schema = overload._schema
    if any(argument.is_out for argument in schema.arguments):
        return "it writes into out="
    if any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments):
        base = overload.name().partition(".")[0].rstrip("_")
        return f"it changes its argument in place; a rule for {base!r} holds for it too"
    if any(r.alias_info is not None for r in schema.returns):
        return "its result is a view of its argument"
    if not any(str(r.type) in ("Tensor", "List[Tensor]") for r in schema.returns):
        return "it gives no tensor"
    if not torch._C._dispatch_has_kernel(overload.name()):
        return "only TorchScript has it"
    if overload._opname in _INTEGER:
        return "its results are integers, which carry no gradient"
    if torch._C._dispatch_has_kernel_for_dispatch_key(overload.name(), "CompositeImplicitAutograd"):
        ends = ENDS.get(overload._opname)
        into = f"it ends in {' and '.join(map(repr, ends))}" if ends else "name the operators that it calls"
        return f"PyTorch composes it of others, without a derivative of its own; {into}"
    return ""
