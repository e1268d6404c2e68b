"""What TensorFlow calls its ops, in the canonical names of the audit."""

from __future__ import annotations

from surrogate.auditing import HEAVY

#: Op types -> canonical name; others are their own name in lower case.
NAMES = {
    "Add": "add",
    "AddN": "add_n",
    "AddV2": "add",
    "ArgMax": "argmax",
    "ArgMin": "argmin",
    "AvgPool": "avg_pool",
    "BatchMatMulV2": "matmul",
    "BatchMatMulV3": "matmul",
    "BiasAdd": "add",
    "BroadcastTo": "expand",
    "Ceil": "ceil",
    "ClipByValue": "clip",
    "ConcatV2": "cat",
    "DepthwiseConv2dNative": "conv2d",
    "Div": "div",
    "EagerPyFunc": "py_function",
    "Equal": "eq",
    "ExpandDims": "unsqueeze",
    "Fill": "full_like",
    "FloorDiv": "floor_divide",
    "FloorMod": "mod",
    "FusedBatchNormV3": "batch_norm",
    "GatherV2": "gather",
    "Greater": "gt",
    "GreaterEqual": "ge",
    "HistogramFixedWidth": "histogram_fixed_width",
    "IdentityN": "identity",
    "IsFinite": "isfinite",
    "IsInf": "isinf",
    "IsNan": "isnan",
    "LeakyRelu": "leaky_relu",
    "Less": "lt",
    "LessEqual": "le",
    "LogSoftmax": "log_softmax",
    "LogicalAnd": "logical_and",
    "LogicalNot": "logical_not",
    "LogicalOr": "logical_or",
    "Max": "amax",
    "Min": "amin",
    "Mod": "fmod",
    "NotEqual": "ne",
    "OneHot": "one_hot",
    "OnesLike": "ones_like",
    "Pack": "stack",
    "PreventGradient": "stop_gradient",
    "Range": "arange",
    "ReadVariableOp": "identity",
    "RealDiv": "div",
    "Reshape": "view",
    "ResourceGather": "gather",
    "Rint": "round",
    "Select": "where",
    "SelectV2": "where",
    "ShapeN": "shape_n",
    "SplitV": "split",
    "SquaredDifference": "squared_difference",
    "StopGradient": "stop_gradient",
    "StridedSlice": "slice",
    "Tile": "expand",
    "TopKV2": "topk",
    "TruncateMod": "fmod",
    "Unpack": "unbind",
    "ZerosLike": "zeros_like",
}

#: Their derivative is never zero everywhere, or asking costs more than it tells.
ALIVE = HEAVY | {
    "batch_norm",
    "expand",
    "gather",
    "identity",
    "sparsesoftmaxcrossentropywithlogits",
    "softmaxcrossentropywithlogits",
    "transpose",
    "unsqueeze",
    "view",
}

#: Ops of one input elementwise, or of inputs that broadcast: small arrays say as much of them as large ones.
POINTWISE = frozenset({
    "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "cast", "ceil", "clip",
    "cos", "cosh", "div", "div_no_nan", "elu", "erf", "exp", "expm1", "floor", "floor_divide", "fmod",
    "leaky_relu", "lgamma", "log", "log1p", "maximum", "minimum", "mod", "mul", "neg", "pow",
    "reciprocal", "relu", "relu6", "round", "rsqrt", "selu", "sigmoid", "sign", "sin", "sinh",
    "softplus", "softsign", "sqrt", "square", "squared_difference", "sub", "tan", "tanh",
})  # fmt: skip


def canonical(op_type: str) -> str:
    """The canonical name of an op type."""
    return NAMES.get(op_type, op_type.lower())
