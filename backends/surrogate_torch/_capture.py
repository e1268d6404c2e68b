"""The kernels on the ``Autograd`` dispatch key: look the rule up, attach it, or pass on to the native one.

The first parameter of a kernel is the dispatch key set of the call; the native kernel keeps PyTorch's own
derivative, forward mode and errors.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch._guards import TracingContext

from surrogate import Gradient, State
from surrogate_torch import _fused, _guards, _mapped
from surrogate_torch._carried import Handler, Use
from surrogate_torch._inplace import SurrogateInplace, is_simple
from surrogate_torch._layers import FRONT, Below, Kernel, Layer, Rank
from surrogate_torch._layouts import is_dense, on_values, refuse_sparse
from surrogate_torch._learned import inputs_of
from surrogate_torch._node import Capture, Surrogate, SurrogateUnary
from surrogate_torch._numbers import as_tensors
from surrogate_torch._origins import origin_of
from surrogate_torch._plain import has_tangent, in_forward_mode
from surrogate_torch._scope import NO_RULES, NONE, PYTORCHS_OWN, Scope, flags, suspended
from surrogate_torch._shield import OWN, inside_a_function
from surrogate_torch._spellings import UNARY, Call, Spelling, tensor_slots

#: What carries origins on, of overloads whose kernel is in this module or in :mod:`_discrete`.
handlers: dict[Any, Handler] = {}

#: Why a call under a rule stays native.
NOT_RECORDED = "no gradient is recorded"
NOT_FLOATING = "not a real floating-point tensor"

_graph_task = torch._C._current_graph_task_id
_fused_chosen = _fused.chosen.get
tracing = TracingContext.try_get
_grad_enabled = torch.is_grad_enabled
_in_transform = torch._C._are_functorch_transforms_active
_fwd_grad_enabled = torch._C._is_fwd_grad_enabled
_below_autograd = torch._C._AutoDispatchBelowAutograd
_modes = torch._C._len_torch_dispatch_stack


def unary(spelling: Spelling, scope: Scope, native: Any) -> Kernel:
    """The kernel of an op of one tensor."""
    op, overload, here, uses = spelling.op, spelling.overload, scope.here, OWN.get(spelling.op)
    own_state = scope.state

    def kernel(keys: Any, x: Any) -> Any:
        # look_up and here() for most calls, written out: a small op's time is spent in this function
        state = own_state() if flags.native is NONE and _graph_task() == -1 else here(op)
        if state is not None and state.rules is NO_RULES and not _modes():  # is_idle(), written out
            return native.call_boxed(keys, x)
        if state is not None:
            traced = tracing() is not None
            gradient = state.rule(op, scope.site() if traced else None)
            if gradient is not None and inside_a_function(op, sys._getframe().f_back):
                state.missed(op, PYTORCHS_OWN)
                gradient = None
            elif traced:
                gradient = _guards.note(op, gradient, scope)
            if gradient is not None and x.is_floating_point():
                if gradient.rule.learned and is_dense(x):
                    inputs = inputs_of(gradient.rule, (x,))
                    if needs := needs_of(inputs):
                        count_once(state, op, scope)
                        return apply(Capture(overload, keys, (x,), {}, True, gradient.rule, inputs, needs))
                if (x.layout is not torch.strided or x.is_nested) and not is_dense(x) and needs_of((x,)):
                    return on_values(overload, x)
                if x.requires_grad and _grad_enabled() and not in_forward_mode():
                    _count(state, op, scope) if traced else state.captured(op, kept=False)
                    if _fused_chosen() and (within := _fused.bounds(gradient.rule, x)):
                        return _fused.FusedWindow.apply(overload.redispatch, keys, gradient.rule, within, x)
                    return SurrogateUnary.apply(overload, keys, gradient.rule, x)
                if needs := needs_of((x,)):
                    count_once(state, op, scope)
                    return apply(Capture(overload, keys, (x,), {}, True, gradient.rule, (x,), needs))
                if flags.deferred:
                    _count(state, op, scope)
                elif state.traced:
                    scope.missed(state, op, NOT_RECORDED)
            elif gradient is not None and state.traced:
                scope.missed(state, op, NOT_FLOATING)
        if uses and (state is None or state.rules):
            return suspended(uses, native.call_boxed, keys, x)
        return native.call_boxed(keys, x)

    return kernel


def general(spelling: Spelling, scope: Scope, native: Any) -> Kernel:
    """The kernel of any other op."""
    overload = spelling.overload
    decimals = "decimals" in (argument.name for argument in overload._schema.arguments)
    pass_on = PassOn(spelling.op, overload, native)
    is_idle, run = scope.is_idle, pass_on.run

    def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
        if is_idle():
            return run(keys, args, kwargs)
        call = spelling.read(args, kwargs)
        state, gradient = (None, None) if call is None else look_up(call.op, scope)
        if call is not None and state is not None and gradient is not None:
            inputs = inputs_of(gradient.rule, call.inputs) if gradient.rule.learned else call.inputs
            if needs := needs_of(inputs):
                refuse_sparse(call.op, call.inputs)
                count_once(state, call.op, scope)
                rule = gradient.at(decimals=kwargs["decimals"]) if decimals else gradient.rule
                boxed = pass_on.takes(args)
                return apply(Capture(overload, keys, args, kwargs, boxed, rule, inputs, needs))
            not_now(state, call, scope)
        return pass_on(state, keys, args, kwargs)

    return kernel


def inplace(spelling: Spelling, scope: Scope, native: Any) -> Kernel:
    """The kernel of the overload that changes its first argument."""
    overload = spelling.inplace
    pass_on = PassOn(spelling.op, overload, native)
    is_idle, run = scope.is_idle, pass_on.run

    def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
        if is_idle():
            return run(keys, args, kwargs)
        call = spelling.read(args, kwargs)
        state, gradient = (None, None) if call is None else look_up(call.op, scope)
        if call is not None and state is not None and gradient is not None:
            inputs = inputs_of(gradient.rule, call.inputs) if gradient.rule.learned else call.inputs
            needs = needs_of(inputs)
            if needs and args[0].is_floating_point():  # else there is an error to come
                rule = gradient.at(decimals=kwargs["decimals"]) if "decimals" in kwargs else gradient.rule
                if is_simple(args[0], rule, inputs, needs):
                    _count(state, call.op, scope)
                    boxed = pass_on.takes(args)
                    capture = Capture(overload, keys, args, kwargs, boxed, rule, call.inputs, needs)
                    return SurrogateInplace.apply(capture, args[0])
                # the op's input is about to be overwritten, and the rule may keep it
                return args[0].copy_(spelling.overload(args[0].clone(), *args[1:], **kwargs))
            not_now(state, call, scope)
        return pass_on(state, keys, args, kwargs)

    def of_one(keys: Any, x: Any) -> Any:
        return native.call_boxed(keys, x) if is_idle() else kernel(keys, x)

    return of_one if spelling in UNARY else kernel


def front(overload: Any, rank: Rank) -> Iterator[Layer]:
    """The kernel above torch.func's layers for an overload in whose Tensor slots a number may stand.

    There a number is wrapped in the transform's tensor, which cannot be handed to a Python kernel:
    it is made an ordinary tensor before.
    """
    slots = tensor_slots(overload)
    if len(slots) > 1:
        yield Layer(overload, FRONT, rank, functools.partial(_front, overload, slots))


def mapped(spelling: Spelling, overload: Any, scope: Scope) -> Layer:
    """The kernel there for an op of the catalogue, whose parameters meet what is mapped."""

    def make(native: Any) -> Kernel:
        slots = tensor_slots(overload)
        below = _front(overload, slots, native) if len(slots) > 1 else native.call_boxed
        kernel = mapping(overload, spelling.read, scope, below)
        return kernel if overload is not spelling.inplace else _of_the_first(kernel)

    return Layer(overload, FRONT, Rank.RULE, make)


def mapping(
    overload: Any, read: Callable[..., Call | None], scope: Scope, below: Callable[..., Any]
) -> Kernel:
    """A kernel there: under ``vmap``, where a parameter has a shape, the mapped axis is put in front."""
    slots = tensor_slots(overload)

    def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
        state = scope.state() if _mapped.is_mapping() else None
        if state is None or state.rules is NO_RULES or (call := read(args, kwargs)) is None:
            return below(keys, *args, **kwargs)
        state = scope.here(call.op)
        site = scope.site() if tracing() is not None else None
        gradient = None if state is None else state.rule(call.op, site)
        if gradient is None or not gradient.rule.shaped or inside_a_function(call.op, sys._getframe().f_back):
            return below(keys, *args, **kwargs)
        run = functools.partial(below, keys)
        return _mapped.call(gradient.rule, call.inputs, run, as_tensors(slots, args), kwargs)

    return kernel


def _of_the_first(kernel: Kernel) -> Kernel:
    """A kernel that changes its first argument, which may have been handed on as a view of it."""

    def inplace(keys: Any, *args: Any, **kwargs: Any) -> Any:
        kernel(keys, *args, **kwargs)
        return args[0]

    return inplace


def _front(overload: Any, slots: Sequence[int], native: Any) -> Kernel:
    def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
        if all(isinstance(args[slot], torch.Tensor) for slot in slots):
            return native.call_boxed(keys, *args, **kwargs)
        return overload(*as_tensors(slots, args), **kwargs)

    return kernel


def fronting(overload: Any, native: Any) -> Kernel:
    """That kernel, for any overload: a number that PyTorch casts for itself comes alone."""
    return _front(overload, tensor_slots(overload), native)


def look_up(op: str, scope: Scope) -> tuple[State | None, Gradient | None]:
    """The state that this call obeys and its gradient; None for a call that is not the user's.

    Called by a kernel. A compiler that is tracing is told that the result depends on them.
    """
    state = scope.here(op)
    if state is None:
        return None, None
    traced = tracing() is not None
    gradient = state.rule(op, scope.site() if traced else None)
    if gradient is not None and inside_a_function(op, sys._getframe(1)):
        state.missed(op, PYTORCHS_OWN)
        return state, None
    if traced:
        gradient = _guards.note(op, gradient, scope)
    return state, gradient


def _count(state: State, op: str, scope: Scope) -> None:
    """Count a capture."""
    if tracing() is not None:
        _guards.count(state, op, scope)
    else:
        state.captured(op, kept=False)


def count_once(state: State, op: str, scope: Scope) -> None:
    """Count a capture that a layer of torch.func above has not counted."""
    if not flags.below:
        _count(state, op, scope)


def not_now(state: State, call: Call, scope: Scope) -> None:
    """A call under a rule of which nothing is recorded, or not yet."""
    if flags.deferred:
        _count(state, call.op, scope)
    elif state.traced:
        floating = any(isinstance(x, torch.Tensor) and x.is_floating_point() for x in call.inputs)
        scope.missed(state, call.op, NOT_RECORDED if floating else NOT_FLOATING)


def needs_of(inputs: Sequence[Any]) -> tuple[bool, ...]:
    """Which inputs want a derivative; empty if none does or the op is not over real floating numbers."""
    forward = _fwd_grad_enabled()
    reverse = _grad_enabled()
    if not forward and not reverse:
        return ()
    anything = forward and in_forward_mode()
    needs, found = [], False
    for x in inputs:
        want = False
        if isinstance(x, torch.Tensor):
            if x.is_complex():
                return ()
            want = x.is_floating_point() and (
                anything or (reverse and x.requires_grad) or (forward and has_tangent(x))
            )
            found = found or want
        needs.append(want)
    return tuple(needs) if found else ()


def is_recorded(inputs: Sequence[Any]) -> bool:
    """Whether PyTorch records an op of these inputs, complex ones too."""
    forward, reverse = _fwd_grad_enabled(), _grad_enabled()
    anything = forward and in_forward_mode()
    return any(
        isinstance(x, torch.Tensor)
        and (x.is_floating_point() or x.is_complex())
        and (anything or (reverse and x.requires_grad) or (forward and has_tangent(x)))
        for x in inputs
    )


def apply(capture: Capture) -> Any:
    if not _in_transform():
        return Surrogate.apply(capture, None, *capture.tensors())
    with enable_single_level_autograd_function():
        return Surrogate.apply(capture, (_grad_enabled(), _fwd_grad_enabled()), *capture.tensors())


class PassOn:
    """The native kernel of an overload in whose Tensor slots a number may stand."""

    def __init__(self, op: str, overload: Any, native: Any) -> None:
        self._overload, self._native = overload, native
        self._slots = tensor_slots(overload)
        self._uses = OWN.get(op)
        self._is_ours = isinstance(native, Below)  # a kernel of ours takes numbers

    def takes(self, args: Sequence[Any]) -> bool:
        """Whether the arguments can be handed to a kernel as they are."""
        for slot in self._slots:  # noqa: SIM110 -- twice as fast as all() of a generator
            if not isinstance(args[slot], torch.Tensor):
                return False
        return True

    def __call__(self, state: State | None, keys: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if self._uses and (state is None or state.rules):
            return suspended(self._uses, self.run, keys, args, kwargs)
        return self.run(keys, args, kwargs)

    def run(self, keys: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Call it, or what carries the origin of a boolean or integer on."""
        handler = handlers.get(self._overload)
        if handler is not None and any(origin_of(x) is not None for x in args[:2]):
            found = handler(Use(self._overload, args, kwargs, functools.partial(self._run, keys)))
            if found is not None:
                return found
        return self._run(keys, args, kwargs)

    def _run(self, keys: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if self._is_ours or self.takes(args):
            return self._native.call_boxed(keys, *args, **kwargs)
        if is_recorded([args[slot] for slot in self._slots]):  # PyTorch's own node, or its "not implemented"
            return self._native.call_boxed(keys, *as_tensors(self._slots, args), **kwargs)
        if not isinstance(args[self._slots[0]], torch.Tensor):  # none takes a number in the first place
            args = as_tensors(self._slots, args)
        with _below_autograd():
            return self._overload(*args, **kwargs)
