"""The preprocessing layers of Keras on a small batch, under TensorFlow."""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import numpy as np
import tensorflow as tf
from library_samples._case import Case
from surrogate_tensorflow import _audit_recorder

BACKEND, FOLDER = "tensorflow", str(Path(keras.__file__).parent)
VERSION = keras.__version__

_INNER = tuple(f"{FOLDER}/src/{part}/" for part in ("backend", "ops", "utils"))


@contextlib.contextmanager
def inside() -> Iterator[None]:
    """An audit names the user's line that calls a layer; this table is about the lines of the layers."""
    files = _audit_recorder.framework_files
    _audit_recorder.framework_files = lambda: (*(f for f in files() if f != FOLDER + os.sep), *_INNER)
    try:
        yield
    finally:
        _audit_recorder.framework_files = files


IMAGE = tf.constant(np.random.RandomState(0).uniform(20, 230, (2, 16, 16, 3)).astype("float32"))
ROW = tf.constant(np.random.RandomState(1).standard_normal((4, 3)).astype("float32"))
SOUND = tf.constant(np.random.RandomState(2).standard_normal((2, 512)).astype("float32"))

OPTIONS: dict[str, dict[str, Any]] = {
    "CategoryEncoding": {"num_tokens": 8, "output_mode": "one_hot"},
    "CenterCrop": {"height": 8, "width": 8},
    "ContrastLimitedAdaptiveHistogramEqualization": {"tile_grid_size": (2, 2)},
    "Discretization": {"bin_boundaries": [-1.0, 0.0, 1.0]},
    "MelSpectrogram": {"fft_length": 64, "sequence_stride": 32, "num_mel_bins": 8, "sampling_rate": 8000},
    "Normalization": {"mean": [0.1, 0.2, 0.3], "variance": [1.0, 2.0, 3.0]},
    "RandomBrightness": {"factor": 0.2},
    "RandomColorDegeneration": {"factor": 0.5},
    "RandomColorJitter": {
        "brightness_factor": 0.2,
        "contrast_factor": 0.2,
        "saturation_factor": 0.2,
        "hue_factor": 0.2,
    },
    "RandomContrast": {"factor": 0.2},
    "RandomCrop": {"height": 8, "width": 8},
    "RandomGrayscale": {"factor": 1.0},
    "RandomHue": {"factor": 0.2},
    "RandomPosterization": {"factor": 3},
    "RandomRotation": {"factor": 0.1},
    "RandomSaturation": {"factor": 0.3},
    "RandomSharpness": {"factor": 0.5},
    "RandomShear": {"x_factor": 0.2, "y_factor": 0.2},
    "RandomTranslation": {"height_factor": 0.2, "width_factor": 0.2},
    "RandomZoom": {"height_factor": 0.2},
    "Rescaling": {"scale": 1 / 255},
    "Resizing": {"height": 8, "width": 8},
    "STFTSpectrogram": {"frame_length": 64},
    "Solarization": {"threshold_factor": 0.5},
}
INPUTS = {
    "Normalization": ROW,
    "Discretization": ROW,
    "CategoryEncoding": tf.constant([[1.0], [3.0], [2.0]]),
    "MelSpectrogram": SOUND,
    "STFTSpectrogram": SOUND[..., None],
}
LEFT_OUT = {
    **dict.fromkeys(
        ("Hashing", "HashedCrossing", "IntegerLookup", "StringLookup", "TextVectorization"),
        "takes integers or text",
    ),
    "MaxNumBoundingBoxes": "takes boxes only",
    **dict.fromkeys(("CutMix", "MixUp"), "mixes a batch with labels"),
    "Pipeline": "a container",
}


def cases() -> Iterator[Case | tuple[str, str]]:
    """Every preprocessing layer."""
    for name in dir(keras.layers):
        made = getattr(keras.layers, name)
        if not inspect.isclass(made) or ".preprocessing." not in made.__module__:
            continue
        if name in LEFT_OUT:
            yield name, LEFT_OUT[name]
            continue
        options = OPTIONS.get(name, {})
        seeded = {"seed": 3} if "seed" in inspect.signature(made.__init__).parameters else {}
        layer = made(**options, **seeded)
        yield Case(name, _augmenting(layer), {"x": INPUTS.get(name, IMAGE)})


def _augmenting(layer: Any) -> Any:
    """The layer as in training."""
    takes = "training" in inspect.signature(layer.call).parameters

    def augment(x: Any) -> Any:
        return layer(x, training=True) if takes else layer(x)

    return augment
