"""The audit of autograd programs: each way to lose a gradient, with its line; and sound idioms."""

import inspect
import random
import re

import autograd
import autograd.numpy as anp
import numpy as np
import pytest

import surrogate

R = np.random.RandomState(0)
W = R.randn(3, 4)


def marks(program):
    """Line -> kind and op of the comments ``#! kind:op``."""
    lines, first = inspect.getsourcelines(program)
    found = {}
    for number, line in enumerate(lines):
        mark = re.search(r"#! (\w+):(\w+)", line)
        if mark:
            found[first + number] = mark.groups()
    return found


def named(report, level="warning"):
    return {f.where.line: (f.kind, f.op) for f in report.findings if f.at_least(level)}


def sign(w):
    h = anp.sign(w)  #! zero:sign
    return anp.sum(h**2 * 0.5)


def rounded(w):
    h = anp.round(w * 3, 1)  #! zero:round
    return anp.sum(h**2)


def floored(w):
    return anp.sum(anp.floor(w) ** 2)  #! zero:floor


def ceiled(w):
    return anp.sum(anp.ceil(w) ** 2)  #! zero:ceil


def truncated(w):
    return anp.sum(anp.fix(w) ** 2)  #! zero:trunc


def divided(w):
    return anp.sum(anp.floor_divide(w, 0.5) ** 2)  #! zero:floor_divide


def compared(w):
    keep = w > 0.1  #! cut:gt
    return anp.sum(keep * 2.0)


def compared_later(w):
    keep = anp.sum(w) > 0.1  #! cut:gt
    return anp.where(keep, 2.0, 3.0)


def best(w):
    k = anp.argmax(w, axis=1)  #! cut:argmax
    return anp.sum(k * 1.0)


def ordered(w):
    order = anp.argsort(w[0])  #! cut:argsort
    table = np.array([1.0, 4.0, 9.0, 16.0])
    return anp.sum(table[order] * np.arange(4))


def counted(w):
    n = anp.count_nonzero(w > 0.1)  #! cut:gt
    return n * 1.0


def through_python(w):
    far = float(anp.sign(w[0, 0]))  #! zero:sign
    return far * 2.0


CUT = (
    *(sign, rounded, floored, ceiled, truncated, divided, compared),
    *(compared_later, best, ordered, counted, through_python),
)


@pytest.mark.parametrize("program", CUT, ids=lambda program: program.__name__)
def test_what_cuts_is_named_with_its_line(program):
    report = surrogate.audit("autograd", program, W)
    wanted = marks(program)
    assert {line: named(report).get(line) for line in wanted} == wanted
    assert report.unreached == {"arg0": "cut"}
    assert (report.reached, report.sources) == (0, 1)
    assert any(f.reaches == ("arg0",) and f.severity == "error" for f in report.findings)


@pytest.mark.parametrize(
    "program", [sign, rounded, floored, ceiled, truncated, divided], ids=lambda p: p.__name__
)
def test_what_is_suggested_was_tried_and_reaches(program):
    report = surrogate.audit("autograd", program, W)
    (op,) = {f.op for f in report.findings if f.rule}
    assert report.suggest() == {op: surrogate.defaults("autograd")[op].spec}
    assert [f.verified for f in report.findings if f.rule] == [("arg0",)]
    after = report.verify()
    assert after.unreached == {}
    assert after.ok()
    assert after.rules == report.suggest()
    with surrogate.override("autograd", report.suggest()):
        gradient = autograd.grad(program)(W)
    assert after.gradients["arg0"] == pytest.approx(np.linalg.norm(gradient), rel=1e-12)


def test_the_gradient_is_the_frameworks_own():
    def program(p, x):
        return anp.mean(anp.tanh(anp.dot(x, p["w"]) + p["b"]) ** 2)

    p, x = {"w": W, "b": np.zeros(4)}, R.randn(5, 3)
    report = surrogate.audit("autograd", program, p, x)
    wanted = autograd.grad(program)(p, x)
    assert report.gradients == {k: pytest.approx(np.linalg.norm(g), rel=1e-12) for k, g in wanted.items()}
    assert report.findings == ()
    assert (report.reached, report.sources) == (2, 2)


def fraction(w):
    return anp.sum((w - anp.floor(w)) ** 2)


def image(w):
    d = w[:, None] - w[None]
    return anp.sum((d - 2.0 * anp.round(d / 2.0)) ** 2)


def leaky(w):
    return anp.sum(anp.where(w > 0, w, 0.1 * w) ** 2)


def masked(w):
    mask = np.random.RandomState(1).rand(3, 4) > 0.5
    return anp.sum(w**2 * mask) / anp.maximum(np.sum(mask), 1)


def by_index(w):
    return anp.sum(w[anp.argmax(w[:, 0])] ** 2)


def in_python(w):
    if anp.sum(w) > 0:
        return anp.sum(w**2)
    return anp.sum(w**4)


def softmax(w):
    e = anp.exp(w - anp.max(w, axis=1, keepdims=True))
    return anp.sum((e / anp.sum(e, axis=1, keepdims=True)) ** 2)


def penalty(w):
    g = autograd.elementwise_grad(lambda x: anp.tanh(anp.dot(x, w)))(np.ones((2, 3)))
    return anp.sum((anp.sqrt(anp.sum(g**2, axis=1)) - 1) ** 2)


@pytest.mark.parametrize(
    "program",
    [fraction, image, leaky, masked, by_index, in_python, softmax, penalty],
    ids=lambda program: program.__name__,
)
def test_a_sound_idiom_is_not_named(program):
    report = surrogate.audit("autograd", program, W)
    assert named(report) == {}
    assert report.ok()
    assert report.unreached == {}
    assert report.gradients["arg0"] == pytest.approx(np.linalg.norm(autograd.grad(program)(W)), rel=1e-12)


def test_a_term_of_the_loss_without_a_gradient_is_a_warning():
    def program(w):
        best = anp.argmax(w, axis=1)  #! cut:argmax
        return anp.sum(w**2) + 0.5 * anp.sum(best * 1.0)

    report = surrogate.audit("autograd", program, W)
    assert named(report) == marks(program)
    assert [f.severity for f in report.findings] == ["warning"]
    assert report.unreached == {}


def test_a_value_that_comes_back_from_python_is_a_cut_and_one_that_is_printed_is_not():
    seen = []

    def program(w):
        h = anp.sign(w)
        seen.append(float(h[0, 0]))
        return anp.sum(w**2)

    assert surrogate.audit("autograd", program, W).ok()
    assert seen


def test_a_value_that_is_taken_out_of_its_box_is_a_cut_and_one_that_is_looked_at_is_not():
    def program(p):
        hidden = p["a"]._value * 2.0  #! cut:getval
        shape = autograd.tracer.getval(p["w"]).shape
        return anp.sum(p["w"] * hidden) / shape[0]

    report = surrogate.audit("autograd", program, {"w": W, "a": np.ones(4)})
    assert named(report) == marks(program)
    assert report.unreached == {"a": "cut"}


def test_a_value_that_travels_around_autograd_as_text_is_untracked():
    def program(p):
        hidden = float(str(p["a"]).split()[-1])
        return anp.sum(p["w"] * hidden)  #! cut:untracked

    report = surrogate.audit("autograd", program, {"w": W, "a": 3.0})
    assert named(report) == marks(program)
    assert report.unreached == {"a": "cut"}


def test_a_state_that_starts_as_zeros_is_no_factor_that_kills_the_gradient():
    def program(p):
        h = np.zeros(3)
        for x in (0.5, -1.0, 2.0):
            z = 0.5 * (anp.tanh(p["z"] * x) + 1.0)
            h = (1.0 - z) * h + z * anp.tanh(p["h"] * x)
        return anp.sum(h**2)

    params = {"z": np.ones(3), "h": np.linspace(-1.0, 1.0, 3)}
    assert not surrogate.audit("autograd", program, params, level="info").findings


def test_what_nothing_uses_is_unused():
    report = surrogate.audit("autograd", lambda p: anp.sum(p["w"] ** 2), {"w": W, "old": np.ones(2)})
    assert report.unreached == {"old": "unused"}
    assert "never enters the loss: old" in str(report)


def test_the_first_nan_is_named():
    def program(w):
        n = anp.sqrt(anp.sum((w - W) ** 2))  #! nonfinite:sqrt
        return n + anp.sum(w)

    with np.errstate(all="ignore"):
        report = surrogate.audit("autograd", program, W)
    assert named(report) == marks(program)


def test_the_double_where_trap_is_told_as_such():
    def program(w):
        root = anp.sqrt(w)  #! nonfinite:sqrt
        return anp.sum(anp.where(w > 0, root, w))

    with np.errstate(all="ignore"):
        report = surrogate.audit("autograd", program, np.array([0.0, 4.0]))
    assert named(report) == marks(program)
    assert "double where" in report.findings[0].suggestion


def test_a_missing_derivative_is_a_finding_and_not_an_error():
    @autograd.extend.primitive
    def mystery(x):
        return x * 2

    def program(p):
        y = mystery(p["a"])  #! cut:mystery
        return anp.sum(y) + anp.sum(p["b"])

    report = surrogate.audit("autograd", program, {"a": W, "b": W})
    assert named(report) == marks(program)
    assert "backward raises: VJP of mystery" in report.findings[0].detail


def test_an_error_of_the_program_propagates_with_what_was_found_before():
    def program(w):
        h = anp.sqrt(w - 100.0)
        return h @ anp.ones(7)

    with np.errstate(all="ignore"), pytest.raises(ValueError, match="matmul") as info:
        surrogate.audit("autograd", program, W)
    assert [(f.kind, f.op) for f in info.value.report.findings] == [("nonfinite", "sqrt")]


def test_the_audit_leaves_no_trace():
    def program(w):
        return anp.sum(w**2) * np.random.rand() * random.random()

    real = autograd.tracer.new_box
    before = np.random.get_state()[1].tolist(), random.getstate()
    first, second = (surrogate.audit("autograd", program, W) for _ in range(2))
    assert first == second
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before
    with pytest.raises(ZeroDivisionError):
        surrogate.audit("autograd", lambda w: 1 / 0, W)
    assert autograd.tracer.new_box is real
    assert autograd.tracer.trace_stack.top == -1
    assert {k.__name__ for k in autograd.tracer.notrace_primitives} <= {"VJPNode", "JVPNode"}


def test_an_override_that_cancels_a_sound_idiom_is_told():
    def program(w):
        return anp.sum((w - anp.floor(w)) ** 2)  #! zero:floor

    with surrogate.override("autograd", {"floor": "identity"}):
        report = surrogate.audit("autograd", program, W)
    assert named(report) == marks(program)
    assert "under floor:identity" in report.findings[0].detail
    assert report.gradients["arg0"] == 0.0


def test_a_rule_that_would_also_change_a_sound_use_says_where():
    def program(p):
        wrong = anp.floor(p["a"])
        sound = p["b"] - anp.floor(p["b"])
        return anp.sum(wrong * sound)

    report = surrogate.audit("autograd", program, {"a": W, "b": W})
    (finding,) = (f for f in report.findings if f.rule)
    line = inspect.getsourcelines(program)[1]
    assert [place.line for place in finding.also] == [line + 2]
    assert f"also changes a sound use at test_audit.py:{line + 2}" in str(report) or "sound use at" in str(
        report
    )


def test_a_loss_of_several_numbers_is_projected_and_not_summed():
    def program(w):
        e = anp.exp(w)
        return e / anp.sum(e)

    report = surrogate.audit("autograd", program, W)
    assert report.gradients["arg0"] > 1e-3


def test_sources_are_picked_by_argnums_and_by_wrt():
    def program(a, b):
        return anp.sum(a * anp.sign(b["x"]) + b["y"])

    b = {"x": W, "y": W.copy()}
    assert surrogate.audit("autograd", program, W, b, argnums=1).unreached == {"x": "cut"}
    assert surrogate.audit("autograd", program, W, b, argnums=(0, 1)).unreached == {"arg1.x": "cut"}
    assert surrogate.audit("autograd", program, W, b, wrt=[b["y"]]).unreached == {}
    with pytest.raises(surrogate.SpecError, match="argnums=2"):
        surrogate.audit("autograd", program, W, b, argnums=2)


def test_saturated_and_dead_activations():
    def saturated(w):
        return anp.sum(anp.tanh(w * 200.0))  #! saturated:tanh

    def dead(w):
        return anp.sum(anp.maximum(w - 10.0, 0.0) ** 2)  #! dead:clamp_min

    for program in (saturated, dead):
        assert named(surrogate.audit("autograd", program, np.ones((16, 3)))) == marks(program)


def test_vanishing_along_the_depth():
    def program(p, x):
        for w in p:
            x = 1 / (1 + anp.exp(-anp.dot(x, w)))
        return anp.sum(x)

    weights = [R.randn(4, 4) * 0.1 for _ in range(20)]
    report = surrogate.audit("autograd", program, weights, R.randn(3, 4), kinds=["vanishing"])
    assert [f.kind for f in report.findings] == ["vanishing"]
    assert len(report.layers) == 20
