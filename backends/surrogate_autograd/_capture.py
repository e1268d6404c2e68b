"""Deciding, call by call, whether an op gets a rule."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import FrameType, FunctionType
from typing import Any

import autograd.numpy as anp

from surrogate import State
from surrogate_autograd import _hooks
from surrogate_autograd._learned import operands_of, without_boxes
from surrogate_autograd._operands import are_real, gather, handles_ufuncs, is_boxed
from surrogate_autograd._primitive import Captured, captured
from surrogate_autograd._scope import is_suspended
from surrogate_autograd._spellings import Spelling, take_apart
from surrogate_autograd._swap import Catcher, Swap, is_stand_in

Array = Any


class Capture:
    """The hooks on ``autograd.numpy``'s functions.

    Args:
        state: what is in force here and now.
        spellings: the functions to catch.
    """

    def __init__(self, state: Callable[[], State], spellings: Iterable[Spelling]) -> None:
        self._state = state
        self._swaps: list[Swap] = []
        functions: set[FunctionType] = set()
        for spelling in spellings:
            function = getattr(anp, spelling.name, None)
            if function is not None and function not in functions:
                functions.add(function)
                self._swaps.append(Swap(function, _hooks.PRIMITIVE, partial(self._op, spelling)))
        self._swaps.append(Swap(anp.divmod, _hooks.PRIMITIVE, self._divmod))

    def install(self) -> None:
        for swap in self._swaps:
            swap.install()

    def remove(self) -> None:
        for swap in self._swaps:
            swap.remove()

    def _op(self, spelling: Spelling, native: Catcher) -> Catcher:
        """What one spelling of an op calls while hooks are installed."""
        raw, op = _hooks.raw(getattr(anp, spelling.name)), spelling.op

        def catch(*args: Any, **kwargs: Any) -> Array:
            state = self._state()
            gradient = state.rule(op)
            learns = gradient is not None and bool(gradient.rule.learned)
            if gradient is None or not _is_recorded(args, kwargs, sys._getframe(2), learns):
                if state.traced and not is_suspended():
                    state.missed(op, _why(args, kwargs))
                return native(*args, **kwargs)
            given = {name: value for name, value in kwargs.items() if name != _hooks.HANDLED}
            apart = take_apart(spelling, args, given)
            if apart is None:
                return native(*args, **kwargs)
            call, operands = apart[0], [gather(x) for x in apart[1]]
            if any(map(handles_ufuncs, operands)):
                if _hooks.HANDLED in kwargs:
                    raise NotImplementedError  # the box declines; NumPy asks the other operand
                state.missed(op, "an operand handles the call itself")
                return native(*args, **kwargs)
            if not are_real(operands):
                state.missed(op, "not over real floating-point arrays")
                return native(*args, **kwargs)
            rule = gradient.at(decimals=call.decimals) if call.decimals else gradient.rule
            learned = operands_of(rule) if learns else []
            result = captured(Captured(raw, call, without_boxes(rule), len(learned)), *operands, *learned)
            state.captured(op)
            return result

        return catch

    def _divmod(self, native: Catcher) -> Catcher:
        """``divmod`` is ``floor_divide`` and ``mod``; autograd has no derivative of it."""

        def catch(*args: Any, **kwargs: Any) -> Array:
            state = self._state()
            if state.rule("mod") is None and state.rule("floor_divide") is None:
                return native(*args, **kwargs)
            if not _is_recorded(args, kwargs, sys._getframe(2)):
                if state.traced and not is_suspended():
                    for op in ("floor_divide", "mod"):
                        state.missed(op, _why(args, kwargs))
                return native(*args, **kwargs)
            return anp.floor_divide(*args, **kwargs), anp.mod(*args, **kwargs)

        return catch


def _is_recorded(
    args: Iterable[Any], kwargs: Mapping[str, Any], caller: FrameType, learns: bool = False
) -> bool:
    """Whether a user's call with something that is being differentiated, be it a parameter of the rule."""
    if is_suspended() or not (learns or any(map(is_boxed, args)) or any(map(is_boxed, kwargs.values()))):
        return False
    return is_users_call(caller)


def _why(args: Iterable[Any], kwargs: Mapping[str, Any]) -> str:
    recorded = any(map(is_boxed, args)) or any(map(is_boxed, kwargs.values()))
    return "called by a function of autograd's or NumPy's" if recorded else "no gradient is recorded"


def is_users_call(frame: FrameType | None) -> bool:
    """Whether a function called from this frame was called by the user.

    Neither by a derivative rule of autograd's nor by a composite of NumPy's. The operators of a box,
    and its answer when NumPy asks it to handle a ufunc, are looked through.
    """
    passing = False
    while frame is not None:
        code, module = frame.f_code, frame.f_globals.get("__name__", "")
        handed_on = module in _hooks.HANDING_ON or code in _hooks.CALLING or module.startswith(_PACKAGE)
        # on the way through NumPy's dispatch there may be a primitive, and the stand-in for one
        if not handed_on and not (passing and (code is _hooks.PRIMITIVE or is_stand_in(code))):
            return code is not _hooks.PRIMITIVE and not module.startswith(_hooks.OWN)
        passing, frame = True, frame.f_back
    return True


_PACKAGE = __name__.partition(".")[0] + "."
