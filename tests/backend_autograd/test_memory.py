"""What the backward pass keeps alive: what the rule saved, and nothing else."""

import gc
import weakref

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import make_jvp, make_vjp

import surrogate

SIZE = 1000

KEPT = [
    ("sign", "identity", 0),
    ("sign", "hardtanh", SIZE),
    ("sign", "tanh", 8 * SIZE),
    ("sign", "approx_sign", 8 * SIZE),
    ("round", "identity", 0),
    ("round", "clipped(lo=-1, hi=1)", SIZE),
    ("round", "ewgs", 8 * SIZE),
    ("floor", "sine", 8 * SIZE),
]
kept = pytest.mark.parametrize(
    ("op", "spec", "size"), [pytest.param(*row, id=f"{row[0]}-{row[1]}") for row in KEPT]
)


@kept
def test_bytes(op, spec, size):
    backend = surrogate.load_backend("autograd")
    x = np.linspace(-2, 2, SIZE)
    with surrogate.override("autograd", {op: spec}):
        assert backend.driver().residuals(getattr(anp, op), [x]) == size


@kept
@pytest.mark.parametrize("operand", ["x", "value"])
def test_arrays_that_were_not_saved_can_be_collected(op, spec, size, operand):
    x = np.linspace(-2, 2, SIZE)
    with surrogate.override("autograd", {op: spec}):
        vjp, value = make_vjp(getattr(anp, op))(x)
    watch = weakref.ref(x if operand == "x" else value)
    del x, value
    gc.collect()
    saved = operand == "x" and size == 8 * SIZE
    assert (watch() is not None) == saved
    assert np.isfinite(vjp(np.ones(SIZE))).all()


@pytest.mark.parametrize(
    ("wrt", "size"), [pytest.param(0, 0, id="dividend"), pytest.param(1, 2 * 8 * SIZE, id="divisor")]
)
def test_only_for_the_operands_that_are_differentiated(wrt, size):
    backend = surrogate.load_backend("autograd")
    pair = [np.linspace(-2, 2, SIZE), np.linspace(3, 4, SIZE)]

    def f(z):
        return anp.mod(z, pair[1]) if wrt == 0 else anp.mod(pair[0], z)

    with surrogate.override("autograd", {"mod": "exact"}):
        assert backend.driver().residuals(f, [pair[wrt]]) == size


def test_forward_mode_keeps_nothing():
    x = np.linspace(-2, 2, SIZE)
    with surrogate.override("autograd", {"sign": "tanh"}):
        value, tangent = make_jvp(anp.sign)(x)(np.ones(SIZE))
    watch = weakref.ref(x)
    del x
    gc.collect()
    assert watch() is None
    assert value.shape == tangent.shape
