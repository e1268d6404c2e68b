"""Async tasks take turns in one thread: JAX's keys follow whichever runs.

The core keeps overrides in context variables, which asyncio switches; JAX keeps its keys by thread. From
the first override that is entered in a running event loop on, every step that a loop takes begins
and ends by bringing the keys in line.

Not seen: loops that do not run ``asyncio.Handle`` (uvloop) and eager tasks. There
:func:`surrogate_jax._scope.agree` repairs or raises when an op is traced; a call of a function that was
compiled before under the same keys runs without any Python and is not checked.
"""

from __future__ import annotations

import asyncio
import functools
from typing import Any

import surrogate
from surrogate_jax._scope import follow, set_local


def loop_is_running() -> bool:
    """Whether this thread runs an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@functools.cache
def follow_tasks(backend: surrogate.Backend) -> None:
    """Let the keys follow the tasks of every event loop, from here on."""
    native = asyncio.Handle._run

    def in_step() -> None:
        follow(backend.state())

    @functools.wraps(native)
    def run(handle: Any) -> Any:
        handle._context.run(in_step)
        try:
            return native(handle)
        finally:
            if backend.store.is_foreign():  # a loop that was started in a copied context
                set_local(None)
            else:
                in_step()

    asyncio.Handle._run = run  # type: ignore[assignment,method-assign]
