"""Every backend keeps every promise.

A framework that is not installed is reported as such; a tox environment names in SURROGATE_REQUIRE what
must be there.
"""

import os

from surrogate.testing import Conformance

os.environ.setdefault("JAX_ENABLE_X64", "1")  # read when JAX is imported; without it there is no float64


class Ours(Conformance):
    optional = True


class TestAutograd(Ours):
    backend = "autograd"


class TestTorch(Ours):
    backend = "torch"


class TestTensorFlow(Ours):
    backend = "tensorflow"


class TestJax(Ours):
    backend = "jax"
