"""Catching a function's calls by exchanging its code, and leaving it as it was."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import pytest

import surrogate
from surrogate._exchange import exchange
from surrogate._target import target


def plain(a: Any, b: int = 2, /, c: int = 3, *rest: Any, d: int = 4, **more: Any) -> Any:
    return a, b, c, rest, d, more


class Layer:
    def __call__(self, x: Any) -> Any:
        return x

    @staticmethod
    def free(x: Any) -> Any:
        return x

    @classmethod
    def of_class(cls, x: Any) -> Any:
        return x

    @property
    def weight(self) -> int:
        return 7


def pairs(function: Any, *args: Any, **kwargs: Any) -> Any:
    """What the function's catcher sees of one call."""
    found = exchange(target(function))
    seen: list[Any] = []

    def catch(_: Any, call: Any, args: Any, kwargs: Any) -> Any:
        seen.append((args, kwargs))
        return call(*args, **kwargs)

    found.hold("toy", catch)
    try:
        result = function(*args, **kwargs)
    finally:
        found.release("toy")
    return seen, result


def test_every_kind_of_parameter_arrives_and_defaults_hold() -> None:
    seen, result = pairs(plain, 1, 5, 6, 7, d=8, e=9)
    assert seen == [((1, 5, 6, 7), {"d": 8, "e": 9})]
    assert result == (1, 5, 6, (7,), 8, {"e": 9})
    assert pairs(plain, 1) == ([((1, 2, 3), {"d": 4})], (1, 2, 3, (), 4, {}))


def test_signature_and_errors_stay_the_functions_own() -> None:
    before, code = inspect.signature(plain), plain.__code__
    found = exchange(target(plain))
    found.hold("toy", lambda _, call, args, kwargs: call(*args, **kwargs))
    try:
        assert plain.__code__ is not code
        assert inspect.signature(plain) == before
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
            plain()
    finally:
        found.release("toy")
    assert plain.__code__ is code


@pytest.mark.parametrize("of", [Layer(), Layer().__call__, Layer.free, Layer.of_class], ids=repr)
def test_methods_of_objects_made_before(of: Any) -> None:
    function = Layer.__call__ if isinstance(of, Layer) else of
    found = exchange(target(function))
    found.hold("toy", lambda *_: "caught")
    try:
        assert of(1) == "caught"
    finally:
        found.release("toy")
    assert of(1) == 1


def test_a_closure_keeps_its_cells() -> None:
    def make(k: int) -> Any:
        def inner(x: int) -> int:
            return x * k

        return inner

    one, two = make(2), make(3)
    assert target(one).path != target(two).path
    assert pairs(one, 5) == ([((5,), {})], 10)
    assert two(5) == 15


def test_two_holders_and_any_order() -> None:
    code = plain.__code__
    found = exchange(target(plain))
    found.hold("a", lambda _, call, args, kwargs: ("a", call(*args, **kwargs)))
    found.hold("a", lambda _, call, args, kwargs: ("a", call(*args, **kwargs)))
    found.hold("b", lambda _, call, args, kwargs: ("b", call(*args, **kwargs)))
    assert plain(1)[0] == "b"
    assert plain(1)[1][0] == "a"
    found.release("a")
    found.release("b")
    assert plain(1)[0] == "a"
    found.release("a")
    assert plain.__code__ is code


def test_code_that_somebody_else_gave_it_meanwhile_stays() -> None:
    def victim(x: Any) -> Any:
        return x

    def other(x: Any) -> Any:
        return "other"

    found = exchange(target(victim))
    found.hold("toy", lambda *_: "caught")
    victim.__code__ = other.__code__
    found.release("toy")
    assert victim(1) == "other"


def test_a_wrapper_put_around_it_meanwhile_calls_the_function_itself() -> None:
    def victim(x: Any) -> Any:
        return x

    found = exchange(target(victim))
    found.hold("toy", lambda *_: "caught")

    @functools.wraps(victim)
    def wrapper(x: Any) -> Any:
        return victim(x)

    assert wrapper(1) == "caught"
    found.release("toy")
    assert wrapper(1) == 1


@functools.lru_cache
def cached(x: Any) -> Any:
    return x


def numbers() -> Any:
    yield 1


async def later() -> Any:
    return 1


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (len, "not written in Python"),
        ("math.sin", "not written in Python"),
        (functools.partial(plain, 1), "functools.partial"),
        (lambda x: x, "a lambda"),
        (Layer, "name a method"),
        (cached, "lru_cache"),
        (numbers, "generator"),
        (later, "coroutine"),
        (surrogate.ops, "part of surrogate"),
    ],
    ids=str,
)
def test_what_cannot_be_exchanged_is_refused_with_a_reason(key: Any, reason: str) -> None:
    with pytest.raises(surrogate.UnsupportedOpError, match=reason):
        target(key)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no_such_package.f", "there is no module 'no_such_package'"),
        ("functools.reduse", "functools has no 'reduse': did you mean 'reduce'?"),
        ("json.decoder.JSONDecoder.decod", "did you mean 'decode'"),
    ],
)
def test_an_unknown_path_says_how_far_it_could_be_followed(path: str, message: str) -> None:
    with pytest.raises(surrogate.UnknownOpError, match=message.replace("?", r"\?")):
        target(path)


def test_a_path_gives_the_method() -> None:
    import json

    found = target("json.decoder.JSONDecoder.decode")
    assert found.function is json.JSONDecoder.decode
    assert found.method
    assert found.path == "json.decoder.JSONDecoder.decode"


def test_a_property_is_its_function() -> None:
    assert target(vars(Layer)["weight"]).function is vars(Layer)["weight"].fget
