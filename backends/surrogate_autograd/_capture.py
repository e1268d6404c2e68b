"""Deciding, call by call, whether an op gets a rule."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

import autograd.numpy as anp
import numpy as np

from surrogate import State
from surrogate_autograd import _hooks
from surrogate_autograd._primitive import Captured, captured
from surrogate_autograd._spellings import Call, Spelling, take_apart
from surrogate_autograd._suspend import is_suspended
from surrogate_autograd._swap import Catcher, Swap, is_stand_in

Array = Any

_HANDLED = "called_by_autograd_dispatcher"  # set by a box that NumPy asked to handle a ufunc


class Capture:
    """The hooks on ``autograd.numpy``'s functions.

    Args:
        state: what is in force here and now.
        spellings: the functions to catch.
    """

    def __init__(self, state: Callable[[], State], spellings: Iterable[Spelling]) -> None:
        self._state = state
        self._swaps = [Swap(getattr(anp, spelling.name), self._catcher(spelling)) for spelling in spellings]
        self._swaps.append(Swap(anp.divmod, self._divmod))

    def install(self) -> None:
        for swap in self._swaps:
            swap.install()

    def remove(self) -> None:
        for swap in self._swaps:
            swap.remove()

    def _catcher(self, spelling: Spelling) -> Callable[[Catcher], Catcher]:
        """What an op's function calls while hooks are installed."""
        function = getattr(anp, spelling.name)
        raw, op = _hooks.raw(function), spelling.op

        def make(native: Catcher) -> Catcher:
            def catch(*args: Any, **kwargs: Any) -> Array:
                state = self._state()
                gradient = state.rules.get(op)
                if gradient is None or is_suspended() or not _any_box(args, kwargs):
                    return native(*args, **kwargs)
                if not is_users_call(sys._getframe(2)):
                    return native(*args, **kwargs)
                handled = kwargs.pop(_HANDLED, False)
                call = take_apart(spelling, args, kwargs)
                if call is None or not _is_ours(call):
                    return native(*args, **kwargs, **({_HANDLED: True} if handled else {}))
                rule = gradient.at(call.decimals)
                result = captured(Captured(raw, call, rule), *call.operands)
                state.captured(op)
                return result

            return catch

        return make

    def _divmod(self, native: Catcher) -> Catcher:
        """``divmod`` is ``floor_divide`` and ``mod``; autograd has no derivative of it."""

        def catch(*args: Any, **kwargs: Any) -> Array:
            rules = self._state().rules
            if "mod" not in rules and "floor_divide" not in rules:
                return native(*args, **kwargs)
            if is_suspended() or not _any_box(args, kwargs) or not is_users_call(sys._getframe(2)):
                return native(*args, **kwargs)
            kwargs.pop(_HANDLED, None)
            return anp.floor_divide(*args, **kwargs), anp.mod(*args, **kwargs)

        return catch


def is_users_call(frame: FrameType | None) -> bool:
    """Whether a function called from this frame was called by the user, not by autograd's own rules.

    The operators of a box, and its answer when NumPy asks it to handle a ufunc, are looked through.
    """
    passing = False
    while frame is not None:
        code, module = frame.f_code, frame.f_globals.get("__name__", "")
        operator = module == _hooks.BOXES or module.startswith(_PACKAGE)
        # on the way through NumPy's dispatch there may be a primitive, and the stand-in for one
        if not operator and not (passing and (code is _hooks.PRIMITIVE or is_stand_in(code))):
            return code is not _hooks.PRIMITIVE and not module.startswith(_hooks.OWN)
        passing, frame = True, frame.f_back
    return True


_PACKAGE = __name__.partition(".")[0] + "."


def _any_box(args: Iterable[Any], kwargs: dict[str, Any]) -> bool:
    return any(map(_hooks.isbox, args)) or any(map(_hooks.isbox, kwargs.values()))


def _is_ours(call: Call) -> bool:
    """Whether all that is differentiated is real and floating, and the rest is real."""
    boxes = [x for x in call.operands if _hooks.isbox(x)]
    if not boxes or any(np.asarray(_hooks.getval(x)).dtype.kind != "f" for x in boxes):
        return False
    return all(np.asarray(x).dtype.kind in "biuf" for x in call.operands if not _hooks.isbox(x))
