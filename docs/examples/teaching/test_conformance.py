import surrogate.testing


class TestTinytape(surrogate.testing.Conformance):
    backend = "tinytape"
