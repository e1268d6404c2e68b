"""Wrong values that people reported in public: the same right numbers in every backend.

All backends run in one process, side by side. The letters are those of the collection of reports.
"""

import gc
import threading

import ml_dtypes
import numpy as np
import pytest

import surrogate

BACKENDS = ("autograd", "jax", "tensorflow", "torch")
F32 = np.float32


@pytest.fixture(params=BACKENDS)
def backend(request):
    return surrogate.load_backend(request.param)


def grad(backend, op, *inputs, g=1.0, dtype=F32, **attributes):
    """Value and cotangents as NumPy arrays, under whatever is in force."""
    arrays = [backend.driver().asarray(np.asarray(x, dtype)) for x in inputs]
    shape = np.broadcast_shapes(*(np.shape(x) for x in inputs))
    upstream = backend.driver().asarray(np.broadcast_to(np.asarray(g, dtype), shape).copy())
    value, found = backend.driver().grad(
        lambda *xs: backend.driver().call(op, *xs, **attributes), arrays, upstream
    )
    return backend.driver().numpy(value), [backend.driver().numpy(c) for c in found]


def under(backend, op, spec, *inputs, **options):
    with surrogate.override(backend, {op: spec}) as scope:
        found = grad(backend, op, *inputs, **options)
    assert scope.hits[op] == 1
    return found


def test_a1_an_override_reaches_the_op_and_leaves_it_again(backend):
    value, (cotangent,) = under(backend, "sign", "identity", [-2.0, 0.5])
    assert value.tolist() == [-1, 1]
    assert cotangent.tolist() == [1, 1]
    assert grad(backend, "sign", [-2.0, 0.5])[1][0].tolist() == [0, 0]


def test_a3_a_mistyped_op_or_gradient_is_an_error_with_a_suggestion(backend):
    with pytest.raises(surrogate.UnknownOpError, match="did you mean 'sign'"):
        surrogate.use(backend, {"sgin": "identity"})
    with pytest.raises(surrogate.UnknownGradientError, match="did you mean 'identity'"):
        surrogate.use(backend, {"sign": "identiy"})


def test_a4_every_op_a_backend_names_is_captured(backend):
    for name in sorted(backend.ops):
        op = surrogate.op(name)
        if op.output != "float":
            continue  # what is made of their results has tests of its own in each backend
        inputs = ([0.25, 1.5], [0.75, 0.5], [1.0, 2.0])[: op.arity]
        spec = next(n for n in surrogate.gradients(name) if n != "clipped")
        under(backend, name, spec, *inputs)


def test_a5_an_override_that_matched_nothing_says_so(backend):
    with pytest.warns(surrogate.NothingCapturedWarning, match="floor"):
        with surrogate.override(backend, {"floor": "clipped(lo=-7.25, hi=7.25)"}) as scope:
            grad(backend, "sign", [0.5])
    assert scope.hits == {"floor": 0}


def test_b1_the_rule_of_the_forward_is_the_one_that_counts(backend):
    x = backend.driver().asarray(np.array([0.5], F32))
    one = backend.driver().asarray(np.ones(1, F32))

    def value_then_gradient(x):
        with surrogate.override(backend, {"sign": "identity"}):
            return backend.driver().call("sign", x)  # the backward runs after the block

    assert backend.driver().numpy(backend.driver().grad(value_then_gradient, (x,), one)[1][0]).tolist() == [1]


def test_b7_threads_with_their_own_rules_do_not_mix(backend):
    failures = []

    def work(slope, rounds=100):
        x = [0.0]
        for _ in range(rounds):
            with surrogate.override(backend, {"sign": f"tanh(slope={slope})"}):
                found = grad(backend, "sign", x)[1][0].item()
            if found != slope:
                failures.append((slope, found))

    threads = [threading.Thread(target=work, args=(slope,)) for slope in (1.0, 0.5)]
    for thread in threads:
        thread.start()
    assert grad(backend, "sign", [0.0])[1][0].item() == 0
    for thread in threads:
        thread.join()
    assert failures == []


def test_b8_gradients_of_other_ops_are_untouched(backend):
    x, y = [-1.5, 0.25, 2.0], [0.5, 0.75, -1.25]
    before = grad(backend, "mod", x, y)
    with surrogate.override(backend, {"sign": "identity", "floor": "identity", "trunc": "identity"}) as scope:
        after = grad(backend, "mod", x, y)
        grad(backend, "sign", x)
    assert [c.tolist() for c in before[1]] == [c.tolist() for c in after[1]]
    assert scope.hits == {"sign": 1, "floor": 0, "trunc": 0}


def test_c2_ties_of_clip_are_the_same_everywhere(backend):
    x = [-1.0, 1.0]
    for spec, expected in (("closed", [1, 1]), ("open", [0, 0]), ("half", [0.5, 0.5])):
        assert under(backend, "clip", spec, x, [-1.0, -1.0], [1.0, 1.0])[1][0].tolist() == expected


def test_c3_two_straight_through_estimators(backend):
    x = [-2, -1.5, -1, 0.1, 0.9, 1.5, 2]
    assert under(backend, "sign", "hardtanh", x)[1][0].tolist() == [0, 0, 1, 1, 1, 0, 0]
    assert under(backend, "sign", "identity", x)[1][0].tolist() == [1] * 7


def test_c4_a_mask_on_the_value_and_one_on_the_code(backend):
    x = [-3, -1.2, 0.4, 1.2, 3]
    assert under(backend, "round", "clipped(lo=-1, hi=1)", x)[1][0].tolist() == [0, 0, 1, 0, 0]
    assert under(backend, "round", "clipped(lo=-1.5, hi=1.5)", x)[1][0].tolist() == [0, 1, 1, 1, 0]


def test_c5_the_leak_is_outside(backend):
    found = under(backend, "clip", "leaky(leak=0.25)", [-1, 0.5, 2], [0.0] * 3, [1.0] * 3)[1][0]
    assert found.tolist() == [0.25, 1, 0.25]


def test_c8_fmod_has_a_gradient(backend):
    _, (to_x, to_y) = under(backend, "fmod", "exact", [5.0, -5.0], [3.0, 3.0])
    assert to_x.tolist() == [1, 1]
    assert to_y.tolist() == [-1, 1]


def test_c9_the_forward_keeps_its_three_values(backend):
    value, (cotangent,) = under(backend, "sign", "hardtanh", [-0.0, 0.0])
    assert value.tolist() == [0, 0]
    assert cotangent.tolist() == [1, 1]


def test_c14_the_three_gradients_of_clip_add_up_to_the_upstream_one(backend):
    x, lo, hi = [-2.0, -1.0, 0.0, 1.0, 2.0], [-1.0] * 5, [1.0] * 5
    for spec in ("closed", "open", "half"):
        _, parts = under(backend, "clip", spec, x, lo, hi, g=3.0)
        assert sum(parts).tolist() == [3] * 5


def test_d2_the_forward_of_heaviside_is_zero_or_one_exactly(backend):
    x = np.linspace(-3, 3, 100001)
    value, _ = under(backend, "heaviside", "sigmoid", x, np.zeros_like(x))
    assert set(np.unique(value)) == {0.0, 1.0}


def test_d3_smooth_gradients_change_the_backward_only(backend):
    value, (cotangent,) = under(backend, "round", "sine", [1.2])
    exact = 1 - np.cos(2 * np.pi * np.float64(F32(1.2)))
    assert value.tolist() == [1]
    assert abs(cotangent[0] - F32(exact)) <= 2 * np.spacing(F32(exact))


def test_e6_heaviside_honours_the_value_at_zero(backend):
    value, (to_x, to_values) = under(backend, "heaviside", "fast_sigmoid", [0.0, 1.0], [0.5, 0.5], g=2.0)
    assert value.tolist() == [0.5, 1]
    assert to_x[0] == 2
    assert to_values.tolist() == [2, 0]


def test_e7_floor_division_passes_as_true_division(backend):
    value, (to_x, to_y) = under(backend, "floor_divide", "identity", [5.0], [2.0])
    assert (value.item(), to_x.item(), to_y.item()) == (2, 0.5, -1.25)


def test_f6_a_bound_of_no_dimension_gets_a_gradient_of_no_dimension(backend):
    _, (to_x, to_lo, to_hi) = under(backend, "clip", "closed", [-2.0, 0.0, 3.0], -1.0, 1.0)
    assert (to_x.shape, to_lo.shape, to_hi.shape) == ((3,), (), ())
    assert (to_x.tolist(), to_lo.item(), to_hi.item()) == ([0, 1, 0], 1, 1)


def test_g6_a_formula_that_calls_the_public_op_does_not_recurse(backend):
    def uses_sign(xp, x):
        return 2 * xp.sign(x) * x

    found = under(backend, "sign", uses_sign, [-1.5, 0.5])[1][0]
    assert found.tolist() == [3, 1]


def test_h2_the_dtype_is_kept(backend):
    for name in backend.dtypes:
        dtype = np.dtype(getattr(ml_dtypes, name, None) or name)
        for spec in ("hardtanh", "identity", "arctan"):
            value, (cotangent,) = under(backend, "sign", spec, [-2.0, 0.5], dtype=dtype)
            assert value.dtype == cotangent.dtype == dtype, (name, spec)


def test_h4_an_infinite_upstream_gradient_selects(backend):
    found = under(backend, "sign", "hardtanh", [-2.0, 0.5, np.nan], g=np.inf)[1][0]
    assert found.tolist() == [0, np.inf, 0]


def test_h5_a_window_keeps_one_byte_per_element_and_identity_nothing(backend):
    x = backend.driver().asarray(np.linspace(-2, 2, 1000).astype(F32))

    def kept(spec):
        gc.collect()
        with surrogate.override(backend, {"sign": spec}):
            return backend.driver().residuals(lambda x: backend.driver().call("sign", x), (x,))

    assert (kept("hardtanh"), kept("identity"), kept("arctan")) == (1000, 0, 4000)


def test_i6_a_surrogate_does_not_hide_a_nan_that_is_not_its_own(backend):
    """power(v - floor(v), 0) at an integer: whatever the framework gives, floor's rule adds v' only."""
    _, (cotangent,) = under(backend, "floor", "identity", [2.0], g=np.nan)
    assert np.isnan(cotangent).all()


def test_second_derivatives_are_those_of_the_formula_everywhere(backend):
    """F7: fast_sigmoid with slope 25 at 0.1."""
    x, values, one = (backend.driver().asarray(np.array([v], F32)) for v in (0.1, 0.5, 1.0))

    def first(x):
        return backend.driver().grad(lambda x: backend.driver().call("heaviside", x, values), (x,), one)[1][0]

    with surrogate.override(backend, {"heaviside": "fast_sigmoid"}):
        found = backend.driver().numpy(backend.driver().grad(first, (x,), one)[1][0]).item()
    exact = surrogate.reference.second("heaviside", "fast_sigmoid", np.float64(F32(0.1)), 0.5, t=(1.0, 0.0))[
        0
    ]
    assert abs(found - exact) <= 4 * np.spacing(F32(abs(exact)))
