"""What MLX can do under rules, and how the conformance kit drives it."""

import ml_dtypes
import mlx.core as mx
import numpy as np

import surrogate
from surrogate_mlx import _namespace
from surrogate_mlx._capture import Capture
from surrogate_mlx._install import install

_DTYPES = {"float16": mx.float16, "bfloat16": mx.bfloat16, "float32": mx.float32, "float64": mx.float64}


class MLX(surrogate.Backend):
    name = "mlx"
    framework = "mlx"
    tested = "0.32.4"
    ops = frozenset({"sign", "round", "floor", "ceil", "trunc", "mod", "floor_divide", "clip", "abs"})
    unsupported = {
        "fmod": "MLX has no such function",
        "heaviside": "MLX has no such function",
        "relu": "mlx.nn.relu is compiled when mlx.nn is imported, before it could look for a rule",
        "relu6": "mlx.nn.relu6 is compiled when mlx.nn is imported, before it could look for a rule",
    }
    transforms = frozenset({"forward", "vmap", "compile", "second"})
    # float64 is caught as well, but MLX computes sin, tanh or exp of it with float32's precision
    dtypes = ("float16", "bfloat16", "float32")
    expected_failures = {
        "compiled[compiled-once-grad_of_jit]": "inside a gradient MLX runs a compiled function anew",
        "contract[hits-unrecorded]": "MLX does not tell whether a gradient is being recorded",
        "namespace[where]": "the derivative of MLX's where multiplies: NaN for an infinite upstream",
    }
    xp = _namespace

    def __init__(self):
        install(Capture(self))  # in place for good: without rules every op goes its native way

    def asarray(self, x):
        x = np.asarray(x)
        return mx.array(x, dtype=_DTYPES.get(str(x.dtype)))

    def numpy(self, x):
        if x.dtype == mx.bfloat16:  # the buffer protocol has no bfloat16
            return np.array(x.astype(mx.float32)).astype(ml_dtypes.bfloat16)
        return np.array(x)

    def call(self, op, *inputs, **attributes):
        if op == "mod":
            return inputs[0] % inputs[1]
        return getattr(mx, op)(*inputs, **attributes)

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
