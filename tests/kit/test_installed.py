"""Which backends can be run here: those whose framework is installed; a broken one is not passed over."""

import pytest

import surrogate
from surrogate.testing import _installed, installed_backends


@pytest.fixture
def offered(monkeypatch):
    """Names that plugins offer, and what loading each raises."""
    errors = {}
    monkeypatch.setattr(_installed, "backends", lambda: sorted(errors))

    def load(name):
        if errors[name] is not None:
            raise errors[name]

    monkeypatch.setattr(_installed, "load_backend", load)
    return errors


def test_missing_framework_is_left_out(offered):
    offered.update(here=None, away=surrogate.MissingFrameworkError("needs it"))
    assert installed_backends() == ["here"]


def test_broken_backend_raises(offered):
    offered.update(here=None, broken=surrogate.BrokenBackendError("is broken"))
    with pytest.raises(surrogate.BrokenBackendError):
        installed_backends()
