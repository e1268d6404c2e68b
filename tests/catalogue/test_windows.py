"""Windows at their edges and on both sides of them, exactly; and what they keep for backward."""

import numpy as np
import pytest

import surrogate
from surrogate import Kind, _numpy, reference

#: op:spec, the upper edge, the value there, inside and outside.
EDGES = [
    ("sign:hardtanh", 1.0, 1, 1, 0),
    ("sign:hardtanh(width=1.5)", 1.5, 1, 1, 0),
    ("sign:reste", 1.5, 1.5 ** (-2 / 3) / 3, 1.5 ** (-2 / 3) / 3, 0),
    ("sign:approx_sign", 1.0, 0, 0, 0),
    ("heaviside:boxcar", 0.5, 1, 1, 0),
    ("heaviside:boxcar(width=2, height=0.25)", 2.0, 0.25, 0.25, 0),
    ("heaviside:piecewise_leaky", 1.0, 0.5, 0.5, 0.01),
    ("heaviside:piecewise_leaky(width=0.25, leak=0)", 0.25, 2, 2, 0),
    ("heaviside:triangle", 1.0, 0, 0, 0),
    ("round:clipped(lo=-2, hi=2)", 2.0, 1, 1, 0),
    ("trunc:sine", 0.5, 0, 0, 0),
]


@pytest.mark.parametrize("side", [1, -1], ids=["right", "left"])
@pytest.mark.parametrize(("label", "edge", "at", "inside", "outside"), EDGES, ids=[e[0] for e in EDGES])
def test_the_edge_and_its_neighbours(label, edge, at, inside, outside, side):
    op, _, spec = label.partition(":")
    x = side * np.array([np.nextafter(edge, 0), edge, np.nextafter(edge, np.inf)])
    got = reference.vjp(op, spec, x, *surrogate.op(op).held)[0]
    np.testing.assert_allclose(got, [inside, at, outside], rtol=1e-15, atol=1e-15)


def test_the_flat_part_of_reste_has_the_edge_m():
    x = np.array([np.nextafter(0.1, 0), 0.1, np.nextafter(0.1, 1)])
    flat, curved = 0.1 ** (1 / 3) / 0.1, 0.1 ** (-2 / 3) / 3
    np.testing.assert_allclose(reference.vjp("sign", "reste", x)[0], [flat, flat, curved], rtol=1e-15)


BY_X = {  # what is kept when only the first input wants a derivative
    Kind.CONSTANT: [
        "sign:identity",
        "sign:zero",
        "round:identity",
        "mod:exact",
        "fmod:identity",
        "clip:identity",
    ],
    Kind.MASK: [
        *("sign:hardtanh", "heaviside:boxcar", "heaviside:piecewise_leaky", "round:clipped(lo=0, hi=1)"),
        *("clip:closed", "clip:open", "clip:leaky", "relu:leaky"),
    ],
    Kind.INPUTS: ["sign:tanh", "sign:approx_sign", "heaviside:triangle", "round:sine", "relu:sigmoid"],
}


@pytest.mark.parametrize(
    ("label", "kept"),
    [(label, kind) for kind, labels in BY_X.items() for label in labels],
    ids=lambda v: str(v),
)
def test_it_keeps_the_minimum(label, kept):
    op, _, spec = label.partition(":")
    gradient = surrogate.gradient(op, spec)
    assert gradient.rule.kept((True, *(False,) * (gradient.op.arity - 1))) is kept


def test_deconvnet_keeps_nothing():
    rule = surrogate.gradient("relu", "deconvnet").rule
    assert rule.save(_numpy, (np.array([1.0]),)) == ()


class TestClip:
    TIES = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])

    @pytest.mark.parametrize(
        ("spec", "x", "lo", "hi"),
        [
            ("closed", [0, 1, 1, 1, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]),
            ("open", [0, 0, 1, 0, 0], [1, 1, 0, 0, 0], [0, 0, 0, 1, 1]),
            ("half", [0, 0.5, 1, 0.5, 0], [1, 0.5, 0, 0, 0], [0, 0, 0, 0.5, 1]),
            ("identity", [1, 1, 1, 1, 1], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]),
            ("leaky", [0.01, 1, 1, 1, 0.01], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]),
            ("leaky(leak=0.25)", [0.25, 1, 1, 1, 0.25], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]),
        ],
    )
    def test_each_input_gets_its_share(self, spec, x, lo, hi):
        bounds = np.full(5, -1.0), np.full(5, 1.0)
        got = reference.vjp("clip", spec, self.TIES, *bounds)
        np.testing.assert_array_equal(got, [x, lo, hi])

    @pytest.mark.parametrize("bounds", [(-1.0, 1.0), (1.0, 1.0), (1.0, -1.0), (-np.inf, 1.0), (-1.0, np.inf)])
    @pytest.mark.parametrize("spec", ["closed", "open", "half"])
    def test_the_three_always_add_up_to_g(self, spec, bounds):
        lo, hi = (np.full(5, b) for b in bounds)
        got = reference.vjp("clip", spec, self.TIES, lo, hi, g=3.0)
        assert (got[0] + got[1] + got[2]).tolist() == [3.0] * 5

    @pytest.mark.parametrize("spec", ["closed", "open", "half"])
    def test_crossed_bounds_give_all_to_hi_which_is_the_value(self, spec):
        x, lo, hi = (np.full(3, v) for v in (0.0, 1.0, -1.0))
        assert reference.forward("clip", x, lo, hi).tolist() == [-1.0] * 3
        got = reference.vjp("clip", spec, x, lo, hi)
        assert [c.tolist() for c in got] == [[0.0] * 3, [0.0] * 3, [1.0] * 3]

    @pytest.mark.parametrize("spec", ["closed", "open", "half"])
    def test_nothing_passes_at_nan(self, spec):
        got = reference.vjp("clip", spec, np.nan, -1.0, 1.0)
        assert [float(c) for c in got] == [0, 0, 0]

    def test_bounds_given_as_numbers_and_as_arrays_agree(self):
        rule = surrogate.gradient("clip", "closed").rule
        numbers = rule.save(_numpy, (self.TIES, -1.0, 1.0))
        arrays = rule.save(_numpy, (self.TIES, np.full(5, -1.0), np.full(5, 1.0)))
        np.testing.assert_array_equal(numbers, arrays)


def test_a_mask_is_selected_and_not_multiplied():
    got = reference.vjp("sign", "hardtanh", [-2.0, 0.0, 2.0], g=np.inf)[0]
    assert got.tolist() == [0, np.inf, 0]


def test_sign0_is_the_sign_of_x():
    got = reference.vjp("abs", "sign0", [-3.0, -0.0, 0.0, 3.0], g=np.inf)[0]
    assert got.tolist() == [-np.inf, 0, 0, np.inf]


def test_the_value_at_zero_of_heaviside_gets_the_upstream_gradient_there():
    x, values = [-1.0, -0.0, 0.0, 1.0], [0.5, 0.5, 0.5, 0.5]
    for name in surrogate.gradients("heaviside"):
        assert reference.vjp("heaviside", name, x, values, g=3.0)[1].tolist() == [0, 3, 3, 0]


@pytest.mark.parametrize("op", ["relu", "relu6"])
def test_identity_is_one_outside_the_window_too(op):
    assert reference.vjp(op, "identity", [-9.0, 0.0, 9.0])[0].tolist() == [1, 1, 1]


def test_relu_leaky_gives_the_leak_to_zero():
    got = reference.vjp("relu", "leaky(leak=0.25)", [-1.0, 0.0, 5e-324, 1.0])[0]
    assert got.tolist() == [0.25, 0.25, 1, 1]
