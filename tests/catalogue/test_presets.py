"""Presets against what the released packages compute, measured once: ``golden/peers.json``."""

import json
from pathlib import Path

import numpy as np
import pytest

import surrogate
from surrogate import reference
from surrogate._registry import registry
from surrogate.cli._facts import facts

GOLDEN = json.loads(Path(__file__).with_name("golden").joinpath("peers.json").read_text())
X = np.array(GOLDEN["x"])
CASES = {case: np.array(grad) for case, grad in GOLDEN["cases"].items()}


def ours(op, spec):
    return reference.vjp(op, spec, X, *surrogate.op(op).held)[0]


#: What must be equal: the measured case, the op, the preset with the case's parameters.
RIGHT = [
    ("brevitas==0.13.4:binary_sign_ste", "sign", "brevitas:binary_sign_ste"),
    ("brevitas==0.13.4:ceil_ste", "ceil", "brevitas:ceil_ste"),
    ("brevitas==0.13.4:dpu_round_ste", "round", "brevitas:dpu_round_ste"),
    ("brevitas==0.13.4:floor_ste", "floor", "brevitas:floor_ste"),
    ("brevitas==0.13.4:round_ste", "round", "brevitas:round_ste"),
    ("brevitas==0.13.4:round_to_zero_ste", "trunc", "brevitas:round_to_zero_ste"),
    ("brevitas==0.13.4:ternary_sign_ste", "sign", "brevitas:ternary_sign_ste"),
    ("larq==0.13.3:approx_sign()", "sign", "larq:approx_sign"),
    ("larq==0.13.3:ste_heaviside()", "heaviside", "larq:ste_heaviside"),
    ("larq==0.13.3:ste_sign()", "sign", "larq:ste_sign"),
    ("larq==0.13.3:ste_tern()", "sign", "larq:ste_tern"),
    ("larq==0.13.3:swish_sign()", "sign", "larq:swish_sign"),
    ("norse==1.1.0:circ(alpha=1)", "heaviside", "norse:circ"),
    ("norse==1.1.0:triangle(alpha=0.3)", "heaviside", "norse:triangle"),
    ("snntorch==1.0.0:atan(alpha=1)", "heaviside", "snntorch:atan(alpha=1)"),
    ("snntorch==1.0.0:atan(alpha=2)", "heaviside", "snntorch:atan"),
    ("snntorch==1.0.0:fast_sigmoid(slope=1)", "heaviside", "snntorch:fast_sigmoid(slope=1)"),
    ("snntorch==1.0.0:fast_sigmoid(slope=25)", "heaviside", "snntorch:fast_sigmoid"),
    ("snntorch==1.0.0:sigmoid(slope=4)", "heaviside", "snntorch:sigmoid(slope=4)"),
    ("snntorch==1.0.0:straight_through", "heaviside", "snntorch:straight_through_estimator"),
    ("spikingjelly==2.0.0:ATan(alpha=default)", "heaviside", "spikingjelly:ATan"),
    ("spikingjelly==2.0.0:DeterministicPass(default)", "heaviside", "spikingjelly:DeterministicPass"),
    ("spikingjelly==2.0.0:Erf(alpha=default)", "heaviside", "spikingjelly:Erf"),
    ("spikingjelly==2.0.0:PiecewiseExp(alpha=default)", "heaviside", "spikingjelly:PiecewiseExp"),
    ("spikingjelly==2.0.0:PiecewiseQuadratic(alpha=default)", "heaviside", "spikingjelly:PiecewiseQuadratic"),
    ("spikingjelly==2.0.0:QPseudoSpike(alpha=default)", "heaviside", "spikingjelly:QPseudoSpike"),
    ("spikingjelly==2.0.0:S2NN(default)", "heaviside", "spikingjelly:S2NN"),
    ("spikingjelly==2.0.0:Sigmoid(alpha=default)", "heaviside", "spikingjelly:Sigmoid"),
    ("spikingjelly==2.0.0:SoftSign(alpha=default)", "heaviside", "spikingjelly:SoftSign"),
    ("spikingjelly==2.0.0:SuperSpike(alpha=default)", "heaviside", "spikingjelly:SuperSpike"),
]


@pytest.mark.parametrize(("case", "op", "preset"), RIGHT, ids=[case for case, _, _ in RIGHT])
def test_it_matches_the_released_package(case, op, preset):
    np.testing.assert_allclose(ours(op, preset), CASES[case], rtol=0, atol=1e-12)


#: Right but for the precision the package computes in: equal to a few units of float32.
SINGLE = [
    ("sinabs==3.1.3:Gaussian()", "sinabs:Gaussian"),
    ("sinabs==3.1.3:MultiGaussian()", "sinabs:MultiGaussian"),
    ("spyx==1.0.0:superspike()", "spyx:superspike"),
    ("spyx==1.0.0:triangular()", "spyx:triangular"),
]


@pytest.mark.parametrize(("case", "preset"), SINGLE, ids=[case for case, _ in SINGLE])
def test_it_matches_to_the_package_s_float32(case, preset):
    np.testing.assert_allclose(
        ours("heaviside", preset), CASES[case], rtol=0, atol=4 * np.finfo(np.float32).eps
    )


#: Wrong or otherwise scaled in the package: its value as a function of x, and ours.
WRONG = [
    (
        "norse==1.1.0:super(alpha=100)",
        "norse:super",
        lambda x: 1 / (1 + abs(x)) ** 2,
        lambda x: 1 / (1 + 100 * abs(x)) ** 2,
    ),
    (
        "norse==1.1.0:super(alpha=1)",
        "norse:super(slope=1)",
        lambda x: 1 / (1 + abs(x)) ** 2,
        lambda x: 1 / (1 + abs(x)) ** 2,
    ),
    ("norse==1.1.0:tanh(alpha=1)", "norse:tanh", lambda x: np.cosh(x) ** -2, lambda x: np.cosh(x) ** -2 / 2),
    (
        "norse==1.1.0:heavi_erfc(alpha=1)",
        "norse:heavi_erfc",
        lambda x: 2 / np.sqrt(np.pi) * np.exp(-(x**2)),
        lambda x: 1 / np.sqrt(np.pi) * np.exp(-(x**2)),
    ),
    (
        "norse==1.1.0:heavi_erfc(alpha=2)",
        "norse:heavi_erfc(alpha=2)",
        lambda x: 2 / np.sqrt(np.pi) * np.exp(-4 * x**2),
        lambda x: 2 / np.sqrt(np.pi) * np.exp(-4 * x**2),
    ),
    (
        "sinabs==3.1.3:SingleExponential()",
        "sinabs:SingleExponential",
        lambda x: 2 * np.exp(-2 * abs(x)),
        lambda x: np.exp(-2 * abs(x)),
    ),
    (
        "snntorch==1.0.0:triangular(1)",
        "snntorch:triangular",
        lambda x: np.where(x < 0, 1.0, -1.0),
        lambda x: np.maximum(0, 1 - abs(x)),
    ),
    (
        "spikingjelly==2.0.0:Rect(alpha=default)",
        "spikingjelly:Rect",
        lambda x: 1.0 * (abs(x) < 0.5),
        lambda x: 1.0 * (abs(x) <= 0.5),
    ),
    (
        "spikingjelly==2.0.0:PiecewiseLeakyReLU(default)",
        "spikingjelly:PiecewiseLeakyReLU",
        lambda x: np.where(abs(x) < 1, 0.5, 0.01),
        lambda x: np.where(abs(x) <= 1, 0.5, 0.01),
    ),
    (
        "spyx==1.0.0:arctan()",
        "spyx:arctan",
        lambda x: 1 / (np.pi * (1 + (2 * np.pi * x) ** 2)),
        lambda x: 2 / (1 + (2 * np.pi * x) ** 2),
    ),
    ("spyx==1.0.0:boxcar()", "spyx:boxcar", lambda x: 0.5 * (abs(x) < 1), lambda x: 0.5 * (abs(x) <= 1)),
    ("spyx==1.0.0:custom()", "spyx:custom", lambda x: x, np.ones_like),
    ("spyx==1.0.0:tanh()", "spyx:tanh", lambda x: np.cosh(x) ** -2, lambda x: np.cosh(x) ** -2 / 2),
]


@pytest.mark.parametrize(("case", "preset", "theirs", "right"), WRONG, ids=[case for case, *_ in WRONG])
def test_where_the_package_differs_both_values_are_known(case, preset, theirs, right):
    single = 4 * np.finfo(np.float32).eps  # some of them compute in float32
    np.testing.assert_allclose(CASES[case], theirs(X), rtol=0, atol=single)
    np.testing.assert_allclose(ours("heaviside", preset), right(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("preset", sorted({preset.partition("(")[0] for _, preset, *_ in WRONG}))
def test_a_preset_of_a_differing_package_says_so(preset):
    assert registry.presets("heaviside")[preset].note


#: Published choices that no gradient of the catalogue is.
WITHOUT_COUNTERPART = {
    "brevitas==0.13.4:abs_binary_sign_grad": "1 at 0, where sign0 is 0",
    "sinabs==3.1.3:Heaviside()": "a one-sided window",
    "sinabs==3.1.3:PeriodicExponential()": "periodic above the threshold",
    "snntorch==1.0.0:SFS(slope=25,B=1)": "a tail with a hole",
    "snntorch==1.0.0:heaviside": "a one-sided window",
    "snntorch==1.0.0:spike_rate_escape(beta=1,slope=25)": "its peak is not at the threshold",
    "spikingjelly==2.0.0:FakeNumericalGradient(default)": "a constant other than 1",
    "spikingjelly==2.0.0:LeakyKReLU(default)": "a one-sided window",
    "spikingjelly==2.0.0:LogTailedReLU(default)": "one-sided",
    "spikingjelly==2.0.0:NonzeroSignLogAbs(alpha=default)": "its mass is infinite",
    "spikingjelly==2.0.0:SquarewaveFourierSeries(default)": "a Fourier series",
}


def test_every_measured_case_is_accounted_for():
    known = [*(c for c, *_ in RIGHT), *(c for c, _ in SINGLE), *(c for c, *_ in WRONG), *WITHOUT_COUNTERPART]
    assert sorted(known) == sorted(CASES)


@pytest.mark.parametrize("op", surrogate.ops())
def test_every_preset_is_a_gradient(op):
    for name, spec in surrogate.presets(op).items():
        assert surrogate.gradient(op, name) is surrogate.gradient(op, spec)


def test_a_preset_takes_the_parameters_of_its_gradient():
    changed = surrogate.gradient("heaviside", "snntorch:sigmoid(slope=10)")
    assert changed is surrogate.gradient("heaviside", "sigmoid(slope=10)")


def test_a_preset_cannot_be_given_another_meaning():
    registry.add_preset("sign", "larq:ste_sign", "hardtanh(width=1.0)")
    with pytest.raises(surrogate.DuplicateNameError, match="already stands for"):
        registry.add_preset("sign", "larq:ste_sign", "hardtanh(width=2.0)")


@pytest.mark.parametrize(
    ("op", "preset", "spec"),
    [
        ("sign", "qkeras:binary", "tanh(slope=1)"),
        ("sign", "qkeras:ternary", "tanh(slope=1)"),
        ("round", "qkeras:quantized_bits", "identity"),
        ("clip", "qkeras:quantized_bits", "identity"),
        ("clip", "brevitas:scalar_clamp_ste", "identity"),
        ("clip", "brevitas:tensor_clamp_ste", "identity"),
    ],
)
def test_a_preset_read_off_the_package_s_source(op, preset, spec):
    assert surrogate.gradient(op, preset) is surrogate.gradient(op, spec)


def test_the_facts_of_a_gradient_say_its_presets_and_their_notes():
    found = dict(facts(surrogate.gradient("heaviside", "fast_sigmoid")))
    assert found["preset snntorch:fast_sigmoid"] == "fast_sigmoid(slope=25.0)"
    assert found["preset norse:super"].startswith("fast_sigmoid(slope=100.0). norse 1.1.0 ignores alpha")
