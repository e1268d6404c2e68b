"""Exported functions carry their gradients, in another override or none."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax_formulas import gradient_of, square

import surrogate


def round_trip(f, x, order):
    return export.deserialize(export.export(jax.jit(f))(x).serialize(vjp_order=order)).call


def test_export_with_its_vjp(x, squared):
    with surrogate.override("jax", {"sign": square}):
        found = round_trip(lambda x: jnp.sign(x), x, 1)
    np.testing.assert_array_equal(found(x), np.sign(x))
    np.testing.assert_array_equal(gradient_of(found)(x), squared)


def test_export_with_its_second_vjp(x):
    with surrogate.override("jax", {"sign": square}):
        found = round_trip(lambda x: jnp.sign(x), x, 2)
    np.testing.assert_array_equal(gradient_of(gradient_of(found))(x), 2 * x)


def test_exported_native_stays_native(x):
    found = round_trip(lambda x: jnp.sign(x), x, 1)
    with surrogate.override("jax", {"sign": square}):
        jax.make_jaxpr(lambda x: jnp.sign(x))(x)
        np.testing.assert_array_equal(gradient_of(found)(x), 0 * x)


def test_exported_forward_is_the_native_module(x):
    native = export.export(jax.jit(lambda x: jnp.sign(x)))(x).mlir_module()
    with surrogate.override("jax", {"sign": square}):
        found = export.export(jax.jit(lambda x: jnp.sign(x)))(x).mlir_module()
    assert _without_lines(found) == _without_lines(native)


def _without_lines(module):
    return [line.partition(" loc(")[0] for line in module.splitlines() if not line.startswith("#loc")]
