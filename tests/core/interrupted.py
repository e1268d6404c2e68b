"""What is interrupted; see ``tests/interrupts.py``. A backend without a framework: the core is tried."""

import contextvars
import sys
from pathlib import Path

import numpy as np

import surrogate
from surrogate import reference

sys.path.insert(0, str(Path(__file__).parent))
from toy import Toy

BACKEND = Toy()
RULES = {"sign": "arctan", "round": "identity", "floor": "sine"}

_X = np.linspace(-2, 2, 65)
_OPS = ("sign", "round", "floor", "relu")


def _derivatives():
    """What a framework would: of each op the rule in force, counted, and its derivative."""
    state, found = BACKEND.state(), []
    for op in _OPS:
        gradient = state.rule(op)
        if gradient is not None:
            state.captured(op)
            found.append(reference.vjp(op, gradient, _X)[0])
        else:
            found.append(np.zeros_like(_X))
    return np.stack(found)


def block(scope):
    with scope():
        return _derivatives()


def later(scope):
    """A backward that runs after the block, under the rules of its forward."""
    with scope():
        state = BACKEND.state()
    return BACKEND.under(state, _derivatives)


def hole(scope):
    with scope(), BACKEND.exactly(None):
        outside = _derivatives()
    with scope():
        return outside + _derivatives()


def generator(scope):
    def steps():
        with scope():
            yield _derivatives()

    running = steps()
    found = next(running)
    running.close()
    return found


def context(scope):
    return contextvars.copy_context().run(block, scope)


def many(scope):
    with scope(), surrogate.override(BACKEND, {"relu": "identity"}), scope():
        return _derivatives()


STEPS = {step.__name__: step for step in (block, later, hole, generator, context, many)}
