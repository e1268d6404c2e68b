"""What the tests of the TensorFlow backend share."""

import os
import sys
from contextlib import suppress
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parent))  # for tensorflow_modes
sys.path.insert(0, str(Path(__file__).parents[1] / "shared"))  # for places

import keras
import pytest
import tensorflow as tf

import surrogate

# MirroredStrategy needs two devices, and they must be made before anything runs; where other tests in this
# process came first it is too late, and the tests of strategies fail and say so
with suppress(RuntimeError):
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )

POINTS = (-2.0, -1.0, 0.5, 3.0)


@pytest.fixture(scope="session")
def backend():
    return surrogate.load_backend("tensorflow")


@pytest.fixture
def x():
    return tf.constant(POINTS)


@pytest.fixture(autouse=True)
def _seeds():
    keras.utils.set_random_seed(0)
