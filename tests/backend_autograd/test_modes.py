"""All of autograd's ways to differentiate give the same numbers, those of the reference."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import (
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    hessian,
    hessian_vector_product,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    tensor_jacobian_product,
    value_and_grad,
)
from autograd.differential_operators import checkpoint, make_jvp_reversemode
from autograd.misc.tracers import const_graph

import surrogate

SMOOTH = [
    ("sign", "tanh(slope=2)", {}),
    ("sign", "arctan", {}),
    ("round", "sine", {}),
    ("round", "sine", {"decimals": 1}),
    ("floor", "soft_round", {}),
    ("trunc", "sine", {}),
]
smooth = pytest.mark.parametrize(
    ("op", "spec", "attributes"), [pytest.param(*row, id=f"{row[0]}-{row[1]}-{row[2]}") for row in SMOOTH]
)
EXACT = {"rtol": 1e-14, "atol": 1e-14}  # two orders of summation and of factors, nothing else


def first(op, spec, x, **attributes):
    return surrogate.reference.vjp(op, spec, x, **attributes)[0]


def second(op, spec, x, **attributes):
    return surrogate.reference.second(op, spec, x, **attributes)[0]


@smooth
def test_grad(op, spec, attributes, x):
    def f(x):
        return anp.sum(getattr(anp, op)(x, **attributes))

    with surrogate.override("autograd", {op: spec}):
        np.testing.assert_array_equal(grad(f)(x), first(op, spec, x, **attributes))
        value, found = value_and_grad(f)(x)
    np.testing.assert_array_equal(found, first(op, spec, x, **attributes))
    assert value == np.sum(getattr(np, op)(x, **attributes))


@smooth
def test_elementwise_grad_of_the_function_itself(op, spec, attributes, x):
    with surrogate.override("autograd", {op: spec}):
        found = elementwise_grad(getattr(anp, op))(x, **attributes)
    np.testing.assert_array_equal(found, first(op, spec, x, **attributes))


@smooth
def test_forward_mode(op, spec, attributes, x, g):
    with surrogate.override("autograd", {op: spec}):
        value, tangent = make_jvp(getattr(anp, op))(x, **attributes)(g)
        ones = deriv(getattr(anp, op))(x, **attributes)
    np.testing.assert_array_equal(value, getattr(np, op)(x, **attributes))
    np.testing.assert_array_equal(tangent, surrogate.reference.jvp(op, spec, x, t=g, **attributes))
    np.testing.assert_array_equal(ones, first(op, spec, x, **attributes))


@smooth
def test_jacobian(op, spec, attributes, x):
    with surrogate.override("autograd", {op: spec}):
        found = jacobian(getattr(anp, op))(x, **attributes)
    np.testing.assert_array_equal(found, np.diag(first(op, spec, x, **attributes)))


@smooth
def test_second_derivatives(op, spec, attributes, x, g):
    def f(x):
        return anp.sum(getattr(anp, op)(x, **attributes))

    right = second(op, spec, x, **attributes)
    with surrogate.override("autograd", {op: spec}):
        found = {
            "grad of grad": grad(lambda x: anp.sum(grad(f)(x)))(x),
            "elementwise": elementwise_grad(elementwise_grad(getattr(anp, op)))(x, **attributes),
            "hessian": np.diag(hessian(f)(x)),
            "jacobian of jacobian": np.einsum(
                "iii->i", jacobian(jacobian(getattr(anp, op)))(x, **attributes)
            ),
            "forward over reverse": make_jvp(grad(f))(x)(np.ones(7))[1],
            "reverse over forward": grad(lambda x: anp.sum(make_jvp(f)(x)(np.ones(7))[1]))(x),
            "forward over forward": make_jvp(lambda x: deriv(getattr(anp, op))(x, **attributes))(x)(
                np.ones(7)
            )[1],
            "make_hvp": make_hvp(f)(x)[0](np.ones(7)),
            "hessian_vector_product": hessian_vector_product(f)(x, np.ones(7)),
        }
    for mode, numbers in found.items():
        np.testing.assert_allclose(numbers, right, **EXACT, err_msg=mode)


@smooth
def test_third_derivative_is_finite_and_the_same_in_all_modes(op, spec, attributes, x):
    def f(x):
        return getattr(anp, op)(x, **attributes)

    with surrogate.override("autograd", {op: spec}):
        reverse = elementwise_grad(elementwise_grad(elementwise_grad(f)))(x)
        mixed = elementwise_grad(deriv(elementwise_grad(f)))(x)
        forward = deriv(deriv(deriv(f)))(x)
    assert np.isfinite(reverse).all()
    np.testing.assert_allclose(mixed, reverse, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(forward, reverse, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("spec", ["hardtanh", "identity", "zero"])
def test_the_second_derivative_of_a_window_is_zero(spec, x):
    def f(x):
        return anp.sum(anp.sign(x) * x)  # d/dx = sign(x) + x s(x); d2/dx2 = 2 s(x)

    with surrogate.override("autograd", {"sign": spec}):
        found = hessian(f)(x)
    np.testing.assert_array_equal(found, np.diag(2 * first("sign", spec, x)))


@pytest.mark.parametrize(
    "differentiate",
    [
        pytest.param(lambda x, g: tensor_jacobian_product(anp.sign)(x, g), id="tensor_jacobian_product"),
        pytest.param(lambda x, g: make_jvp_reversemode(anp.sign)(x)(g), id="make_jvp_reversemode"),
        pytest.param(
            lambda x, g: grad_and_aux(lambda x: (anp.sum(anp.sign(x) * g), x))(x)[0], id="grad_and_aux"
        ),
        pytest.param(lambda x, g: grad(lambda x: anp.sum(checkpoint(anp.sign)(x) * g))(x), id="checkpoint"),
        pytest.param(lambda x, g: make_vjp(const_graph(anp.sign))(x)[0](g), id="const_graph"),
    ],
)
def test_the_other_operators_of_autograd(differentiate, x, g):
    with surrogate.override("autograd", {"sign": "tanh"}):
        found = differentiate(x, g)
    np.testing.assert_allclose(found, first("sign", "tanh", x, g=g), **EXACT)


def test_ggnvp(x, g):
    s = first("sign", "tanh", x)
    with surrogate.override("autograd", {"sign": "tanh"}):
        found = make_ggnvp(anp.sign)(x)(g)
    np.testing.assert_allclose(found, s * s * g, **EXACT)


def test_two_operands_mixed_partials(rules, x, y):
    def f(x, y):
        return anp.sum(anp.floor_divide(x, y))

    with surrogate.override("autograd", {"floor_divide": "identity"}):
        by_y_then_x = elementwise_grad(lambda x, y: grad(f, 1)(x, y), 0)(x, y)
        by_x_then_y = elementwise_grad(lambda x, y: grad(f, 0)(x, y), 1)(x, y)
        by_y_twice = elementwise_grad(lambda x, y: grad(f, 1)(x, y), 1)(x, y)
    np.testing.assert_allclose(by_y_then_x, -1 / y**2, rtol=1e-15)
    np.testing.assert_allclose(by_x_then_y, -1 / y**2, rtol=1e-15)
    np.testing.assert_allclose(by_y_twice, 2 * x / y**3, rtol=1e-15)


@pytest.mark.parametrize("nesting", ["outer", "inner", "both"])
def test_operands_of_different_levels(nesting, rules, x, y):
    """d/dx of a cotangent of mod, with each operand boxed at another level."""
    x = x + 0.125  # no divisor is 0

    def mod(x, y):
        with surrogate.override("autograd", {"mod": rules["mod"]}):
            return anp.mod(x, y)

    inner = {
        "outer": lambda x: elementwise_grad(lambda z: mod(x, z))(y),
        "inner": lambda x: elementwise_grad(lambda z: mod(z, x))(y),
        "both": lambda x: elementwise_grad(lambda z: mod(z * x, z))(y),
    }[nesting]
    right = {
        "outer": y,  # d/dx of x*y
        "inner": np.full(7, 2.0),  # d/dx of y + 2x
        "both": 2 * x * y + 2 * y + y * y,  # d/dx of x*(xy + 2y) + (xy)*y
    }[nesting]
    found = elementwise_grad(inner)(x)
    np.testing.assert_allclose(found, right, **EXACT)


def test_an_upstream_gradient_has_no_forward_mode(x, g):
    with surrogate.override("autograd", {"round": "ewgs"}):
        vjp, _ = make_vjp(anp.round)(x)
        np.testing.assert_array_equal(vjp(g), surrogate.reference.vjp("round", "ewgs", x, g=g)[0])
        with pytest.raises(surrogate.ForwardModeError, match="ewgs"):
            make_jvp(anp.round)(x)(g)


def test_an_upstream_gradient_is_differentiated_by_its_upstream(x, g):
    with surrogate.override("autograd", {"round": "ewgs(delta=0.5)"}):
        vjp, _ = make_vjp(anp.round)(x)
        found = elementwise_grad(vjp)(g)
    np.testing.assert_allclose(found, 1 + 0.5 * np.sign(g) * (x - np.round(x)), rtol=1e-15)
