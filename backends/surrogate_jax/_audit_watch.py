"""Watching a script until it asks for a gradient: JAX is given the function then."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax

from surrogate.auditing import Trace
from surrogate_jax import _audit

#: What asks for a gradient; each is replaced before the script imports it.
_ASKING = ("grad", "value_and_grad")


class _Asked(NamedTuple):
    """A gradient that the script asks for."""

    fun: Callable[..., Any]
    argnums: Any
    has_aux: bool


class _Watch:
    """Counts the gradients that are asked for with known numbers."""

    def __init__(self, caught: Callable[[Trace], None], step: int, done: Callable[[], None]) -> None:
        self._caught, self._left, self._done = caught, step, done

    def asked(self, what: _Asked, args: Any, kwargs: Any) -> None:
        """A gradient is asked for. One inside another, or inside a trace, does not count."""
        traced = any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves((args, kwargs)))
        if not self._left or traced:
            return
        self._left -= 1
        if self._left:
            return
        self._done()
        loss = (lambda out: out[0]) if what.has_aux else None
        fun = functools.partial(what.fun, **kwargs)
        self._caught(_audit.record(fun, args, loss=loss, wrt=None, argnums=what.argnums))


@contextmanager
def watching(caught: Callable[[Trace], None], step: int) -> Iterator[None]:
    """Hand over the trace of the ``step``-th gradient that the program asks for.

    Until then ``jit`` is off, so that a gradient inside a compiled step is asked for with numbers.
    """
    off = jax.config.jax_disable_jit
    watch = _Watch(caught, step, lambda: jax.config.update("jax_disable_jit", off))
    real = {name: getattr(jax, name) for name in _ASKING}
    for name, function in real.items():
        setattr(jax, name, _telling(function, watch))
    jax.config.update("jax_disable_jit", True)
    try:
        yield
    finally:
        jax.config.update("jax_disable_jit", off)
        for name, function in real.items():
            setattr(jax, name, function)


def _telling(real: Any, watch: _Watch) -> Any:
    """``grad`` or ``value_and_grad``, whose functions tell before they run."""

    @functools.wraps(real)
    def operator(fun: Any, argnums: Any = 0, has_aux: bool = False, *rest: Any, **options: Any) -> Any:
        gradient = real(fun, argnums, has_aux, *rest, **options)

        @functools.wraps(fun)
        def run(*args: Any, **kwargs: Any) -> Any:
            watch.asked(_Asked(fun, argnums, has_aux), args, kwargs)
            return gradient(*args, **kwargs)

        return run

    return operator
