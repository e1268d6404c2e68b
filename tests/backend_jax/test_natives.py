"""JAX's own primitives by name: values worked out by hand."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core.primitives import jit_p

import surrogate

V = jnp.array([-1.0, 2.0, 3.0])
IMAGE = jnp.arange(16.0).reshape(1, 4, 4, 1)
WEIGHTS = jnp.array([1.0, 10.0, 100.0])


@surrogate.register_native("jax", "reduce_window_max", name="even_share")
def even_share(call: Any, g: Any) -> Any:
    """Every element of the window gets an equal share."""
    _, rows, columns, _ = call.attributes["window_dimensions"]
    return jnp.repeat(jnp.repeat(g, rows, 1), columns, 2) / (rows * columns)


def pushed(call: Any, tangents: Any, *, factor: float = 1.0) -> Any:
    return -factor * tangents[0]


@surrogate.register_native("jax", "sqrt", name="reversed", jvp=pushed)
def reversed_sqrt(call: Any, g: Any, *, factor: float = 1.0) -> Any:
    return -factor * call.native(g)


@surrogate.register_native("jax", "sort", name="same_place")
def same_place(call: Any, g: Any) -> Any:
    return g


def pool(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


compiled = jax.jit(jax.grad(lambda x: pool(x).sum()))


def equal(x: Any, y: Any) -> bool:
    return np.array_equal(np.asarray(x), np.asarray(y))


def test_max_pooling_in_every_mode_and_never_stale() -> None:
    native, quarter = compiled(IMAGE), jnp.full_like(IMAGE, 0.25)
    with surrogate.override("jax", {"reduce_window_max": "even_share"}) as o:
        assert equal(jax.vjp(pool, IMAGE)[0], pool(IMAGE))
        assert equal(compiled(IMAGE), quarter)
        assert equal(jax.vmap(compiled)(IMAGE[None])[0], quarter)
        assert equal(jax.grad(lambda x: jax.vmap(pool)(x[None]).sum())(IMAGE), quarter)
        assert equal(jax.grad(lambda x: jax.checkpoint(pool)(x).sum())(IMAGE), quarter)
    assert o.hits["reduce_window_max"] >= 3
    assert equal(compiled(IMAGE), native)


def test_other_names_of_it_and_what_jax_makes_of_it_for_itself() -> None:
    upside_down = V[::-1]

    def ordered(sort: Any) -> Any:
        return jax.grad(lambda x: (sort(x) * WEIGHTS).sum())(upside_down)

    with surrogate.override("jax", {"sort": "same_place"}) as o:
        for sort in (jnp.sort, lax.sort, jax.jit(jnp.sort)):
            assert equal(ordered(sort), WEIGHTS)
        assert equal(jax.grad(jnp.median)(V), jnp.array([0.0, 1.0, 0.0]))
    assert o.hits["sort"] >= 2
    native = jax.grad(jnp.linalg.norm)(V)
    with surrogate.override("jax", {"sqrt": "reversed"}):
        assert jax.grad(jnp.sqrt)(4.0) == jax.grad(lax.sqrt)(4.0) == -0.25
        assert equal(jax.grad(jnp.linalg.norm)(V), native)


def test_parameters_forward_mode_and_second_derivatives() -> None:
    with surrogate.override("jax", {"sqrt": "reversed(factor=2)"}):
        assert jax.jvp(jnp.sqrt, (4.0,), (1.0,))[1] == -2.0
        # the derivative of -2 * 1/(2*sqrt(x)) by x, which call.native gives, is 1/(2*x**1.5)
        assert jax.jacrev(jax.grad(jnp.sqrt))(4.0) == pytest.approx(0.0625, abs=1e-6)
    with (
        pytest.raises(surrogate.ForwardModeError, match="register it with jvp="),
        surrogate.override("jax", {"sort": "same_place"}),
    ):
        jax.jvp(jnp.sort, (V,), (V,))


def test_functions_with_a_derivative_rule_of_their_own() -> None:
    @jax.custom_jvp
    def clipped(x: Any) -> Any:
        return jnp.clip(x, 0, 2)

    clipped.defjvp(lambda primals, tangents: (clipped(*primals), tangents[0] * 7))
    key = "custom_jvp_call:clipped"
    with surrogate.override("jax", {key: lambda call, g: 3 * g}) as o:
        assert equal(jax.jit(jax.grad(lambda x: clipped(x).sum()))(V), jnp.full(3, 3.0))
    assert o.hits == {key: 1}
    assert equal(jax.grad(lambda x: clipped(x).sum())(V), jnp.full(3, 7.0))


def test_a_wrong_formula_is_named() -> None:
    with (
        pytest.raises(surrogate.FormulaError, match=r"gives operand a cotangent of shape \(\); it must have"),
        surrogate.override("jax", {"sqrt": lambda call, g: g.sum()}),
    ):
        jax.grad(lambda x: jnp.sqrt(x).sum())(WEIGHTS)


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        ("srot", surrogate.UnknownOpError, "'sort'"),
        ("sgin", surrogate.UnknownOpError, "did you mean 'sign'"),
        ("scan", surrogate.UnsupportedOpError, "it runs other functions"),
        ("is_finite", surrogate.UnsupportedOpError, "integers or booleans"),
        ("jax.numpy.sort", surrogate.UnknownOpError, "it ends in 'sort'"),
        ("jax.nn.softmax", surrogate.UnknownOpError, "it ends in 'exp'"),
        ("jax.lax.reduce_window", surrogate.UnknownOpError, "'reduce_window_max'"),
        ("jax.numpy.linalg.norm", surrogate.UnknownOpError, "it ends in 'jit:norm'"),
        ("jax.nn.silu", surrogate.UnknownOpError, "it ends in 'jit:silu'"),
        ("jax.nn.relu", surrogate.UnknownOpError, "it ends in 'custom_jvp_call:relu'"),
        ("jit:nrom", surrogate.UnknownOpError, "did you mean 'jit:norm'"),
    ],
)
def test_names(key: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        surrogate.override("jax", {key: lambda call, g: g})


def test_the_catalogues_ops_are_caught_beside_it() -> None:
    rules = {"sort": "same_place", "round": "identity", "floor": "identity", "max": lambda call, g: (g, None)}
    with surrogate.override("jax", rules):
        assert equal(jax.grad(lambda x: jnp.round(x, 0).sum())(V), jnp.ones(3))
        assert equal(jax.grad(lambda x: lax.floor(x).sum())(V), jnp.ones(3))
        assert equal(jax.grad(lambda x: jnp.maximum(x, 0.0).sum())(V), jnp.ones(3))
    with surrogate.override("jax", {"floor": "identity"}):
        assert equal(jax.grad(lambda x: lax.floor(x).sum())(V), jnp.ones(3))


def test_functions_that_jax_compiles_by_itself_as_a_whole() -> None:
    nothing, corner = jnp.zeros(2), jnp.array([3.0, 4.0])
    norm = jax.jit(jax.grad(jnp.linalg.norm))
    assert np.isnan(norm(nothing)).all()
    with surrogate.override("jax", {"jit:norm": "finite"}) as o:
        assert equal(norm(nothing), nothing)
        assert equal(norm(corner), corner / 5)
        assert equal(jax.vmap(jax.grad(jnp.linalg.norm))(jnp.stack([nothing, corner]))[1], corner / 5)
    assert o.hits["jit:norm"] >= 2
    assert np.isnan(norm(nothing)).all()
    with surrogate.override("jax", {"jit:silu": "deconvnet"}):
        assert equal(jax.grad(lambda x: (jax.nn.silu(x) * WEIGHTS).sum())(V), WEIGHTS)


def test_integer_outputs_beside_the_floats() -> None:
    with surrogate.override("jax", {"top_k": lambda call, g: jnp.ones_like(call.inputs[0]) * g.sum()}):
        assert equal(jax.grad(lambda x: lax.top_k(x, 2)[0].sum())(V), jnp.full(3, 2.0))
        _, indices = lax.top_k(V, 2)
        assert indices.tolist() == [2, 1]


IMAGES = jnp.ones((1, 1, 3, 3))
CALLS: dict[str, Any] = {
    "dynamic_index_in_dim": lambda x: lax.dynamic_index_in_dim(x, 1),
    "dynamic_slice_in_dim": lambda x: lax.dynamic_slice_in_dim(x, 1, 2),
    "take": lambda x: jnp.take(x, jnp.array([1, 2])),
    "take_along_axis": lambda x: jnp.take_along_axis(x, jnp.array([1, 2]), 0),
    "conv": lambda x: lax.conv(IMAGES * x[0], IMAGES, (1, 1), "SAME"),
    "conv_general_dilated": lambda x: lax.conv_general_dilated(IMAGES * x[0], IMAGES, (1, 1), "SAME"),
    "dot": lambda x: jnp.dot(x, x),
    "matmul": lambda x: jnp.matmul(x, x),
    "maximum": lambda x: jnp.maximum(x, 0.5),
    "minimum": lambda x: jnp.minimum(x, 0.5),
    "reduce_window": lambda x: [
        lax.reduce_window(x, first, op, (2,), (1,), "VALID")
        for first, op in ((-jnp.inf, lax.max), (jnp.inf, lax.min), (0.0, lax.add))
    ],
    "_rewriting_take": lambda x: (x[jnp.array([1, 2])], x[jnp.array(1)]),
    "rewriting_take": lambda x: (x[jnp.array([1, 2])], x[jnp.array(1)]),
    "rsqrt": lax.rsqrt,
    "top_k": lambda x: lax.top_k(x, 2),
}


def test_public_functions_end_in_the_primitives_that_they_are_answered_with() -> None:
    from surrogate_jax._natives import ENDS

    for name in set(ENDS) - {"abs"}:  # which is an op of the catalogue
        rules = {key: lambda call, g: [None] * len(call.inputs) for key in ENDS[name]}
        with surrogate.override("jax", rules) as o:
            jax.vjp(CALLS.get(name) or getattr(jnp, name), WEIGHTS / 200)
        assert all(o.hits.values()), (name, o.hits)


def test_rules_for_many_natives_make_no_call_of_jit_slower() -> None:
    """Each name that has ever had a rule was one more hook on every call of a compiled function, for good."""

    def hooks() -> int:
        found, bind = 0, jit_p.bind
        while inspect.isfunction(bind):
            found, bind = found + 1, inspect.getclosurevars(bind).nonlocals["bind"]
        return found

    def after_a_rule_for(name: str) -> int:
        surrogate.override("jax", {name: "scaled(factor=2.0)"})
        return hooks()

    first = after_a_rule_for("exp")
    assert first >= 2
    assert [after_a_rule_for(name) for name in ("cos", "sin", "tan", "jit:norm")] == [first] * 4


def test_what_jax_keeps_of_a_function_of_its_own_has_no_formula() -> None:
    """``gelu`` calls ``tanh``, and ``softmax`` ``exp``: JAX hands them what it traced for the user's call."""
    pairs = ((jnp.tanh, jax.nn.gelu, "tanh"), (jnp.exp, lambda x: jax.nn.softmax(x)[0], "exp"))
    for function, composite, name in pairs:
        native, inner = (
            jax.grad(lambda x, f=composite: f(x).sum()),
            jax.grad(lambda x, f=function: f(x).sum()),
        )
        right, slope = native(V), inner(V)
        with surrogate.override("jax", {name: "scaled(factor=7)"}):
            assert equal(inner(V), 7 * slope)
            assert equal(native(V), right)
            assert equal(inner(V), 7 * slope)


LOOK_UP = {
    "floor": "identity",
    "astype": "identity",
    "gather": "interpolated",
    "dynamic_slice": "interpolated",
}
TABLE = jnp.array([0.0, 1.0, 4.0, 9.0])
AT, MOVED = jnp.array([0.25, 2.5, 3.2]), jnp.array([1.0, 10.0, 100.0])


def look_up(at: Any) -> Any:
    return TABLE[jnp.floor(at).astype(int)]


def test_a_look_up_by_a_float_that_was_floored() -> None:
    with surrogate.override("jax", LOOK_UP) as o:
        for f in (look_up, jax.jit(look_up), jax.checkpoint(look_up), jax.vmap(look_up)):
            assert jax.grad(lambda at, f=f: f(at).sum())(AT).tolist() == [1.0, 5.0, 0.0]
            assert jax.jvp(f, (AT,), (MOVED,))[1].tolist() == [1.0, 50.0, 0.0]
        assert jax.vmap(jax.grad(look_up))(AT).tolist() == [1.0, 5.0, 0.0]
    assert o.hits["gather"] >= 4
    assert o.hits["dynamic_slice"] >= 1
    assert jax.grad(lambda at: look_up(at).sum())(AT).tolist() == [0.0, 0.0, 0.0]


def test_the_index_of_an_argmax_keeps_its_own_gradient_beside_a_formula() -> None:
    def chosen(x: Any, table: Any) -> Any:
        return table[jnp.argmax(x)[None]].sum()

    rules = {"argmax": "identity"}
    with surrogate.override("jax", rules):
        by_x, by_table = jax.grad(chosen, (0, 1))(V, WEIGHTS)
    with surrogate.override("jax", {**rules, "gather": "scaled(factor=3)"}):
        again, scaled = jax.grad(chosen, (0, 1))(V, WEIGHTS)
    assert equal(by_x, WEIGHTS)
    assert equal(again, by_x)
    assert equal(scaled, 3 * by_table)


def test_forward_mode_of_a_formula_that_is_linear_in_the_upstream_gradient() -> None:
    surrogate.register_native("jax", "tanh", name="thrice", jvp="transposed")(
        lambda call, g: 3 * call.native(g)
    )
    right = 3 * jax.jvp(jnp.tanh, (V,), (WEIGHTS,))[1]
    with surrogate.override("jax", {"tanh": "thrice"}):
        assert np.allclose(jax.jvp(jnp.tanh, (V,), (WEIGHTS,))[1], right, rtol=1e-6)
        assert np.allclose(jax.jvp(jax.jit(jax.vmap(jnp.tanh)), (V,), (WEIGHTS,))[1], right, rtol=1e-6)


TABLE_OF_5 = jnp.arange(5.0) ** 2


@pytest.mark.parametrize(
    "look_up",
    [
        lambda i: lax.dynamic_slice(TABLE_OF_5, (i[0],), (1,)),
        lambda i: jnp.take(TABLE_OF_5, i),
        lambda i: jnp.take_along_axis(TABLE_OF_5, i, 0),
        lambda i: TABLE_OF_5[i],
    ],
)
@pytest.mark.parametrize("formula", [True, False])
def test_a_look_up_says_that_a_gradient_ends_just_where_it_has_no_formula(
    look_up: Any, formula: bool
) -> None:
    """JAX compares an index with 0 before: that no comparison takes it on says nothing."""
    rules = {"astype": "identity", **dict.fromkeys(("gather", "dynamic_slice"), "interpolated")}
    with surrogate.override("jax", rules if formula else {"astype": "identity"}):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = jax.grad(lambda x: look_up(x.astype(int)).sum())(jnp.array([1.5, 2.5]))
    ended = [str(w.message) for w in caught if "its gradient ends there" in str(w.message)]
    assert found[0] == (3.0 if formula else 0.0)
    assert len(ended) == (not formula)
    assert not any("lt," in text or "less" in text for text in ended)
