"""Whole functions with another gradient: values worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import surrogate

X = tf.constant([0.3, 1.2, -0.7])
Q = [0.25, 1.0, -0.5]


def quant(x: Any, bits: int = 2) -> Any:
    """Integer casts and bit operations: nothing of a derivative survives."""
    codes = tf.bitwise.bitwise_and(tf.cast(x * 2.0**bits, tf.int32), -1)
    return tf.cast(codes, x.dtype) / 2.0**bits


def branching(x: Any) -> Any:
    if tf.reduce_sum(x) > 100.0:  # autograph makes a tf.cond of it
        x = x * 0.0
    return tf.round(x)


def soft(x: Any, bits: int = 2) -> Any:
    return tf.sin(x)


def by_numpy(x: Any) -> Any:
    y = tf.numpy_function(np.floor, [x], x.dtype)
    y.set_shape(x.shape)
    return y


def tree(given: Any, *, y: Any, n: int = 1) -> Any:
    return {"floor": tf.floor(given["a"]) + n, "sign": tf.sign(y), "index": tf.argmax(y)}


class Quantizer(tf.keras.layers.Layer):
    def build(self, shape: Any) -> None:
        self.scale = self.add_weight(shape=(), initializer="ones")

    def call(self, x: Any) -> Any:
        return tf.round(x * self.scale) / self.scale


def smooth(self: Any, x: Any) -> Any:
    return x * self.scale


imported_before = quant


@tf.function
def compiled(x: Any) -> Any:
    return quant(x)


@tf.function
def looped(x: Any) -> Any:
    return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, quant(x) * 2.0), [0, x])[1]


def slope(f: Any, x: Any = X) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    g = tape.gradient(y, x)
    return None if g is None else g.numpy().tolist()


def mapped(x: Any) -> Any:
    return tf.vectorized_map(quant, x, fallback_to_while_loop=False)


CASES = [
    ("identity", [1.0, 1.0, 1.0]),
    ("scaled(factor=0.5)", [0.5, 0.5, 0.5]),
    ("clipped(lo=-0.5, hi=1)", [1.0, 0.0, 0.0]),
    (surrogate.of(soft), tf.cos(X).numpy().tolist()),
    (lambda call, g: g * call.inputs["x"] + call.attributes["bits"], (X + 2).numpy().tolist()),
]


@pytest.mark.parametrize(("spec", "expected"), CASES, ids=lambda value: str(value)[:20])
@pytest.mark.parametrize("f", [imported_before, compiled, mapped], ids=["eager", "function", "vectorized"])
def test_gradients_of_a_function(f: Any, spec: Any, expected: Any) -> None:
    before = slope(f)
    with surrogate.override("tensorflow", {quant: spec}) as o:
        assert f(X).numpy().tolist() == Q
        assert slope(f) == expected
    assert sum(o.hits.values()) >= 1
    assert slope(f) == before


def test_in_loops_branches_and_under_autograph() -> None:
    with surrogate.override("tensorflow", {quant: "identity", branching: "identity"}):
        assert slope(looped) == [8.0, 8.0, 8.0]
        assert slope(tf.function(lambda x: branching(x))) == [1.0, 1.0, 1.0]
        assert slope(tf.function(lambda x: tf.cond(x[0] > 0, lambda: quant(x), lambda: 5 * x))) == [1.0] * 3
        assert slope(tf.function(quant, jit_compile=True)) == [1.0, 1.0, 1.0]


def test_numpy_inside() -> None:
    with surrogate.override("tensorflow", {by_numpy: "identity"}):
        assert slope(by_numpy) == [1.0, 1.0, 1.0]
        assert slope(tf.function(by_numpy)) == [1.0, 1.0, 1.0]


def test_forward_mode_and_second_derivative() -> None:
    with surrogate.override("tensorflow", {quant: "identity"}):
        with tf.autodiff.ForwardAccumulator(X, X) as accumulator:
            y = quant(X)
        with tf.GradientTape() as outer:
            outer.watch(X)
            with tf.GradientTape() as inner:
                inner.watch(X)
                z = quant(X) * X
            g = inner.gradient(z, X)
        assert outer.gradient(g, X).numpy().tolist() == [2.0, 2.0, 2.0]
    assert accumulator.jvp(y).numpy().tolist() == X.numpy().tolist()
    with (
        pytest.raises(surrogate.ForwardModeError, match="register it with jvp="),
        surrogate.override("tensorflow", {quant: lambda call, g: g}),
        tf.autodiff.ForwardAccumulator(X, X),
    ):
        quant(X)


def test_keras_layers_made_before_and_what_they_hold() -> None:
    layer = Quantizer()
    layer(X)
    rules = {Quantizer.call: "identity"}
    for f in (layer, tf.function(layer)):
        with (
            pytest.raises(surrogate.FormulaError, match=r"depends on self\.scale, which is no argument"),
            surrogate.override("tensorflow", rules),
        ):
            slope(f)
    model = tf.keras.Sequential([layer])
    model.compile(tf.keras.optimizers.SGD(1.0), "mse")
    data = np.array([[2.0, 2.0]], np.float32)
    with surrogate.override("tensorflow", {Quantizer.call: surrogate.of(smooth)}):
        model.fit(data, 0 * data, verbose=0)
    # the mean of two squares: by each output 2 * 2 / 2, by the scale 2 * 2 * 2
    assert layer.scale.numpy() == pytest.approx(1 - 8.0)


def test_a_variable_as_an_argument() -> None:
    weight = tf.Variable(X)
    with surrogate.override("tensorflow", {quant: "identity"}), tf.GradientTape() as tape:
        y = quant(weight)
    assert tape.gradient(y, weight).numpy().tolist() == [1.0, 1.0, 1.0]


def test_overrides_act_inside_of_the_other_function_only_when_asked() -> None:
    def steps(x: Any, bits: int = 2) -> Any:
        return tf.round(x) * 1.0 + x

    rules: dict[Any, Any] = {"round": "identity", quant: surrogate.of(steps)}
    with surrogate.override("tensorflow", rules):
        assert slope(quant) == slope(compiled) == [1.0, 1.0, 1.0]
    rules[quant] = surrogate.of(steps, inner=True)
    with surrogate.override("tensorflow", rules):
        assert slope(quant) == slope(compiled) == [2.0, 2.0, 2.0]


def test_trees_keywords_several_outputs_and_integers() -> None:
    with surrogate.override("tensorflow", {tree: "identity"}), tf.GradientTape() as tape:
        tape.watch(X)
        out = tree({"a": X}, y=X)
        loss = out["floor"] * 3.0
    assert tape.gradient(loss, X).numpy().tolist() == [3.0, 3.0, 3.0]
    assert out["index"] == 1


def test_undone_it_is_as_it_was() -> None:
    code = quant.__code__
    with surrogate.override("tensorflow", {quant: "identity"}):
        assert quant.__code__ is not code
        slope(quant)
    assert quant.__code__ is code
    assert not hasattr(quant, "autograph_info__")
