"""Rules by place in autograd."""

from typing import ClassVar

import autograd
import numpy as np
import pytest
from places import Cases, code  # noqa: F401 -- a fixture

pytestmark = pytest.mark.filterwarnings("ignore:Output seems independent of input")  # autograd's word for 0


class TestPlaces(Cases):
    backend = "autograd"
    imports = "import autograd.numpy as np\nfrom autograd.tracer import getval as stop\n"
    modes: ClassVar = {"eager": lambda f: f}

    @staticmethod
    def slope(f):
        return autograd.elementwise_grad(f)(np.array([0.2, 0.7, 1.4, 2.6])).tolist()
