"""What is suggested for a name that is not known."""

import numpy as np
import pytest

import surrogate
from surrogate._suggest import unknown

BACKENDS = ["autograd", "jax", "tensorflow", "torch"]


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("Sign", "sign"),
        ("sgn", "sign"),
        ("np.sign", "sign"),
        ("torch.clamp", "clip"),
        (np.sign, "sign"),
        ("remainder", "mod"),
        ("step", "heaviside"),
        ("fix", "trunc"),
    ],
)
def test_an_op_by_another_name(asked, meant):
    with pytest.raises(
        surrogate.UnknownOpError, match=f"unknown op .*: did you mean '{meant}'\\? Known ops:"
    ):
        surrogate.op(asked)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("Torch", "torch"),
        ("pytorch", "torch"),
        ("tf", "tensorflow"),
        ("keras", "tensorflow"),
        ("tf.keras", "tensorflow"),
        ("jax.numpy", "jax"),
    ],
)
def test_a_backend_by_another_name(asked, meant):
    assert f": did you mean '{meant}'?" in unknown("backend", asked, BACKENDS)


def test_a_name_like_no_other_gets_the_list_alone():
    assert unknown("backend", "numpy", BACKENDS) == (
        "unknown backend 'numpy'. Known backends: autograd, jax, tensorflow, torch."
    )


def test_only_what_is_known_is_suggested():
    assert unknown("backend", "tf", ["torch"]) == "unknown backend 'tf'. Known backends: torch."


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("sgin", "sign"), ("aten::sgn", "sign"), ("gt", "greater"), ("hardtanh", "clip")],
)
def test_what_an_op_is_called_elsewhere_is_understood(typed, meant):
    with pytest.raises(surrogate.UnknownOpError, match=rf"did you mean '{meant}'\?"):
        surrogate.gradient(typed, "identity")
