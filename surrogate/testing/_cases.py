"""Which gradients are checked: every registered one, with its defaults and a second parameter set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from surrogate._errors import SurrogateError
from surrogate._gradient import Gradient
from surrogate._listing import gradients
from surrogate._parameters import Parameter
from surrogate._registry import registry

#: Values for parameters without a default, by name; any other gets 0.5, 1.5, ... in signature order.
EXAMPLES = {"lo": -1.5, "hi": 2.0, "slope": 4.0}


@dataclass(frozen=True)
class Case:
    """One gradient of one op.

    Attributes:
        op: the op's name.
        spec: the gradient, with the parameters that differ from its defaults.
        main: whether these are the parameters a user gets without giving any.
    """

    op: str
    spec: str
    main: bool = True

    @property
    def id(self) -> str:
        """``sign:hardtanh``, the beginning of every check's id."""
        return f"{self.op}:{self.spec}"

    @property
    def gradient(self) -> Gradient:
        """The gradient itself."""
        return registry.gradient(self.op, self.spec)


def cases(op: str) -> list[Case]:
    """All cases of an op, its recommended gradient first."""
    return [case for name in gradients(op) for case in _of(op, name)]


def _of(op: str, name: str) -> Iterator[Case]:
    parameters = registry.formula(op, name).parameters
    required = {
        key: _example(parameter, position)
        for position, (key, parameter) in enumerate(parameters.items())
        if parameter.default is None
    }
    yield Case(op, _spec(name, required))
    varied = {key: _vary(parameter, required.get(key)) for key, parameter in parameters.items()}
    second = Case(op, _spec(name, varied), main=False)
    if parameters and _can_be_made(second):
        yield second


def _example(parameter: Parameter, position: int) -> float:
    value = EXAMPLES.get(parameter.name, position + 0.5)
    return value if value in parameter.range else value + 1.0


def _vary(parameter: Parameter, required: float | None) -> float:
    value = required if parameter.default is None else parameter.default
    assert value is not None
    other = 1.5 * value if value else 0.5
    return other if other in parameter.range else value


def _can_be_made(case: Case) -> bool:
    try:
        return case.gradient is not None
    except SurrogateError:  # the formula refuses this combination
        return False


def _spec(name: str, params: dict[str, float]) -> str:
    given = ", ".join(f"{key}={value!r}" for key, value in params.items())
    return f"{name}({given})" if given else name
