"""What MLX can do under rules."""

import surrogate
from surrogate_mlx import _namespace
from surrogate_mlx._capture import Capture
from surrogate_mlx._install import install


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

    def driver(self):
        from surrogate_mlx._driver import Driver

        return Driver(self)
