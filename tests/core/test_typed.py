"""What people type: taken where it can mean one thing only, else the message says what to write."""

import re
import sys
import types

import numpy as np
import pytest

import surrogate
from surrogate._environment import read_assignments

HARDTANH = "sign:hardtanh(width=2.0)"


@pytest.mark.parametrize(
    ("op", "spec", "means"),
    [
        ("round", "ste", "round:identity"),
        ("round", "STE", "round:identity"),
        ("floor", "straight_through", "floor:identity"),
        ("floor", "straight-through", "floor:identity"),
        ("clip", "ste", "clip:identity"),
        ("argmax", "ste", "argmax:identity"),
        ("sign", "linear", "sign:identity"),
        ("sign", "pass", "sign:identity"),
        ("mod", "straight_through", "mod:straight_through"),
        ("%", "identity", "mod:identity"),
        ("//", "identity", "floor_divide:identity"),
        (">", "arctan", "greater:arctan(alpha=2.0)"),
        ("<=", "arctan", "less_equal:arctan(alpha=2.0)"),
        ("!=", "zero", "not_equal:zero"),
        ("argmax", "softmax", "argmax:softmax(temperature=1.0)"),
        ("sign", HARDTANH, HARDTANH),
        ("sign", f"Gradient('{HARDTANH}')", HARDTANH),
        ("sign", "larq:ste_sign", "sign:hardtanh(width=1.0)"),
        ("sign", "sign:larq:ste_sign", "sign:hardtanh(width=1.0)"),
        ("sign", f"hardtanh(width={np.float64(2)!r})", HARDTANH),
        ("sign", "hardtanh(width=np.float32(2.0))", HARDTANH),
        ("sign", "hardtanh(width=numpy.int64(2))", HARDTANH),
    ],
)
def test_what_can_mean_one_gradient_only_is_taken(op, spec, means):
    assert surrogate.gradient(op, spec).id == means


@pytest.mark.parametrize(
    "text",
    [HARDTANH, " sign : hardtanh(width=2) ", f"Gradient('{HARDTANH}')", f'surrogate.Gradient("{HARDTANH}")'],
)
def test_op_and_gradient_in_one_text(text):
    assert surrogate.gradient(text) is surrogate.gradient("sign", "hardtanh(width=2)")


def test_parameters_beside_one_text():
    assert surrogate.gradient("sign:hardtanh", width=np.float32(2)).id == HARDTANH


def test_what_a_gradient_shows_is_python():
    gradient = surrogate.gradient("sign", "hardtanh(width=2)")
    assert eval(repr(gradient), {"Gradient": surrogate.Gradient}) is gradient
    assert surrogate.gradient(gradient) is gradient


MESSAGES = {
    ("sign", "ste"): "did you mean 'identity' or 'hardtanh'? 'identity' is 1 everywhere, 'hardtanh' is 1 on",
    ("greater", "STE"): "did you mean 'identity' or 'hardtanh'?",
    ("mod", "ste"): "did you mean 'identity' or 'straight_through'? 'identity' is 1 for the first input",
    ("heaviside", "ATan"): "did you mean 'arctan'?",
    ("hardtanh", "identity"): "unknown op 'hardtanh': did you mean 'clip'?",
    ("aten::sign", "hardtanh"): "unknown op 'aten::sign': did you mean 'sign'?",
    ("leaky_relu", "identity"): "For relu with the derivative of leaky_relu write {'relu': 'leaky'}.",
    ("where", "identity"): "give 'compare' a rule, as in {'compare': 'arctan'}",
    ("torch.where", "identity"): "give 'compare' a rule",
    ("gt", "arctan"): "did you mean 'greater'?",
    ("round", HARDTANH): f"'{HARDTANH}' is a gradient for 'sign', not for 'round'.",
    ("sign", "hardtanh(width=np.array([1.0]))"): "the value of 'width' is not a literal",
    ("hardtanh", None): "write 'sign:hardtanh'",
    ("sign", None): "give a string like 'sign:identity' or 'sign:hardtanh'",
    (3, None): "unknown op 3",
}


@pytest.mark.parametrize(("op", "spec"), MESSAGES, ids=str)
def test_what_can_mean_several_things_says_what_to_write(op, spec):
    with pytest.raises(surrogate.SurrogateError, match=re.escape(MESSAGES[op, spec])):
        surrogate.gradient(op, spec)


# -- rules ---------------------------------------------------------------------------------------


def test_rules_by_name(toy):
    o = surrogate.override(toy, {"round": "ste"}, sign="hardtanh(width=2)", trace=True)
    assert {op: g.id for op, g in o.rules.items()} == {"round": "round:identity", "sign": HARDTANH}
    with surrogate.use(toy, sign="pass") as handle:
        toy.hit("sign")
    assert handle.rules["sign"].id == "sign:identity"


def test_rules_written_with_operators():
    from core_toy import Toy

    rules = surrogate.override(Toy(ops=("mod", "greater", "less")), {"%": "identity", "<": "arctan"}).rules
    assert {op: g.id for op, g in rules.items()} == {"mod": "mod:identity", "less": "less:arctan(alpha=2.0)"}


RULES = [
    (({"hardtanh": "sign"},), {}, "'hardtanh' is a gradient and 'sign' an op: write {'sign': 'hardtanh'}."),
    (({"mod": "identity", "%": "exact"},), {}, "'mod' is given twice: once as '%'."),
    (({"sign": "zero"},), {"sign": "identity"}, "'sign' is given twice: in the rules and by name."),
    ((), {"withn": "mypkg"}, "unknown op or option 'withn': did you mean 'within'?"),
    ((), {"sgin": "hardtanh"}, "unknown op or option 'sgin': did you mean 'sign'?"),
    (("sign:hardtanh",), {}, "as in {'sign': 'hardtanh'}, not 'sign:hardtanh'"),
    (("sign=tanh(slope=2)",), {}, "as in {'sign': 'tanh(slope=2)'}, not"),
    ((["sign"],), {}, "as in {'sign': 'hardtanh'}, not ['sign']"),
]


@pytest.mark.parametrize(("rules", "named", "message"), RULES, ids=[message[:24] for *_, message in RULES])
def test_rules_that_cannot_be_meant_so(toy, rules, named, message):
    with pytest.raises(surrogate.SurrogateError, match=re.escape(message)):
        surrogate.override(toy, *rules, **named)


def test_a_gradient_alone_is_shown_as_a_rule(toy):
    with pytest.raises(surrogate.SpecError, match=re.escape("{'sign': 'hardtanh(width=2.0)'}")):
        surrogate.override(toy, surrogate.gradient(HARDTANH))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("sign = ste", {"sign": "ste"}),
        ("%=identity", {"%": "identity"}),
        (">=arctan", {">": "arctan"}),
        (">==arctan", {">=": "arctan"}),
        ("!==zero", {"!=": "zero"}),
        (f"sign={HARDTANH}", {"sign": HARDTANH}),
        ("sign=hardtanh(width=2)", {"sign": "hardtanh(width=2)"}),
    ],
)
def test_rules_on_the_command_line_have_the_same_names(text, read):
    assert read_assignments([text]) == read


# -- backends ------------------------------------------------------------------------------------


def module(name, **attributes):
    made = types.ModuleType(name)
    for key, value in attributes.items():
        setattr(made, key, value)
    return made


@pytest.mark.parametrize("name", ["toy", "toy.numpy"])
def test_a_frameworks_module_is_its_backend(toy, name, monkeypatch):
    monkeypatch.setitem(surrogate._plugins._loaded, "toy", toy)
    assert surrogate.load_backend(module(name)) is toy


def test_the_module_of_something_else_is_refused():
    with pytest.raises(surrogate.UnknownBackendError, match="unknown backend 'numpy'"):
        surrogate.use(np, {"sign": "hardtanh"})


@pytest.mark.parametrize("asked", ["keras", module("keras.layers")])
def test_keras_is_the_backend_that_it_uses(toy, monkeypatch, asked):
    config = types.SimpleNamespace(backend=lambda: "torch")
    monkeypatch.setitem(sys.modules, "keras", module("keras", config=config))
    monkeypatch.setitem(surrogate._plugins._loaded, "torch", toy)
    assert surrogate.load_backend(asked) is toy


def test_a_backend_of_keras_without_gradients_says_what_to_set(monkeypatch):
    config = types.SimpleNamespace(backend=lambda: "openvino")
    monkeypatch.setitem(sys.modules, "keras", module("keras", config=config))
    with pytest.raises(
        surrogate.UnknownBackendError, match="set KERAS_BACKEND to one of jax, tensorflow, torch"
    ):
        surrogate.load_backend("keras")


def test_keras_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras", None)
    with pytest.raises(
        surrogate.MissingFrameworkError, match="'keras' is not installed: name the backend itself"
    ):
        surrogate.load_backend("keras")
