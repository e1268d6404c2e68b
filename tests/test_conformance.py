"""Every backend keeps every promise.

A framework that is not installed is reported as such; a tox environment names in SURROGATE_REQUIRE what
must be there. Nothing else is imported then: ``SURROGATE_REQUIRE=torch pytest tests/test_conformance.py``.
"""

import os

from surrogate.testing import Conformance

os.environ.setdefault("JAX_ENABLE_X64", "1")  # read when JAX is imported; without it there is no float64


class Ours(Conformance):
    optional = True


#: With SURROGATE_REQUIRE only what it names, so that the others are not even imported.
_WANTED = os.environ.get("SURROGATE_REQUIRE", "").replace(",", " ").split()


if not _WANTED or "autograd" in _WANTED:

    class TestAutograd(Ours):
        backend = "autograd"


if not _WANTED or "torch" in _WANTED:

    class TestTorch(Ours):
        backend = "torch"


if not _WANTED or "tensorflow" in _WANTED:

    class TestTensorFlow(Ours):
        backend = "tensorflow"


if not _WANTED or "jax" in _WANTED:

    class TestJax(Ours):
        backend = "jax"
