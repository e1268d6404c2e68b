import surrogate.testing


class TestMLX(surrogate.testing.Conformance):
    backend = "mlx"
    expected_failures = {
        "compiled[compiled-once-grad_of_jit]": "inside a gradient MLX runs a compiled function anew",
        "contract[hits-unrecorded]": "MLX does not tell whether a gradient is being recorded",
    }
