"""The audit on programs whose author had not read its rules, and on the kinds of faults that they showed."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest
from jax_unseen import CLEAN, PLANTED
from unseen import ReturningCases, has_no_finding, names_the_planted_line_and_no_other

import surrogate


@pytest.mark.filterwarnings("ignore")  # frameworks warn of some of these faults
@pytest.mark.parametrize("build", PLANTED, ids=lambda build: build.__name__)
def test_the_planted_line_is_named_and_no_other(build):
    names_the_planted_line_and_no_other("jax", build)


@pytest.mark.parametrize("build", CLEAN, ids=lambda build: build.__name__)
def test_a_sound_program_has_no_finding(build):
    has_no_finding("jax", build)


class TestKinds(ReturningCases):
    backend = "jax"
    F = SimpleNamespace(
        array=jnp.array,
        exp=jnp.exp,
        log=jnp.log,
        log1p=jnp.log1p,
        tanh=jnp.tanh,
        sigmoid=jax.nn.sigmoid,
        mean=jnp.mean,
        top=lambda w: w.max(-1, keepdims=True),
        total=lambda e: e.sum(-1, keepdims=True),
    )


def test_an_array_that_the_program_is_not_given_is_refused():
    with pytest.raises(surrogate.SpecError, match="these are none"):
        surrogate.audit("jax", jnp.sum, jnp.ones(3), wrt=[jnp.zeros(3)])
