"""Public functions that are made of ops we can override, and keep their native gradient as a unit."""

from __future__ import annotations

_KERAS = "keras.src.backend.tensorflow"
_OPS = "tensorflow.python.ops"

#: module -> functions and methods defined in it. Not every version has all of them.
_NAMES = {
    f"{_KERAS}.numpy": """quantile median cbrt logaddexp logaddexp2 linspace logspace geomspace hypot corrcoef
        isclose allclose""",
    f"{_KERAS}.linalg": "norm",
    f"{_KERAS}.nn": """hard_shrink soft_shrink hard_sigmoid categorical_crossentropy
        sparse_categorical_crossentropy binary_crossentropy moments batch_normalization""",
    f"{_KERAS}.image": "resize affine_transform map_coordinates scale_and_translate",
    "keras.src.losses.losses": """mean_absolute_error mean_absolute_percentage_error
        mean_squared_logarithmic_error huber log_cosh hinge squared_hinge categorical_hinge kl_divergence
        poisson categorical_focal_crossentropy binary_focal_crossentropy dice tversky""",
    "keras.src.layers.activations.prelu": "PReLU.call",
    "keras.src.regularizers.regularizers": "L1.__call__ L1L2.__call__",
    f"{_OPS}.linalg_ops": "norm norm_v2",
    f"{_OPS}.linalg.linalg_impl": "matrix_exponential eigh_tridiagonal",
    f"{_OPS}.histogram_ops": "histogram_fixed_width histogram_fixed_width_bins",
    f"{_OPS}.nn_impl": "weighted_cross_entropy_with_logits_v2",
    f"{_OPS}.nn_ops": "crelu crelu_v2",
    f"{_OPS}.losses.losses_impl": "absolute_difference hinge_loss huber_loss",
    f"{_OPS}.numpy_ops.np_math_ops": """isclose allclose cbrt logaddexp logaddexp2 linspace
        geomspace""",
    f"{_OPS}.image_ops_impl": "total_variation ssim ssim_multiscale",
}

FUNCTIONS = tuple((module, names.split()) for module, names in _NAMES.items())
