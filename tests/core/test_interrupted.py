"""Ctrl-C while an override begins or ends: it is over all the same, wherever the interrupt falls."""

import subprocess
import sys
from pathlib import Path

import pytest

import surrogate

SIGN = {"sign": "identity"}
_ACTIVE = surrogate._active.__file__
_CORE = {_ACTIVE, surrogate._override.__file__, surrogate._ending.__file__}
_PARTS = {"_end"}  # of _override.py
_DOORS = {"to_its_end", "pop"}  # before their first line Python itself may raise: nothing can be done
_LOCKED = {
    "__new__"
}  # tracing can raise between a with block and its end, where a signal cannot: the lock stays


class _Once:
    """Raises KeyboardInterrupt before the n-th line that the core runs to begin or end an override."""

    def __init__(self, n, event="line", everywhere=False):
        self.left = n
        self.event = event
        self.everywhere = everywhere

    def __call__(self, frame, event, arg):
        code = frame.f_code
        ours = code.co_filename == _ACTIVE and code.co_name not in _DOORS | _LOCKED
        if self.everywhere:
            ours = code.co_filename in _CORE and code.co_name not in _LOCKED | {"__del__"}  # only printed
        if not ours and code.co_name not in _PARTS:
            return self if event == "call" else None
        if event == self.event:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


#: A notebook keeps the last traceback, and with it the frames and all that they hold.
kept = []


def interrupt(n, step, *where):
    """Whether the step was interrupted at the n-th line."""
    before = sys.gettrace()
    sys.settrace(_Once(n, *where))
    try:
        step()
    except KeyboardInterrupt as error:
        kept.append(error)
        return True
    finally:
        sys.settrace(before)
    return False


def every_line(prepare, event="line", everywhere=False):
    """Interrupt what ``prepare()`` returns at every line, until it comes through; how many there were.

    Or before the first line of every function, with ``"call"``; ``everywhere`` in the core.
    """
    n = 0
    while True:
        step = prepare()
        n += 1
        if not interrupt(n, step, event, everywhere):
            return n - 1


@pytest.fixture
def scope(toy):
    return surrogate.override(toy, SIGN)


@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")
class TestAnInterrupt:
    def test_while_a_block_begins(self, toy, scope):
        def prepare():
            assert toy.here == {}
            return scope.__enter__

        assert every_line(prepare) > 5
        assert toy.here == SIGN
        scope.__exit__(None, None, None)
        assert toy.here == {}

    def test_while_a_block_ends(self, toy, scope):
        def prepare():
            assert toy.here == {}
            scope.__enter__()
            return lambda: scope.__exit__(None, None, None)

        assert every_line(prepare) > 5
        assert toy.here == {}
        with pytest.raises(surrogate.ScopeError):
            scope.__exit__(None, None, None)

    def test_while_a_decorated_function_ends(self, toy, scope):
        @scope
        def body():
            return None

        def prepare():
            assert toy.here == {}
            return body

        assert every_line(prepare) > 5
        assert toy.here == {}

    @pytest.mark.parametrize("event", ["call", "line"])
    def test_in_a_with_block(self, toy, scope, event):
        def body():
            with scope:
                assert toy.here == SIGN

        def prepare():
            assert toy.here == {}
            return body

        assert every_line(prepare, event, everywhere=True) > 5
        assert toy.here == {}

    def test_while_use_begins(self, toy):
        handles = []

        def prepare():
            assert toy.here == {}
            return lambda: handles.append(surrogate.use(toy, SIGN))

        assert every_line(prepare) > 5
        assert toy.here == SIGN
        handles[0].undo()
        assert toy.here == {}

    def test_while_use_is_undone(self, toy):
        def prepare():
            assert toy.here == {}
            return surrogate.use(toy, SIGN).undo

        assert every_line(prepare) > 5
        assert toy.here == {}


def test_at_random_moments():
    here = Path(__file__)
    command = [sys.executable, here.parents[1] / "interrupts.py", here.with_name("interrupted.py")]
    found = subprocess.run(
        [*command, "--total", "480"], capture_output=True, text=True, timeout=300, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr[-2000:]
    assert found.stdout.endswith("480 interrupts, 0 faults, after 0 the framework itself was broken\n")
