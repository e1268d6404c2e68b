"""Five patterns that subtract the rounded value, in every framework: slopes, and what the override says."""

import importlib
from types import SimpleNamespace

import numpy as np
import pytest

import surrogate

RULES = {"round": "identity", "floor": "identity"}
AT = 0.3


def minimum_image(f, x):
    return x - 2.0 * f.round(x / 2.0)


def fraction(f, x):
    return x - f.floor(x)


def soft_round(f, x):
    r = f.round(x)
    return r + (x - r) ** 3


def hand_written(f, x):
    return f.round(x) + (x - f.stop_gradient(x))


def bilinear(f, x):
    low = f.floor(x)
    w = x - low
    return (1.0 - w) * 2.0 + w * 5.0


#: The slope natively, the slope under straight-through rules, and what the override says.
PATTERNS = {
    minimum_image: (1.0, 0.0, "round: identity cancels"),
    fraction: (1.0, 0.0, "floor: identity cancels"),
    soft_round: (3 * AT**2, 1.0, "round: identity cancels"),
    hand_written: (1.0, 2.0, "round: identity counts double"),
    bilinear: (3.0, 0.0, "floor: identity cancels"),
}


def torch_modes():
    torch = importlib.import_module("torch")
    f = SimpleNamespace(round=torch.round, floor=torch.floor, stop_gradient=lambda x: x.detach())

    def slope(function):
        x = torch.tensor(AT, dtype=torch.float64, requires_grad=True)
        return torch.autograd.grad(function(x), x)[0].item()

    compiled = importlib.import_module("torch").compile
    return f, {
        "eager": slope,
        "compiled": lambda function: slope(compiled(function, backend="aot_eager", fullgraph=True)),
    }


def tensorflow_modes():
    tf = importlib.import_module("tensorflow")
    f = SimpleNamespace(round=tf.round, floor=tf.floor, stop_gradient=tf.stop_gradient)

    def slope(function):
        x = tf.constant(AT, tf.float64)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return float(tape.gradient(y, x, unconnected_gradients="zero"))

    return f, {"eager": slope, "compiled": lambda function: slope(tf.function(function))}


def jax_modes():
    jax = importlib.import_module("jax")
    f = SimpleNamespace(round=jax.numpy.round, floor=jax.numpy.floor, stop_gradient=jax.lax.stop_gradient)

    def slope(function):
        with jax.enable_x64(True):
            return float(jax.grad(function)(AT))

    return f, {"eager": slope, "compiled": lambda function: slope(jax.jit(function))}


def autograd_modes():
    autograd = importlib.import_module("autograd")
    f = SimpleNamespace(
        round=autograd.numpy.round, floor=autograd.numpy.floor, stop_gradient=lambda x: x._value
    )
    return f, {"eager": lambda function: float(autograd.grad(function)(AT))}


MAKE = {
    "torch": torch_modes,
    "tensorflow": tensorflow_modes,
    "jax": jax_modes,
    "autograd": autograd_modes,
}


@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")  # the code is outside
@pytest.mark.parametrize("backend", MAKE)
def test_slopes_and_what_is_said(backend):
    f, modes = MAKE[backend]()
    for function, (native, under, said) in PATTERNS.items():
        for mode, slope in modes.items():
            with surrogate.override(backend, RULES, trace=True) as block:
                found = slope(lambda x, function=function: function(f, x))
            np.testing.assert_allclose(found, under, atol=1e-12, err_msg=f"{function.__name__} {mode}")
            name = function.__name__
            line = f"{said} at {__file__}:"
            assert any(text.startswith(line) for text in block.captures.beside), (name, mode, str(block))
            assert line in str(block)
            with surrogate.override(backend, RULES, outside=__name__, trace=True):
                found = slope(lambda x, function=function: function(f, x))
            np.testing.assert_allclose(found, native, atol=1e-12, err_msg=f"{name} {mode} outside")


@pytest.mark.parametrize("backend", MAKE)
def test_the_defaults_say_in_a_line_where_they_caught(backend):
    f, modes = MAKE[backend]()
    with surrogate.use(backend) as handle:
        modes["eager"](lambda x: fraction(f, x))
        text = str(handle)
    assert "floor 1 (test_patterns.py:" in text
    assert "\n" not in text


def audited(backend, function):
    f, _ = MAKE[backend]()
    x = AT
    if backend == "torch":
        torch = importlib.import_module("torch")
        x = torch.tensor(AT, requires_grad=True)
    if backend == "tensorflow":
        x = importlib.import_module("tensorflow").constant(AT)
    if backend == "autograd":
        f.stop_gradient = importlib.import_module("autograd.tracer").getval
    with surrogate.override(backend, RULES):
        return surrogate.audit(backend, lambda x: function(f, x), x)


def stopped_as_a_whole(f, x):
    """The other way to write one: nothing of the rule is left."""
    return x + f.stop_gradient(f.round(x) - x)


def a_copy_of_something_else(f, x):
    return f.round(x) + (2.0 - f.stop_gradient(x)) * x


@pytest.mark.parametrize("backend", MAKE)
def test_the_audit_says_what_counts_double(backend):
    report = audited(backend, hand_written)
    line = hand_written.__code__.co_firstlineno + 1
    (note,) = [note for note in report.notes if "double" in note]
    assert note.startswith(f"round: identity counts double at test_patterns.py:{line}, ")
    assert note in str(report)
    for sound in (stopped_as_a_whole, a_copy_of_something_else, minimum_image):
        assert not any("double" in note for note in audited(backend, sound).notes), sound.__name__


@pytest.mark.parametrize("backend", MAKE)
def test_the_audit_says_what_cancels(backend):
    report = audited(backend, minimum_image)
    (finding,) = [one for one in report.findings if "cancels" in one.detail]
    assert finding.op == "round"
    assert finding.detail.startswith("identity cancels at test_patterns.py:")
