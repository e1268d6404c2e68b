"""Every test starts without rules, and torch's own deprecation warnings at import are not ours."""

import importlib
import sys
import warnings
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))  # for operator_sweep, which is a command too
sys.path.insert(0, str(Path(__file__).parents[1] / "shared"))  # for torch_unseen

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    importlib.import_module("torch._decomp.decompositions_for_jvp")
    importlib.import_module("torch._dynamo")
    importlib.import_module("torch._inductor.compile_fx")


@pytest.fixture(autouse=True)
def nothing_left():
    """No test leaves rules behind."""
    import surrogate

    yield
    assert not surrogate.active("torch")


@pytest.fixture
def fresh_compiler():
    """torch.compile without what other tests compiled."""
    torch.compiler.reset()
    yield
    torch.compiler.reset()


@pytest.fixture
def every_rule():
    """A gradient for every op."""
    return {
        "sign": "arctan",
        "round": "sine",
        "floor": "sine",
        "ceil": "sine",
        "trunc": "sine",
        "mod": "sine",
        "fmod": "exact",
        "floor_divide": "identity",
        "heaviside": "arctan",
        "clip": "half",
        "relu": "sigmoid",
        "relu6": "identity",
        "abs": "sign0",
    }
