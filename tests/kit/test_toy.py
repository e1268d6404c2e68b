"""The honest toy backend keeps every promise."""

from toy.backend import Toy

from surrogate.testing import Conformance


class TestToy(Conformance):
    backend = Toy()
