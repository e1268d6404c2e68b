import importlib.util
import sys
from pathlib import Path

import pytest

import surrogate

# importlib mode has no package for helpers: load the one module by its path
_spec = importlib.util.spec_from_file_location("core_toy", Path(__file__).with_name("toy.py"))
_module = importlib.util.module_from_spec(_spec)
sys.modules["core_toy"] = _module
_spec.loader.exec_module(_module)


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
