"""Catching an op when JAX binds its primitive, and putting the captured call in its place.

The op is replaced in the trace itself, so what is decided is decided when the op is traced: whatever
JAX does with the trace later (differentiate, batch, checkpoint, export) carries the rule along.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp

import surrogate
from surrogate_jax import _discrete, _spellings as spellings
from surrogate_jax._call import Call
from surrogate_jax._entered import concerned, consumed, entered
from surrogate_jax._hooks import (
    JIT_FRAMES,
    RUN,
    RUNNING,
    TRACING,
    Undo,
    caller,
    jit_call,
    passing,
    replace,
)
from surrogate_jax._keys import jaxprs
from surrogate_jax._learned import bind
from surrogate_jax._operands import is_leaf, may_be_traced
from surrogate_jax._origins import set_origin
from surrogate_jax._placement import vary_together
from surrogate_jax._plain import refuse
from surrogate_jax._scope import (
    agree,
    begin_tracing,
    called,
    captured,
    end_tracing,
    in_keys,
    is_suspended,
    now_run,
    traced,
)
from surrogate_jax._spellings import Spelled, is_real
from surrogate_jax._whose import Origin, in_pallas_kernel, origin

Bind = Callable[..., Any]

#: Why calls under a rule stay native.
NOT_RECORDED = "no gradient is recorded"
NOT_FLOATING = "not of real floating-point arrays"
JAXS_OWN = "called by a function of JAX's"


def body_hook(name: str, bind: Bind) -> Bind:
    """Loops, branches and checkpoints: JAX traces their functions once, and keeps what it found."""

    def hooked(*args: Any, **params: Any) -> Any:
        found = consumed(name, bind, args, params) if concerned(args) else bind(*args, **params)
        if in_keys() is not None and not is_suspended():
            for jaxpr in jaxprs(params):
                called(jaxpr)
        return found

    return hooked


def runs() -> list[Undo]:
    """Hooks on what traces a function that is not among the compiled ones yet, and on what then runs it."""
    if RUN is None:
        return []

    def of_tracing(trace: Bind) -> Bind:
        def hooked(*args: Any, **kwargs: Any) -> Any:
            begun = begin_tracing()
            try:
                found = trace(*args, **kwargs)
                traced(begun, found[0].params["jaxpr"])
                return found
            finally:
                end_tracing(begun)

        return passing(hooked)

    def of_running(run: Bind) -> Bind:
        def hooked(*args: Any, **params: Any) -> Any:
            key = now_run()
            found = run(*args, **params)
            if key is not None and not is_suspended():
                key.belongs_to(called(params["jaxpr"]))
            return found

        return hooked

    return [replace(RUN, TRACING, of_tracing), replace(RUN, RUNNING, of_running)]


def _in_force(backend: surrogate.Backend, args: Sequence[Any]) -> surrogate.State | None:
    """What may concern an op here; None where no rule is in force or no gradient can be recorded."""
    if is_suspended():
        return None
    state = backend.state()
    if not state.rules and in_keys() is None:
        return None
    return state if state.traced or state.rules.learns or _is_recorded(args) else None


def _is_recorded(args: Sequence[Any]) -> bool:
    return any(map(may_be_traced, args)) or concerned(args)  # eagerly a boolean is none of JAX's tracers


def _captures(
    state: surrogate.State,
    ops: Sequence[str],
    args: Sequence[Any],
    frame: FrameType,
    is_call: Callable[[Origin], bool],
) -> bool:
    """Whether a call of these ops is the user's and a rule is in force for one of them.

    Raises:
        ScopeError: JAX's keys say otherwise, see :func:`agree`.
    """
    said = in_keys() or ()
    if not any(op in state.rules or op in said for op in ops):
        return False
    found = origin(frame)
    if not is_call(found) or in_pallas_kernel(frame):
        if state.traced and any(is_leaf(x) and is_real(jnp.result_type(x)) for x in args):
            _jaxs_own(state, ops, found, frame)
        return False
    if state.traced and not state.rules.learns and not _is_recorded(args):
        for op in ops:
            state.missed(op, NOT_RECORDED, frame)
        return False
    agree(state)
    return any(state.rule(op, frame) is not None for op in ops)


# -- one hook per kind of spelling ------------------------------------------------------------------


def jit_hook(backend: surrogate.Backend, bind: Bind) -> Bind:
    def hooked(*args: Any, **params: Any) -> Any:
        state = _in_force(backend, args)
        if state is not None:
            frame = caller(sys._getframe(1))
            call = jit_call(frame)
            ops = spellings.ops_of_code(call.function.__code__) if call else ()
            if call and ops and _captures(state, ops, args, frame, _is_nothing_between):
                spelled = spellings.read_jit(call, params)
                if spelled is not None:
                    return _replace(state, spelled, lambda: bind(*args, **params))
                _not_floating(state, ops, frame)
            op = _discrete.op_of_code(call.function.__code__) if call else None
            if call and op and not concerned(args):
                is_call = partial(_discrete.is_call, op)
                if _captures(state, (op,), args, frame, is_call):
                    read = partial(_discrete.origin_of_jit, op)
                    return [_remembered(state, op, bind(*args, **params)[0], lambda g: read(g, call))]
        if concerned(args):
            return entered(bind, args, params)
        now_run()  # not as compiled code: where its arguments are traced JAX keeps none
        found = bind(*args, **params)
        if (
            in_keys() is not None
            and not is_suspended()
            and caller(sys._getframe(1)).f_code.co_name in JIT_FRAMES
        ):
            called(params["jaxpr"])
        return found

    return hooked


def primitive_hook(backend: surrogate.Backend, name: str, bind: Bind) -> Bind:
    op, function = spellings.LAX.get(name, (None, None))
    discrete, _ = _discrete.LAX.get(name, (None, None))

    def is_lax_call(found: Origin) -> bool:
        return found.depth == 1 and found.function == function and found.file.endswith("lax.py")

    def hooked(*args: Any, **params: Any) -> Any:
        if concerned(args):
            return consumed(name, bind, args, params)
        if op is None and discrete is None and not jax.config.jax_disable_jit:
            return bind(*args, **params)
        state = _in_force(backend, args)
        if state is not None:
            frame = caller(sys._getframe(1))
            if _is_recorded(args):
                refuse(state, frame)
            if op is not None and _captures(state, (op,), args, frame, is_lax_call):
                spelled = spellings.read_lax(name, args, params)
                if spelled is not None:
                    return _replace(state, spelled, lambda: [bind(*args, **params)])[0]
                _not_floating(state, (op,), frame)
            if discrete is not None and _discrete.may_concern(name, args, params):
                is_call = partial(_discrete.is_lax_call, name)
                if _captures(state, (discrete,), args, frame, is_call):
                    read = partial(_discrete.origin_of_lax, name)
                    return _remembered(
                        state, discrete, bind(*args, **params), lambda g: read(g, args, params)
                    )
        return bind(*args, **params)

    return hooked


def _jaxs_own(state: surrogate.State, ops: Sequence[str], found: Origin, frame: FrameType) -> None:
    """Tell of ops that JAX calls for itself.

    The body of a function that is the op belongs to its call; and where there is no function of JAX's, a call
    that was told before runs again: differentiated, mapped or lowered.
    """
    if found.outermost is None:
        return
    file, name = found.outermost
    for op in ops:
        if op != name and op not in spellings.ops_of_function(file, name):
            state.missed(op, JAXS_OWN, frame)


def _not_floating(state: surrogate.State, ops: Sequence[str], frame: FrameType) -> None:
    for op in ops:
        state.missed(op, NOT_FLOATING, frame)


def _remembered(
    state: surrogate.State, op: str, value: Any, read: Callable[[surrogate.Gradient], Any]
) -> Any:
    """The native result of a call that gives booleans or integers, which remembers where it is from."""
    gradient = state.rule(op)
    frame = caller(sys._getframe(1))
    origin = None if gradient is None else read(gradient)
    if origin is None:
        if gradient is not None:
            _not_floating(state, (op,), frame)
        return value
    captured(state, op, frame)
    return set_origin(value, origin)


def nn_class(backend: surrogate.Backend, name: str, native: type) -> type:
    """A class for the one object behind every import of a jax.nn function, which looks first."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        operands = (*args, *kwargs.values())
        leaves = jax.tree.leaves(operands)
        state = _in_force(backend, leaves)
        frame, ops = caller(sys._getframe(1)), (spellings.NN[name],)
        if state is not None and _captures(state, ops, leaves, frame, _is_direct):
            spelled = spellings.read_nn(name, operands)
            if spelled is not None:
                return _replace(state, spelled, list)[0]
            _not_floating(state, ops, frame)
        return native.__call__(self, *args, **kwargs)

    names = {"__module__": native.__module__, "__qualname__": native.__qualname__}
    return type(native.__name__, (native,), {"__call__": call, "__doc__": native.__doc__, **names})


# -- the captured call in its place -----------------------------------------------------------------


def _replace(state: surrogate.State, spelled: Spelled, native: Callable[[], Sequence[Any]]) -> Sequence[Any]:
    """The results of a call: captured where a rule is in force for the piece, native elsewhere."""
    operands = vary_together(spelled.operands)
    gradients = [state.rule(piece.op) for piece in spelled.pieces]
    results = native() if None in gradients else [None] * len(gradients)
    found = []
    for piece, gradient, untouched in zip(spelled.pieces, gradients, results, strict=True):
        if gradient is None:
            found.append(untouched)
            continue
        place = captured(state, piece.op, caller(sys._getframe(1)))
        call = Call(
            gradient.at(decimals=piece.decimals) if piece.decimals else gradient.rule,
            piece.native,
            piece.numbers,
            place=place,
        )
        found.append(bind(call, operands))
    return found


def _is_nothing_between(found: Origin) -> bool:
    return found.depth == 0


def _is_direct(found: Origin) -> bool:
    # JAX's own derivative of the function calls it once more, for the value
    own_derivative = found.function == "jvp" and found.file.endswith("custom_derivatives.py")
    return found.depth == 0 and not own_derivative
