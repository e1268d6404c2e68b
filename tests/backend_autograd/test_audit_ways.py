"""Every way of losing a gradient in autograd, in loops and branches: the exact line."""

import numpy as np
import pytest
from losing import names_the_line, program, table

IMPORTS = "import autograd.numpy as np\nfrom autograd.tracer import getval"

WAYS = {
    "sign": "g = np.sign(h)  #!",
    "round": "g = np.round(h)  #!",
    "floor": "g = np.floor(h)  #!",
    "ceil": "g = np.ceil(h)  #!",
    "trunc": "g = np.trunc(h)  #!",
    "comparison": "g = (h > 0.1) * 1.0  #!",
    "argmax": "g = np.argmax(h, -1) * 1.0  #!",
    "argsort": "g = np.argsort(h) * 1.0  #!",
    "getval": "g = getval(h)  #!",
    "float": "g = float(getval(h)[0, 0])  #!",
}

SURROUNDINGS = {
    "plain": "def program(w, b):\n    h = w * 2.0\n    @@\n    return np.sum(g * b)",
    "loop": """def program(w, b):
    total = 0.0
    for scale in (2.0, 3.0):
        h = w * scale
        @@
        total = total + np.sum(g * b)
    return total""",
    "branch": """def program(w, b):
    if b > 0:
        h = w * 2.0
        @@
    else:
        g = w
    return np.sum(g * b)""",
}


@pytest.mark.parametrize(("surrounding", "way"), table(WAYS, SURROUNDINGS))
def test_the_line_that_loses_a_gradient_is_named(surrounding, way, tmp_path):
    module, at = program(tmp_path, IMPORTS, SURROUNDINGS[surrounding], WAYS[way])
    w = np.array([[0.3, -0.7, 1.2], [0.4, 0.9, -1.6]])
    names_the_line("autograd", module, at, "arg0", w, 1.5, argnums=(0, 1))
