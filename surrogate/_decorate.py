"""A function that runs inside an override: plain, coroutine or generator."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from typing import Any, TypeVar, cast

from surrogate._active import Store
from surrogate._ending import Block
from surrogate._errors import SpecError
from surrogate._state import Entry, Layer

F = TypeVar("F", bound=Callable[..., Any])


class Inside:
    """Makes blocks that run inside an override: ``with inside(): ...``.

    Attributes:
        store: the overrides of its backend.
        layer: what it asks for.
    """

    def __init__(self, store: Store, layer: Layer) -> None:
        self.store = store
        self.layer = layer
        self._state: object = None  # held, so that it is not made anew for each block

    def __call__(self) -> Block:
        entry = Entry(self.layer)
        return Block(lambda: self._push(entry), lambda: self.store.pop(entry))

    @property
    def identity(self) -> str:
        """Text that is the same for overrides that ask for the same: what a compiler guards."""
        return self.layer.identity

    def begin(self) -> Entry:
        """Enter it, where there is no block; for :meth:`end`."""
        entry = Entry(self.layer)
        self._push(entry)
        return entry

    def _push(self, entry: Entry) -> None:
        self.store.push(self.layer, entry)
        self._state = self.store.state()

    def end(self, entry: Entry) -> None:
        """Leave it."""
        self.store.pop(entry)


def decorate(store: Store, layer: Layer, function: F) -> F:
    """``function`` with every call of it inside ``layer``."""
    if not callable(function):
        raise SpecError(f"override(...) decorates a function, not {function!r}.")
    if inspect.isclass(function):
        raise SpecError(
            f"override(...) decorates a function, not the class {function.__qualname__}: only making an "
            "instance would run inside. Decorate its methods."
        )
    if inspect.isasyncgenfunction(function):
        raise _asynchronous(function)

    inside = Inside(store, layer)

    if inspect.iscoroutinefunction(function):

        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            with inside():
                return await function(*args, **kwargs)

        wrapper: Callable[..., Any] = coroutine
    elif inspect.isgeneratorfunction(function):

        def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            return (yield from _step(function(*args, **kwargs), inside))

        wrapper = generator
    else:

        def plain(*args: Any, **kwargs: Any) -> Any:
            with inside():
                result = function(*args, **kwargs)
            return _later(result, inside)

        wrapper = plain
    return cast(F, functools.wraps(function)(wrapper))


def _asynchronous(what: object) -> SpecError:
    return SpecError(
        f"{what!r} is an asynchronous generator, which is resumed from many places: "
        "write 'with surrogate.override(...)' around the computation inside it."
    )


def _later(result: Any, inside: Callable[[], Any]) -> Any:
    """What a plain function returned; if that is a body which has not run yet, it will run inside."""
    if inspect.iscoroutine(result):
        return _await(result, inside)
    if inspect.isgenerator(result) and inspect.getgeneratorstate(result) == inspect.GEN_CREATED:
        return _step(result, inside)
    if inspect.isasyncgen(result):
        raise _asynchronous(result)
    return result


async def _await(coroutine: Any, inside: Callable[[], Any]) -> Any:
    # no closure of _later: TensorFlow's autograph, which reads that function, cannot read this one
    with inside():
        return await coroutine


def _step(generator: Generator[Any, Any, Any], inside: Callable[[], Any]) -> Generator[Any, Any, Any]:
    """Run a generator with each of its steps inside, and each suspension outside."""
    resume: Callable[[], Any] = functools.partial(next, generator)
    while True:
        try:
            with inside():
                item = resume()
        except StopIteration as stop:
            return stop.value
        try:
            sent = yield item
        except GeneratorExit:
            with inside():
                generator.close()
            raise
        except BaseException as error:
            resume = functools.partial(generator.throw, error)
        else:
            resume = functools.partial(generator.send, sent)
