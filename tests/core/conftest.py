import importlib.util
import sys
from pathlib import Path

import pytest

import surrogate


def _load(name):
    """A helper by its path: importlib mode has no package for them."""
    spec = importlib.util.spec_from_file_location(f"core_{name}", Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[f"core_{name}"] = module
    spec.loader.exec_module(module)
    return module


_module = _load("toy")
_load("traces")


@pytest.fixture(autouse=True)
def registry_as_before():
    """What a test registers is gone after it."""
    registry = surrogate._registry.registry
    surrogate.ops()  # load the catalogue first
    before = {op: dict(formulas) for op, formulas in registry._formulas.items()}
    yield
    registry._formulas.clear()
    registry._formulas.update(before)
    registry._specs.clear()


@pytest.fixture
def toy():
    return _module.Toy()
