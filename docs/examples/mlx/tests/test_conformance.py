import surrogate.testing


class TestMLX(surrogate.testing.Conformance):
    backend = "mlx"
