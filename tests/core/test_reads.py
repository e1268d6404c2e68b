"""What a formula reads beside its arguments, and forms that mean something else in another framework."""

import types
from typing import Annotated

import numpy as np
import pytest

import surrogate
from surrogate import FormulaError, ParameterError, reference

K = 2.0
LEVELS = [1.0, 2.0]


def globally(xp, x):
    return xp.abs(x) <= K


def through_a_helper(xp, x):
    return _helper(xp, x)


def _helper(xp, x):
    return xp.abs(x) <= LEVELS[0]


class Box:
    def __init__(self):
        self.k = 1.0


def at_two(found):
    return reference.vjp("sign", found, 2.0)[0].item()


@pytest.fixture
def closed():
    box = Box()

    def formula(xp, x):
        return xp.abs(x) <= box.k

    return box, formula


def test_a_change_is_another_gradient_at_the_next_override(monkeypatch, toy):
    first = surrogate.gradient("sign", globally)
    assert first is surrogate.gradient("sign", globally)
    monkeypatch.setitem(globals(), "K", 1.0)
    second = surrogate.gradient("sign", globally)
    assert second is not first
    assert second.digest != first.digest
    assert at_two(second) == 0.0


def test_so_it_is_for_a_registered_one_by_name(monkeypatch):
    surrogate.register("sign", name="reading")(through_a_helper)
    first = surrogate.gradient("sign", "reading")
    monkeypatch.setitem(globals(), "LEVELS", [3.0])
    second = surrogate.gradient("sign", "reading")
    assert second is not first
    assert second.digest != first.digest


def test_an_override_that_is_entered_again_after_a_change_is_refused(toy, closed):
    box, formula = closed
    override = surrogate.override(toy, {"sign": formula})
    with override:
        toy.hit("sign")
    box.k = 3.0
    with pytest.raises(
        FormulaError, match=r"reads 'box', which was .*1\.0.* and is .*3\.0.*surrogate\.Variable"
    ):
        override.__enter__()
    assert toy.here == {}


def test_a_change_while_it_is_in_force_is_told_when_it_ends(toy, closed):
    box, formula = closed
    override = surrogate.override(toy, {"sign": formula})
    override.__enter__()
    toy.hit("sign")
    box.k = 3.0
    with pytest.warns(surrogate.SurrogateWarning, match="reads 'box'.*surrogate.Variable"):
        override.__exit__(None, None, None)


def test_what_does_not_change_costs_and_says_nothing(toy, closed):
    with surrogate.override(toy, {"sign": closed[1], "round": globally}):
        toy.hit("sign")
        toy.hit("round")


class Tensor:
    dtype = "float32"


Tensor.__module__ = "torch"


@pytest.mark.parametrize("value", [Tensor(), surrogate.Variable(1.0)], ids=["tensor", "variable"])
def test_a_tensor_or_a_variable_is_given_as_a_parameter(value):
    def formula(xp, x):
        return xp.abs(x) <= value

    with pytest.raises(FormulaError, match=r"reads 'value', a \w+\. Give it as a parameter: .*\*, value"):
        surrogate.gradient("sign", formula)


# -- another framework's form ------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [
        lambda x, grad_output: grad_output,
        lambda ctx, g: g,
        lambda op, grad: grad,
        lambda xp, grad_output: grad_output,
        lambda self, x: x,
    ],
    ids=["torch", "ctx", "op", "xp", "self"],
)
def test_another_frameworks_form_is_refused_with_the_right_one(function):
    with pytest.raises(FormulaError, match=r"write def \(xp, x, \*, parameters\), or def \(xp, g, x"):
        surrogate.register("sign", name="foreign")(function)
    with pytest.raises(FormulaError, match="write def"):
        surrogate.gradient("sign", function)
    assert "foreign" not in surrogate.gradients("sign")


def test_inputs_in_another_order_are_refused():
    with pytest.raises(FormulaError, match="'y' would be given the op's input 'x'"):
        surrogate.gradient("mod", lambda xp, y, x: (1.0, 0.0))


def test_a_framework_in_place_of_xp_is_named(monkeypatch):
    module = types.ModuleType("jax.numpy")
    module.tanh = lambda x: (_ for _ in ()).throw(TypeError("no tracer"))
    monkeypatch.setitem(globals(), "jnp", module)
    with pytest.raises(FormulaError, match=r"uses jnp and fails .* in place of jnp \(xp.tanh for jnp.tanh\)"):
        surrogate.gradient("sign", in_place_of_xp)


def in_place_of_xp(xp, x):
    return jnp.tanh(x)  # noqa: F821


# -- ranges ------------------------------------------------------------------------------------


def bare(xp, x, *, leak: surrogate.Range(gt=0) = 0.1):
    return leak * x


def annotated(xp, x, *, leak: Annotated[float, surrogate.Range(ge=0, le=1)] = 0.1):
    return leak * x


def written(
    xp, x, *, leak: "surrogate.Range(gt=0)" = 0.1, other: "Annotated[int, surrogate.Range(ge=2)]" = 2
):
    return leak * other * x


def whole(xp, x, *, n: int = 2):
    return x**n


@pytest.mark.parametrize(
    ("function", "given", "message"),
    [
        (bare, {"leak": -5}, "above 0"),
        (annotated, {"leak": 1.5}, "at least 0 and at most 1"),
        (written, {"leak": 0}, "above 0"),
        (written, {"other": 1}, "at least 2"),
        (written, {"other": 2.5}, "whole numbers, not 2.5"),
        (whole, {"n": 2.5}, "whole numbers, not 2.5"),
        (whole, {"n": [2, 2.5]}, "whole numbers, not 2.5 at index 1"),
    ],
)
def test_a_range_is_read_from_the_annotation_in_every_form(function, given, message):
    with pytest.raises(ParameterError, match=message):
        surrogate.gradient("sign", function, **given)
    assert surrogate.gradient("sign", function) is not None


def test_fields_are_given_by_name():
    with pytest.raises(TypeError):
        surrogate.Range(0, 1)
    assert str(surrogate.Range(gt=0, le=1)) == "above 0 and at most 1"


def test_an_annotation_that_cannot_be_read_is_an_error_and_switches_nothing_off():
    def formula(xp, x: "Unheard", *, a: "Unheard" = 1.0):  # noqa: F821
        return 1.0

    with pytest.raises(FormulaError, match="the annotation of 'a', 'Unheard', cannot be read"):
        surrogate.gradient("sign", formula)

    def elsewhere(xp: "Unheard", x: "Unheard", *, a: surrogate.Positive = 1.0) -> "Unheard":  # noqa: F821
        return a * x

    with pytest.raises(ParameterError, match="above 0"):
        surrogate.gradient("sign", elsewhere, a=-1)
    assert np.isclose(at_two(surrogate.gradient("sign", elsewhere)), 2.0)
