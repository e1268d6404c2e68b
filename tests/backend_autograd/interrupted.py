"""What is interrupted; see ``tests/interrupts.py``."""

import autograd.numpy as anp
import numpy as np
from autograd import grad, jacobian, make_jvp, make_vjp
from autograd.misc.fixed_points import fixed_point

BACKEND = "autograd"
RULES = {"sign": "arctan", "round": "identity", "clip": "half", "floor": "sine"}

_W = np.linspace(-2, 2, 64).reshape(8, 8)


def _loss(w):
    squares = anp.mean(anp.dot(anp.sign(w), anp.round(4 * w)) ** 2)
    return squares + anp.sum(anp.clip(w, -0.5, 0.5)) + anp.sum(anp.floor(w))


def eager(scope):
    with scope():
        return grad(_loss)(_W)


def backward_later(scope):
    with scope():
        pull, _ = make_vjp(_loss)(_W)
    return pull(1.0)


def forward(scope):
    with scope():
        return make_jvp(_loss)(_W)(_W)[1]


def second(scope):
    with scope():
        return jacobian(grad(lambda x: anp.sum(anp.sign(x) * x**2)))(_W[0])


def recomputed(scope):
    """The backward of a fixed point runs its function again."""

    def step(a):
        return lambda x: 0.5 * x + 0.5 * a + 0.1 * anp.floor(x)

    with scope():
        return grad(lambda a: fixed_point(step, a, np.array(0.3), lambda a, b: anp.abs(a - b), 1e-6))(0.5)


STEPS = {step.__name__: step for step in (eager, backward_later, forward, second, recomputed)}
