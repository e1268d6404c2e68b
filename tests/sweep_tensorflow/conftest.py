"""What the sweep needs."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import pytest

import surrogate


@pytest.fixture(scope="session")
def backend():
    return surrogate.load_backend("tensorflow")
