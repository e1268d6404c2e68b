"""The kit on a device that is chosen by name."""

import numpy as np
import pytest

import surrogate
from surrogate.testing import check_backend

FIRST = {"torch": "cpu", "jax": "cpu", "tensorflow": "CPU:0"}
GONE = {"torch": "cuda", "jax": "gpu", "tensorflow": "GPU:0"}


@pytest.mark.parametrize("backend", FIRST)
def test_it_runs_there_and_the_report_says_so(backend):
    report = check_backend(backend, ops=["floor"], promises=["vjp"], device=FIRST[backend])
    assert report.ok, str(report)
    assert f" on {FIRST[backend]})" in str(report)
    assert report.to_json()["device"] == FIRST[backend]


@pytest.mark.parametrize("backend", GONE)
def test_a_device_that_is_not_there_is_refused_by_name(backend):
    with pytest.raises(surrogate.UnknownNameError, match=f"has no device '{GONE[backend]}' here"):
        check_backend(backend, ops=["floor"], promises=["vjp"], device=GONE[backend])


def test_arrays_are_made_there():
    """PyTorch's device without memory stands for one that this machine has not."""
    driver = surrogate.load_backend("torch").driver()
    with driver.on("meta"):
        assert driver.asarray(np.ones(3)).device.type == "meta"
    assert driver.asarray(np.ones(3)).device.type == "cpu"
