from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of pyproject.toml."""
    return Path(__file__).parents[2]
