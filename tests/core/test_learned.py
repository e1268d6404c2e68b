"""Parameters that want a gradient: what a formula says of them, and what is refused."""

import copy

import numpy as np
import pytest

import surrogate
from surrogate import FormulaError, ParameterError, _numpy as xp
from surrogate._learned import Learned
from surrogate._learned_rule import LearnedRule


class Tensor(np.ndarray):
    """As PyTorch's, which is known by the name of its module."""

    __module__ = "torch"
    requires_grad = True


def tensor(value):
    return np.asarray(value, np.float64).view(Tensor)


def test_the_rule_takes_it_as_one_more_input():
    slope = tensor([0.5, 2.0])
    rule = surrogate.gradient("sign", "tanh", slope=slope).rule
    assert isinstance(rule, LearnedRule)
    assert rule.arity == 2
    assert rule.learned[0].tensor is slope
    assert not rule.elementwise
    x, k, g = np.array([[0.3, -0.4]]), np.array([0.5, 2.0]), np.array([[1.0, -2.0]])
    by_x, by_k = rule.vjp(xp, rule.save(xp, (x, k)), g)
    np.testing.assert_allclose(by_x, g * k * (1 - np.tanh(k * x) ** 2), rtol=1e-12)
    np.testing.assert_allclose(by_k, g * x * (1 - np.tanh(k * x) ** 2), rtol=1e-12)
    moved = rule.jvp(xp, rule.save(xp, (x, k)), (None, np.ones(2)), (False, True))
    np.testing.assert_allclose(moved, x * (1 - np.tanh(k * x) ** 2), rtol=1e-12)
    assert rule.vjp(xp, rule.save(xp, (x, k), (True, False)), g, (True, False))[1] is None


def test_beside_an_array_and_with_decimals():
    x, g = np.array([0.123, -0.321]), np.ones(2)
    both = surrogate.gradient("heaviside", "boxcar", width=tensor(0.2), height=np.array([2.0, 3.0])).rule
    by_x, _, by_width = both.vjp(xp, both.save(xp, (x, 0.5, np.array(0.2))), g)
    assert by_x.tolist() == [2.0, 0.0]
    assert by_width.tolist() == [0.0, -3.0]

    @surrogate.register("round", replace=True, by={"amp": lambda xp, x, amp: xp.sin(x)})
    def wave(xp, x, *, amp=1.0):
        """amp cos(x)."""
        return amp * xp.cos(x)

    rule = surrogate.gradient("round", "wave", amp=tensor(0.7)).at(decimals=1)
    by_x, by_amp = rule.vjp(xp, rule.save(xp, (x, np.array(0.7))), g)
    np.testing.assert_allclose(by_x, 0.7 * np.cos(10 * x), rtol=1e-12)
    np.testing.assert_allclose(by_amp, np.sin(10 * x) / 10, rtol=1e-12)


def test_the_same_tensor_is_the_same_gradient_and_a_copy_another():
    slope = tensor(1.5)
    found = surrogate.gradient("sign", "tanh", slope=slope)
    assert found is surrogate.gradient("sign", "tanh", slope=slope)
    assert found is not surrogate.gradient("sign", "tanh", slope=tensor(1.5))
    assert found.params["slope"] is slope
    memo = {}
    other = copy.deepcopy(slope, memo)
    memo[id(slope)] = other
    assert copy.deepcopy(found, memo).params["slope"] is other


def test_its_values_are_checked():
    with pytest.raises(ParameterError, match=r"slope must be above 0, not -1 at index 1"):
        surrogate.gradient("sign", "tanh", slope=tensor([1.0, -1.0]))
    rule = surrogate.gradient("sign", "tanh", slope=tensor([1.0, 2.0])).rule
    with pytest.raises(ParameterError, match="does not broadcast to the input's shape"):
        rule.save(xp, (np.ones(3), np.ones(2)))


@pytest.mark.parametrize(
    ("op", "name", "parameter"),
    [("sign", "reste", "o"), ("round", "ewgs", "delta"), ("argmax", "softmax", "temperature")],
)
def test_a_formula_that_does_not_say_is_refused(op, name, parameter):
    with pytest.raises(ParameterError, match=rf"does not say what its derivative by {parameter} is"):
        surrogate.gradient(op, name, **{parameter: tensor(2.0)})


def test_a_wrong_derivative_is_refused_when_it_is_registered():
    def wrong(xp, x, *, k=1.0):
        return k * xp.cos(k * x)

    with pytest.raises(FormulaError, match=r"by\['k'\] is not the derivative by k"):
        surrogate.register("sign", by={"k": lambda xp, x, k: xp.cos(k * x)})(wrong)
    with pytest.raises(FormulaError, match="by= names 'a'; its parameters: k"):
        surrogate.register("sign", by={"a": lambda xp, x, k: x})(wrong)
    with pytest.raises(FormulaError, match=r"by\['k'\] fails on NumPy arrays"):
        surrogate.register("sign", by={"k": lambda xp, x: x})(wrong)
    assert "wrong" not in surrogate.gradients("sign")


def test_the_derivative_is_part_of_the_identity():
    def formula(xp, x, *, k=1.0):
        return k * xp.ones_like(x)

    versions = set()
    for by in (lambda xp, x, k: x, lambda xp, x, k: x + 1.0):
        surrogate.register("sign", name="linear", by={"k": by}, replace=True)(formula)
        versions.add(surrogate.gradient("sign", "linear").digest)
    assert len(versions) == 2


def test_a_comparison_inherits_it():
    k, x, y = tensor(1.5), np.array([0.2, 0.9]), np.array(0.5)
    z = 1.5 * (x - y)
    for op, sign in (("greater", 1), ("less", -1)):
        rule = surrogate.gradient(op, "tanh", slope=k).rule
        by_x, by_y, by_k = rule.vjp(xp, rule.save(xp, (x, y, np.array(1.5))), np.ones(2))
        np.testing.assert_allclose(by_x, sign * 0.75 * (1 - np.tanh(z) ** 2), rtol=1e-12)
        np.testing.assert_allclose(by_y, -by_x, rtol=1e-12)
        np.testing.assert_allclose(by_k, sign * 0.5 * (x - y) * (1 - np.tanh(z) ** 2), rtol=1e-12)


def test_a_learned_parameter_holds_its_tensor_and_the_rule_for_caches_does_not():
    found = surrogate.gradient("sign", "tanh", slope=tensor(1.5))
    assert isinstance(found.rule.learned[0], Learned)
    assert found.rule.apart.learned == ()


class Traced:
    """A tensor in a traced function: no values, and a shape that may be unknown."""

    __module__ = "torch"
    requires_grad = True

    def __init__(self, *shape):
        self.shape = shape

    def __array__(self, dtype=None, copy=None):
        raise NotImplementedError("traced")


def test_where_its_value_is_not_known_the_default_stands_for_it():
    learned = surrogate.gradient("sign", "tanh", slope=Traced(2, 3)).rule.learned[0]
    assert (learned.framework, learned.shape) == ("torch", (2, 3))
    assert repr(learned).startswith("learned(shape=(2, 3), ")


def test_its_shape_must_be_known():
    with pytest.raises(ParameterError, match="its shape must be known when it is traced"):
        surrogate.gradient("sign", "tanh", slope=Traced(None))


def test_a_backend_that_is_loaded_tells_whether_it_wants_a_gradient(toy, monkeypatch):
    from surrogate import _learned, _plugins

    toy.wants_gradient = lambda value: value.requires_grad == "yes"
    monkeypatch.setitem(_plugins._loaded, "torch", toy)
    one = Traced(1)
    assert not _learned.is_learned(one)
    one.requires_grad = "yes"
    assert _learned.is_learned(one)
    assert not _learned.is_learned(1.0)
