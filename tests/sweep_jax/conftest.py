import pytest

import surrogate


@pytest.fixture(scope="session")
def backend():
    return surrogate.load_backend("jax")
