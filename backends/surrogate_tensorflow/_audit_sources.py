"""What a TensorFlow program is differentiated by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from types import FunctionType, MethodType
from typing import Any, NamedTuple

import tensorflow as tf

from surrogate.auditing import Wanted

Tensor = Any


class Source(NamedTuple):
    """A variable or tensor, with its name in the report."""

    name: str
    tensor: Any

    @property
    def is_variable(self) -> bool:
        """Whether it is a variable."""
        return isinstance(self.tensor, tf.Variable)

    @property
    def key(self) -> Tensor:
        """The tensor by which ops know it: of a variable its handle."""
        return self.tensor.handle if self.is_variable else self.tensor


def float_arguments(args: Iterable[Any]) -> list[Tensor]:
    """The float tensors among arguments."""
    return [x for x in args if tf.is_tensor(x) and not isinstance(x, tf.Variable) and x.dtype.is_floating]


def named_variables(variables: Iterable[Any]) -> list[Source]:
    """Variables under their names; a number tells those of one name apart."""
    plain = [unwrapped(v) for v in variables]
    names = [_name(v) for v in plain]
    often, used, found = Counter(names), Counter[str](), []
    for name, variable in zip(names, plain, strict=True):
        used[name] += 1
        found.append(Source(f"{name}#{used[name]}" if often[name] > 1 else name, variable))
    return found


def unwrapped(variable: Any) -> Any:
    """The ``tf.Variable`` of a variable of Keras."""
    return variable if isinstance(variable, tf.Variable) else getattr(variable, "value", variable)


def _name(variable: Any) -> str:
    """Keras gives its variables a path (``dense/kernel``), TensorFlow a name with an output number."""
    path = getattr(variable, "_keras_path", None)
    return str(path or variable.name.partition(":")[0])


def wanted(wrt: Any, known: Sequence[Source]) -> list[Source]:
    """The sources that ``wrt`` says: variables, tensors, names of either, or a mapping of names to them.

    Raises:
        SpecError: a name that no source has.
    """
    picked = Wanted(wrt).picked({source.name: source.tensor for source in known}, unwrapped)
    return [Source(name, tensor) for name, tensor in picked.items()]


def models_in_sight(fn: Any) -> Iterator[Any]:
    """The models and modules that a program is, or closes over."""
    if hasattr(fn, "trainable_variables"):
        yield fn
        return
    function = getattr(fn, "python_function", fn)  # of a tf.function
    if isinstance(function, MethodType):
        yield from models_in_sight(function.__self__)
        function = function.__func__
    if isinstance(function, FunctionType):
        for cell in function.__closure__ or ():
            with suppress(ValueError):  # not assigned yet
                if hasattr(cell.cell_contents, "trainable_variables"):
                    yield cell.cell_contents


def trainable(models: Iterable[Any]) -> list[Any]:
    """Their trainable variables, each once."""
    plain = [unwrapped(v) for model in models for v in model.trainable_variables]
    return list({id(v): v for v in plain}.values())
