"""Comparisons, casts and searches under a rule: against the reference, in every mode, and nothing is kept."""

import gc
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow.experimental.numpy as tnp
import tensorflow_modes
from surrogate_tensorflow import _origins

import surrogate
from surrogate import reference

F = tf.float64
X = np.array([-2.0, -0.25, 0.0, 0.5, 1.5, 3.0])
Y = np.array([0.5, -0.25, 1.0, -1.0, 1.25, 3.5])
G = np.array([1.0, -2.0, 0.5, 3.0, 0.25, -1.0])
EDGES = np.array([-1.0, 0.25, 2.0])
MODES = ("eager", "variable", "outer", "inner", "symbolic", "jit_inner", "vectorized", "forward", "map_outer")
REVERSE = ("eager", "outer", "inner", "jit_inner")

COMPARISONS = {
    "greater": {
        ">": lambda x, y: x > y,
        "tf": tf.greater,
        "raw": lambda x, y: tf.raw_ops.Greater(x=x, y=y),
        "keras": keras.ops.greater,
        "tnp": tnp.greater,
    },
    "greater_equal": {
        ">=": lambda x, y: x >= y,
        "tf": tf.math.greater_equal,
        "keras": keras.ops.greater_equal,
    },
    "less": {"<": lambda x, y: x < y, "tf": tf.less, "keras": keras.ops.less, "tnp": tnp.less},
    "less_equal": {"<=": lambda x, y: x <= y, "tf": tf.less_equal, "keras": keras.ops.less_equal},
    "equal": {"==": lambda x, y: x == y, "tf": tf.equal, "keras": keras.ops.equal, "tnp": tnp.equal},
    "not_equal": {"!=": lambda x, y: x != y, "tf": tf.not_equal, "keras": keras.ops.not_equal},
}
SPECS = {
    "greater": "arctan",
    "greater_equal": "sigmoid",
    "less": "triangle(width=2)",
    "less_equal": "boxcar",
    "equal": "gaussian",
    "not_equal": "gaussian",
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("op", "spelling"), [(op, name) for op in COMPARISONS for name in COMPARISONS[op]])
def test_comparisons_have_the_references_gradient(op, spelling, mode):
    f = COMPARISONS[op][spelling]
    y = np.float64(0.5) if mode in ("vectorized", "map_outer") else Y  # those go element by element
    by_x, by_y = reference.vjp(op, SPECS[op], X, Y)
    if np.ndim(y) == 0:
        by_x, by_y = (reference.vjp(op, SPECS[op], *pair)[i] for i, pair in enumerate([(X, y), (y, X)]))
    with surrogate.override("tensorflow", {op: SPECS[op]}) as o:
        found_x = tensorflow_modes.ALL[mode](lambda x: tf.cast(f(x, tf.constant(y)), F), tf.constant(X))
        x, y = (y, X) if np.ndim(y) == 0 else (X, Y)
        found_y = tensorflow_modes.ALL[mode](lambda y: tf.cast(f(tf.constant(x), y), F), tf.constant(y))
    np.testing.assert_allclose(found_x, by_x, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found_y, by_y, rtol=1e-12, atol=1e-12)
    assert o.hits[op] >= 2


@pytest.mark.parametrize("mode", REVERSE)
@pytest.mark.parametrize("spec", ["arctan", "sigmoid", "boxcar", "triangle"])
def test_a_cast_comparison_is_heaviside_bit_for_bit(spec, mode):
    w, values = tf.constant(G), tf.constant(0.0, F)
    spellings = [
        lambda x: tf.cast(x > 0.0, F) * w,
        lambda x: tf.cast(x >= 0.0, F) * w,
        lambda x: -tf.cast(x < 0.0, F) * w,
        lambda x: -tf.cast(x <= 0.0, F) * w,
        lambda x: tnp.heaviside(x, values) * w,
    ]
    with surrogate.override("tensorflow", {"compare": spec, "heaviside": spec}):
        found = [tensorflow_modes.ALL[mode](f, tf.constant(X)).numpy() + 0.0 for f in spellings]
    assert len({one.tobytes() for one in found}) == 1


@pytest.mark.parametrize("mode", REVERSE)
def test_a_threshold_for_each_column_gets_its_own_gradient(mode):
    x, y = tf.constant(np.stack([X, -X])), np.array(Y)
    with surrogate.override("tensorflow", {"compare": "sigmoid"}):
        found = tensorflow_modes.ALL[mode](lambda y: tf.cast(x > y, F) * G, tf.constant(y))
    expected = sum(reference.vjp("greater", "sigmoid", row, Y, g=G)[1] for row in x.numpy())
    np.testing.assert_allclose(found, expected, rtol=1e-12)


CASTS = {
    "cast to int32": lambda x: tf.cast(x, tf.int32),
    "cast to int64": lambda x: tf.cast(x, tf.int64),
    "keras": lambda x: keras.ops.cast(x, "int32"),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("spelling", CASTS)
def test_casts_to_integers(spelling, mode):
    with surrogate.override("tensorflow", {"astype": "sine"}):
        found = tensorflow_modes.ALL[mode](lambda x: tf.cast(CASTS[spelling](x), F), tf.constant(X))
    np.testing.assert_allclose(found, reference.vjp("astype", "sine", X)[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_casts_to_booleans(mode):
    with surrogate.override("tensorflow", {"astype": "gaussian"}):
        found = tensorflow_modes.ALL[mode](lambda x: tf.cast(tf.cast(x, tf.bool), F), tf.constant(X))
    np.testing.assert_allclose(
        found, reference.vjp("astype", "gaussian", X, to="bool")[0], rtol=1e-12, atol=1e-12
    )


SEARCHES = {
    "searchsorted": lambda x: tf.searchsorted(tf.constant(EDGES), x),
    "right": lambda x: tf.searchsorted(tf.constant(EDGES), x, side="right"),
    "keras": lambda x: keras.ops.searchsorted(tf.constant(EDGES), x),
    "digitize": lambda x: keras.ops.digitize(x, EDGES),
    "Bucketize": lambda x: tf.raw_ops.Bucketize(input=x, boundaries=EDGES.tolist()),
}


@pytest.mark.parametrize(
    ("spelling", "mode"),
    # TensorFlow has no XLA kernel of Bucketize
    [(s, m) for s in SEARCHES for m in REVERSE if m != "jit_inner" or s not in ("digitize", "Bucketize")],
)
def test_searches(spelling, mode):
    with surrogate.override("tensorflow", {"searchsorted": "sigmoid"}):
        found = tensorflow_modes.ALL[mode](lambda x: tf.cast(SEARCHES[spelling](x), F) * G, tf.constant(X))
    np.testing.assert_allclose(found, reference.vjp("searchsorted", "sigmoid", X, EDGES, g=G)[0], rtol=1e-12)


@pytest.mark.parametrize("mode", REVERSE)
def test_the_boundaries_of_a_search(mode):
    with surrogate.override("tensorflow", {"searchsorted": "sigmoid"}):
        found = tensorflow_modes.ALL[mode](
            lambda edges: tf.cast(tf.searchsorted(edges, tf.constant(X)), F) * G, tf.constant(EDGES)
        )
    np.testing.assert_allclose(found, reference.vjp("searchsorted", "sigmoid", X, EDGES, g=G)[1], rtol=1e-12)


def test_an_infinite_upstream_gradient_at_a_closed_window_is_0():
    x = tf.constant([-2.0, 0.25])
    with surrogate.override("tensorflow", {"compare": "boxcar"}), tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.where(x > 0, np.float32(np.inf), 0.0)
    np.testing.assert_array_equal(tape.gradient(y, x), [0.0, np.inf])


def test_the_rule_of_the_comparison_counts_not_that_of_its_use():
    x = tf.constant(X)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        native = x > 0
        with surrogate.override("tensorflow", {"compare": "sigmoid"}):
            under = x > 0
            of_native = tf.cast(native, F)
        of_under = tf.cast(under, F)
    assert tape.gradient(of_native, x) is None
    np.testing.assert_allclose(
        tape.gradient(of_under, x), reference.vjp("greater", "sigmoid", X, 0.0)[0], rtol=1e-12
    )


def test_the_second_derivative_is_the_formulas():
    found = tensorflow_modes.eager(
        lambda x: tensorflow_modes.eager(_under("sigmoid(slope=1)", lambda x: tf.cast(x > 0, F)), x),
        tf.constant(X),
    )
    s = 1 / (1 + np.exp(-X))
    np.testing.assert_allclose(found, s * (1 - s) * (1 - 2 * s), rtol=1e-12, atol=1e-12)


def _under(spec, f):
    return surrogate.override("tensorflow", {"compare": spec})(f)


# -- what is kept -------------------------------------------------------------------------------------


def test_nothing_piles_up():
    x = tf.constant(X)
    gc.collect()
    before = len(_origins._table)
    with surrogate.override("tensorflow", {"compare": "sigmoid"}), tf.GradientTape() as tape:
        tape.watch(x)
        for _ in range(10_000):
            spikes = tf.cast(x > 0, F)
        kept = x > 0
        assert _origins.eager_origin(kept) is not None
    assert len(_origins._table) == before + 1
    del kept, spikes, tape
    gc.collect()
    assert len(_origins._table) == before == 0


@pytest.mark.parametrize(
    "use", [lambda b: b[0], lambda b: ~b, lambda b: tf.stack([b, b]), lambda b: tf.cast(b, tf.int32) * 2 + 1]
)
def test_what_is_made_of_a_boolean_is_let_go_too(use):
    """The origin of a result held the op, and so the result itself, for good."""
    x = tf.constant(X)
    before = len(_origins._table)
    with surrogate.override("tensorflow", {"compare": "sigmoid"}), tf.GradientTape() as tape:
        tape.watch(x)
        kept = use(x > 0)
        assert _origins.eager_origin(kept) is not None
    del kept, tape
    gc.collect()
    assert len(_origins._table) == before


@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")
def test_without_a_differentiable_input_there_is_no_origin():
    x = tf.constant(X)
    with surrogate.override("tensorflow", {"compare": "sigmoid"}), tf.GradientTape() as tape:
        tape.watch(tf.constant(1.0))
        b = x > 0
    assert _origins.eager_origin(b) is None


def test_an_origin_keeps_its_inputs_no_longer_than_its_value():
    x = tf.constant(X)
    with surrogate.override("tensorflow", {"compare": "boxcar"}), tf.GradientTape() as tape:
        tape.watch(x)
        doubled = 2 * x
        address = id(doubled)
        b = doubled > 0
        del doubled
        y = tf.cast(b, F)
    del b
    gc.collect()
    held = {id(one) for one in gc.get_objects() if type(one) is type(x)}
    assert address not in held
    assert tape.gradient(y, x) is not None


# -- where it ends ------------------------------------------------------------------------------------

CUTS = {
    "boolean_mask": lambda x: tf.boolean_mask(x, x > 0),
    "an index": lambda x: tf.gather(x, tf.cast(x > 0, tf.int32)),
    "where of one": lambda x: tf.gather_nd(x, tf.where(x > 0)),
}


@pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("case", CUTS)
def test_where_the_gradient_ends_it_is_said_and_the_rest_is_native(case, graph):
    f, x = CUTS[case], tf.constant(X)
    run = tensorflow_modes.outer if graph else tensorflow_modes.eager
    native = run(f, x)
    with (
        surrogate.override("tensorflow", {"compare": "sigmoid", "abs": "sign0"}),
        pytest.warns(surrogate.SurrogateWarning, match="ends here"),
    ):
        found = run(lambda x: f(x) + 0 * tf.reduce_sum(tf.abs(x)), x)
    np.testing.assert_array_equal(tf.convert_to_tensor(found), tf.convert_to_tensor(native))


def test_it_is_said_once_for_each_line():
    x = tf.constant(X)
    with (
        surrogate.override("tensorflow", {"compare": "sigmoid"}),
        warnings.catch_warnings(record=True) as told,
    ):
        warnings.simplefilter("default")
        for _ in range(3):
            with tf.GradientTape() as tape:
                tape.watch(x)
                b = x > 0
                tf.boolean_mask(tf.cast(b, F), b)
    assert len([one for one in told if "ends here" in str(one.message)]) == 1
    assert told[0].filename == __file__


LARGER = {"tf": tf.maximum, "keras": keras.ops.maximum, "raw": lambda x, y: tf.raw_ops.Maximum(x=x, y=y)}


@pytest.mark.parametrize("mode", REVERSE)
@pytest.mark.parametrize("spelling", LARGER)
def test_the_larger_of_two(spelling, mode):
    with surrogate.override("tensorflow", {"maximum": "split"}) as o:
        found = tensorflow_modes.ALL[mode](lambda x: LARGER[spelling](x, tf.constant(Y)), tf.constant(X))
    np.testing.assert_array_equal(found, reference.vjp("maximum", "split", X, Y)[0])
    assert o.hits["maximum"] >= 1


def test_what_composites_compare_for_themselves_is_native():
    x = tf.constant(X)
    native = tensorflow_modes.eager(lambda x: tf.clip_by_norm(x, 1.0), x)
    rules = {"compare": "identity", "equal": "gaussian", "maximum": "identity"}
    with surrogate.override("tensorflow", rules) as o:
        found = tensorflow_modes.eager(lambda x: tf.clip_by_norm(x, 1.0) + 0 * tf.cast(x > 0, F), x)
    np.testing.assert_array_equal(found, native)
    assert o.hits["greater"] == 1


def test_the_gradient_of_a_choice_by_its_mask_knows_what_is_chosen_from():
    x, u, v = tf.constant([-0.5, 0.25]), tf.constant([2.0, 3.0]), tf.constant([1.0, -1.0])
    with surrogate.override("tensorflow", {"greater": "identity"}), tf.GradientTape() as outer:
        outer.watch(u)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.where(x > 0, u, v)
        by_x = tape.gradient(y, x)
    np.testing.assert_array_equal(by_x, u - v)
    np.testing.assert_array_equal(outer.gradient(by_x, u), [1.0, 1.0])
