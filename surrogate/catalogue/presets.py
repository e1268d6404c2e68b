"""Presets: what other libraries call a gradient, with the parameters they use by default.

``"snntorch:atan"`` is a spec like any other, and takes parameters like any other:
``"snntorch:sigmoid(slope=10)"``, by the names that the gradient here has. Where the released library
computes something else, the note says what; the gradient here is then what that library documents, or
the nearest one of the catalogue.
"""

from __future__ import annotations

from surrogate._registry import registry

_EDGES = "Here the two edges are inside the window; there they are outside."
_PI32 = "There sqrt(2 pi) is rounded to float32: the values differ by about 1e-9."
_FLOAT32 = "There float64 inputs are computed in float32."
_FORWARD = "The forward there is +1 at 0; ours stays the framework's own, 0 at 0."

#: For each op: the preset's name, what it stands for, and a note.
PRESETS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "heaviside": (
        ("larq:ste_heaviside", "boxcar(width=1.0, height=1.0)", ""),
        ("norse:circ", "circular(alpha=1.0)", ""),
        (
            "norse:heavi_erfc",
            "erf(alpha=1.0)",
            "norse 1.1.0 has 2/sqrt(pi) in place of alpha/sqrt(pi), with pi rounded to float32: twice the "
            "derivative of the (1 + erf(alpha*x))/2 it approximates at alpha 1, the same only at alpha 2.",
        ),
        (
            "norse:super",
            "fast_sigmoid(slope=100.0)",
            "norse 1.1.0 ignores alpha: it is slope 1 whatever alpha.",
        ),
        (
            "norse:tanh",
            "tanh(slope=1.0)",
            "norse 1.1.0 is 1 - tanh(alpha*x)^2: at alpha 1 twice the derivative of the "
            "(1 + tanh(alpha*x))/2 it documents.",
        ),
        ("norse:triangle", "triangle(width=1.0, height=0.3)", ""),
        ("sinabs:Gaussian", "gaussian(sigma=0.5)", _PI32),
        ("sinabs:MultiGaussian", "multi_gaussian(h=0.15, sigma=0.5)", _PI32),
        (
            "sinabs:SingleExponential",
            "laplace(alpha=2.0)",
            "sinabs 3.1.3 is alpha*exp(-alpha|x|) with alpha = 1/grad_width: twice the density, mass 2.",
        ),
        ("snntorch:atan", "arctan(alpha=2.0)", ""),
        ("snntorch:fast_sigmoid", "fast_sigmoid(slope=25.0)", ""),
        (
            "snntorch:sigmoid",
            "sigmoid(slope=25.0)",
            "snnTorch 1.0.0 overflows: far below 0 it is NaN in float32.",
        ),
        ("snntorch:straight_through_estimator", "identity", ""),
        (
            "snntorch:triangular",
            "triangle(width=1.0, height=1.0)",
            "snnTorch 1.0.0 is 1 below 0 and -1 from 0 on: the slope of a triangle in place of the triangle, "
            "so the gradient flips its sign at the threshold.",
        ),
        ("spikingjelly:ATan", "arctan(alpha=2.0)", ""),
        ("spikingjelly:DeterministicPass", "identity", ""),
        ("spikingjelly:Erf", "erf(alpha=2.0)", ""),
        ("spikingjelly:PiecewiseExp", "laplace(alpha=1.0)", ""),
        ("spikingjelly:PiecewiseLeakyReLU", "piecewise_leaky(width=1.0, leak=0.01)", _EDGES),
        ("spikingjelly:PiecewiseQuadratic", "triangle(width=1.0, height=1.0)", ""),
        ("spikingjelly:QPseudoSpike", "q_pseudo_spike(alpha=2.0)", ""),
        ("spikingjelly:Rect", "boxcar(width=0.5, height=1.0)", _EDGES),
        ("spikingjelly:S2NN", "s2nn(alpha=4.0, beta=1.0)", ""),
        ("spikingjelly:Sigmoid", "sigmoid(slope=4.0)", ""),
        ("spikingjelly:SoftSign", "softsign(alpha=2.0)", ""),
        (
            "spikingjelly:SuperSpike",
            "fast_sigmoid(slope=1.0)",
            "Its alpha, 1 by default, scales the height and not the slope.",
        ),
        (
            "spyx:arctan",
            "arctan(alpha=4.0)",
            f"spyx 1.0.0 is 1/(pi(1 + (pi k x)^2)): 1/(k pi) times the derivative. {_FLOAT32}",
        ),
        ("spyx:boxcar", "boxcar(width=1.0, height=0.5)", f"{_EDGES} Its width is that of the whole window."),
        (
            "spyx:custom",
            "identity",
            "spyx 1.0.0 documents the straight-through estimator as its default, and returns x as the "
            "derivative.",
        ),
        ("spyx:superspike", "fast_sigmoid(slope=25.0)", _FLOAT32),
        (
            "spyx:tanh",
            "tanh(slope=1.0)",
            f"spyx 1.0.0 is 1 - tanh(kx)^2: at k 1 twice the derivative of (1 + tanh(kx))/2. {_FLOAT32}",
        ),
        ("spyx:triangular", "triangle(width=0.5, height=1.0)", _FLOAT32),
    ),
    "sign": (
        ("brevitas:binary_sign_ste", "identity", _FORWARD),
        ("brevitas:ternary_sign_ste", "identity", ""),
        ("larq:approx_sign", "approx_sign", _FORWARD),
        ("larq:ste_sign", "hardtanh(width=1.0)", _FORWARD),
        ("larq:ste_tern", "hardtanh(width=1.0)", "The forward there has a dead zone around 0."),
        ("larq:swish_sign", "swish_sign(beta=5.0)", _FORWARD),
        ("qkeras:binary", "tanh(slope=1.0)", f"With alpha given there, identity. {_FORWARD}"),
        (
            "qkeras:ternary",
            "tanh(slope=1.0)",
            "With alpha given there, identity. The forward there has a dead zone around 0.",
        ),
    ),
    "round": (
        ("brevitas:dpu_round_ste", "identity", "The forward there rounds negative halves up."),
        ("brevitas:round_ste", "identity", ""),
        ("qkeras:quantized_bits", "identity", "Also outside the quantiser's range."),
    ),
    "floor": (("brevitas:floor_ste", "identity", ""),),
    "ceil": (("brevitas:ceil_ste", "identity", ""),),
    "trunc": (("brevitas:round_to_zero_ste", "identity", ""),),
    "clip": (
        ("brevitas:scalar_clamp_ste", "identity", ""),
        ("brevitas:tensor_clamp_ste", "identity", ""),
        ("qkeras:quantized_bits", "identity", ""),
    ),
}

for _op, _entries in PRESETS.items():
    for _name, _spec, _note in _entries:
        registry.add_preset(_op, _name, _spec, _note)
