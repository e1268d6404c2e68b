"""What the parameters of the catalogue refuse."""

import pytest

import surrogate


@pytest.mark.parametrize(
    ("op", "spec"),
    [
        ("sign", "hardtanh(width=0)"),
        ("sign", "tanh(slope=-1)"),
        ("sign", "reste(o=1)"),
        ("sign", "ede(t=0)"),
        ("heaviside", "gaussian(sigma=0)"),
        ("heaviside", "multi_gaussian(h=-0.1)"),
        ("heaviside", "q_pseudo_spike(alpha=1)"),
        ("heaviside", "piecewise_leaky(leak=-1)"),
        ("round", "soft_round(alpha=0)"),
        ("round", "ewgs(delta=-1)"),
        ("clip", "leaky(leak=-0.1)"),
        ("relu", "sigmoid(slope=0)"),
    ],
)
def test_a_value_outside_its_range(op, spec):
    with pytest.raises(surrogate.ParameterError, match="must be"):
        surrogate.gradient(op, spec)


def test_clipped_needs_both_bounds():
    with pytest.raises(surrogate.ParameterError, match="hi has no default"):
        surrogate.gradient("round", "clipped(lo=0)")


@pytest.mark.parametrize("op", ["round", "floor", "ceil", "trunc"])
def test_the_bounds_of_clipped_are_in_order(op):
    with pytest.raises(surrogate.ParameterError, match="lo must be at most hi, not lo=2 and hi=1"):
        surrogate.gradient(op, "clipped(lo=2, hi=1)")
    assert surrogate.reference.vjp(op, "clipped(lo=1, hi=1)", [0.0, 1.0, 2.0])[0].tolist() == [0, 1, 0]


def test_the_flat_part_of_reste_ends_before_its_edge():
    with pytest.raises(surrogate.ParameterError, match="m must be at most t, not m=2"):
        surrogate.gradient("sign", "reste(m=2)")


@pytest.mark.parametrize("op", surrogate.ops())
def test_every_gradient_says_what_it_is(op):
    for name in surrogate.gradients(op):
        doc = surrogate._registry.registry.formula(op, name).doc
        assert doc.partition("\n")[0].endswith((".", ":"))
