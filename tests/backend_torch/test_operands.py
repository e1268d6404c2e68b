"""Operands that convert, in every spelling of a signature: native's value bit for bit, or native's error."""

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings, strategies as st

import surrogate

X = np.array([-2.0, -0.3, 0.4, 3.0], np.float32)
Y = np.array([1.0, 0.5, 2.0, -1.5], np.float32)


class Subclass(torch.Tensor):
    pass


#: Function, its arguments in order, the op that it is.
FUNCTIONS = {
    "clamp": (torch.clamp, ("input", "min", "max"), "clip"),
    "clip": (torch.clip, ("input", "min", "max"), "clip"),
    "clamp_min": (torch.clamp_min, ("input", "min"), "clip"),
    "clamp_max": (torch.clamp_max, ("input", "max"), "clip"),
    "hardtanh": (torch.nn.functional.hardtanh, ("input", "min_val", "max_val"), "clip"),
    "Tensor.clamp": (
        lambda x, *args, **named: x.clamp(*args, **named),
        ("x", "min", "max"),
        "clip",
    ),
    "heaviside": (torch.heaviside, ("input", "values"), "heaviside"),
    "remainder": (torch.remainder, ("input", "other"), "mod"),
    "fmod": (torch.fmod, ("input", "other"), "fmod"),
    "floor_divide": (torch.floor_divide, ("input", "other"), "floor_divide"),
    "maximum": (torch.maximum, ("input", "other"), "maximum"),
    "minimum": (torch.minimum, ("input", "other"), "minimum"),
    "round": (torch.round, ("input",), "round"),
    "sign": (torch.sign, ("input",), "sign"),
    "relu": (torch.relu, ("input",), "relu"),
}
KINDS = {
    "tensor": torch.tensor,
    "wants a gradient": lambda x: torch.tensor(x, requires_grad=True),
    "parameter": lambda x: torch.nn.Parameter(torch.tensor(x)),
    "subclass": lambda x: torch.tensor(x).as_subclass(Subclass),
    "double": lambda x: torch.tensor(x, dtype=torch.float64),
    "whole numbers": lambda x: torch.tensor([1, 2, -1, 3]),
    "scalar tensor": lambda x: torch.tensor(x[0]),
    "numpy": np.asarray,
    "numpy scalar": lambda x: x[0],
    "float": lambda x: float(x[0]),
    "int": lambda x: 2,
    "bool": lambda x: True,
    "list": lambda x: x.tolist(),
    "none": lambda x: None,
}
FIRST = ("tensor", "wants a gradient", "parameter", "subclass", "double", "numpy")
RULES = {
    **dict.fromkeys(("sign", "round", "relu"), lambda xp, x: 2.0),
    **dict.fromkeys(("mod", "fmod", "floor_divide", "maximum", "minimum"), lambda xp, x, y: (2.0, 3.0)),
    "heaviside": lambda xp, x, values: (2.0, 3.0),
    "clip": lambda xp, x, lo, hi: (2.0, 3.0, 5.0),
}


@st.composite
def calls(draw):
    function, parameters, op = FUNCTIONS[draw(st.sampled_from(sorted(FUNCTIONS)))]
    kinds = [draw(st.sampled_from(FIRST)), *(draw(st.sampled_from(sorted(KINDS))) for _ in parameters[1:])]
    by_name = draw(st.integers(0, len(parameters) - 1))
    named = draw(st.permutations(parameters[len(parameters) - by_name :]))
    return function, parameters, op, kinds, list(named)


def operands(parameters, kinds):
    return {
        name: KINDS[kind](X if at == 0 else Y)
        for at, (name, kind) in enumerate(zip(parameters, kinds, strict=True))
    }


def outcome(call):
    """What a call gives: value, dtype and type, or the class of the error."""
    try:
        y = call()
    except Exception as error:
        return type(error)
    return y.detach().numpy().tobytes(), y.dtype, y.shape, type(y)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(calls())
def test_the_value_is_native_or_the_error_is(call):
    function, parameters, op, kinds, named = call
    values = operands(parameters, kinds)

    def run():
        positional = [value for name, value in values.items() if name not in named]
        return function(*positional, **{name: values[name] for name in named})

    native = outcome(run)
    with surrogate.override("torch", {op: RULES[op]}):
        assert outcome(run) == native


SWAPPED = {
    "clamp": ("clip", lambda x, y: torch.clamp(max=3 + y, input=x, min=y), (2.0, 3.0 + 5.0)),
    "clamp without min": ("clip", lambda x, y: torch.clamp(x, max=y), (2.0, 5.0)),
    "clamp, None": ("clip", lambda x, y: torch.clamp(x, None, y), (2.0, 5.0)),
    "clamp without max": ("clip", lambda x, y: x.clamp(min=y), (2.0, 3.0)),
    "heaviside": ("heaviside", lambda x, y: torch.heaviside(values=y, input=x), (2.0, 3.0)),
    "remainder": ("mod", lambda x, y: torch.remainder(other=y, input=x), (2.0, 3.0)),
    "fmod": ("fmod", lambda x, y: torch.fmod(other=y, input=x), (2.0, 3.0)),
    "a parameter": ("fmod", lambda x, y: torch.fmod(torch.nn.Parameter(torch.ones(4)), y), (0.0, 3.0)),
}


@pytest.mark.parametrize("spelling", SWAPPED)
def test_each_operand_gets_its_own_derivative(spelling):
    op, function, slopes = SWAPPED[spelling]
    x, y = (torch.tensor(v, requires_grad=True) for v in (X, Y))
    with surrogate.override("torch", {op: RULES[op]}):
        function(x, y).sum().backward()
    for got, slope in zip((x.grad, y.grad), slopes, strict=True):
        np.testing.assert_array_equal(np.zeros(4) if got is None else got, np.full(4, slope))
