"""Watching a script until it asks for a gradient: autograd is given the function then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any

import autograd
from autograd import differential_operators

from surrogate.auditing import Trace
from surrogate_autograd import _hooks
from surrogate_autograd._audit import Audited

#: What asks for the gradient of a function, and whether that returns something beside its value.
_ASKING = {"grad": False, "value_and_grad": False, "elementwise_grad": False, "grad_and_aux": True}


@contextmanager
def watching(caught: Callable[[Trace], None], step: int) -> Iterator[None]:
    """Hand over the trace of the ``step``-th gradient that the program asks for.

    The functions are replaced before the program imports them. One that is called while another gradient
    is computed does not count.
    """
    left = step

    def asked(function: Any, args: Any) -> None:
        nonlocal left
        if left and _hooks.trace_stack.top < 0:
            left -= 1
            if not left:
                fun, argnum, aux, kwargs = function
                loss = (lambda out: out[0]) if aux else None
                caught(Audited(partial(fun, **kwargs), args, loss, None, argnum).trace())

    real = [
        (owner, name, getattr(owner, name)) for owner in _OWNERS for name in _ASKING if hasattr(owner, name)
    ]
    for owner, name, function in real:
        setattr(owner, name, _telling(function, _ASKING[name], asked))
    try:
        yield
    finally:
        for owner, name, function in real:
            setattr(owner, name, function)


_OWNERS = (autograd, differential_operators)


def _telling(real: Any, aux: bool, asked: Callable[[Any, Any], None]) -> Any:
    """``grad`` and its like, whose functions tell before they run."""

    @wraps(real)
    def operator(fun: Any, argnum: Any = 0, *rest: Any, **options: Any) -> Any:
        gradient = real(fun, argnum, *rest, **options)

        @wraps(fun)
        def run(*args: Any, **kwargs: Any) -> Any:
            asked((fun, argnum, aux, kwargs), args)
            return gradient(*args, **kwargs)

        return run

    return operator
