"""Several devices: shard_map, sharded arrays, explicit meshes and pmap, on four host devices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
from jax_formulas import gradient_of, square

import surrogate

ONES = np.ones(4, np.float32)


@pytest.fixture
def mesh():
    assert jax.device_count() == 4, "jax was imported before the tests could ask for four host devices"
    return jax.make_mesh((4,), ("i",), axis_types=(AxisType.Auto,))


def sharded(f, mesh, *more):
    specs = (P("i"), *(P() for _ in more))
    return lambda x: jax.shard_map(f, mesh=mesh, in_specs=specs, out_specs=P("i"))(x, *more)


def test_shard_map(mesh, x, squared):
    f = sharded(lambda v: jnp.sign(v), mesh)
    with surrogate.override("jax", {"sign": square}):
        np.testing.assert_array_equal(gradient_of(f)(x), squared)
        np.testing.assert_array_equal(jax.jit(gradient_of(f))(x), squared)
        np.testing.assert_array_equal(jax.jvp(f, (x,), (ONES,))[1], squared)
        np.testing.assert_array_equal(gradient_of(gradient_of(f))(x), 2 * x)
        inside = sharded(jax.vmap(jax.grad(jnp.sign)), mesh)
        np.testing.assert_array_equal(inside(x), squared)
    np.testing.assert_array_equal(gradient_of(f)(x), 0 * ONES)


def test_shard_map_with_psum(mesh, x, squared):
    def f(x):
        total = jax.shard_map(lambda v: lax.psum(jnp.sign(v), "i"), mesh=mesh, in_specs=P("i"), out_specs=P())
        return total(x)

    with surrogate.override("jax", {"sign": square}):
        np.testing.assert_array_equal(gradient_of(f)(x), squared)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_operand_that_is_the_same_on_all_devices(mesh, wrap, x):
    def f(x, y):
        return jax.shard_map(lambda v, y: v % y, mesh=mesh, in_specs=(P("i"), P()), out_specs=P("i"))(
            x, y
        ).sum()

    y = jnp.float32(0.5)
    with surrogate.override("jax", {"mod": "exact"}):
        by_x, by_y = wrap(jax.grad(f, (0, 1)))(x, y)
        moved = wrap(lambda x, y: jax.jvp(f, (x, y), (0 * x, y / y))[1])(x, y)
    np.testing.assert_array_equal(by_x, ONES)
    assert by_y == moved == -np.floor(np.asarray(x) / 0.5).sum()


def test_sharded_arrays_stay_sharded(mesh, x, squared):
    sharding = NamedSharding(mesh, P("i"))
    with surrogate.override("jax", {"sign": square}):
        found = jax.jit(gradient_of(jnp.sign))(jax.device_put(x, sharding))
    np.testing.assert_array_equal(found, squared)
    assert found.sharding.is_equivalent_to(sharding, 1)


def test_explicit_mesh(x, squared):
    mesh = jax.make_mesh((4,), ("i",), axis_types=(AxisType.Explicit,))
    with jax.set_mesh(mesh):
        given = jax.device_put(x, NamedSharding(mesh, P("i")))
        with surrogate.override("jax", {"sign": square, "mod": "exact"}):
            np.testing.assert_array_equal(gradient_of(jnp.sign)(given), squared)
            np.testing.assert_array_equal(jax.jacfwd(jnp.sign)(given).sum(0), squared)
            by_y = jax.grad(lambda x, y: (x % y).sum(), 1)(given, jnp.float32(0.5))
    assert by_y == -np.floor(np.asarray(x) / 0.5).sum()


def test_pmap(x, squared):
    with surrogate.override("jax", {"sign": square}):
        np.testing.assert_array_equal(jax.pmap(jax.grad(jnp.sign))(x), squared)
        np.testing.assert_array_equal(gradient_of(jax.pmap(lambda v: jnp.sign(v)))(x), squared)
