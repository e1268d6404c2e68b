"""Ops that autograd calls inside its own derivative rules keep their native gradients."""

import autograd.numpy as anp
import autograd.scipy.special as special
import autograd.scipy.stats as stats
import numpy as np
import pytest
from autograd import elementwise_grad, grad, make_vjp
from autograd.extend import defvjp, primitive
from autograd.numpy.numpy_boxes import ArrayBox
from surrogate_autograd import _hooks

import surrogate

# (op whose rule must not be seen, a function in whose derivative rules autograd calls it)
INSIDE_RULES = [
    ("sign", "fabs", lambda x: anp.fabs(x) * x**2),
    ("floor", "mod by its divisor", lambda x: anp.mod(7.3, x) * x),
    ("abs", "norm of order 3", lambda x: anp.linalg.norm(anp.stack([x, x * x]), 3, axis=0)),
    ("sign", "exponentially scaled Bessel", lambda x: special.ive(1, x)),
]
inside_rules = pytest.mark.parametrize(
    ("op", "f"), [pytest.param(op, f, id=f"{op} in {name}") for op, name, f in INSIDE_RULES]
)


def curvature(f, x):
    return elementwise_grad(elementwise_grad(f))(x)


@pytest.fixture
def x():
    return np.array([-2.3, -0.7, 0.4, 1.9])


@inside_rules
def test_derivatives_of_autograd_s_own_rules_are_native(op, f, rules, x):
    right = curvature(f, x)
    with (
        pytest.warns(surrogate.NothingCapturedWarning),
        surrogate.override("autograd", {op: rules[op]}),
    ):
        found = curvature(f, x)
    np.testing.assert_array_equal(found, right)


@inside_rules
def test_they_would_not_be_if_the_caller_did_not_matter(op, f, rules, x, monkeypatch):
    right = curvature(f, x)
    monkeypatch.setattr(_hooks, "OWN", ("no module",))
    with surrogate.override("autograd", {op: rules[op]}) as used:
        found = curvature(f, x)
    assert used.hits[op] > 0
    assert not np.array_equal(found, right)


COMPOSITES = [
    ("mean", lambda x: anp.mean(x**3)),
    ("std", lambda x: anp.std(x)),
    ("norm", lambda x: anp.linalg.norm(x)),
    ("maximum", lambda x: anp.sum(anp.maximum(x, x**2))),
    ("sort", lambda x: anp.sum(anp.sort(x) * x)),
    ("logpdf", lambda x: anp.sum(stats.norm.logpdf(x, 0.5, 2.0))),
    ("logsumexp", lambda x: special.logsumexp(x)),
    ("gammaln", lambda x: anp.sum(special.gammaln(x**2))),
    ("abs", lambda x: anp.sum(anp.abs(x) * x)),
    ("power", lambda x: anp.sum(anp.abs(x) ** 1.5)),
    ("fft", lambda x: anp.sum(anp.abs(anp.fft.fft(x)))),
]


@pytest.mark.parametrize("f", [pytest.param(f, id=name) for name, f in COMPOSITES])
def test_what_is_no_op_is_native_under_all_defaults(f, x):
    first, second = grad(f)(x), curvature(f, x)
    handle = surrogate.use("autograd")
    found = grad(f)(x), curvature(f, x)
    with pytest.warns(surrogate.NothingCapturedWarning):
        handle.undo()
    np.testing.assert_array_equal(found[0], first)
    np.testing.assert_array_equal(found[1], second)


# since autograd 1.9 NumPy's own functions take boxes; before they refuse them
@pytest.mark.skipif(not hasattr(ArrayBox, "__array_ufunc__"), reason="numpy.linalg.norm(box) is a TypeError")
def test_what_numpy_calls_in_its_composites_is_native(rules, x):
    def f(x):
        return np.linalg.norm(x, 1) * anp.sum(x)

    right = grad(f)(x)
    handle = surrogate.use("autograd", {"abs": rules["abs"]})
    found = grad(f)(x)
    with pytest.warns(surrogate.NothingCapturedWarning):
        handle.undo()
    np.testing.assert_array_equal(found, right)


def test_an_operator_is_whose_who_wrote_it(rules, x):
    """``x % y`` in a rule of autograd's would be autograd's; here it is the user's."""
    with surrogate.override("autograd", {"mod": rules["mod"]}) as used:
        elementwise_grad(lambda x: x % 2.0)(x)
    assert used.hits == {"mod": 1}


def test_a_user_s_own_rule_is_the_user_s(x):
    @primitive
    def cube(x):
        return x**3

    defvjp(cube, lambda ans, x: lambda g: 3 * g * anp.sign(x) * x**2)
    with surrogate.override("autograd", {"sign": "identity"}):
        found = curvature(cube, x)
    np.testing.assert_array_equal(found, 3 * x**2 + 3 * np.sign(x) * 2 * x)


def test_a_rule_s_own_body_sees_no_override(x):
    def through_sign(xp, x):
        return 2 + xp.sign(x) * (x % 2.0)

    right = surrogate.reference.vjp("sign", through_sign, x)[0]
    with surrogate.override("autograd", {"sign": through_sign, "mod": lambda xp, x, y: (7.0, 7.0)}) as used:
        found = elementwise_grad(anp.sign)(x)
        curved = curvature(anp.sign, x)
    np.testing.assert_array_equal(found, right)
    np.testing.assert_array_equal(curved, np.sign(x))  # d/dx of sign(x) * (x % 2) is sign(x), natively
    assert used.hits == {"sign": 2, "mod": 0}


def test_recursion_through_nested_traces_is_captured_once(x):
    with surrogate.override("autograd", {"sign": "tanh"}) as used:
        elementwise_grad(elementwise_grad(elementwise_grad(anp.sign)))(x)
    assert used.hits == {"sign": 1}


def test_a_vjp_that_runs_a_user_s_function_again_is_the_user_s(x):
    """autograd's own checkpoint calls the user's function from a derivative rule."""
    from autograd.differential_operators import checkpoint

    with surrogate.override("autograd", {"sign": "identity"}):
        vjp, _ = make_vjp(checkpoint(lambda x: anp.sign(x)))(x)
    np.testing.assert_array_equal(vjp(np.ones(4)), np.ones(4))
