import math

import autograd.numpy as np
import pytest
from autograd import grad

import surrogate
from surrogate.testing import check_backend


def test_the_gradients_are_listed_as_if_they_were_the_librarys():
    assert {"cosine", "epanechnikov"} <= set(surrogate.gradients("sign"))
    assert "away" in surrogate.gradients("round")


@pytest.mark.parametrize(
    ("spec", "x", "expected"),
    [
        ("cosine", 0.0, 1.0),
        ("cosine", 0.5, 0.5),
        ("cosine", -1.0, 0.0),
        ("cosine", math.inf, 0.0),
        ("cosine(width=2)", 1.0, 0.5),
        ("epanechnikov", 0.5, 0.75),
        ("epanechnikov", 1.5, 0.0),
        ("epanechnikov(width=2)", 1.0, 0.75),
    ],
)
def test_a_gradient_of_sign(spec, x, expected):
    with surrogate.override("autograd", {"sign": spec}):
        assert grad(np.sign)(x) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(("x", "g", "expected"), [(0.25, 1.0, 1.0), (0.25, -1.0, -0.5), (0.75, 1.0, 0.5)])
def test_a_gradient_of_round_that_looks_at_the_upstream(x, g, expected):
    assert surrogate.reference.vjp("round", "away", x, g=g) == (expected,)


@pytest.mark.parametrize("op", ["sign", "round"])
def test_the_kit_checks_them_with_the_others(op):
    report = check_backend("autograd", ops=[op])
    assert {"cosine", "epanechnikov", "away"} & {result.gradient for result in report.results} != set()
    assert report.ok, str(report)
