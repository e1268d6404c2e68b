"""Whole functions with another gradient: values worked out by hand."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import autograd.numpy as np
import numpy as onp
import pytest
from autograd import elementwise_grad, grad, jacobian, make_jvp

import surrogate

X = onp.array([0.3, 1.2, -0.7])


def quant(x: Any, bits: int = 2) -> Any:
    return np.round(x * 2.0**bits) / 2.0**bits


def soft(x: Any, bits: int = 2) -> Any:
    return np.sin(x)


def sums(x: Any) -> Any:
    return np.floor(np.sum(x, axis=1))


def tree(given: Any, *, y: Any, n: int = 1) -> Any:
    return {"floor": np.floor(given["a"]) + n, "sign": np.sign(y), "n": n}


class Scaled:
    def __init__(self, k: Any) -> None:
        self.k = k

    def __call__(self, x: Any) -> Any:
        return np.floor(x) * self.k


made_before = Scaled(3.0)
imported_before = quant


def slope(f: Any, x: Any = X) -> Any:
    return elementwise_grad(f)(x)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("identity", [1.0, 1.0, 1.0]),
        ("zero", [0.0, 0.0, 0.0]),
        ("scaled(factor=0.5)", [0.5, 0.5, 0.5]),
        ("clipped(lo=-0.7, hi=1)", [1.0, 0.0, 1.0]),
        (surrogate.of(soft), onp.cos(X)),
        (lambda call, g: g * call.inputs["x"] + call.attributes["bits"], X + 2),
    ],
    ids=str,
)
def test_gradients_of_a_function(spec: Any, expected: Any) -> None:
    native = quant(X)
    with surrogate.override("autograd", {quant: spec}) as o:
        onp.testing.assert_array_equal(slope(lambda x: imported_before(x) + x), onp.array(expected) + 1)
        onp.testing.assert_array_equal(quant(X), native)
    assert sum(o.hits.values()) == 1


def test_a_path_and_a_method_of_an_object_made_before() -> None:
    path = f"{__name__}.Scaled.__call__"
    with surrogate.override("autograd", {path: "identity"}) as o:
        onp.testing.assert_array_equal(slope(made_before), [1.0, 1.0, 1.0])
    assert o.hits == {path: 1}
    assert o.rules[path].spec == "identity"


def test_forward_mode_and_second_derivative_are_those_of_the_other_function() -> None:
    with surrogate.override("autograd", {quant: surrogate.of(soft)}):
        value, moved = make_jvp(quant)(X)(onp.ones(3))
        onp.testing.assert_array_equal(value, quant(X))
        onp.testing.assert_array_equal(moved, onp.cos(X))
        onp.testing.assert_allclose(onp.diag(jacobian(elementwise_grad(quant))(X)), -onp.sin(X), rtol=0)


def test_a_formula_without_jvp_has_no_forward_mode() -> None:
    with (
        pytest.raises(surrogate.ForwardModeError, match="register it with jvp="),
        surrogate.override("autograd", {quant: lambda call, g: g}),
    ):
        make_jvp(quant)(X)(onp.ones(3))


def test_trees_keywords_several_outputs() -> None:
    def loss(a: Any, y: Any) -> Any:
        out = tree({"a": a}, y=y, n=2)
        assert out["n"] == 2
        return np.sum(out["floor"] * 3.0) + np.sum(out["sign"] * 5.0)

    with surrogate.override("autograd", {tree: "identity"}):
        onp.testing.assert_array_equal(grad(loss, 0)(X, X), [3.0, 3.0, 3.0])


def test_shapes_that_broadcast_and_shapes_that_do_not() -> None:
    def outer(x: Any) -> Any:
        return np.floor(x) * onp.ones((2, 3))

    with surrogate.override("autograd", {outer: "identity"}):
        onp.testing.assert_array_equal(grad(lambda x: np.sum(outer(x)))(X), [2.0, 2.0, 2.0])
    with (
        pytest.raises(surrogate.FormulaError, match=r"shape \(2,\), to the first floating argument, of"),
        surrogate.override("autograd", {sums: "identity"}),
    ):
        grad(lambda x: np.sum(sums(x)))(onp.ones((2, 3)))


def test_what_it_closes_over_is_named_or_differentiated_by_of() -> None:
    k = 2.0

    def loss(k: Any) -> Any:
        return np.sum(Scaled(k)(X))

    key = Scaled.__call__
    with (
        pytest.raises(surrogate.FormulaError, match=r"depends on self\.k, which is no argument and wants"),
        surrogate.override("autograd", {key: "identity"}),
    ):
        grad(loss)(k)
    with surrogate.override("autograd", {key: surrogate.of(lambda self, x: x * self.k)}):
        assert grad(loss)(k) == pytest.approx(X.sum(), abs=1e-15)


def test_overrides_act_inside_of_the_other_function_only_when_asked() -> None:
    def steps(x: Any, bits: int = 2) -> Any:
        return np.round(x) * 1.0 + x

    rules: dict[Any, Any] = {"round": "identity", quant: surrogate.of(steps)}
    with surrogate.override("autograd", rules):
        onp.testing.assert_array_equal(slope(quant), [1.0, 1.0, 1.0])
    rules[quant] = surrogate.of(steps, inner=True)
    with surrogate.override("autograd", rules):
        onp.testing.assert_array_equal(slope(quant), [2.0, 2.0, 2.0])


def test_other_threads_and_native_holes() -> None:
    found: list[Any] = []
    with surrogate.override("autograd", {quant: "identity"}):
        thread = threading.Thread(target=lambda: found.append(quant(X)))
        thread.start()
        thread.join()
        with (
            surrogate.override("autograd", {quant: "native"}),
            pytest.warns(UserWarning, match="independent"),
        ):
            assert grad(lambda x: np.sum(quant(x)))(X).tolist() == [0.0, 0.0, 0.0]
        onp.testing.assert_array_equal(slope(quant), [1.0, 1.0, 1.0])
    onp.testing.assert_array_equal(found[0], quant(X))


def test_a_wrong_formula_is_named() -> None:
    with (
        pytest.raises(surrogate.FormulaError, match=r"gives x a cotangent of shape \(\); it must have"),
        surrogate.override("autograd", {quant: lambda call, g: np.sum(g)}),
    ):
        slope(quant)


@pytest.mark.parametrize(
    "spec", ["identity", "scaled(factor=2)", surrogate.of(soft), f"of('{__name__}.soft')"], ids=str
)
def test_copies_and_pickles(spec: Any) -> None:
    made = surrogate.override("autograd", {quant: spec})
    for again in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert again.rules == made.rules
        assert [g.digest for g in again.rules.values()] == [g.digest for g in made.rules.values()]


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("idntity", surrogate.UnknownGradientError, "did you mean 'identity'"),
        ("scaled", surrogate.ParameterError, "factor has no default"),
        ("scaled(factor='a')", surrogate.ParameterError, "must be a finite number"),
        ("scaled(facto=1)", surrogate.UnknownParameterError, "did you mean 'factor'"),
        ("clipped(lo=1, hi=0)", surrogate.ParameterError, "lo must not be above hi"),
        ("of('autograd.nothing')", surrogate.UnknownOpError, "autograd has no 'nothing'"),
        ("identity(inner=3)", surrogate.ParameterError, "inner must be True or False"),
        (3, surrogate.SpecError, "is no gradient for the function"),
        (lambda x: x, surrogate.FormulaError, "must take two arguments"),
    ],
    ids=str,
)
def test_wrong_specs(spec: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        surrogate.override("autograd", {quant: spec})
