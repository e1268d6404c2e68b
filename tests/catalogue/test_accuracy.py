"""Every smooth formula against an independent statement of it, in mpmath with 40 digits.

The bound: four units in the last place, plus what the rounding of the argument alone must cost,
1.5 times ``|x g'(x) / g(x)|`` units (no formula over rounded numbers can do much better).
"""

import functools

import mpmath as mp
import numpy as np
import pytest

import surrogate
from surrogate import _numpy

mp.mp.dps = 40
ULPS = 4


def cosh_square(z):
    return mp.sech(z) ** 2


def logistic_slope(z):
    return mp.sech(z / 2) ** 2 / 4


def normal(x, mean, sigma):
    return mp.npdf(x, mean, sigma)


def to_nearest(x):
    return x - mp.nint(x)


def soft(alpha, r):
    return alpha * mp.sech(alpha * r) ** 2 / (2 * mp.tanh(alpha / 2))


def reste(x, o, t, m):
    a = abs(x)
    return 0 if a > t else m ** (1 / o) / m if a <= m else a ** ((1 - o) / o) / o


def swish(x, beta):
    z = beta * x
    return beta * (2 - z * mp.tanh(z / 2)) / (1 + mp.cosh(z))


def multi(x, h, sigma):
    wide = 6 * sigma
    return (1 + h) * normal(x, 0, sigma) - h * normal(x, sigma, wide) - h * normal(x, -sigma, wide)


def s2nn(x, alpha, beta):
    return alpha * logistic_slope(alpha * x) if x < 0 else beta / (x + 1)


#: op -> name -> (statement, settings of the parameters besides the defaults)
STATEMENTS = {
    "sign": {
        "tanh": (lambda x, slope: slope * cosh_square(slope * x), [{"slope": 100}, {"slope": 0.3}]),
        "sigmoid": (lambda x, slope: 2 * slope * logistic_slope(slope * x), [{"slope": 100}]),
        "arctan": (lambda x, alpha: alpha / (1 + (mp.pi * alpha * x / 2) ** 2), [{"alpha": 100}]),
        "softsign": (lambda x, alpha: alpha / (1 + alpha * abs(x)) ** 2, [{"alpha": 100}]),
        "approx_sign": (lambda x: max(mp.mpf(0), 2 - 2 * abs(x)), []),
        "swish_sign": (swish, [{"beta": 100}, {"beta": 0.1}]),
        "reste": (reste, [{"o": 1.5, "t": 2, "m": 0.25}]),
        "ede": (lambda x, t: max(1 / t, 1) * t * cosh_square(t * x), [{"t": 10}, {"t": 0.1}]),
    },
    "heaviside": {
        "arctan": (lambda x, alpha: alpha / 2 / (1 + (mp.pi * alpha * x / 2) ** 2), [{"alpha": 100}]),
        "sigmoid": (lambda x, slope: slope * logistic_slope(slope * x), [{"slope": 25}, {"slope": 100}]),
        "fast_sigmoid": (lambda x, slope: 1 / (1 + slope * abs(x)) ** 2, [{"slope": 100}]),
        "softsign": (lambda x, alpha: alpha / 2 / (1 + alpha * abs(x)) ** 2, [{"alpha": 100}]),
        "tanh": (lambda x, slope: slope / 2 * cosh_square(slope * x), [{"slope": 100}]),
        "gaussian": (lambda x, sigma: normal(x, 0, sigma), [{"sigma": 0.01}]),
        "erf": (lambda x, alpha: alpha / mp.sqrt(mp.pi) * mp.exp(-((alpha * x) ** 2)), [{"alpha": 100}]),
        "multi_gaussian": (multi, [{"h": 0.5, "sigma": 0.1}, {"h": 0}]),
        "laplace": (lambda x, alpha: alpha / 2 * mp.exp(-alpha * abs(x)), [{"alpha": 100}]),
        "triangle": (
            lambda x, width, height: height * max(mp.mpf(0), 1 - abs(x) / width),
            [{"width": 2, "height": 0.3}],
        ),
        "q_pseudo_spike": (lambda x, alpha: (1 + 2 * abs(x) / (alpha - 1)) ** -alpha, [{"alpha": 1.5}]),
        "circular": (lambda x, alpha: alpha**3 / (x**2 + alpha**2) ** 1.5, [{"alpha": 0.01}]),
        "s2nn": (s2nn, [{"alpha": 100, "beta": 2}]),
    },
    "round": {
        "sine": (lambda x: 2 * mp.sinpi(to_nearest(x)) ** 2, []),
        "cubic": (lambda x: 3 * to_nearest(x) ** 2, []),
        "soft_round": (lambda x, alpha: soft(alpha, x - mp.floor(x) - 0.5), [{"alpha": 100}]),
    },
    "floor": {
        "sine": (lambda x: 2 * mp.cospi(to_nearest(x)) ** 2, []),
        "cubic": (lambda x: 3 * (x - mp.floor(x) - mp.mpf(1) / 2) ** 2, []),
        "soft_round": (lambda x, alpha: soft(alpha, x + 0.5 - mp.floor(x + 0.5) - 0.5), [{"alpha": 100}]),
    },
    "trunc": {"sine": (lambda x: 2 * mp.cospi(to_nearest(x)) ** 2 if abs(x) >= 0.5 else 0, [])},
    "relu": {"sigmoid": (lambda x, slope: 1 / (1 + mp.exp(-slope * x)), [{"slope": 100}])},
}
STATEMENTS["ceil"] = {name: one for name, one in STATEMENTS["floor"].items() if name != "cubic"}
STATEMENTS["trunc"]["soft_round"] = STATEMENTS["floor"]["soft_round"]

CASES = [
    pytest.param(op, name, given, id=f"{op}:{name}({', '.join(f'{k}={v}' for k, v in given.items())})")
    for op, entries in STATEMENTS.items()
    for name, (_, settings) in entries.items()
    for given in [{}, *settings]
]
#: Points that float32 holds exactly, dense where gradients bend.
POINTS = np.concatenate(
    [np.linspace(0, 3, 25), [1e-30, 0.5 - 2**-20, 0.5 + 2**-20, 1 - 2**-20], np.logspace(-6, 4, 30)]
).astype(np.float32)
POINTS = np.unique(np.concatenate([-POINTS, POINTS]))


def the_gradient(op, name, given):
    arguments = ", ".join(f"{k}={v!r}" for k, v in given.items())
    return surrogate.gradient(op, f"{name}({arguments})" if given else name)


@functools.cache
def exact(gradient):
    """The statement's value and condition number at each point."""
    statement = STATEMENTS[gradient.op.name][gradient.name][0]
    params = {k: mp.mpf(v) for k, v in gradient.params.items()}
    values, conditions = [], []
    for x in map(mp.mpf, POINTS.tolist()):
        value = mp.mpf(statement(x, **params))
        nearby = mp.mpf(statement(x * (1 + mp.mpf(10) ** -20), **params))
        values.append(value)
        conditions.append(abs(nearby - value) * mp.mpf(10) ** 20 / abs(value) if value else mp.mpf(0))
    return values, conditions


def evaluate(gradient, x):
    inputs = (x, *(np.full_like(x, 0.5) for _ in gradient.op.inputs[1:]))
    rule = gradient.rule
    return rule.vjp(_numpy, rule.save(_numpy, inputs), np.ones_like(x))[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize(("op", "name", "given"), CASES)
def test_a_formula_is_accurate_to_the_last_places(op, name, given, dtype):
    gradient = the_gradient(op, name, given)
    got = evaluate(gradient, POINTS.astype(dtype))
    eps, tiny = np.finfo(dtype).eps, float(np.finfo(dtype).tiny)
    wrong = []
    for x, value, truth, condition in zip(POINTS, got, *exact(gradient), strict=True):
        allowed = (ULPS + 1.5 * condition) * float(eps) * abs(truth) + tiny
        if not abs(mp.mpf(float(value)) - truth) <= allowed:
            ulps = (
                float(abs(mp.mpf(float(value)) - truth) / (float(eps) * abs(truth)))
                if truth
                else float("inf")
            )
            wrong.append((float(x), float(value), float(truth), ulps, float(condition)))
    assert wrong == []


def test_every_smooth_formula_has_a_statement():
    smooth = {
        (op, name)
        for op in ("sign", "heaviside", "round", "floor", "ceil", "trunc", "relu")
        for name in surrogate.gradients(op)
        if name != "clipped"
        for gradient in [surrogate.gradient(op, name)]
        if not gradient.upstream
        and gradient.rule.kept((True, *(False,) * (gradient.op.arity - 1))) is surrogate.Kind.INPUTS
    }
    assert smooth == {(op, name) for op, entries in STATEMENTS.items() for name in entries}


PRIMITIVES = {
    "sign:tanh": lambda x: mp.tanh(x),
    "sign:sigmoid": lambda x: 2 / (1 + mp.exp(-4 * x)) - 1,
    "sign:arctan": lambda x: 2 / mp.pi * mp.atan(mp.pi * x),
    "sign:softsign": lambda x: 2 * x / (1 + 2 * abs(x)),
    "sign:approx_sign": lambda x: mp.sign(x) if abs(x) > 1 else 2 * x - mp.sign(x) * x**2,
    "sign:swish_sign": lambda x: 2 / (1 + mp.exp(-5 * x)) * (1 + 5 * x / (1 + mp.exp(5 * x))) - 1,
    "sign:ede": lambda x: mp.tanh(x),
    "heaviside:arctan": lambda x: mp.atan(mp.pi * x) / mp.pi + 0.5,
    "heaviside:sigmoid": lambda x: 1 / (1 + mp.exp(-4 * x)),
    "heaviside:softsign": lambda x: (2 * x / (1 + 2 * abs(x)) + 1) / 2,
    "heaviside:tanh": lambda x: (mp.tanh(x) + 1) / 2,
    "heaviside:gaussian": lambda x: mp.ncdf(x, 0, 0.5),
    "heaviside:erf": lambda x: (1 + mp.erf(2 * x)) / 2,
    "heaviside:circular": lambda x: x / mp.sqrt(x**2 + 1),
    "round:sine": lambda x: x - mp.sin(2 * mp.pi * x) / (2 * mp.pi),
    "floor:sine": lambda x: x + mp.sin(2 * mp.pi * x) / (2 * mp.pi),
    "ceil:sine": lambda x: x + mp.sin(2 * mp.pi * x) / (2 * mp.pi),
    "round:soft_round": lambda x: mp.floor(x) + 0.5 + mp.tanh(4 * (x - mp.floor(x) - 0.5)) / (2 * mp.tanh(2)),
    "relu:sigmoid": lambda x: mp.log(1 + mp.exp(4 * x)) / 4,
}


@pytest.mark.parametrize("label", PRIMITIVES)
def test_it_is_the_derivative_of_its_primitive(label):
    op, _, name = label.partition(":")
    x = np.array([-2.3, -1.2, -0.7, -0.2, 0.1, 0.4, 0.9, 1.7, 2.6])
    got = surrogate.reference.vjp(op, name, x, *([0.5] if op == "heaviside" else []))[0]
    with mp.workdps(60):  # mpmath differentiates the primitive with 30 digits to spare
        expected = [float(mp.diff(PRIMITIVES[label], mp.mpf(v))) for v in x]
    np.testing.assert_allclose(got, expected, rtol=4e-15)
