"""Names as types, so that editors complete them. Written by docs/generate_names.py: do not edit.

They are hints: any other text of the grammar is taken too, and packs bring names of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from surrogate._registry import Spec
else:
    Spec = Any

#: Backends that come along, and Keras, which has one of them.
BackendName = Literal["autograd", "jax", "keras", "tensorflow", "torch"]
#: Ops of the catalogue.
OpName = Literal[
    "sign",
    "round",
    "floor",
    "ceil",
    "trunc",
    "mod",
    "fmod",
    "floor_divide",
    "heaviside",
    "clip",
    "relu",
    "relu6",
    "abs",
    "maximum",
    "minimum",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "equal",
    "not_equal",
    "argmax",
    "argmin",
    "astype",
    "searchsorted",
]
#: Gradients and presets of all ops.
GradientName = Literal[
    "approx_sign",
    "arctan",
    "boxcar",
    "brevitas:binary_sign_ste",
    "brevitas:ceil_ste",
    "brevitas:dpu_round_ste",
    "brevitas:floor_ste",
    "brevitas:round_ste",
    "brevitas:round_to_zero_ste",
    "brevitas:scalar_clamp_ste",
    "brevitas:tensor_clamp_ste",
    "brevitas:ternary_sign_ste",
    "circular",
    "clipped",
    "closed",
    "cubic",
    "deconvnet",
    "ede",
    "erf",
    "ewgs",
    "exact",
    "fast_sigmoid",
    "gaussian",
    "guided",
    "half",
    "hardtanh",
    "identity",
    "laplace",
    "larq:approx_sign",
    "larq:ste_heaviside",
    "larq:ste_sign",
    "larq:ste_tern",
    "larq:swish_sign",
    "leaky",
    "multi_gaussian",
    "norse:circ",
    "norse:heavi_erfc",
    "norse:super",
    "norse:tanh",
    "norse:triangle",
    "open",
    "open_boxcar",
    "pact",
    "piecewise_leaky",
    "q_pseudo_spike",
    "qkeras:binary",
    "qkeras:quantized_bits",
    "qkeras:ternary",
    "reste",
    "s2nn",
    "sigmoid",
    "sign0",
    "sinabs:Gaussian",
    "sinabs:MultiGaussian",
    "sinabs:SingleExponential",
    "sine",
    "snntorch:atan",
    "snntorch:fast_sigmoid",
    "snntorch:sigmoid",
    "snntorch:straight_through_estimator",
    "snntorch:triangular",
    "soft_round",
    "softmax",
    "softsign",
    "spikingjelly:ATan",
    "spikingjelly:DeterministicPass",
    "spikingjelly:Erf",
    "spikingjelly:PiecewiseExp",
    "spikingjelly:PiecewiseLeakyReLU",
    "spikingjelly:PiecewiseQuadratic",
    "spikingjelly:QPseudoSpike",
    "spikingjelly:Rect",
    "spikingjelly:S2NN",
    "spikingjelly:Sigmoid",
    "spikingjelly:SoftSign",
    "spikingjelly:SuperSpike",
    "split",
    "spyx:arctan",
    "spyx:boxcar",
    "spyx:custom",
    "spyx:superspike",
    "spyx:tanh",
    "spyx:triangular",
    "straight_through",
    "swish_sign",
    "tanh",
    "towards",
    "triangle",
    "zero",
]
_Sign = Literal[
    "hardtanh",
    "approx_sign",
    "arctan",
    "ede",
    "identity",
    "reste",
    "sigmoid",
    "softsign",
    "swish_sign",
    "tanh",
    "zero",
    "brevitas:binary_sign_ste",
    "brevitas:ternary_sign_ste",
    "larq:approx_sign",
    "larq:ste_sign",
    "larq:ste_tern",
    "larq:swish_sign",
    "qkeras:binary",
    "qkeras:ternary",
    "native",
]
_Round = Literal[
    "identity",
    "clipped",
    "cubic",
    "ewgs",
    "sine",
    "soft_round",
    "zero",
    "brevitas:dpu_round_ste",
    "brevitas:round_ste",
    "qkeras:quantized_bits",
    "native",
]
_Floor = Literal[
    "identity",
    "clipped",
    "cubic",
    "ewgs",
    "sine",
    "soft_round",
    "zero",
    "brevitas:floor_ste",
    "native",
]
_Ceil = Literal["identity", "clipped", "ewgs", "sine", "soft_round", "zero", "brevitas:ceil_ste", "native"]
_Trunc = Literal[
    "identity",
    "clipped",
    "ewgs",
    "sine",
    "soft_round",
    "zero",
    "brevitas:round_to_zero_ste",
    "native",
]
_Mod = Literal["exact", "identity", "sine", "straight_through", "native"]
_Fmod = Literal["exact", "identity", "native"]
_FloorDivide = Literal["identity", "zero", "native"]
_Heaviside = Literal[
    "arctan",
    "boxcar",
    "circular",
    "erf",
    "fast_sigmoid",
    "gaussian",
    "hardtanh",
    "identity",
    "laplace",
    "multi_gaussian",
    "open_boxcar",
    "piecewise_leaky",
    "q_pseudo_spike",
    "s2nn",
    "sigmoid",
    "softsign",
    "tanh",
    "triangle",
    "zero",
    "larq:ste_heaviside",
    "norse:circ",
    "norse:heavi_erfc",
    "norse:super",
    "norse:tanh",
    "norse:triangle",
    "sinabs:Gaussian",
    "sinabs:MultiGaussian",
    "sinabs:SingleExponential",
    "snntorch:atan",
    "snntorch:fast_sigmoid",
    "snntorch:sigmoid",
    "snntorch:straight_through_estimator",
    "snntorch:triangular",
    "spikingjelly:ATan",
    "spikingjelly:DeterministicPass",
    "spikingjelly:Erf",
    "spikingjelly:PiecewiseExp",
    "spikingjelly:PiecewiseLeakyReLU",
    "spikingjelly:PiecewiseQuadratic",
    "spikingjelly:QPseudoSpike",
    "spikingjelly:Rect",
    "spikingjelly:S2NN",
    "spikingjelly:Sigmoid",
    "spikingjelly:SoftSign",
    "spikingjelly:SuperSpike",
    "spyx:arctan",
    "spyx:boxcar",
    "spyx:custom",
    "spyx:superspike",
    "spyx:tanh",
    "spyx:triangular",
    "native",
]
_Clip = Literal[
    "closed",
    "half",
    "identity",
    "leaky",
    "open",
    "pact",
    "towards",
    "brevitas:scalar_clamp_ste",
    "brevitas:tensor_clamp_ste",
    "qkeras:quantized_bits",
    "native",
]
_Relu = Literal["deconvnet", "guided", "identity", "leaky", "sigmoid", "native"]
_Relu6 = Literal["deconvnet", "guided", "identity", "native"]
_Abs = Literal["sign0", "native"]
_Maximum = Literal["closed", "identity", "split", "towards", "native"]
_Equal = Literal["arctan", "gaussian", "laplace", "sigmoid", "triangle", "zero", "native"]
_Argmax = Literal["identity", "softmax", "native"]
_Astype = Literal[
    "arctan",
    "clipped",
    "ewgs",
    "gaussian",
    "identity",
    "laplace",
    "sigmoid",
    "sine",
    "soft_round",
    "triangle",
    "zero",
    "brevitas:round_to_zero_ste",
    "native",
]


class NamedRules(TypedDict, total=False):
    """Rules by op, with the gradients of each."""

    compare: _Heaviside | Spec
    sign: _Sign | Spec
    round: _Round | Spec
    floor: _Floor | Spec
    ceil: _Ceil | Spec
    trunc: _Trunc | Spec
    mod: _Mod | Spec
    fmod: _Fmod | Spec
    floor_divide: _FloorDivide | Spec
    heaviside: _Heaviside | Spec
    clip: _Clip | Spec
    relu: _Relu | Spec
    relu6: _Relu6 | Spec
    abs: _Abs | Spec
    maximum: _Maximum | Spec
    minimum: _Maximum | Spec
    greater: _Heaviside | Spec
    greater_equal: _Heaviside | Spec
    less: _Heaviside | Spec
    less_equal: _Heaviside | Spec
    equal: _Equal | Spec
    not_equal: _Equal | Spec
    argmax: _Argmax | Spec
    argmin: _Argmax | Spec
    astype: _Astype | Spec
    searchsorted: _Heaviside | Spec
