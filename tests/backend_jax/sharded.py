"""Run by ``test_sharding``: every rule on arrays whose type names their sharding, on eight devices."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

import surrogate

X = np.linspace(-2, 2.25, 32, dtype=np.float32).reshape(8, 4)
ROW = np.ones(4, np.float32)
#: How the operand is placed, and the number or array it is broadcast against.
NUMBER, ARRAY = np.float32(0.5), np.full_like(X, 0.5)
PLACED = ((P("i", "j"), NUMBER), (P("i", "j"), ARRAY), (P("i"), ARRAY), (P(None, "j"), NUMBER))

#: op -> gradient, and a call with an operand that is broadcast. One of each kind: window, constant, formula.
CALLS = {
    "sign": ("hardtanh", lambda x, y: jnp.sign(x)),
    "floor": ("identity", lambda x, y: jnp.floor(x)),
    "round": ("sine", lambda x, y: jnp.round(x, 1)),
    "mod": ("exact", lambda x, y: x % y),
    "clip": ("closed", lambda x, y: jnp.clip(x, -y, y)),
    "clip a number": ("closed", lambda x, y: jnp.clip(x, -1.0, None)),
    "clip lax": ("closed", lambda x, y: lax.clamp(jnp.float32(-1), x, jnp.float32(1))),
    "heaviside": ("triangle", jnp.heaviside),
    "abs": ("sign0", lambda x, y: jnp.abs(x)),
    "relu": ("guided", lambda x, y: jax.nn.relu(x)),
}


def direct(f, x, y, forward):
    total = lambda x, y: f(x, y).sum()  # noqa: E731
    yield jax.grad(total, (0, 1))(x, y)
    yield jax.jit(jax.grad(total, (0, 1)))(x, y)
    if forward:
        yield jax.jvp(lambda x: f(x, y), (x,), (np.ones_like(X),))
        yield jax.jvp(f, (x, y), (jnp.ones_like(x), jnp.ones_like(y)))


def mapped(f, x, y, forward):
    yield jax.vmap(jax.grad(lambda x: f(x, 0.5).sum()))(x)
    if forward:
        yield jax.vmap(lambda x: jax.jvp(lambda x: f(x, 0.5), (x,), (jnp.asarray(ROW),)))(x)
        yield jax.jit(jax.vmap(lambda x: jax.jvp(lambda x: f(x, 0.5), (x,), (jnp.asarray(ROW),))))(x)
        yield jax.vmap(lambda x, t: jax.jvp(lambda x: f(x, 0.5), (x,), (t,)))(x, jnp.ones_like(x))
        yield jax.vmap(lambda t: jax.jvp(lambda x: f(x, y), (x,), (t,)))(jnp.stack([x, x]))


def second(f, x, y, forward):
    weighted = jax.grad(lambda x: (f(x, y) * x).sum())
    yield jax.grad(lambda x: weighted(x).sum())(x)
    if forward:
        yield jax.jacfwd(lambda x: f(x, y).sum(1))(x)
        yield jax.jvp(weighted, (x,), (jnp.ones_like(x),))


def checked(mode, mesh):
    """A mode natively and under the rule, and then on one device: equal types, equal numbers."""
    for name, (gradient, f) in CALLS.items():
        op = name.split()[0]
        forward = op != "relu"  # the guided rule has none
        with surrogate.override("jax", {op: gradient}):
            alone = {id(y): list(mode(f, X, y, forward)) for y in (NUMBER, ARRAY)}
        for spec, other in PLACED:
            x = jax.device_put(X, NamedSharding(mesh, spec))
            y = jnp.full_like(x, 0.5) if other.shape else jnp.asarray(other)
            native = types_natively(mode, f, x, y, forward)
            with surrogate.override("jax", {op: gradient}):
                found = list(mode(f, x, y, forward))
            types = [jax.tree.map(jax.typeof, v) for v in found]
            assert native in (types, None), (name, spec, y.shape)
            for got, expected in zip(jax.tree.leaves(found), jax.tree.leaves(alone[id(other)]), strict=True):
                np.testing.assert_allclose(got, np.asarray(expected), rtol=1e-6, err_msg=f"{name} {spec}")


def types_natively(mode, *args):
    """The types of the native results; None where JAX's own derivative fails (of ``lax.clamp``)."""
    try:
        return [jax.tree.map(jax.typeof, v) for v in mode(*args)]
    except Exception:
        return None


def manual():
    """Under ``shard_map`` with checked axes, a tangent and an operand that are the same on all devices."""
    mesh = jax.make_mesh((8,), ("i",), axis_types=(AxisType.Auto,))
    for name, (gradient, f) in CALLS.items():
        op = name.split()[0]
        if op == "relu":
            continue

        def moved(x, y, t, f=f):
            with_axes = lax.pcast(t, "i", to="varying") if hasattr(lax, "pcast") else lax.pvary(t, "i")
            return jax.vmap(lambda x: jax.jvp(lambda x: f(x, y), (x,), (with_axes,))[1])(x)

        def both(x, y, f=f):
            return jax.grad(lambda x, y: f(x, y).sum(), (0, 1))(x, y)

        y, t = jnp.full(4, 0.5), jnp.asarray(ROW)
        one = jax.shard_map(moved, mesh=mesh, in_specs=(P("i"), P(), P()), out_specs=P("i"))
        two = jax.shard_map(both, mesh=mesh, in_specs=(P("i"), P()), out_specs=(P("i"), P()))
        with surrogate.override("jax", {op: gradient}):
            expected = jax.jvp(f, (X, y), (np.broadcast_to(ROW, X.shape), 0 * y))[1]
            np.testing.assert_allclose(one(X, y, t), expected, rtol=1e-6)
            for got, expected in zip(two(X, y), both(X, y), strict=True):
                np.testing.assert_allclose(got, expected, rtol=1e-5, err_msg=name)


if __name__ == "__main__":
    assert jax.device_count() == 8
    if sys.argv[1] == "manual":
        manual()
    else:
        explicit = jax.make_mesh((4, 2), ("i", "j"), axis_types=(AxisType.Explicit,) * 2)
        with jax.set_mesh(explicit):
            checked({"direct": direct, "mapped": mapped, "second": second}[sys.argv[1]], explicit)
