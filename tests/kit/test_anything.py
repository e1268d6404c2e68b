"""The kit's check of native formulas and of functions finds what is wrong with one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surrogate.testing import BrokenPromiseError, check_rule

pytest.importorskip("autograd")
anp = pytest.importorskip("autograd.numpy")

X, G = np.array([0.3, 1.7]), np.array([1.0, 2.0])


def quant(x: Any) -> Any:
    return anp.floor(x * 4) / 4


def check(spec: Any, right: Any, f: Any = quant) -> None:
    check_rule("autograd", {quant: spec}, f, [X], g=G, cotangents=[right])


def test_a_right_rule_passes() -> None:
    check("identity", G)
    check("scaled(factor=3)", 3 * G)
    check(lambda call, g: g * call.inputs["x"], G * X)


def test_a_wrong_cotangent_is_shown_with_its_numbers() -> None:
    with pytest.raises(BrokenPromiseError, match="the cotangent of input 0 is wrong") as error:
        check(lambda call, g: g + 1, G)
    assert error.value.wrong == 2


@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")
def test_a_rule_that_is_never_met_is_found() -> None:
    with pytest.raises(BrokenPromiseError, match="no capture was counted"):
        check("identity", None, f=lambda x: x * 1.0)
