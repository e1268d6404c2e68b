"""Parameters are typed, checked when a gradient is made, and part of its identity."""

import math

import pytest

import surrogate


@pytest.mark.parametrize("value", ["-1", "0", "-0.0", "1e999", "True", "'1'", "None", "[1]", "1j"])
def test_a_value_outside_the_range_is_refused(value):
    with pytest.raises(surrogate.ParameterError, match="sign:hardtanh: width must be"):
        surrogate.gradient("sign", f"hardtanh(width={value})")


def test_nan_is_refused():
    def f(xp, x, *, width=1.0):
        return 1.0

    with pytest.raises(surrogate.ParameterError, match="must be finite, not nan"):
        surrogate._parameters.read_parameters(f, "f")["width"].check(math.nan, "f")


def test_an_unknown_parameter_gets_a_suggestion():
    with pytest.raises(surrogate.UnknownParameterError, match="did you mean 'width'"):
        surrogate.gradient("sign", "hardtanh(widht=1)")


def test_a_required_parameter_must_be_given():
    def window(xp, x, *, edge: surrogate.Positive):
        return xp.abs(x) <= edge

    surrogate.register("sign", name="required", replace=True)(window)
    with pytest.raises(surrogate.ParameterError, match="edge has no default"):
        surrogate.gradient("sign", "required")
    assert dict(surrogate.gradient("sign", "required(edge=2)").params) == {"edge": 2.0}


@pytest.mark.parametrize(
    ("annotation", "bad", "good"),
    [
        (surrogate.Positive, 0.0, 0.5),
        (surrogate.NonNegative, -0.5, 0.0),
        (surrogate.AboveOne, 1.0, 1.5),
    ],
)
def test_annotations_say_the_range(annotation, bad, good):
    def f(xp, x, *, p: annotation = 2.0):
        return 1.0

    parameter = surrogate._parameters.read_parameters(f, "f")["p"]
    assert parameter.check(good, "f") == good
    with pytest.raises(surrogate.ParameterError):
        parameter.check(bad, "f")


def test_a_default_outside_its_own_range_is_refused_at_registration():
    with pytest.raises(surrogate.ParameterError, match="above 0"):

        @surrogate.register("sign")
        def wrong(xp, x, *, width: surrogate.Positive = -1.0):
            return 1.0


def test_a_default_that_is_no_number_is_refused():
    with pytest.raises(surrogate.FormulaError, match="must be a number"):

        @surrogate.register("sign")
        def wrong(xp, x, *, mode="soft"):
            return 1.0


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_number_that_is_not_finite_is_told_as_such(value):
    with pytest.raises(surrogate.ParameterError, match="width must be finite, not"):
        surrogate._registry.registry.formula("sign", "hardtanh").parameters["width"].check(value, "sign")
