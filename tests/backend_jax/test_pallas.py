"""A Pallas kernel stays native; the op outside of it obeys the rule."""

import contextlib
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.sharding import AbstractDevice, AbstractMesh
from jax_formulas import gradient_of, square

import surrogate


def kernel(x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = jnp.sign(x) + jax.lax.sign(x) + x % 2 + jax.nn.relu(x)


def called(x):
    run = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)
    return run(x)


RULES = {"sign": square, "mod": "exact", "relu": square}


def test_kernel_is_native_and_the_op_outside_is_captured(x, squared):
    native = jax.make_jaxpr(lambda x: called(x))(x)
    with surrogate.override("jax", RULES) as active:
        found = jax.make_jaxpr(lambda x: called(x))(x)
        assert not +active.hits
        outside = gradient_of(lambda x: jnp.sign(x) + called(jax.lax.stop_gradient(x)))(x)
    assert str(found) == str(native)
    assert "surrogate" not in str(found)
    np.testing.assert_array_equal(outside, squared)
    assert +active.hits == {"sign": 1}


def a_gpu():
    """From 0.11 on JAX asks which device it lowers for; before that there was nothing to say."""
    if "platform" not in inspect.signature(AbstractDevice.__init__).parameters:
        return contextlib.nullcontext()
    device = AbstractDevice(device_kind="NVIDIA H100 80GB HBM3", num_cores=132, platform="gpu")
    return jax.sharding.use_abstract_mesh(AbstractMesh((1,), ("x",), abstract_device=device))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_kernel_lowers_for_a_gpu():
    """Only a native kernel can: primitives of ours are unknown to Mosaic and Triton."""

    def f(x):
        return pl.pallas_call(
            lambda x_ref, o_ref: o_ref.__setitem__(..., jnp.sign(x_ref[...])),
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        )(x) + jnp.sign(x)

    with surrogate.override("jax", RULES), a_gpu():
        traced = jax.jit(f).trace(jax.ShapeDtypeStruct((128,), jnp.float32))
        lowered = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert "surrogate" not in lowered
