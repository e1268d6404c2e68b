"""Public functions of PyTorch, by their last name, and the operators with a derivative that they end in."""

from __future__ import annotations

#: Where the operator has another name, or the function ends in several. Checked by running each.
ENDS: dict[str, tuple[str, ...]] = {
    "adaptive_avg_pool2d": ("aten::_adaptive_avg_pool2d",),
    "adaptive_max_pool1d": ("aten::adaptive_max_pool2d",),
    "batch_norm": ("aten::native_batch_norm",),
    "conv1d": ("aten::convolution",),
    "conv2d": ("aten::convolution",),
    "conv3d": ("aten::convolution",),
    "cross_entropy": ("aten::_log_softmax", "aten::nll_loss_forward"),
    "dropout": ("aten::mul", "aten::native_dropout"),  # on CPU; elsewhere, and compiled
    "grid_sample": ("aten::grid_sampler_2d", "aten::grid_sampler_3d"),
    "group_norm": ("aten::native_group_norm",),
    "layer_norm": ("aten::native_layer_norm",),
    "linear": ("aten::addmm", "aten::mm"),
    "log_softmax": ("aten::_log_softmax",),
    "matmul": ("aten::mm", "aten::bmm"),
    "max_pool1d": ("aten::max_pool2d_with_indices",),
    "max_pool2d": ("aten::max_pool2d_with_indices",),
    "max_pool3d": ("aten::max_pool3d_with_indices",),
    "norm": ("aten::linalg_vector_norm", "aten::norm"),
    "softmax": ("aten::_softmax",),
}
