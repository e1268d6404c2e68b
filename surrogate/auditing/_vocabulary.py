"""Canonical names of ops that rules and recorders ask about; each set says one property of its ops."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Their result depends on the shape of the input only.
SHAPE_ONLY = _words("""
    zeros_like ones_like empty_like full_like rand_like randn_like randint_like new_zeros new_ones
    new_empty new_full new_empty_strided empty_strided shape size rank numel sym_size shape_n arange iota
    bernoulli_p
""")

#: A sum, scaling, view or remainder of its inputs: what is made of ``x`` by these is a companion of ``x``.
LINEAR = _words("""
    add sub rsub neg mul div sum mean mod fmod cast clone copy identity alias contiguous view reshape
    expand squeeze unsqueeze expand_dims transpose t permute slice select split unbind unstack stack cat
    concat pack add_n broadcast_in_dim as_strided
""")

#: Its operands are terms of its result: one of them can be without a gradient and nobody notices.
ADDITIVE = _words("""
    add sub rsub add_n sum mean cat concat stack pack pad where maximum minimum lerp hypot atan2 cross
    copy index_put dynamic_update_slice mse_loss l1_loss smooth_l1_loss huber_loss squared_difference dist
    cdist
""")

#: Activations that are flat on a side, by which their elements can be counted as passing a gradient or not.
STRICT = _words("""
    relu relu6 clamp clamp_min clamp_max clip hardtanh threshold hardsigmoid hardshrink softshrink
""")

#: Activations that flatten out, and their largest derivative.
SATURATING = {"sigmoid": 0.25, "tanh": 1.0}

#: Their derivative is infinite somewhere.
SINGULAR = _words("""
    log log2 log10 log1p sqrt rsqrt div mul reciprocal pow acos asin acosh atanh atan2 norm std hypot
    logdet lgamma digamma
""")

#: Matrix products and what is made of them: a layer of the program is one of these.
HEAVY = _words("""
    linear addmm mm matmul bmm baddbmm addbmm mv dot einsum convolution conv conv1d conv2d conv3d
    dot_general conv_general_dilated lstm gru
""")

#: Comparisons and predicates.
COMPARE = _words("gt ge lt le eq ne logical_not logical_and logical_or isfinite isnan isinf")

#: An index or a predicate picks elements of another operand.
PICKS = _words(
    "where gather index index_select take take_along_axis embedding gather_nd masked_select select_n"
)

#: Losing the gradient is what these are for.
DELIBERATE = _words("detach stop_gradient no_grad")
