"""The audit on programs whose author had not read its rules, and on the kinds of faults that they showed."""

from types import SimpleNamespace

import autograd.numpy as anp
import numpy as np
import pytest
from autograd_unseen import CLEAN, PLANTED
from unseen import ReturningCases, has_no_finding, names_the_planted_line_and_no_other


@pytest.mark.filterwarnings("ignore")  # frameworks warn of some of these faults
@pytest.mark.parametrize("build", PLANTED, ids=lambda build: build.__name__)
def test_the_planted_line_is_named_and_no_other(build):
    names_the_planted_line_and_no_other("autograd", build)


@pytest.mark.parametrize("build", CLEAN, ids=lambda build: build.__name__)
def test_a_sound_program_has_no_finding(build):
    has_no_finding("autograd", build)


class TestKinds(ReturningCases):
    backend = "autograd"
    F = SimpleNamespace(
        array=np.array,
        exp=anp.exp,
        log=anp.log,
        log1p=anp.log1p,
        tanh=anp.tanh,
        sigmoid=lambda w: 1.0 / (1.0 + anp.exp(-w)),
        mean=anp.mean,
        top=lambda w: anp.max(w, axis=-1, keepdims=True),
        total=lambda e: anp.sum(e, axis=-1, keepdims=True),
    )
