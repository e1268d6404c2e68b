"""The audit of JAX programs: every way to lose a gradient with its line, sound idioms, and no trace left."""

import contextlib
import inspect
import re

import jax
import jax.numpy as jnp
import jax_audit
import numpy as np
import pytest
from jax import lax
from jax_audit import FAULTY, SOUND
from jax_audit_later import CLEAN, PLANTED

import surrogate

W = np.linspace(-1.45, 2.0, 12, dtype=np.float32)


def marks(program):
    """Line -> kind and ops of the comments ``#! kind:op|op``."""
    lines, first = inspect.getsourcelines(program)
    found = (re.search(r"#! (\w+):([\w|]+)", line) for line in lines)
    return {first + n: mark.groups() for n, mark in enumerate(found) if mark}


def named(report, level="warning"):
    return {f.where.line: (f.kind, f.op) for f in report.findings if f.at_least(level)}


@pytest.mark.parametrize("program", FAULTY, ids=lambda p: p.__name__)
def test_fault_is_named_with_its_line(program):
    report = surrogate.audit("jax", program, W)
    wanted, got = marks(program), named(report)
    assert got.keys() == wanted.keys(), str(report)
    for line, (kind, ops) in wanted.items():
        assert got[line][0] == kind, str(report)
        assert got[line][1] in ops.split("|"), str(report)
    assert all(f.where.file == jax_audit.__file__ for f in report.findings)


@pytest.mark.parametrize("program", SOUND, ids=lambda p: p.__name__)
def test_sound_idiom_is_not_accused(program):
    report = surrogate.audit("jax", program, W)
    assert not named(report), str(report)
    assert report.reached == 1


@pytest.mark.parametrize("program", PLANTED + CLEAN, ids=lambda p: p.__name__)
def test_program_that_was_not_tuned_on(program):
    loss, args = program()
    report = surrogate.audit("jax", loss, *args)
    wanted, got = marks(program), named(report)
    assert got.keys() == wanted.keys(), str(report)
    for line, (kinds, ops) in wanted.items():
        assert got[line][0] == kinds, str(report)
        assert got[line][1] in ops.split("|"), str(report)


def test_line_of_a_jitted_helper_is_in_the_helper():
    report = surrogate.audit("jax", jax_audit.jitted_helper, W)
    assert named(report) == dict.fromkeys(marks(jax_audit._helper), ("zero", "trunc"))


def test_a_helper_called_twice_is_named_where_it_was_called_with_the_other_source():
    """JAX keeps one jaxpr for both calls: what is asked of an op is asked for each call."""

    @jax.jit
    def helper(x, y):
        return x + jnp.sign(y)

    def loss(p):
        return jnp.sum(helper(p["a"], jnp.ones(3)) + helper(jnp.ones(3), p["b"]))

    report = surrogate.audit("jax", loss, {"a": W[:3], "b": W[3:6]})
    assert report.unreached == {"b": "cut"}


def test_second_audit_says_the_same():
    one, two = (surrogate.audit("jax", jax_audit.in_switch_in_scan, W) for _ in range(2))
    assert one.to_json() == two.to_json()


def test_numbers_are_those_of_the_program():
    def loss(w):
        return jnp.sum(w**3)

    trace = surrogate.load_backend("jax").record(loss, (W,))
    size = trace.grads["arg0"]
    assert size.gradient == pytest.approx(np.linalg.norm(3 * W**2), rel=1e-6)
    assert size.value == pytest.approx(np.linalg.norm(W), rel=1e-6)
    (cube,) = (call for call in trace.calls if call.name == "pow")
    span = trace.values[cube.outs[0]].span
    assert (span.lo, span.hi, span.size) == (pytest.approx((W**3).min()), pytest.approx((W**3).max()), 12)
    assert cube.g_out.lo == cube.g_out.hi == 1.0
    assert cube.g_in[0].hi == pytest.approx((3 * W**2).max())


def test_iterations_of_a_scan_have_their_own_numbers():
    def loss(w):
        return jax.lax.scan(lambda h, x: (h * 2.0, None), w[0], None, length=5)[0]

    trace = surrogate.load_backend("jax").record(loss, (W,))
    doubled = [call for call in trace.calls if call.name == "mul"]
    assert [trace.values[call.outs[0]].span.lo / W[0] for call in doubled] == [2.0, 4.0, 8.0, 16.0, 32.0]
    assert [call.g_out.lo for call in doubled] == [16.0, 8.0, 4.0, 2.0, 1.0]


def test_not_taken_branch_is_not_judged():
    def loss(w):
        return jnp.sum(jax.lax.cond(w[0] > 1e6, jnp.sign, lambda x: x, w))

    assert surrogate.audit("jax", loss, W).ok()


def test_leaves_that_are_no_floats_stay_as_they_are():
    def loss(p, n):
        assert type(n) is int
        assert p["act"] is jnp.tanh
        return jnp.sum(p["act"](p["w"])) * n

    report = surrogate.audit("jax", loss, {"w": W, "act": jnp.tanh, "layers": 3}, 2)
    assert (report.reached, report.sources) == (1, 1)


def test_argument_numbers_as_in_grad():
    def loss(a, b):
        return jnp.sum(a) + jnp.sum(jnp.sign(b))

    report = surrogate.audit("jax", loss, W, W, argnums=(0, 1))
    assert report.unreached == {"arg1": "cut"}


def test_an_output_of_several_numbers_is_projected():
    """The sum of a softmax has no gradient; the audit is not to accuse it."""
    report = surrogate.audit("jax", jax.nn.softmax, W)
    assert report.ok()
    assert report.gradients["arg0"] > 1e-3


def test_error_of_the_program_propagates():
    def loss(w):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        surrogate.audit("jax", loss, W)


def test_under_disable_jit():
    with jax.disable_jit():
        report = surrogate.audit("jax", jax_audit.heaviside, W)
        assert jax.config.jax_disable_jit
    assert report.findings[0].op == "heaviside"


def test_suggestion_mends_it():
    report = surrogate.audit("jax", jax_audit.in_scan, W)
    assert report.suggest() == {"round": "identity"}
    assert report.verify().ok()


@pytest.mark.parametrize(
    ("program", "op"),
    [
        (lambda w: jnp.sum(jnp.where(w > 0.1, 5.0, 3.0)), "greater"),
        (lambda w: jnp.sum(jnp.where(lax.lt(w, 0.3), 1.0, 3.0)), "less"),
        (lambda w: jnp.arange(12.0)[jnp.argmax(w)] ** 2, "argmax"),
        (lambda w: jnp.sum(w.astype(jnp.int32).astype(jnp.float32) ** 2), "astype"),
    ],
    ids=["greater", "less", "argmax", "astype"],
)
def test_a_discrete_op_of_the_catalogue_is_suggested_and_was_tried(program, op):
    report = surrogate.audit("jax", program, W)
    assert report.suggest().keys() == {op}
    assert report.notes == ()
    after = report.verify()
    assert after.unreached == {}
    with surrogate.override("jax", report.suggest()):
        gradient = jax.grad(program)(W)
    assert after.gradients["arg0"] == pytest.approx(float(jnp.linalg.norm(gradient)), rel=1e-6)


def test_a_captured_op_is_one_op_at_the_users_line():
    with surrogate.override("jax", {"round": "identity"}):
        trace = surrogate.load_backend("jax").record(jax_audit.round_decimals, (W,))
    (call,) = (call for call in trace.calls if call.rule)
    assert (call.name, call.rule) == ("round", "round:identity")
    assert call.place.line in marks(jax_audit.round_decimals)
    assert not call.zero_in


# -- a script under watch ----------------------------------------------------------------------------


class Stop(BaseException):
    pass


def watch(script, step=1, go_on=True):
    """The trace of the ``step``-th gradient that a script asks for, and what the script returned."""
    traces, result = [], None

    def caught(trace):
        traces.append(trace)
        if not go_on:
            raise Stop

    with surrogate.load_backend("jax").intercept(caught, step=step):
        with contextlib.suppress(Stop):
            result = script()
    return traces, result


def training():
    from jax import value_and_grad  # a script imports it after the watch began

    def loss(p, x):
        h = jnp.floor(x * p["w"])
        return jnp.sum((h + p["b"]) ** 2), h

    @jax.jit
    def step(p, x):
        (value, _), g = value_and_grad(loss, has_aux=True)(p, x)
        return jax.tree.map(lambda a, b: a - 0.1 * b, p, g), value

    p = {"w": jnp.asarray(W), "b": jnp.zeros(12)}
    return [step(p, jnp.ones(12) * (n + 1))[1] for n in range(3)]


@pytest.mark.parametrize("step", [1, 2])
def test_a_jitted_step_of_a_script(step):
    grad, wanted = jax.grad, training()
    (trace,), result = watch(training, step)
    assert {call.name for call in trace.calls if call.zero_in} == {"floor"}
    assert trace.grads["w"].zero
    assert trace.grads["b"].gradient > 0
    np.testing.assert_allclose(result, wanted, rtol=1e-6)
    assert jax.grad is grad
    assert not jax.config.jax_disable_jit


def test_a_script_is_stopped_and_leaves_nothing():
    grad = jax.grad
    (trace,), result = watch(training, go_on=False)
    assert result is None
    assert trace.sources
    assert jax.grad is grad
    assert not jax.config.jax_disable_jit


def test_gradients_inside_a_loss_do_not_count():
    def script():
        def loss(w):
            return jnp.sum(jax.grad(lambda x: jnp.sum(jnp.sin(x) * w))(jnp.ones(12)))

        return jax.grad(loss)(W)

    traces, result = watch(script)
    assert len(traces) == 1
    assert len(traces[0].sources) == 1
    np.testing.assert_allclose(result, np.full(12, np.cos(1.0)), rtol=1e-6)
