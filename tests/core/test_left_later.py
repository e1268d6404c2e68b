"""What runs after the decorated function returned, and what happens when leaving fails."""

import asyncio
import functools

import numpy as np
import pytest

import surrogate

SIGN = {"sign": "identity"}


@pytest.fixture
def scope(toy):
    return surrogate.override(toy, SIGN)


def test_a_class_is_refused(scope):
    class Model:
        pass

    with pytest.raises(surrogate.SpecError, match="Decorate its methods"):
        scope(Model)


def test_a_coroutine_from_a_plain_function_runs_inside(toy, scope):
    async def body():
        await asyncio.sleep(0)
        return toy.here

    @scope
    @functools.lru_cache  # any decorator that hides what kind of function it is
    def start():
        return body()

    assert asyncio.run(start()) == SIGN
    assert toy.here == {}


def test_a_generator_from_a_plain_function_runs_inside(toy, scope):
    def body():
        yield toy.here
        return toy.here

    generator = scope(lambda: body())()
    assert toy.here == {}
    assert next(generator) == SIGN
    assert toy.here == {}
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == SIGN


def test_a_generator_that_somebody_else_began_is_returned_as_it_is(scope):
    began = (item for item in "ab")
    next(began)
    assert scope(lambda: began)() is began


def test_an_asynchronous_generator_from_a_plain_function_is_refused(toy, scope):
    async def body():
        yield toy.here

    with pytest.raises(surrogate.SpecError, match="asynchronous generator"):
        scope(lambda: body())()


@pytest.fixture
def stuck(toy, monkeypatch):
    """Makes the backend fail once when told that nothing is left."""

    def fail_once():
        def apply(rules, scope):
            monkeypatch.undo()
            raise RuntimeError("cannot restore")

        monkeypatch.setattr(toy.store, "_apply", apply)

    return fail_once


@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")
def test_an_undo_that_failed_can_be_tried_again(toy, stuck):
    handle = surrogate.use(toy, SIGN)
    stuck()
    with pytest.raises(RuntimeError, match="cannot restore"):
        handle.undo()
    assert toy.here == SIGN
    handle.undo()
    assert toy.here == {}


@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")
def test_a_block_whose_end_failed_can_be_left_again(toy, scope, stuck):
    scope.__enter__()
    stuck()
    with pytest.raises(RuntimeError, match="cannot restore"):
        scope.__exit__(None, None, None)
    assert toy.here == SIGN
    scope.__exit__(None, None, None)
    assert toy.here == {}


@pytest.mark.parametrize("spec", [np.array([1.0, 2.0]), np.array("native"), [], {}, None, 1.0], ids=repr)
def test_a_spec_of_another_type_is_refused(toy, spec):
    with pytest.raises(surrogate.SpecError, match="is no gradient for 'sign'"):
        surrogate.override(toy, {"sign": spec})
    assert toy.here == {}
