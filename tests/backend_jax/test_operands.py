"""Operands that are no arrays but turn into them, absent ones, and every way to write them down.

Under an override a call gives what it gives natively, bit for bit, or raises what it raises natively;
and each operand gets the derivative that is its own.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax
from jax_formulas import gradient_of, square

import surrogate

#: The derivative by each operand: no two alike.
SLOPES = (2.0, 3.0, 5.0)


@jax.tree_util.register_pytree_node_class
class Held:
    """An array in a box, as a ``Param`` of flax holds it."""

    def __init__(self, *parts):
        self.parts = parts

    def __jax_array__(self):
        return self.parts[0]

    def tree_flatten(self):
        return self.parts, None

    @classmethod
    def tree_unflatten(cls, _, parts):
        return cls(*parts)


@jax.tree_util.register_pytree_node_class
class Quantity(Held):
    """A number in units of 4: two arrays that turn into one."""

    def __init__(self, value, unit=None):
        super().__init__(value, np.float32(4) if unit is None else unit)

    def __jax_array__(self):
        return self.parts[0] * self.parts[1]


@jax.tree_util.register_pytree_node_class
class Late(Held):
    """The array is not the first of the parts."""

    def __init__(self, *parts):
        super().__init__(*(parts if len(parts) == 3 else (np.float32(7), parts[0], np.float32(8))))

    def __jax_array__(self):
        return self.parts[1]


#: How an operand is made of an array -> how much of the derivative reaches the array.
KINDS = {
    "array": (lambda v: v, 1),
    "held": (Held, 1),
    "held twice": (lambda v: Held(Held(v)), 1),
    "quantity": (Quantity, 4),
    "late": (Late, 1),
    "scalar": (lambda v: v[0], None),
    "weak": (lambda v: v[0] * 0 + 1.5, None),
    "bfloat16": (lambda v: v.astype(jnp.bfloat16), 1),
    "number": (lambda v: 0.5, 0),
    "integer": (lambda v: 2, 0),
    "numpy": (lambda v: np.asarray([0.5, -1, 2, 1.5], np.float32), 0),
    "numpy scalar": (lambda v: np.float32(0.75), 0),
    "integers": (lambda v: jnp.asarray([1, 2, -1, 3]), 0),
    "boolean": (lambda v: True, 0),
    "held number": (lambda v: Held(0.5), 0),
    "none": (lambda v: None, 0),
    "list": (lambda v: [v], None),
}


def _first(f):
    return lambda *args: f(*args)[0]


#: Every hooked signature: op, function, how many operands.
SIGNATURES = {
    "sign": ("sign", jnp.sign, 1),
    "floor": ("floor", jnp.floor, 1),
    "ceil": ("ceil", jnp.ceil, 1),
    "trunc": ("trunc", jnp.trunc, 1),
    "trunc keyword": ("trunc", lambda x: jnp.trunc(x=x), 1),
    "abs": ("abs", jnp.abs, 1),
    "absolute": ("abs", jnp.absolute, 1),
    "fabs": ("abs", jnp.fabs, 1),
    "rint": ("round", jnp.rint, 1),
    "round": ("round", jnp.round, 1),
    "round decimals": ("round", lambda x: jnp.round(x, 1, out=None), 1),
    "round keywords": ("round", lambda x: jnp.round(decimals=2, a=x), 1),
    "around": ("round", lambda x: jnp.around(x, decimals=1), 1),
    "relu": ("relu", jax.nn.relu, 1),
    "relu keyword": ("relu", lambda x: jax.nn.relu(x=x), 1),
    "relu6": ("relu6", jax.nn.relu6, 1),
    "mod": ("mod", jnp.mod, 2),
    "remainder": ("mod", jnp.remainder, 2),
    "fmod": ("fmod", jnp.fmod, 2),
    "floor_divide": ("floor_divide", jnp.floor_divide, 2),
    "divmod": ("floor_divide", _first(jnp.divmod), 2),
    "modf": ("fmod", _first(jnp.modf), 1),
    "heaviside": ("heaviside", jnp.heaviside, 2),
    "clip": ("clip", jnp.clip, 3),
    "clip upper": ("clip", lambda x, hi: jnp.clip(x, None, hi), 2),
    "clip keywords": ("clip", lambda x, lo, hi: jnp.clip(x, max=hi, min=lo), 3),
    "clip max": ("clip", lambda x, hi: jnp.clip(x, max=hi), 2),
    "clip min": ("clip", lambda x, lo: jnp.clip(x, min=lo), 2),
    "clip nothing": ("clip", jnp.clip, 1),
    "clip wrong name": ("clip", lambda x: jnp.clip(arr=x), 1),
    "clip older names": ("clip", lambda x, lo, hi: jnp.clip(a=x, a_max=hi, a_min=lo), 3),
    "lax sign": ("sign", lax.sign, 1),
    "lax floor": ("floor", lax.floor, 1),
    "lax ceil": ("ceil", lax.ceil, 1),
    "lax abs": ("abs", lax.abs, 1),
    "lax round": ("round", lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), 1),
    "lax rem": ("fmod", lax.rem, 2),
    "lax clamp": ("clip", lambda x, lo, hi: lax.clamp(lo, x, hi), 3),
    "lax clamp keywords": ("clip", lambda x, lo, hi: lax.clamp(max=hi, x=x, min=lo), 3),
}
#: The derivative's place where the operands are not the op's first ones.
PLACES = {"clip upper": (0, 2), "clip max": (0, 2)}


def constants(xp, *inputs):
    return SLOPES[: len(inputs)]


RULES = {
    **dict.fromkeys(("sign", "round", "floor", "ceil", "trunc", "abs", "relu", "relu6"), lambda xp, x: 2.0),
    **dict.fromkeys(("mod", "fmod", "floor_divide"), lambda xp, x, y: (2.0, 3.0)),
    "heaviside": lambda xp, x, values: (2.0, 3.0),
    "clip": lambda xp, x, lo, hi: SLOPES,
}
VALUES = [np.float32(v) for v in ([-2, -0.5, 0.25, 3], [1, -1.5, 0.75, 2], [0.5, 2, -1, 4])]


def outcome(f, values):
    """What a call gives: value, dtype and weak type, or the kind of error; then what each input gets."""
    try:
        with np.errstate(all="ignore"):
            y, pull = jax.vjp(f, *values)
    except Exception as error:
        return type(error), None
    return look(y), pull(jnp.ones_like(y)) if jnp.issubdtype(y.dtype, jnp.floating) else None


def look(y):
    aval = jax.typeof(y)
    return np.asarray(y).tobytes(), aval.dtype, aval.shape, aval.weak_type


def as_array(x):
    return as_array(x.__jax_array__()) if isinstance(x, Held) else x


def takes(kinds):
    return lambda *values: [KINDS[kind][0](v) for kind, v in zip(kinds, values, strict=True)]


@pytest.mark.parametrize("name", SIGNATURES)
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_native_value_bit_for_bit_or_native_error(name, data):
    op, function, count = SIGNATURES[name]
    kinds = [data.draw(st.sampled_from(sorted(KINDS))) for _ in range(count)]
    wrap = jax.jit if data.draw(st.booleans()) else lambda f: f
    make, values = takes(kinds), VALUES[:count]
    run = wrap(lambda *values: function(*make(*values)))
    native, _ = outcome(run, values)
    with surrogate.override("jax", {op: RULES[op], "sign": RULES["sign"]}):
        jax.make_jaxpr(lambda x: jnp.sign(x))(1.0)
        found, back = outcome(run, values)
    if native != found and isinstance(native, type):  # JAX's own derivative compares a box with a number
        plain = jax.jit(lambda *values: function(*map(as_array, make(*values))))
        native, _ = outcome(plain, values)
        if native != found and isinstance(native, type):  # nor has it one of lax.clamp with one array bound
            native = look(plain(*values))
    assert found == native
    if back is not None:
        _check(name, kinds, back)


def _check(name, kinds, back):
    """Each array operand got its own derivative, times what its kind does to it."""
    places = PLACES.get(name, range(len(kinds)))
    absent = name.startswith("clip") and kinds[1:] == ["none"] * (len(kinds) - 1)  # no operation at all
    for kind, place, found in zip(kinds, places, back, strict=True):
        reaches = KINDS[kind][1]
        if reaches is None or absent:
            continue  # summed to one element, or not converted natively
        np.testing.assert_array_equal(found, np.full(4, SLOPES[place] * reaches, np.float32))


def test_clip_of_an_array_in_a_box(x):
    """Its lower bound was the result, in silence."""
    box = Held(jnp.asarray([-2, -0.25, 0.5, 3], jnp.float32))
    with surrogate.override("jax", {"clip": "closed"}):
        np.testing.assert_array_equal(jax.jit(lambda b: jnp.clip(b, -1.0, 1.0))(box), [-1, -0.25, 0.5, 1])
        found = jax.jit(jax.grad(lambda b: jnp.clip(b, -1.0, 1.0).sum()))(box)
    np.testing.assert_array_equal(found.parts[0], [0, 1, 1, 0])


@pytest.mark.parametrize("f", [jax.nn.relu, jax.nn.relu6, jnp.sign], ids=["relu", "relu6", "sign"])
def test_an_array_in_a_box_gets_the_rule(f, x, squared):
    with surrogate.override("jax", dict.fromkeys(("relu", "relu6", "sign"), square)):
        np.testing.assert_array_equal(gradient_of(lambda x: f(Held(x)))(x), squared)
        jax.make_jaxpr(lambda x: (jnp.sign(x), jax.nn.relu(x), jax.nn.relu6(x)))(x)


def test_several_arrays_that_are_no_array_raise_as_natively(x):
    call = jax.jit(lambda x: jnp.sign((x, x)))
    with surrogate.override("jax", {"sign": square}):
        jax.make_jaxpr(jnp.sign)(x)
        with pytest.raises(TypeError):
            call(x)
