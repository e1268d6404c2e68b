"""The twelve promises: each has checks, each check belongs to one, and the page says so."""

import runpy
from pathlib import Path

import pytest

from surrogate.testing._conformance import PROMISES
from surrogate.testing._promises import TWELVE, promises_of

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def generator():
    return runpy.run_path(str(DOCS / "generate_promises.py"))


def test_they_are_numbered_from_1_to_12():
    assert [promise.number for promise in TWELVE] == list(range(1, 13))


@pytest.mark.parametrize("check", PROMISES)
def test_a_check_of_the_kit_tests_a_promise(check):
    assert promises_of(check) or check == "scope"


@pytest.mark.parametrize("promise", TWELVE, ids=lambda promise: str(promise.number))
def test_a_promise_has_a_check(promise, generator):
    assert generator["functions"](promise, generator["everything"]())


def test_a_check_is_found_by_its_own_id():
    assert [promise.number for promise in promises_of("scope", "decided-forward")] == [2, 5]


def test_the_page_is_current(generator):
    assert (DOCS / "promises.md").read_text() == generator["page"](), "run docs/generate_promises.py"
