"""Every way by which a call under a rule stays native says why."""

import autograd
import autograd.numpy as np
import numpy
import pytest

import surrogate

X = numpy.array([-0.5, 2.0])
NOT_RECORDED, OWN = "no gradient is recorded", "called by a function of autograd's or NumPy's"


class Handles(numpy.ndarray):
    """An array that answers ufuncs itself."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return numpy.zeros(2)


def norms_slope(x):
    return np.sum(autograd.grad(lambda x: np.linalg.norm(x, 3))(x))


@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")
@pytest.mark.filterwarnings("ignore:Output seems independent of input")
@pytest.mark.parametrize(
    ("rule", "f", "why"),
    [
        ("sign:identity", lambda: np.sign(X), NOT_RECORDED),
        ("mod:identity", lambda: np.divmod(X, 2.0), NOT_RECORDED),
        ("floor_divide:identity", lambda: np.divmod(X, 2.0), NOT_RECORDED),
        (
            "abs:sign0",
            lambda: autograd.grad(lambda x: np.abs(x + 1j))(2.0),
            "not over real floating-point arrays",
        ),
        ("abs:sign0", lambda: autograd.grad(norms_slope)(X), OWN),
        (
            "mod:identity",
            lambda: autograd.grad(lambda x: np.sum(np.mod(x, X.view(Handles)) + x))(X),
            "an operand handles the call itself",
        ),
    ],
)
def test_it_says_why(rule, f, why):
    op, _, spec = rule.partition(":")
    with surrogate.override("autograd", {op: spec}, trace=True) as block:
        f()
    assert (op, why) in {(row.op, row.why) for row in block.captures}
