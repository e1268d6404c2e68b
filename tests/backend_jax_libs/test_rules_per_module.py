"""Rules per module in flax and equinox: the ways that the how-to shows."""

import equinox as eqx
import flax.linen as linen
import jax
import jax.numpy as jnp
from flax import nnx

import surrogate

X = jnp.array([0.5, 2.0])
RULES = {"sign": "identity"}
NATIVE = [0.0, 0.0]


def slopes(f):
    """Eagerly and under jit, which must agree."""
    found = jax.grad(lambda x: f(x).sum())(X).tolist()
    assert jax.jit(jax.grad(lambda x: f(x).sum()))(X).tolist() == found
    return found


class LinenAct(linen.Module):
    def __call__(self, x):
        return jnp.sign(x)


class LinenDecorated(linen.Module):
    @surrogate.override("jax", RULES)
    def __call__(self, x):
        return jnp.sign(x)


class LinenNet(linen.Module):
    def setup(self):
        self.first, self.second, self.decorated = LinenAct(), LinenAct(), LinenDecorated()

    def __call__(self, x):
        return self.first(x) + 10 * self.second(x) + 100 * self.decorated(x) + 1000 * jnp.sign(x)


def test_linen_by_decorator_and_by_interceptor():
    net = LinenNet()

    def under(next_function, args, kwargs, context):
        if context.method_name != "__call__" or context.module.path != ("second",):
            return next_function(*args, **kwargs)
        with surrogate.override("jax", {"sign": "hardtanh"}):
            return next_function(*args, **kwargs)

    def intercepted(x):
        with linen.intercept_methods(under):
            return net.apply({}, x)

    assert slopes(lambda x: net.apply({}, x)) == [100.0, 100.0]
    assert slopes(intercepted) == [110.0, 100.0]
    with surrogate.override("jax", RULES):
        assert slopes(intercepted) == [1111.0, 1101.0]


class NnxAct(nnx.Module):
    def __call__(self, x):
        return jnp.sign(x)


class NnxUnder(nnx.Module):
    """A module under rules."""

    def __init__(self, module, rules):
        self.module, self.rules = module, rules

    def __call__(self, *args, **kwargs):
        with surrogate.override("jax", self.rules):
            return self.module(*args, **kwargs)


class NnxNet(nnx.Module):
    def __init__(self):
        self.first, self.second = NnxAct(), NnxAct()

    def __call__(self, x):
        return self.first(x) + 10 * self.second(x)


class NnxDecorated(nnx.Module):
    @surrogate.override("jax", RULES)
    def __call__(self, x):
        return jnp.sign(x)


def test_nnx_by_decorator_and_by_a_module_around_it():
    assert slopes(NnxDecorated()) == [1.0, 1.0]
    net = NnxNet()
    net.second = NnxUnder(net.second, RULES)
    assert slopes(net) == [10.0, 10.0]
    assert nnx.grad(lambda m, x: m(x).sum(), argnums=1)(net, X).tolist() == [10.0, 10.0]
    net.second = net.second.module
    assert slopes(net) == NATIVE


class EquinoxAct(eqx.Module):
    def __call__(self, x):
        return jnp.sign(x)


class EquinoxUnder(eqx.Module):
    """A module under rules."""

    module: eqx.Module
    rules: dict = eqx.field(static=True)

    def __call__(self, *args, **kwargs):
        with surrogate.override("jax", self.rules):
            return self.module(*args, **kwargs)


class EquinoxNet(eqx.Module):
    layers: list

    def __call__(self, x):
        return self.layers[0](x) + 10 * self.layers[1](x)


class EquinoxDecorated(eqx.Module):
    @surrogate.override("jax", RULES)
    def __call__(self, x):
        return jnp.sign(x)


def test_equinox_by_decorator_and_by_a_module_around_it():
    assert slopes(EquinoxDecorated()) == [1.0, 1.0]
    net = EquinoxNet([EquinoxAct(), EquinoxAct()])
    under = eqx.tree_at(lambda m: m.layers[1], net, replace_fn=lambda m: EquinoxUnder(m, RULES))
    assert slopes(under) == [10.0, 10.0]
    assert slopes(net) == NATIVE
    run = eqx.filter_jit(lambda m, x: jax.grad(lambda x: m(x).sum())(x))
    assert [run(m, X).tolist() for m in (net, under, net)] == [NATIVE, [10.0, 10.0], NATIVE]
