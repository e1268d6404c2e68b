"""Rules per module in haiku: the ways that the how-to shows."""

import haiku as hk
import jax
import jax.numpy as jnp

import surrogate

X = jnp.array([0.5, 2.0])
RULES = {"sign": "identity"}


def test_haiku_by_decorator_and_by_interceptor():
    class Act(hk.Module):
        def __call__(self, x):
            return jnp.sign(x)

    class Decorated(hk.Module):
        @surrogate.override("jax", RULES)
        def __call__(self, x):
            return jnp.sign(x)

    def under(next_function, args, kwargs, context):
        if context.method_name != "__call__" or context.module.name != "second":
            return next_function(*args, **kwargs)
        with surrogate.override("jax", RULES):
            return next_function(*args, **kwargs)

    def net(x):
        with hk.intercept_methods(under):
            return Act("first")(x) + 10 * Act("second")(x) + 100 * Decorated()(x)

    run = hk.transform(net)
    grad = jax.grad(lambda x: run.apply({}, None, x).sum())
    assert grad(X).tolist() == jax.jit(grad)(X).tolist() == [110.0, 110.0]
