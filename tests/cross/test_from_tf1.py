"""Eight public uses of TensorFlow 1's gradient_override_map, in three frameworks: the old code's numbers.

The old lines stand side by side with these in docs/how-to/from-tf1.md.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import surrogate
from surrogate.testing import check_rule

X = np.array([-2.0, -0.5, 0.0, 0.5, 2.0], np.float32)
G = np.array([1.0, -1.0, 3.0, -2.0, 2.0], np.float32)
IMAGE = np.arange(16.0, dtype=np.float32).reshape(1, 1, 4, 4)


def reversed_relu(call: Any, g: Any) -> Any:
    return -call.native(g)


def flip_gradient(x: Any, strength: float = 1.0) -> Any:
    """DANN's layer: the identity, with another gradient."""
    return x * 1.0


def finite(call: Any, g: Any) -> Any:
    """The root's derivative, with 0 where the root is 0."""
    root = call.outputs[0]
    return g * (root > 0) / (2 * root + (root == 0))


def finite_tensorflow(call: Any, g: Any) -> Any:
    tf = importlib.import_module("tensorflow")
    root = call.outputs[0]
    return tf.where(root > 0, g / (2 * tf.where(root > 0, root, 1.0)), 0.0)


def ops(name: str) -> dict[str, Any]:
    if name == "torch":
        torch = importlib.import_module("torch")
        return {
            "relu": torch.relu, "sign": torch.sign, "round": torch.round, "sqrt": torch.sqrt,
            "pool": lambda x: torch.nn.functional.max_pool2d(x, 2),
            "sqrt_key": "aten::sqrt", "pool_key": "aten::max_pool2d_with_indices",
            "relu_key": "aten::relu", "finite": finite,
            "spread": lambda call, g: g.repeat_interleave(2, -2).repeat_interleave(2, -1) / 4,
        }  # fmt: skip
    if name == "tensorflow":
        tf = importlib.import_module("tensorflow")
        return {
            "relu": tf.nn.relu, "sign": tf.sign, "round": tf.round, "sqrt": tf.sqrt,
            "pool": lambda x: tf.transpose(
                tf.nn.max_pool2d(tf.transpose(x, (0, 2, 3, 1)), 2, 2, "VALID"), (0, 3, 1, 2)
            ),
            "sqrt_key": "Sqrt", "pool_key": "MaxPool", "relu_key": "Relu", "finite": finite_tensorflow,
            "spread": lambda call, g: tf.repeat(tf.repeat(g, 2, axis=1), 2, axis=2) / 4,
        }  # fmt: skip
    jax, jnp = importlib.import_module("jax"), importlib.import_module("jax.numpy")
    window = (1, 1, 2, 2)
    return {
        "relu": jax.nn.relu, "sign": jnp.sign, "round": lambda x: jnp.round(x, 0), "sqrt": jnp.sqrt,
        "pool": lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, window, "VALID"),
        "sqrt_key": "sqrt", "pool_key": "reduce_window_max", "relu_key": "custom_jvp_call:relu",
        "finite": finite, "spread": lambda call, g: jnp.repeat(jnp.repeat(g, 2, 2), 2, 3) / 4,
    }  # fmt: skip


USES: dict[str, tuple[str, Any, Any, Any, Any]] = {
    # name: the op, key and spec of the rule, the operand, the cotangent for G
    "guided backpropagation": ("relu", "relu", "guided", X, [0, 0, 0, 0, 2]),
    "deconvnet": ("relu", "relu", "deconvnet", X, [1, 0, 3, 0, 2]),
    "binarised net": ("sign", "sign", "hardtanh", X, [0, -1, 3, -2, 0]),
    "DoReFa": ("round", "round", "identity", X, G),
    "DANN reversal": ("flip", flip_gradient, "scaled(factor=-1)", X, -G),
    "reversed at an op": ("relu", "relu_key", reversed_relu, X, [0, 0, 0, 2, -2]),
    "spread max pooling": ("pool", "pool_key", "spread", IMAGE, np.full(16, 0.25)),
    "root with a finite slope": (
        "sqrt",
        "sqrt_key",
        "finite",
        np.abs(X),
        G / [2 * 2**0.5, 2**0.5, np.inf, 2**0.5, 2 * 2**0.5],
    ),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", ["torch", "tensorflow", "jax"])
def test_the_numbers_of_the_old_code(name: str, use: str) -> None:
    pytest.importorskip(name)
    op, key, spec, x, expected = USES[use]
    table, backend = ops(name), surrogate.load_backend(name)
    f = flip_gradient if op == "flip" else table[op]
    key = table.get(key, key) if isinstance(key, str) and key.endswith("_key") else key
    spec = table.get(spec, spec) if isinstance(spec, str) else spec
    g = np.ones((1, 1, 2, 2), np.float32) if op == "pool" else G
    with surrogate.override(name, {key: spec}) as o:
        _, (found,) = backend.driver().grad(
            lambda x: f(x), [backend.driver().asarray(x)], backend.driver().asarray(g)
        )
    np.testing.assert_allclose(backend.driver().numpy(found).ravel(), np.asarray(expected), rtol=0, atol=1e-6)
    assert sum(o.hits.values()) >= 1


@pytest.mark.parametrize("name", ["torch", "tensorflow", "jax"])
def test_the_formulas_that_come_with_a_backend(name: str) -> None:
    pytest.importorskip(name)
    table, share, x = ops(name), np.full_like(IMAGE, 0.25), np.array([0.0, 4.0], np.float32)
    pool, root = table["pool_key"], table["sqrt_key"]
    g, ones = np.ones((1, 1, 2, 2), np.float32), np.ones(2, np.float32)
    check_rule(name, {pool: "spread"}, table["pool"], [IMAGE], g=g, cotangents=[share])
    check_rule(name, {root: "finite"}, table["sqrt"], [x], g=ones, cotangents=[np.array([0.0, 0.25])])
    x = np.array([1.0, 4.0], np.float32)
    reversed_ = [np.array([-1.0, -0.5])]
    check_rule(name, {root: "reversal(factor=2)"}, table["sqrt"], [x], g=ones, cotangents=reversed_)
    check_rule(name, {root: "scaled(factor=-2)"}, table["sqrt"], [x], g=ones, cotangents=reversed_)
