"""An override that met nothing says so, every time; one whose ops run unseen in compiled code does not."""

import warnings

import pytest
import torch

import surrogate


def gradient(function):
    x = torch.tensor([-2.0, 0.5], requires_grad=True)
    return torch.autograd.grad(function(x).sum(), x)[0].tolist()


def test_what_ran_eagerly_before_is_no_excuse():
    rules = {"sign": "hardtanh(width=0.7185)"}  # of which no other test has made compiled code
    with surrogate.override("torch", rules):
        assert gradient(torch.sign) == [0.0, 1.0]
    for _ in range(2):
        with pytest.warns(surrogate.NothingCapturedWarning), surrogate.override("torch", rules):
            pass  # the forward is outside


@pytest.mark.usefixtures("fresh_compiler")
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")
@pytest.mark.parametrize(
    ("op", "spec", "function", "expected"),
    [
        ("sign", "identity", torch.sign, [2.0, 2.0]),
        ("clip", "leaky(leak=0.25)", lambda x: x.clamp(-1, 1), [0.5, 2.0]),
    ],
)
def test_what_was_compiled_before_is_one(op, spec, function, expected):
    compiled = torch.compile(lambda x: function(x) * 2, backend="aot_eager", fullgraph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", surrogate.NothingCapturedWarning)
        for _ in range(3):
            with surrogate.override("torch", {op: spec}):
                assert gradient(compiled) == expected
