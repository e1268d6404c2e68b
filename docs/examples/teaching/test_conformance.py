import surrogate.testing


class TestTinytape(surrogate.testing.Conformance):
    backend = "tinytape"
    expected_failures = {"contract[hits-unrecorded]": "tinytape records every call"}
