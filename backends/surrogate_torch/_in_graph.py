"""``with surrogate.override(...)`` inside a compiled function, also a full graph.

The compiler is given a variable of its own for an override, as it has for ``torch.no_grad``: entering and
leaving are calls in the graph that act while the graph is traced, by Dynamo first and by AOTAutograd again.
The ops between them carry their gradient then, and nothing is left of the calls in compiled code.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch.fx.node
from torch._dynamo.guards import GuardBuilder, install_guard
from torch._dynamo.source import AttrSource
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.builder import VariableBuilder
from torch._dynamo.variables.ctx_manager import ContextWrappingVariable
from torch._dynamo.variables.tensor import TensorVariable
from torch._dynamo.variables.user_defined import UserDefinedObjectVariable
from torch._guards import TracingContext

import surrogate
from surrogate_torch import _learned

_numbers = itertools.count()
_insides: dict[int, surrogate.Inside] = {}


class _Thread(threading.local):
    """What was entered while tracing in this thread, and what was in force around it."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, Any]] = []
        self.around: surrogate.State | None = None


_thread = _Thread()


def around() -> surrogate.State | None:
    """What is in force around the blocks of the graph that is being traced; None outside of them."""
    return _thread.around


def enter(number: int) -> None:
    """Enter an override; a call in the graph."""
    inside = _insides[number]
    if not _thread.entries and TracingContext.try_get() is not None:
        _thread.around = inside.store.state()
    _thread.entries.append((number, inside.begin()))


def leave(number: int) -> None:
    """Leave it; a call in the graph."""
    at = max(i for i, (entered, _) in enumerate(_thread.entries) if entered == number)
    _, entry = _thread.entries.pop(at)
    _insides[number].end(entry)
    if not _thread.entries:
        _thread.around = None


def again(number: int) -> Any:
    """The block again, after a break in the graph."""
    return _insides[number]()


def _number(inside: surrogate.Inside) -> int:
    number = next(_numbers)
    _insides[number] = inside
    return number


class OverrideVariable(ContextWrappingVariable):
    """The compiler's stand-in for an override as a context manager."""

    def __init__(self, number: int, **options: Any) -> None:
        super().__init__(target_values=(number,), initial_values=(), **options)

    def enter(self, tx: Any) -> Any:
        _call(tx, enter, self.target_values)
        self.set_cleanup_hook(tx, lambda: _call(tx, leave, self.target_values))
        return self

    def module_name(self) -> str:
        return __name__

    def fn_name(self) -> str:
        return "again"


class _Given(UserDefinedObjectVariable):
    """The compiler's stand-in for a gradient or variable: it may also be given to what makes an override."""

    def as_python_constant(self) -> Any:
        return self.value


class _Maker(VariableTracker):
    """The compiler's stand-in for what makes an override."""

    def __init__(self, make: Callable[..., int], **options: Any) -> None:
        super().__init__(**options)
        self.make = make

    def call_function(self, tx: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        found = [arg.as_python_constant() for arg in args]
        named = {name: value.as_python_constant() for name, value in kwargs.items()}
        return OverrideVariable(self.make(*found, **named))


class _GradientMaker(VariableTracker):
    """The compiler's stand-in for :func:`surrogate.gradient`: tensors of the graph are learned parameters."""

    def call_function(self, tx: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        tensors: list[tuple[torch.Tensor, Any]] = []

        def constant(arg: Any) -> Any:
            if not isinstance(arg, TensorVariable):
                return arg.as_python_constant()
            tensors.append((_learned.stand_in(arg.as_proxy().node.meta["example_value"]), arg))
            return tensors[-1][0]

        named = {name: constant(value) for name, value in kwargs.items()}
        made = surrogate.gradient(*[arg.as_python_constant() for arg in args], **named)
        _learned.of_graph(tx, made.rule, tensors)
        return _Given(made)


def _call(tx: Any, function: Callable[[int], None], values: tuple[int]) -> None:
    tx.output.create_node("call_function", function, values, {})
    function(*values)


def _made(*args: Any, **kwargs: Any) -> int:
    return _number(surrogate.override(*args, **kwargs).inside)


def _override(builder: Any, value: surrogate.ScopedOverride) -> OverrideVariable:
    _guard(builder, "inside", "identity")
    return OverrideVariable(_number(value.inside))


def _inside(builder: Any, value: surrogate.Inside) -> _Maker:
    _guard(builder, "identity")
    return _Maker(lambda: _number(value))


def _gradient(builder: Any, value: Any) -> _Given:
    _guard(builder, "digest")
    return _Given(value, source=builder.source)


def _variable(builder: Any, value: surrogate.Variable) -> _Given:
    _guard(builder, "handle")
    return _Given(value, source=builder.source)


def _guard(builder: Any, *path: str) -> None:
    """What is traced depends on which override it is, and not on which object."""
    source = builder.get_source()
    for name in path:
        source = AttrSource(source, name)
    install_guard(source.make_guard(GuardBuilder.EQUALS_MATCH))


def install(backend: type) -> None:
    """Tell the compiler; importing this module loads it."""
    for function in (enter, leave):
        torch.fx.node.has_side_effect(function)
    types = VariableBuilder._type_dispatch()
    types[surrogate.ScopedOverride] = _override
    types[surrogate.Inside] = _inside
    for kind in (surrogate.Gradient, surrogate.NativeGradient, surrogate.FunctionGradient):
        types[kind] = _gradient
    types[surrogate.Variable] = _variable
    types[backend] = lambda builder, value: _Given(value, source=builder.source)  # there is one
    ids = VariableBuilder._id_dispatch()
    ids[id(surrogate.gradient)] = lambda self, value: _GradientMaker()
    ids[id(surrogate.override)] = lambda self, value: _Maker(_made)
    ids[id(again)] = lambda self, value: _Maker(lambda number: number)
