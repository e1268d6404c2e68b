"""The graph of a recorded program: what depends on a source, what carries a gradient, what the loss needs."""

import math

import numpy as np
import pytest

import surrogate
from surrogate.auditing import Call, Graph, Place, Trace, Value, came_back, nudged, span_of, user_place
from surrogate.auditing._measure import rounded

HERE = Place("net.py", 3, "forward")


def trace(*calls, loss, sources=(0,), integers=()):
    """Calls as ``(name, ins, out, live, zero_in)``; ids are small numbers."""
    made = [
        Call(name, name, HERE, ins, [out], [live], zero_in=frozenset(z)) for name, ins, out, live, z in calls
    ]
    ids = {i for call in made for i in (*call.ins, *call.outs)}
    values = {i: Value("int64" if i in integers else "float32", i not in integers, (2,)) for i in ids}
    return Trace("toy", made, values, {i: f"w{i}" for i in sources}, loss)


def test_a_zero_derivative_ends_what_is_live_but_not_what_is_tainted():
    graph = Graph(trace(("round", [0], 1, True, {0}), ("mul", [1, 2], 3, True, ()), loss=3))
    assert graph.tainted == {0, 1, 3}
    assert graph.live == {0}
    assert graph.reached == set()


def test_a_source_is_reached_by_its_live_path_beside_a_dead_one():
    graph = Graph(trace(("sign", [0], 1, True, {0}), ("mul", [0, 1], 2, True, ()), loss=2))
    assert graph.on_path == {0, 2}
    assert graph.reached == {0}


def test_what_depends_on_a_shape_only_is_not_tainted():
    graph = Graph(trace(("zeros_like", [0], 1, True, ()), ("add", [1, 2], 3, True, ()), loss=3))
    assert graph.tainted == {0}


def test_what_the_loss_does_not_take_is_not_needed():
    graph = Graph(trace(("exp", [0], 1, True, ()), ("log", [0], 2, True, ()), loss=2))
    assert graph.needed == {0, 2}


def test_everything_is_needed_where_the_program_failed_before_its_loss():
    graph = Graph(trace(("exp", [0], 1, True, ()), ("log", [0], 2, True, ()), loss=None))
    assert graph.needed == {0, 1, 2}
    assert graph.reached == {0}


def test_companions_share_a_value_behind_sums_and_views():
    graph = Graph(
        trace(("exp", [0], 1, True, ()), ("mul", [1], 2, True, ()), ("view", [1], 3, True, ()), loss=3)
    )
    assert graph.companions([2], 3)
    assert not Graph(trace(("exp", [0], 1, True, ()), ("exp", [5], 2, True, ()), loss=1)).companions([1], 2)


@pytest.mark.parametrize(("used", "moved"), [(True, True), (False, False)])
def test_a_value_that_left_came_back_if_the_loss_moves_with_it(used, moved):
    t = trace(("item", [0], 1, False, ()), loss=1)
    t.calls[0].escape = True
    came_back(t, 5.0, lambda nudge: 5.1 if used and nudge is not None and nudge(HERE) else 5.0)
    assert t.calls[0].reaches is moved
    assert t.notes == []


def test_nobody_can_tell_what_came_back_where_the_program_is_random():
    t = trace(("item", [0], 1, False, ()), loss=1)
    t.calls[0].escape = True
    came_back(t, 5.0, lambda nudge: 5.5)
    assert t.calls[0].reaches is None
    assert "random" in t.notes[0]


def test_floats_are_nudged_by_a_little_and_integers_by_one():
    assert nudged(2.0) == 2.0 * 1.01 + 0.003
    assert nudged(2) == 3
    assert nudged(np.int8(2)) == np.int8(3)
    assert nudged(True) is True
    assert nudged([1.0, 2]) == [1.0 * 1.01 + 0.003, 3]
    assert nudged(np.array([1, 2])).tolist() == [2, 3]
    changed = nudged(np.array([1.0], np.float32))
    assert changed.dtype == np.float32
    assert changed[0] == np.float32(1.013)


def test_a_span_counts_what_is_not_finite_and_what_is_zero():
    span = span_of(np.array([0.0, -3.0, np.nan, np.inf, -np.inf], np.float16))
    assert (span.lo, span.hi, span.nan, span.inf, span.zero, span.size) == (-3.0, 0.0, 1, 2, 1, 5)
    assert (span.big, span.bad) == (3.0, 3)
    assert span_of(np.arange(3)) is None
    assert span_of(np.array([np.inf])).big == math.inf


@pytest.mark.parametrize(
    ("number", "dtype", "held"),
    [
        (1e-8, "float16", 0.0),
        (1 - 1e-6, "bfloat16", 1.0),
        (1e-8, "bfloat16", 1.0011717677116394e-08),
        (7e4, "float16", math.inf),
        (0.1, "float16", 0.0999755859375),
    ],
)
def test_a_number_as_a_half_precision_dtype_holds_it(number, dtype, held):
    assert rounded(number, dtype) == held


def test_the_place_is_the_innermost_line_that_is_the_users():
    found = user_place(())
    assert (found.file, found.function) == (
        __file__,
        "test_the_place_is_the_innermost_line_that_is_the_users",
    )
    assert found.code() == "found = user_place(())"


def test_a_backend_that_cannot_record_says_so(toy):
    with pytest.raises(surrogate.UnsupportedAuditError, match=r"'toy' cannot be audited.*'record'"):
        toy.record(lambda: 0.0, ())
    with pytest.raises(surrogate.UnsupportedAuditError, match="'intercept'"):
        toy.intercept(lambda trace: None)
