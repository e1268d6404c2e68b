"""Whole functions with another gradient: values worked out by hand."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import surrogate

X = jnp.array([0.3, 1.2, -0.7])
Q = jnp.array([0.25, 1.0, -0.5])


def quant(x: Any, bits: int = 2) -> Any:
    """Integer casts and bit operations: nothing of a derivative survives."""
    codes = (x * 2**bits).astype(jnp.int32) & -1
    return codes.astype(x.dtype) / 2**bits


def soft(x: Any, bits: int = 2) -> Any:
    return jnp.sin(x)


def by_numpy(x: Any) -> Any:
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(lambda x: np.floor(np.asarray(x)), shape, x, vmap_method="sequential")


def tree(given: Any, *, y: Any, n: int = 1) -> Any:
    return {"floor": jnp.floor(given["a"]) + n, "sign": jnp.sign(y), "index": y.argmax()}


@jax.jit
def jitted(x: Any) -> Any:
    return jnp.floor(x) + 1


class Quantizer:
    def __init__(self, scale: Any) -> None:
        self.scale = scale

    def __call__(self, x: Any) -> Any:
        return jnp.round(x * self.scale) / self.scale

    def smooth(self, x: Any) -> Any:
        return x * self.scale


imported_before = quant
compiled_before = jax.jit(jax.grad(lambda x: quant(x).sum()))


def equal(x: Any, y: Any) -> bool:
    return np.array_equal(np.asarray(x), np.asarray(y))


CASES = [
    ("identity", jnp.ones(3)),
    ("zero", jnp.zeros(3)),
    ("scaled(factor=0.5)", jnp.full(3, 0.5)),
    ("clipped(lo=-0.5, hi=1)", jnp.array([1.0, 0.0, 0.0])),
    (surrogate.of(soft), jnp.cos(X)),
    (lambda call, g: g * call.inputs["x"] + call.attributes["bits"], X + 2),
]


@pytest.mark.parametrize(("spec", "expected"), CASES, ids=lambda value: str(value)[:20])
def test_gradients_of_a_function(spec: Any, expected: Any) -> None:
    native = compiled_before(X)
    with surrogate.override("jax", {quant: spec}) as o:
        y, pull = jax.vjp(imported_before, X)
        assert equal(y, Q)
        assert equal(pull(jnp.ones(3))[0], expected)
        assert equal(compiled_before(X), expected)
        assert equal(jax.vmap(jax.grad(quant))(X), expected)
        assert equal(jax.grad(lambda x: jax.vmap(quant)(x).sum())(X), expected)
    assert sum(o.hits.values()) >= 3
    assert equal(compiled_before(X), native)


def test_inside_of_scan_cond_checkpoint_and_jit() -> None:
    def scanned(x: Any) -> Any:
        return jax.lax.scan(lambda c, _: (by_numpy(c) * 2.0, None), x, None, length=3)[0].sum()

    with surrogate.override("jax", {quant: "identity", by_numpy: "identity", jitted: "identity"}):
        assert equal(jax.grad(scanned)(X), jnp.full(3, 8.0))
        assert equal(jax.jit(jax.grad(scanned))(X), jnp.full(3, 8.0))
        branch = jax.grad(lambda x: jax.lax.cond(x[0] > 0, quant, lambda x: 5 * x, x).sum())
        assert equal(branch(X), jnp.ones(3))
        assert equal(jax.grad(lambda x: jax.checkpoint(lambda x: quant(x) * x)(x).sum())(X), Q + X)
        assert equal(jax.grad(lambda x: jitted(x).sum())(X), jnp.ones(3))
    assert equal(jax.grad(lambda x: jitted(x).sum())(X), jnp.zeros(3))


def test_every_mode_agrees() -> None:
    def f(x: Any) -> Any:
        return (quant(x) * x).sum()

    with surrogate.override("jax", {quant: "identity"}):
        assert equal(jax.hessian(f)(X), 2 * jnp.eye(3))
        assert equal(jax.jacfwd(jax.jacfwd(f))(X), 2 * jnp.eye(3))
        value, moved = jax.jvp(quant, (X,), (X,))
    assert equal(value, Q)
    assert equal(moved, X)


def test_a_formula_is_differentiated_again_and_has_forward_mode_with_jvp() -> None:
    key = f"{__name__}.quant"

    @surrogate.register_native("jax", key, name="times_x", jvp=lambda call, t: t[0] * call.inputs["x"])
    def times_x(call: Any, g: Any) -> Any:
        return g * call.inputs["x"]

    with surrogate.override("jax", {key: "times_x"}):
        assert equal(jax.jacrev(jax.grad(lambda x: quant(x).sum()))(X), jnp.eye(3))
        assert equal(jax.jvp(quant, (X,), (X,))[1], X * X)
        assert equal(jax.vmap(lambda x: jax.jvp(quant, (x,), (x,))[1])(X), X * X)
    with (
        pytest.raises(surrogate.ForwardModeError, match="register it with jvp="),
        surrogate.override("jax", {quant: lambda call, g: g}),
    ):
        jax.jvp(quant, (X,), (X,))


@pytest.mark.parametrize("compile_", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_what_it_holds_is_named_or_differentiated_by_of(compile_: Any) -> None:
    loss = compile_(jax.grad(lambda k: Quantizer(k)(X).sum()))
    with (
        pytest.raises(surrogate.FormulaError, match=r"depends on self\.scale, which is no argument"),
        surrogate.override("jax", {Quantizer.__call__: "identity"}),
    ):
        loss(2.0)
    with surrogate.override("jax", {Quantizer.__call__: surrogate.of(Quantizer.smooth)}):
        assert loss(2.0) == pytest.approx(float(X.sum()), abs=1e-6)


def test_overrides_act_inside_of_the_other_function_only_when_asked() -> None:
    def steps(x: Any, bits: int = 2) -> Any:
        return jnp.round(x, 0) * 1.0 + x

    rules: dict[Any, Any] = {"round": "identity", quant: surrogate.of(steps)}
    with surrogate.override("jax", rules):
        assert equal(compiled_before(X), jnp.ones(3))
    rules[quant] = surrogate.of(steps, inner=True)
    with surrogate.override("jax", rules):
        assert equal(compiled_before(X), 2 * jnp.ones(3))


def test_trees_keywords_several_outputs_and_integers() -> None:
    def loss(a: Any, y: Any) -> Any:
        out = tree({"a": a}, y=y)
        assert jnp.issubdtype(out["index"].dtype, jnp.integer)
        return out["floor"].sum() * 3 + out["sign"].sum() * 5

    with surrogate.override("jax", {tree: "identity"}):
        assert equal(jax.grad(loss, 0)(X, X), jnp.full(3, 3.0))
        assert equal(jax.grad(loss, 1)(X, X), jnp.zeros(3))


def test_a_wrong_formula_is_named() -> None:
    with (
        pytest.raises(surrogate.FormulaError, match=r"gives x a cotangent of shape \(\); it must have"),
        surrogate.override("jax", {quant: lambda call, g: g.sum()}),
    ):
        jax.grad(lambda x: quant(x).sum())(X)
