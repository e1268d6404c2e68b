"""Functions of the user's that are run again in the backward pass, or by NumPy."""

import sys
import types

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad, make_vjp
from autograd.extend import defvjp, primitive
from autograd.misc.fixed_points import fixed_point

import surrogate

FLOOR = {"floor": "identity"}


def solve(a):
    """x = x/2 + a/2 + floor(x)/10 at x = a: slope 1, or 0.5/(1 - 0.5 - 0.1) = 1.25 with an identity floor."""

    def step(a):
        return lambda x: 0.5 * x + 0.5 * a + 0.1 * anp.floor(x)

    return fixed_point(step, a, np.array(0.3), lambda a, b: anp.abs(a - b), 1e-14)


@pytest.fixture
def odeint(monkeypatch):
    """What stands for autograd.scipy.integrate.odeint, without SciPy: it runs ``f`` again in its vjp."""

    def forward(f, y):
        return f(y)

    again = primitive(forward)
    defvjp(again, lambda ans, f, y: lambda g: make_vjp(f)(y)[0](g), argnums=(1,))
    module = types.ModuleType("autograd.scipy.integrate")
    module.odeint = again
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return again


# within its block an op may have met no gradient yet: it does in the backward pass
later = pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")


@later
@pytest.mark.parametrize("around", [None, {"floor": "zero"}, {"floor": "sine"}], ids=str)
def test_a_fixed_point_obeys_the_rules_of_its_forward(around):
    with surrogate.override("autograd", FLOOR) as scope:
        vjp, _ = make_vjp(solve)(0.5)
    with surrogate.override("autograd", around or {}):
        found = vjp(1.0)
    assert found == pytest.approx(1.25, rel=1e-12)
    assert scope.hits["floor"] > 0


@later
@pytest.mark.parametrize("rules", [{}, {"floor": "native"}], ids=["none", "hole"])
def test_a_native_fixed_point_stays_native(rules):
    with surrogate.override("autograd", rules):
        vjp, _ = make_vjp(solve)(0.5)
    with surrogate.override("autograd", FLOOR):
        found = vjp(1.0)
    assert found == pytest.approx(1.0, rel=1e-12)


@later
def test_a_solver_of_differential_equations_obeys_the_rules_of_its_forward(odeint):
    with surrogate.override("autograd", {"sign": lambda xp, x: 1.0 + x * x}):
        vjp, _ = make_vjp(lambda y: odeint(anp.sign, y))(2.0)
    assert vjp(1.0) == 5.0


def test_numpys_vectorize_calls_what_the_user_gave_it():
    x = np.array([-2.0, 0.5])
    with surrogate.override("autograd", {"sign": "hardtanh"}):
        for options in ({}, {"otypes": [object]}, {"cache": True}):
            assert grad(lambda x, o=options: anp.sum(np.vectorize(anp.sign, **o)(x)))(x).tolist() == [0, 1]
