"""Four host devices, asked for before JAX looks for devices."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for jax_formulas, the tests' own module
sys.path.insert(0, str(Path(__file__).parents[1] / "shared"))  # for places
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"

import jax
import numpy as np
import pytest

#: Dyadic points, so that polynomials of them are exact in every dtype.
POINTS = (-2.0, -0.5, 0.25, 0.75)


@pytest.fixture
def x():
    return jax.numpy.asarray(POINTS, jax.numpy.float32)


@pytest.fixture
def sixty_four_bits():
    """64-bit dtypes for one test."""
    enable = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
    with enable(True):
        yield


@pytest.fixture
def squared():
    """1, -0.5, ... squared: the derivative under the rules of ``jax_formulas``."""
    return np.square(np.float32(POINTS))
