"""float16 and bfloat16: evaluated in float32 and rounded once, so never more than half a unit off."""

import ml_dtypes
import numpy as np
import pytest

import surrogate
from surrogate import Kind, _numpy, reference

#: dtype, digits of the significand, exponent of the smallest subnormal
HALVES = {"float16": (np.float16, 11, -24), "bfloat16": (ml_dtypes.bfloat16, 8, -133)}
REST = {"heaviside": (0.5,), "mod": (3.0,), "floor_divide": (3.0,)}
SMOOTH = [
    f"{op}:{name}"
    for op in ("sign", "heaviside", "round", "floor", "ceil", "trunc", "mod", "floor_divide", "relu")
    for name in surrogate.gradients(op)
    if name != "clipped"
    and not surrogate.gradient(op, name).upstream
    and surrogate.gradient(op, name).rule.kept() is Kind.INPUTS
]


def unit(value, digits, smallest):
    _, exponent = np.frexp(value)
    return np.exp2(np.maximum(exponent - digits, smallest).astype(np.float64))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("label", SMOOTH)
def test_it_is_rounded_once(label, dtype):
    op, _, name = label.partition(":")
    half, digits, smallest = HALVES[dtype]
    x = np.concatenate([np.linspace(-4, 4, 65), np.logspace(-3, 3, 40)]).astype(half)
    rule = surrogate.gradient(op, name).rule
    inputs = (x, *(np.full_like(x, v) for v in REST.get(op, ())))
    got = rule.vjp(_numpy, rule.save(_numpy, inputs), np.ones_like(x))[0]
    assert got.dtype == half
    exact = reference.vjp(op, name, *(v.astype(np.float64) for v in inputs))[0]
    off = np.abs(got.astype(np.float64) - exact) / unit(exact, digits, smallest)
    assert off.max() <= 0.51
