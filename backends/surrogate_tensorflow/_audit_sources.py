"""What a TensorFlow program is differentiated by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from surrogate import SpecError

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
    """The sources that ``wrt`` says: variables, tensors, or names of either.

    Raises:
        SpecError: a name that no source has.
    """
    found = []
    for n, one in enumerate(wrt if isinstance(wrt, (list, tuple, set)) else [wrt]):
        if isinstance(one, str):
            matching = [source for source in known if source.name == one]
            if not matching:
                names = ", ".join(source.name for source in known)
                raise SpecError(f"the program reads no variable or argument {one!r}; it reads {names}.")
            found += matching
        else:
            tensor = unwrapped(one)
            named = next((source for source in known if source.tensor is tensor), None)
            found.append(
                named or Source(_name(tensor) if isinstance(tensor, tf.Variable) else f"wrt{n}", tensor)
            )
    return found
