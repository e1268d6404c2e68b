"""The rules in force, as part of every key JAX caches under.

JAX keeps compiled functions, traces and derivatives under keys that contain its user contexts. Two
are ours: the process-wide rules, which every thread sees, and what is local to a thread. They are made
when this module is imported, because making one changes every key: what was compiled before is
traced once more.

The rules an op obeys are the core's. The two can only disagree where Python switches contexts
without telling anybody, see :func:`agree`.
"""

from __future__ import annotations

import sys
import threading
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any, NamedTuple

import jax

import surrogate
from surrogate_jax._hooks import RUN, set_for_all_threads, sixty_four_bits, tracing_for_a_cache
from surrogate_jax._keys import Key, Place, captured_by, remember

#: Nothing is local to this thread: the process-wide rules hold.
_NOTHING = "process-wide"

_process = jax.make_user_context(default_value=None)
_local = jax.make_user_context(default_value=_NOTHING)


class Begun(NamedTuple):
    """A call through ``jit`` for which JAX had no compiled function at hand.

    Attributes:
        key: the key under which JAX looked, and will keep what it compiles: that function's and no other's.
        places: where ops are captured while it is traced.
        around: the call inside whose tracing it is.
    """

    key: Key | None
    places: set[Place]
    around: Begun | None


class Suspension(NamedTuple):
    """A block in which nothing is captured.

    Attributes:
        frame: the frame that runs it.
        entered: what of JAX's own it has changed, to be put back.
        around: the block around it.
    """

    frame: FrameType
    entered: list[AbstractContextManager[Any]]
    around: Suspension | None


class _Thread(threading.local):
    suspension: Suspension | None = None
    tracing: Begun | None = None
    traced: Key | None = None


_thread = _Thread()


def set_process(rules: surrogate.RuleSet) -> None:
    """Put the process-wide rules into the keys of all threads."""
    set_for_all_threads(_process, Key(rules) if rules else None)


def set_local(rules: surrogate.RuleSet | None) -> None:
    """Put rules into the keys of this thread; None takes them out."""
    # entering sets the value; it stays until the next call, there is no block to leave
    _local(_NOTHING if rules is None else Key(rules) if rules else None).__enter__()


def _key() -> Key | None:
    """What JAX's keys contain in this thread."""
    local = _local.value
    key: Key | None = _process.value if local is _NOTHING else local
    return key


def begin_tracing() -> Begun:
    """JAX looked for a compiled function in vain and traces it, until :func:`end_tracing`.

    Meanwhile other functions may be compiled and called, and blocks entered and left: all under other keys.
    """
    key = _key()
    if key is not None:
        _renew(key)
    _thread.tracing = Begun(key, set(), _thread.tracing)
    return _thread.tracing


def traced(begun: Begun, jaxpr: Any) -> None:
    """What was begun has given this."""
    remember(jaxpr, begun.places)
    _thread.traced = begun.key


def end_tracing(begun: Begun) -> None:
    _thread.tracing = begun.around


def _renew(key: Key) -> None:
    if _local.value is _NOTHING:
        set_for_all_threads(_process, key.fresh())
    else:
        _local(key.fresh()).__enter__()


def now_run() -> Key | None:
    """The key of the function that was traced last, once: it runs now."""
    key, _thread.traced = _thread.traced, None
    return key


def captured(state: surrogate.State, op: str, frame: FrameType | None) -> Place:
    """Count a capture, and remember it with what is being traced; where it was."""
    place = Place(op, state.rules.keyed[op], state.site(frame or sys._getframe(1)))
    state.captured(op, kept=RUN is None, frame=place.site)
    key = _key()
    if key is not None:
        key.noted(place)
    if _thread.tracing is not None:
        _thread.tracing.places.add(place)
    return place


def called(jaxpr: Any) -> frozenset[Place]:
    """A traced function is called: what it has captured, which is told where it is no news."""
    found = captured_by(jaxpr)
    key = _key()
    if key is not None and found:
        key.tell(found)
    if _thread.tracing is not None:
        _thread.tracing.places.update(found)
    return found


def is_suspended() -> bool:
    """Whether a rule's own functions, or the native op, run in this thread.

    An interrupt (Ctrl-C) may fall where a block has been entered and nobody will leave it: its frame is gone.
    """
    while (found := _thread.suspension) is not None:
        here: FrameType | None = sys._getframe(1)
        while here is not None:
            if here is found.frame:
                return True
            here = here.f_back
        _leave(found)
        follow(Key.state())
    return False


class suspended:  # noqa: N801 - used as a function
    """Run a rule's own functions, or the native op, on these operands: they never see overrides.

    A class, since Python closes a generator that nobody will resume when it is collected (a notebook keeps
    the traceback of an interrupt for hours), and its end would put back what was in the keys long ago.
    """

    __slots__ = ("_operands", "_own")

    def __init__(self, *operands: Any) -> None:
        self._operands = operands

    def __enter__(self) -> None:
        own = self._own = _thread.suspension = Suspension(sys._getframe(1), [], _thread.suspension)
        for block in (_local(None), *_usual_promotion(), *wide(*self._operands)):
            block.__enter__()
            own.entered.append(block)

    def __exit__(self, *raised: object) -> None:
        while (inner := _thread.suspension) is not None and inner is not self._own:
            _leave(inner)
        _leave(self._own)


def _leave(own: Suspension) -> None:
    while own.entered:
        own.entered.pop().__exit__(None, None, None)
    _thread.suspension = own.around


def wide(*operands: Any) -> tuple[AbstractContextManager[Any], ...]:
    """64-bit dtypes, if one of the operands has one: a pullback may run where they are off by now."""
    wanted = any(getattr(getattr(x, "dtype", None), "itemsize", 0) == 8 for x in operands)
    return (sixty_four_bits(),) if wanted and not jax.config.jax_enable_x64 else ()


def _usual_promotion() -> tuple[AbstractContextManager[Any], ...]:
    """What a user forbids for their own code (mixed ranks, mixed dtypes) formulas may do."""
    strict = jax.config.jax_numpy_dtype_promotion, jax.config.jax_numpy_rank_promotion
    if strict == ("standard", "allow"):
        return ()
    return jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow")


def in_keys() -> surrogate.RuleSet | None:
    """The rules that JAX's keys contain in this thread; None when there are none."""
    key = _key()
    return None if key is None else key.rules


def follow(state: surrogate.State) -> None:
    """Make the keys of this thread say what ``state`` says."""
    if not agrees(state):
        process = _process.value
        common = (state.rules or None) is (None if process is None else process.rules)
        set_local(None if common else state.rules)


def agrees(state: surrogate.State) -> bool:
    """Whether JAX's keys in this thread say what ``state`` says."""
    return in_keys() is (state.rules or None)


def agree(state: surrogate.State) -> None:
    """Check that JAX's keys say what ``state``, in force here, says; repair them where that is enough.

    They differ where a context was switched unseen: an eager asyncio task, a generator closed from
    elsewhere, ``use()`` in another thread while this one is inside an override; those are repaired.
    They also differ in a thread that was given a copy of a context with an override in it
    (``asyncio.to_thread``): setting the keys there would leak into the thread's next job.

    What cannot be seen: a function that was compiled before under the same keys runs without any Python
    of ours. In a thread with a copied context it runs as other threads do, without the override.

    Raises:
        ScopeError: the override was entered in another thread; or a function is being traced for a
            cache under keys that say something else (then the next call is right).
    """
    if agrees(state):
        return
    said = in_keys()
    if _local.value is _NOTHING:
        raise surrogate.ScopeError(
            f"this thread runs with a copy of a context in which an override of {_show(state.rules)} was "
            "entered. An override holds in its own thread or async task only: enter surrogate.override(...) "
            "in the function that this thread runs."
        )
    follow(state)
    if tracing_for_a_cache():
        raise surrogate.ScopeError(
            f"the rules in force here are {_show(state.rules)}, but JAX is tracing a function for its cache "
            f"under {_show(said)}: the process-wide rules changed inside an override, or the override was "
            "entered in another context. The two are in step again: call once more."
        )


def _show(rules: surrogate.RuleSet | None) -> str:
    return ", ".join(gradient.id for gradient in rules.values()) if rules else "none"
