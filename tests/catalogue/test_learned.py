"""Derivatives by a parameter: those of the function whose derivative the formula is, and the limits of it."""

import math

import numpy as np
import pytest

import surrogate
from surrogate import _dual as xp, _numpy
from surrogate._dual import Dual
from surrogate._partial import Window
from surrogate._registry import registry

X = np.array([-6.0, -2.5, -1.2, -0.7, -0.3, -0.01, 0.02, 0.4, 0.8, 1.1, 1.9, 5.0])


def erf(z):
    return Dual(np.vectorize(math.erf)(z.value), 2 / np.sqrt(np.pi) * np.exp(-(z.value**2)) * z.slope)


def logistic(z):
    return 1 / (1 + xp.exp(-z))


def clip(x, width):
    return xp.minimum(xp.maximum(x, -width), width)


def swish_sign(x, b):
    s = logistic(b * x)
    return 2 * s * (1 + b * x * (1 - s)) - 1


def laplace(x, a):
    return xp.where(x < 0, 0.5 * xp.exp(a * x), 1 - 0.5 * xp.exp(-a * xp.abs(x)))


#: op:gradient(parameters), the parameter, the function S(x, p), S's derivative by p at -inf and inf.
PRIMITIVES = [
    ("sign:tanh(slope=1.7)", lambda x, k: xp.tanh(k * x), 0, 0),
    ("sign:sigmoid(slope=1.7)", lambda x, k: 2 * logistic(k * x) - 1, 0, 0),
    ("sign:arctan(alpha=1.7)", lambda x, a: 2 / np.pi * xp.atan(np.pi / 2 * a * x), 0, 0),
    ("sign:softsign(alpha=1.7)", lambda x, a: a * x / (1 + a * xp.abs(x)), 0, 0),
    ("sign:swish_sign(beta=1.7)", swish_sign, 0, 0),
    ("sign:ede(t=0.6)", lambda x, t: 1 / t * xp.tanh(t * x), 1 / 0.36, -1 / 0.36),
    ("sign:ede(t=1.7)", lambda x, t: xp.tanh(t * x), 0, 0),
    ("sign:hardtanh(width=1.3)", lambda x, w: clip(x, w), -1, 1),
    ("heaviside:tanh(slope=1.7)", lambda x, k: (xp.tanh(k * x) + 1) / 2, 0, 0),
    ("heaviside:sigmoid(slope=1.7)", lambda x, k: logistic(k * x), 0, 0),
    ("heaviside:arctan(alpha=1.7)", lambda x, a: xp.atan(np.pi / 2 * a * x) / np.pi + 0.5, 0, 0),
    ("heaviside:softsign(alpha=1.7)", lambda x, a: (a * x / (1 + a * xp.abs(x)) + 1) / 2, 0, 0),
    ("heaviside:fast_sigmoid(slope=1.7)", lambda x, k: x / (1 + k * xp.abs(x)), 1 / 2.89, -1 / 2.89),
    ("heaviside:gaussian(sigma=0.6)", lambda x, s: 0.5 * (1 + erf(x / s / np.sqrt(2))), 0, 0),
    ("heaviside:erf(alpha=1.7)", lambda x, a: 0.5 * (1 + erf(a * x)), 0, 0),
    ("heaviside:laplace(alpha=1.7)", laplace, 0, 0),
    ("heaviside:circular(alpha=0.6)", lambda x, a: a * x / xp.sqrt(x * x + a * a), -1, 1),
    ("heaviside:s2nn(alpha=1.7)", lambda x, a: xp.where(x < 0, logistic(a * x), 0.5), 0, 0),
    ("heaviside:s2nn(beta=1.7)", lambda x, b: b * xp.log1p(np.maximum(x, 0)), 0, np.inf),
    ("heaviside:boxcar(width=0.9)", lambda x, w: clip(x, w), -1, 1),
    ("heaviside:boxcar(height=1.7)", lambda x, h: h * np.clip(x, -0.5, 0.5), -0.5, 0.5),
    ("heaviside:open_boxcar(width=0.9)", lambda x, w: clip(x, w), -1, 1),
    ("heaviside:open_boxcar(height=1.7)", lambda x, h: h * np.clip(x, -0.5, 0.5), -0.5, 0.5),
    ("heaviside:hardtanh(width=0.9)", lambda x, w: (clip(x / w, 1.0) + 1) / 2, 0, 0),
    ("relu:leaky(leak=0.3)", lambda x, leak: np.maximum(x, 0) + leak * np.minimum(x, 0), -np.inf, 0),
    ("relu:sigmoid(slope=1.7)", lambda x, k: xp.log1p(xp.exp(k * x)) / k, 0, 0),
]


def stated(text):
    """The derivative by the parameter that a spec gives, as a function of x."""
    op, spec = text.split(":")
    gradient = surrogate.gradient(op, spec)
    name = spec.partition("(")[2].partition("=")[0]

    def function(x):
        with np.errstate(all="ignore"):
            found = gradient.formula.by[name](_numpy, x, **gradient.params)
        return np.where(found.mask, found.inside, found.outside) if isinstance(found, Window) else found

    return function, gradient.params[name]


@pytest.mark.parametrize(
    ("text", "primitive"), [case[:2] for case in PRIMITIVES], ids=[c[0] for c in PRIMITIVES]
)
def test_it_is_that_of_the_primitive(text, primitive):
    function, value = stated(text)
    wanted = primitive(X, Dual(value, 1.0))
    np.testing.assert_allclose(function(X), np.broadcast_to(wanted.slope, X.shape), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("text", "_", "low", "high"), PRIMITIVES, ids=[c[0] for c in PRIMITIVES])
def test_its_limits(text, _, low, high):
    function, _ = stated(text)
    np.testing.assert_allclose(function(np.array([-np.inf, np.inf])), [low, high], rtol=1e-12)
    assert np.isfinite(function(np.array([-1e4, 1e4, 0.0]))).all()


def test_every_formula_that_states_one_is_in_the_table():
    named = {(text.split("(")[0], text.partition("(")[2].partition("=")[0]) for text, *_ in PRIMITIVES}
    for op in surrogate.ops():
        for name, formula in registry.own(op).items():
            for parameter in formula.by:
                assert (f"{op}:{name}", parameter) in named | {("clip:leaky", "leak")}
