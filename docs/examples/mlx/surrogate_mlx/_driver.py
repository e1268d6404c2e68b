"""How the conformance kit drives MLX."""

import operator

import ml_dtypes
import mlx.core as mx
import numpy as np

import surrogate

_DTYPES = {"float16": mx.float16, "bfloat16": mx.bfloat16, "float32": mx.float32, "float64": mx.float64}
_ONE = {"decimals": 1}


def _in_place(x, y):
    x %= y
    return x


SPELLINGS = {
    "sign": {"mx.sign": mx.sign, "stream": lambda x: mx.sign(x, stream=mx.cpu)},
    "round": {
        "mx.round": mx.round,
        "mx.round(x, 1)": surrogate.Spelling(lambda x: mx.round(x, 1), attributes=_ONE),
        "mx.round(decimals=1)": surrogate.Spelling(lambda x: mx.round(x, decimals=1), attributes=_ONE),
        "x.round()": lambda x: x.round(),
        "x.round(1)": surrogate.Spelling(lambda x: x.round(1), attributes=_ONE),
    },
    "abs": {"mx.abs": mx.abs, "x.abs()": lambda x: x.abs(), "abs(x)": abs},
    "clip": {
        "mx.clip": mx.clip,
        "mx.clip(x, None, hi)": surrogate.Spelling(lambda x, hi: mx.clip(x, None, hi), {"lo": -np.inf}),
        "mx.clip(x, a_min=-1)": surrogate.Spelling(
            lambda x: mx.clip(x, a_min=-1.0, a_max=None), {"lo": -1.0, "hi": np.inf}
        ),
    },
    "mod": {
        "x % y": operator.mod,
        "mx.remainder": mx.remainder,
        "mx.divmod(x, y)[1]": lambda x, y: mx.divmod(x, y)[1],
        "x %= y": _in_place,
        "2.0 % y": surrogate.Spelling(lambda y: 2.0 % y, {"x": 2.0}),
    },
    "floor_divide": {
        "mx.floor_divide": mx.floor_divide,
        "x // y": operator.floordiv,
        "mx.divmod(x, y)[0]": lambda x, y: mx.divmod(x, y)[0],
        "2.0 // y": surrogate.Spelling(lambda y: 2.0 // y, {"x": 2.0}),
    },
}


class Driver(surrogate.Driver):
    def asarray(self, x):
        x = np.asarray(x)
        return mx.array(x, dtype=_DTYPES.get(str(x.dtype)))

    def numpy(self, x):
        if x.dtype == mx.bfloat16:  # the buffer protocol has no bfloat16
            return np.array(x.astype(mx.float32)).astype(ml_dtypes.bfloat16)
        return np.array(x)

    def spellings(self, op):
        return SPELLINGS.get(op) or {f"mx.{op}": getattr(mx, op)}

    def grad(self, f, inputs, g):
        [y], cotangents = mx.vjp(f, list(inputs), [g])
        return y, tuple(cotangents)

    def jvp(self, f, inputs, tangents):
        [y], [t] = mx.jvp(f, list(inputs), list(tangents))
        return y, t

    def compile(self, f):
        return mx.compile(f)

    def vmap(self, f):
        return mx.vmap(f)
