"""Learned parameters of a gradient: boxes beside the op's operands, by reverse, forward and both."""

import weakref

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad, hessian, jacobian, make_jvp

import surrogate

RNG = np.random.default_rng(0)
X, G = RNG.normal(size=(3, 5)), RNG.normal(size=(3, 5))


@pytest.fixture(params=[(), (5,), (3, 1)], ids=str)
def slope(request):
    return RNG.uniform(0.5, 2, request.param)


def under(op, function, name="tanh", parameter="slope"):
    def loss(x, slope):
        with surrogate.override("autograd", {op: surrogate.gradient(op, name, **{parameter: slope})}):
            return anp.sum(function(x) * G)

    return loss


def primitive(x, slope):
    return anp.sum(anp.tanh(slope * x) * G)


OURS = under("sign", anp.sign)


def same(found, wanted):
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


MODES = {
    "by x": lambda f, *args: grad(f, 0)(*args),
    "by the slope": lambda f, *args: grad(f, 1)(*args),
    "forward": lambda f, x, k: make_jvp(lambda k: f(x, k))(k)(np.ones_like(k))[1],
    "second, by both": lambda f, x, k: jacobian(grad(f, 0), 1)(x, k),
    "second, by the slope": lambda f, x, k: hessian(f, 1)(x, k),
}


@pytest.mark.parametrize("mode", MODES)
def test_the_cotangent_is_that_of_the_primitive(slope, mode):
    same(MODES[mode](OURS, X, slope), MODES[mode](primitive, X, slope))


def test_a_python_number():
    same(grad(OURS, 1)(X, 1.5), grad(primitive, 1)(X, 1.5))


def test_both_at_once(slope):
    def at_once(f):
        return grad(lambda both: f(both[0], both[1]))((X, slope))

    for found, wanted in zip(at_once(OURS), at_once(primitive), strict=True):
        same(found, wanted)


OPS = {
    "method": ("sign", "tanh", "slope", lambda x: anp.sign(x * 1), lambda x, k: anp.tanh(k * x)),
    "two inputs": (
        "heaviside",
        "sigmoid",
        "slope",
        lambda x: anp.heaviside(x, 0.5),
        lambda x, k: 1 / (1 + anp.exp(-k * x)),
    ),
    "bounds": (
        "clip",
        "leaky",
        "leak",
        lambda x: anp.clip(x, -0.5, 0.5),
        lambda x, k: anp.where(anp.abs(x) < 0.5, x, 0.5 * np.sign(X) + k * (x - 0.5 * np.sign(X))),
    ),
}


@pytest.mark.parametrize("case", OPS)
def test_of_other_ops(slope, case):
    op, name, parameter, function, s = OPS[case]
    for argnum in (0, 1):
        found = grad(under(op, function, name, parameter), argnum)(X, slope)
        same(found, grad(lambda x, k: anp.sum(s(x, k) * G), argnum)(X, slope))


def test_in_half_precision_it_keeps_its_own():
    x, g, k = X.astype(np.float16), G.astype(np.float16), np.float32(1 + 2**-12)

    def loss(x, k):
        with surrogate.override("autograd", {"sign": surrogate.gradient("sign", "softsign", alpha=k)}):
            return anp.sum(anp.sign(x) * g)

    by_x, by_k = grad(loss, 0)(x, k), grad(loss, 1)(x, k)
    assert (by_x.dtype, by_k.dtype) == (np.float16, np.float32)
    wide = x.astype(np.float64), g.astype(np.float64), float(k)
    np.testing.assert_allclose(by_k, np.sum(wide[1] * wide[0] / (1 + wide[2] * abs(wide[0])) ** 2), rtol=1e-3)


def test_ranges_are_checked_and_what_says_nothing_is_refused():
    with pytest.raises(surrogate.ParameterError, match=r"slope must be above 0, not -1"):
        grad(OURS, 1)(X, -1.0)
    with pytest.raises(surrogate.ParameterError, match="does not say what its derivative by o is"):
        grad(under("sign", anp.sign, "reste", "o"), 1)(X, 3.0)


def test_one_that_is_kept_beyond_its_derivative_is_refused():
    kept = []

    def loss(k):
        kept.append(surrogate.gradient("sign", "tanh", slope=k))
        return k

    grad(loss)(1.5)
    with (
        pytest.raises(surrogate.ParameterError, match="of a derivative that has been computed"),
        surrogate.override("autograd", {"sign": kept[0]}),
    ):
        anp.sign(X)


def test_what_was_computed_is_let_go():
    slope = np.full(5, 1.5)
    alive = weakref.ref(slope)
    grad(OURS, 1)(X, slope)
    del slope
    assert alive() is None
