"""Each rule of the audit on traces written by hand: what it names, at which severity, and what it passes."""

import math

import pytest
from core_traces import Program, span

from surrogate.auditing._judge import Options, judge

DEFAULTS = {"round": "identity", "sign": "hardtanh", "floor": "identity", "relu": "leaky"}


def found(trace, *kinds, **options):
    report = judge(trace, DEFAULTS, Options(frozenset(kinds), level="info", **options))
    return [(f.kind, f.op, f.where.line, f.severity) for f in report.findings]


# -- cut and zero ------------------------------------------------------------------------------------


def test_a_zero_derivative_that_costs_a_source_is_an_error_with_a_rule():
    p = Program("w")
    p.call("round", "w", "h", zero_in=frozenset({0}))
    p.call("sum", "h", "loss")
    report = judge(p.trace("loss"), DEFAULTS)
    (f,) = report.findings
    assert (f.kind, f.op, f.severity, f.rule, f.reaches) == (
        "zero",
        "round",
        "error",
        ("round", "identity"),
        ("w",),
    )
    assert report.unreached == {"w": "cut"}
    assert report.suggest() == {"round": "identity"}


def test_an_op_that_the_backend_does_not_capture_gets_words_and_no_rule():
    p = Program("w")
    p.call("argmax", "w", "k", dtype="int64")
    p.call("cast", "k", "f", live=False)
    p.call("sum", "f", "loss", live=False)
    (f,) = judge(p.trace("loss"), DEFAULTS).findings
    assert (f.kind, f.op, f.rule) == ("cut", "argmax", None)
    assert "soft arg-max" in f.suggestion


def test_a_dead_term_of_a_live_loss_is_a_warning():
    p = Program("w")
    p.call("argmax", "w", "k", dtype="int64")
    p.call("cast", "k", "f", live=False)
    p.call("square", "w", "s")
    p.call("add", "s f", "loss")
    assert found(p.trace("loss", w=1.0)) == [("cut", "argmax", 1, "warning")]


def test_a_mask_and_a_factor_are_info():
    p = Program("w")
    p.call("gt", "w", "mask", dtype="bool")
    p.call("cast", "mask", "m", live=False)
    p.call("mul", "w m", "s")
    p.call("gt", "w", "b", dtype="bool")
    p.call("where", "b s w", "loss")
    assert found(p.trace("loss", w=1.0)) == [("cut", "gt", 1, "info"), ("cut", "gt", 4, "info")]


def test_a_fractional_part_and_a_straight_through_are_info():
    p = Program("w")
    p.call("floor", "w", "f", zero_in=frozenset({0}))
    p.call("sub", "w f", "frac")
    p.call("round", "w", "q", zero_in=frozenset({0}))
    p.call("sub", "q w", "d")
    p.call("detach", "d", "e", live=False, why="detach")
    p.call("add", "w e", "st")
    p.call("add", "frac st", "loss")
    severities = {f[:2]: f[3] for f in found(p.trace("loss", w=1.0))}
    assert severities == {("zero", "floor"): "info", ("zero", "round"): "info", ("cut", "detach"): "info"}


def test_a_detach_that_costs_nothing_is_info_and_one_that_costs_is_an_error():
    p = Program("w", "v")
    p.call("exp", "w", "a")
    p.call("detach", "a", "t", live=False, why="detach")
    p.call("mul", "w t", "b")
    p.call("exp", "v", "c")
    p.call("detach", "c", "d", live=False, why="detach")
    p.call("add", "b d", "loss")
    assert found(p.trace("loss", w=1.0, v=None)) == [
        ("cut", "detach", 5, "error"),
        ("cut", "detach", 2, "info"),
    ]


def test_a_source_is_charged_to_the_cause_that_weighs_most():
    """An argmin of a vector quantisation beside a wrong detach of its term is not accused."""
    p = Program("w", "x")
    p.call("argmin", "w", "k", dtype="int64")
    p.call("index", "x k", "a")
    p.call("detach", "w", "d", live=False, why="detach")
    p.call("add", "a d", "loss")
    report = judge(p.trace("loss", w=None, x=1.0), DEFAULTS)
    assert {f.op: f.severity for f in report.findings} == {"argmin": "info", "detach": "error"}
    assert "another op costs them more" in report.findings[1].detail


def test_what_is_reached_on_paper_only_is_an_error():
    p = Program("w")
    p.call("sign", "w", "s", zero_in=frozenset({0}))
    p.call("mul", "w zero", "z")
    p.call("add", "s z", "loss")
    assert found(p.trace("loss", w=1.0))[0][3] == "warning"
    assert found(p.trace("loss", w=0.0))[0][3] == "error"


@pytest.mark.parametrize(("reaches", "severity"), [(True, "error"), (False, None), (None, "info")])
def test_a_value_that_left_for_python_is_judged_by_whether_it_came_back(reaches, severity):
    p = Program("w", "v")
    p.call("item", "v", "", escape=True, reaches=reaches, live=False)
    p.call("exp", "w", "loss")
    assert [f[3] for f in found(p.trace("loss", w=1.0, v=None))] == ([severity] if severity else [])


def test_a_branch_in_python_is_info():
    p = Program("w")
    p.call("bool", "w", "", escape=True, reaches=True, live=False)
    p.call("exp", "w", "loss")
    assert found(p.trace("loss", w=1.0)) == [("cut", "bool", 1, "info")]


def test_a_loss_made_a_leaf_by_hand_is_an_error():
    p = Program("w")
    p.call("argmax", "w", "k", dtype="int64")
    p.call("cast", "k", "f", live=False)
    p.call("requires_grad", "f", "loss", live=False, why="made a leaf by hand")
    assert ("cut", "requires_grad", 3, "error") in found(p.trace("loss"))


def test_the_numbers_win_over_the_structure_and_the_contradiction_is_told():
    p = Program("w", "v")
    p.call("sign", "w", "s", zero_in=frozenset({0}))
    p.call("exp", "v", "e")
    p.call("add", "s e", "loss")
    report = judge(p.trace("loss", w=2.0, v=None), DEFAULTS)
    assert (report.reached, report.unreached) == (1, {"v": "cut"})
    assert "w has a gradient, but no path" in report.notes[0]
    assert "v has no gradient, but a path" in report.notes[1]


def test_a_rule_in_force_that_cancels_a_fractional_part_is_a_warning():
    p = Program("w")
    p.call("floor", "w", "f", rule="floor:identity")
    p.call("sub", "w f", "loss")
    assert found(p.trace("loss", w=0.0)) == [("zero", "floor", 1, "warning")]


def test_a_rule_in_force_that_cancels_nothing_is_not_named():
    p = Program("w")
    p.call("floor", "w", "f", rule="floor:identity")
    p.call("exp", "w", "e")
    p.call("sub", "e f", "loss")
    assert found(p.trace("loss", w=1.0)) == []


# -- not finite, explosive ---------------------------------------------------------------------------


def test_the_first_nan_of_the_forward_pass_and_not_what_it_spoils():
    p = Program("w")
    p.call("sqrt", "w", "r", span=span(0, 1, nan=2))
    p.call("mul", "r r", "loss", span=span(0, 1, nan=2))
    assert found(p.trace("loss"), "nonfinite") == [("nonfinite", "sqrt", 1, "error")]


def test_an_infinity_that_was_asked_for_is_no_finding():
    p = Program("w")
    p.call("masked_fill", "w", "m", span=span(0, 1, inf=2))
    p.call("softmax", "m", "loss", span=span(0, 1))
    assert found(p.trace("loss"), "nonfinite") == []


def test_an_infinite_derivative_and_the_double_where_trap():
    p = Program("w")
    p.call("sqrt", "w", "r", span=span(0, 1), g_out=span(1, 1), g_in=[span(0, 1, inf=1)])
    p.call("sqrt", "w", "t", span=span(0, 1), g_out=span(0, 1, zero=3), g_in=[span(0, 1, nan=1)])
    p.call("where", "c t w", "u")
    p.call("add", "r u", "loss")
    report = judge(p.trace("loss"), DEFAULTS, Options(frozenset({"nonfinite"})))
    assert [(f.where.line, "double where" in f.suggestion) for f in report.findings] == [(1, True), (2, True)]
    assert ["must be masked before" in f.detail for f in report.findings] == [False, True]


@pytest.mark.parametrize(
    ("op", "gain", "told"), [("div", 1e7, True), ("div", 1e5, False), ("mm", 1e7, False)]
)
def test_one_op_that_multiplies_the_gradient(op, gain, told):
    p = Program("w")
    p.call(op, "w", "loss", g_out=span(0, 1), g_in=[span(0, gain)])
    assert found(p.trace("loss"), "exploding") == ([("exploding", "div", 1, "warning")] if told else [])


# -- patterns ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("inner", ["softmax", "sigmoid"])
def test_the_log_of_a_probability(inner):
    p = Program("w")
    p.call(inner, "w", "p")
    p.call("log", "p", "loss")
    assert found(p.trace("loss"), "unstable") == [("unstable", "log", 2, "warning")]


def test_the_log_of_a_sum_of_exponentials_but_not_with_the_maximum_subtracted():
    p = Program("w")
    p.call("exp", "w", "e")
    p.call("sum", "e", "s")
    p.call("log", "s", "loss")
    assert found(p.trace("loss"), "unstable") == [
        ("unstable", "exp", 1, "warning"),
        ("unstable", "log", 3, "warning"),
    ]
    q = Program("w")
    q.call("amax", "w", "m")
    q.call("sub", "w m", "d")
    q.call("exp", "d", "e")
    q.call("sum", "e", "s")
    q.call("log", "s", "loss")
    assert found(q.trace("loss"), "unstable") == []


@pytest.mark.parametrize(("middle", "what"), [("sum", "softmax"), ("add", "sigmoid")])
def test_a_softmax_or_sigmoid_by_hand(middle, what):
    p = Program("w")
    p.call("exp", "w", "e")
    p.call(middle, "e", "s", consts=[1.0])
    p.call("div", "e s", "loss")
    (f,) = judge(p.trace("loss"), DEFAULTS, Options(frozenset({"unstable"}))).findings
    assert (f.op, f.where.line) == ("exp", 1)
    assert f.suggestion.startswith(f"the framework's {what}, or ")


def test_the_log_of_a_probability_that_is_written_by_hand():
    p = Program("w")
    p.call("sigmoid", "w", "b")
    p.call("exp", "b", "e")
    p.call("sum", "e", "s")
    p.call("view", "s", "v")
    p.call("div", "e v", "q")
    p.call("slice", "q", "one")
    p.call("log", "one", "loss")
    (f,) = judge(p.trace("loss"), DEFAULTS, Options(frozenset({"unstable"}))).findings
    assert (f.op, f.where.line, f.suggestion) == ("log", 7, "log_softmax")


@pytest.mark.parametrize(
    ("less", "told"), [("rsub", True), ("sub", True), ("add", False)], ids=["1 - p", "p less 1", "1 + p"]
)
def test_the_log_of_one_less_a_probability(less, told):
    p = Program("w")
    p.call("sigmoid", "w", "p")
    p.call(less, "p", "q", consts=[1.0])
    p.call("log", "q", "loss")
    assert found(p.trace("loss"), "unstable") == ([("unstable", "log", 3, "warning")] if told else [])


def test_the_log_of_a_constant_one_less_a_probability_but_not_of_two():
    for one, told in ((1.0, True), (2.0, False)):
        p = Program("w", constants={"c": span(one, one)})
        p.call("softmax", "w", "p")
        p.call("sub", "c p", "q")
        p.call("log", "q", "loss")
        assert bool(found(p.trace("loss"), "unstable")) == told
    p = Program("w")
    p.call("sigmoid", "w", "p")
    p.call("neg", "p", "n")
    p.call("log1p", "n", "loss")
    assert found(p.trace("loss"), "unstable") == [("unstable", "log1p", 3, "warning")]


@pytest.mark.parametrize(("left", "severity"), [(1e-6, "warning"), (0.5, "info")])
def test_a_variance_as_a_difference_of_squares(left, severity):
    p = Program("w")
    p.call("mul", "w w", "s")
    p.call("mean", "s", "a", span=span(0, 1))
    p.call("mean", "w", "m")
    p.call("square", "m", "b")
    p.call("sub", "a b", "loss", span=span(0, left))
    assert found(p.trace("loss"), "unstable") == [("unstable", "sub", 5, severity)]


def test_a_root_with_an_epsilon_and_a_log_of_what_is_far_from_zero_pass():
    p = Program("w", constants={"eps": span(1e-5, 1e-5)})
    p.call("var", "w", "v", span=span(0, 1))
    p.call("add", "v eps", "a", span=span(1e-5, 1))
    p.call("sqrt", "a", "r")
    p.call("square", "w", "s", span=span(1e-3, 1))
    p.call("log", "s", "l")
    p.call("add", "r l", "loss")
    assert found(p.trace("loss"), "unstable") == []


def test_a_log_of_what_comes_down_to_zero():
    p = Program("w")
    p.call("square", "w", "s", span=span(1e-15, 1))
    p.call("log", "s", "loss")
    assert found(p.trace("loss"), "unstable") == [("unstable", "log", 2, "warning")]


def test_what_has_failed_need_not_be_said_to_be_able_to_fail():
    p = Program("w")
    p.call("softmax", "w", "p", span=span(0, 1))
    p.call("log", "p", "loss", span=span(-1, 0, inf=1))
    assert {kind for kind, *_ in found(p.trace("loss"))} == {"nonfinite"}


# -- precision ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "number", "told"),
    [
        ("bfloat16", 1 - 1e-6, True),
        ("float16", 1e-8, True),
        ("bfloat16", 1e-8, False),
        ("float32", 1e-8, False),
        ("float16", 0.5, False),
        ("float16", 1.0, False),
        ("float16", 1e5, True),
        ("float16", math.inf, False),
    ],
)
def test_a_constant_that_the_dtype_cannot_hold(dtype, number, told):
    p = Program("w")
    p.call("add", "w", "loss", dtype=dtype, consts=[number])
    assert found(p.trace("loss"), "precision") == ([("precision", "add", 1, "warning")] if told else [])


def test_the_probe_of_a_half_precision_needs_no_second_run():
    p = Program("w")
    p.call("mul", "w", "a", span=span(0, 1e5), g_out=span(0, 1))
    p.call("add", "a", "b", span=span(0, 1), consts=[1e-8], g_out=span(0, 1e-9))
    p.call("sum", "b", "loss", span=span(0, 1), g_out=span(1, 1))
    trace = p.trace("loss")
    assert found(trace, "precision") == []
    kinds = found(trace, "precision", probes=("float16",))
    assert kinds == [("precision", "mul", 1, "warning"), ("precision", "add", 2, "warning")]
    assert found(trace, "precision", probes=("bfloat16",)) == []


# -- activations and depth ---------------------------------------------------------------------------


def test_a_dead_activation_is_an_error_if_it_starves_a_source_and_info_if_not():
    p = Program("w")
    p.call("relu", "w", "loss", passed=0.0)
    assert found(p.trace("loss", w=0.0)) == [("dead", "relu", 1, "error")]
    assert found(p.trace("loss", w=1.0)) == [("dead", "relu", 1, "info")]


@pytest.mark.parametrize(("silent", "told"), [(0.5, True), (0.4, False)])
def test_units_that_are_silent_for_a_whole_batch(silent, told):
    p = Program("w")
    p.call("relu", "w", "loss", passed=0.4, unit_dead=silent)
    assert found(p.trace("loss", w=1.0)) == ([("dead", "relu", 1, "warning")] if told else [])


@pytest.mark.parametrize(("steep", "told"), [(0.9, True), (0.5, False)])
def test_a_saturated_activation(steep, told):
    p = Program("w")
    p.call("tanh", "w", "loss", steep=steep)
    assert found(p.trace("loss", w=1.0)) == ([("saturated", "tanh", 1, "warning")] if told else [])


@pytest.mark.parametrize(
    ("factor", "kind"), [(1e-3, "vanishing"), (1e3, "exploding"), (0.5, None), (0.0, None)]
)
def test_along_the_depth(factor, kind):
    p = Program("w")
    x = "w"
    for n in range(8):
        size = factor ** (7 - n)
        p.call("mm", x, f"h{n}", g_out=span(0, size))
        x = f"h{n}"
    p.call("sum", x, "loss")
    assert [f[0] for f in found(p.trace("loss", w=1.0))] == ([kind] if kind else [])


def turns(p, x, op, sizes):
    for n, size in enumerate(sizes):
        p.call(op, x, f"t{n}", g_out=span(0, size), line=5)
        x = f"t{n}"
    return x


@pytest.mark.parametrize(("gain", "kind"), [(10.0, "exploding"), (0.1, "vanishing"), (0.5, None)])
def test_along_a_loop_without_a_layer(gain, kind):
    p = Program("w")
    p.call("sum", turns(p, "w", "mul", [gain ** (12 - n) for n in range(12)]), "loss")
    assert [f[0] for f in found(p.trace("loss", w=gain**12))] == ([kind] if kind else [])


def test_a_line_that_runs_often_but_not_on_its_own_result_is_no_loop():
    p = Program("w")
    for n in range(12):
        p.call("mul", "w", f"t{n}", g_out=span(0, 10.0 ** (12 - n)), line=5)
    p.call("cat", " ".join(f"t{n}" for n in range(12)), "loss")
    assert found(p.trace("loss", w=1.0)) == []


def test_a_loop_around_layers_is_judged_by_its_layers():
    p = Program("w")
    x = "w"
    for n in range(12):
        p.call("mm", x, f"m{n}", g_out=span(0, 1.0))
        p.call("mul", f"m{n}", f"t{n}", g_out=span(0, 10.0 ** (12 - n)), line=5)
        x = f"t{n}"
    p.call("sum", x, "loss")
    assert found(p.trace("loss", w=1.0)) == []


def test_an_average_that_forgets_is_no_vanishing_gradient_of_what_it_is_an_average_of():
    p = Program("w")
    p.call("sum", turns(p, "w", "mul", [0.1 ** (12 - n) for n in range(12)]), "old")
    p.call("add", "old w", "loss")
    assert found(p.trace("loss", w=1.0)) == []


def tower(p, x, name, sizes):
    for n, size in enumerate(sizes):
        p.call("mm", x, f"{name}{n}", g_out=span(0, size))
        x = f"{name}{n}"
    return x


def test_towers_that_meet_in_the_loss_only_are_not_compared():
    p = Program("w", "v")
    p.call("add", f"{tower(p, 'w', 'loud', [1e8] * 6)} {tower(p, 'v', 'quiet', [1.0] * 6)}", "loss")
    assert found(p.trace("loss", w=1.0, v=1.0)) == []


def test_a_quiet_head_behind_a_loud_one_is_no_exploding_gradient():
    p = Program("w")
    trunk = tower(p, "w", "trunk", [1e7] * 3)
    p.call("add", f"{tower(p, trunk, 'loud', [1e7] * 6)} {tower(p, trunk, 'quiet', [1.0] * 6)}", "loss")
    assert found(p.trace("loss", w=1.0)) == []


def test_of_two_towers_the_one_that_vanishes_is_told():
    p = Program("w", "v")
    p.call("add", f"{tower(p, 'w', 'a', [1e-9, 1e-6, 1e-3, 1])} {tower(p, 'v', 'b', [1.0] * 4)}", "loss")
    assert [f[0] for f in found(p.trace("loss", w=1.0, v=1.0))] == ["vanishing"]


# -- the report --------------------------------------------------------------------------------------


def test_findings_of_one_line_are_one_and_counted():
    p = Program("w", "v")
    for name in ("w", "v"):
        p.call("round", name, f"h{name}", zero_in=frozenset({0}), line=7)
    p.call("add", "hw hv", "loss")
    (f,) = judge(p.trace("loss"), DEFAULTS).findings
    assert (f.count, f.reaches, f.where.line) == (2, ("v", "w"), 7)
    assert f.detail.endswith("no gradient reaches v, w")
