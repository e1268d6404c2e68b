"""How the conformance kit drives a framework: arrays, derivatives, transforms, and the spellings of ops."""

from __future__ import annotations

import abc
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from surrogate._errors import UnknownNameError

if TYPE_CHECKING:
    from surrogate._backend import Backend

Array = Any
Function = Callable[..., Array]


@dataclass(frozen=True)
class Spelling:
    """One way to write an op that says some of its inputs or attributes by itself.

    Attributes:
        function: takes the op's other inputs, in order.
        fixed: input name -> its value: ``torch.clamp_max`` is ``clip`` with ``lo = -inf``.
        attributes: attribute name -> its value.
    """

    function: Function
    fixed: Mapping[str, float] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, *inputs: Array) -> Array:
        return self.function(*inputs)


class Driver(abc.ABC):
    """How the kit, and what else wants to, drives the framework of a backend.

    Args:
        backend: the backend.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    @abc.abstractmethod
    def asarray(self, x: Any) -> Array:
        """A NumPy array as the framework's array, of the same dtype and values."""

    @abc.abstractmethod
    def numpy(self, x: Array) -> Any:
        """The framework's array as a NumPy array."""

    @abc.abstractmethod
    def spellings(self, op: str) -> Mapping[str, Function | Spelling]:
        """Every way in which a user writes an op, by how it is written; the first takes attributes, too.

        Each is a function of all inputs of the op, in order, or a :class:`Spelling` of fewer.
        """

    @abc.abstractmethod
    def grad(self, f: Function, inputs: Sequence[Array], g: Array) -> tuple[Array, tuple[Array, ...]]:
        """Reverse mode: ``f(*inputs)`` and the cotangents of ``inputs`` for the upstream gradient ``g``.

        Differentiable again where ``"second"`` is claimed.
        """

    def call(self, op: str, *inputs: Array, **attributes: Any) -> Array:
        """The op by its first spelling."""
        if op not in self._first:
            self._first[op] = next(iter(self.spellings(op).values()))
        return self._first[op](*inputs, **attributes)

    def on(self, device: str) -> AbstractContextManager[None]:
        """Until it is left, what :meth:`asarray` makes lies on this device, by the framework's name of it.

        Raises:
            UnknownNameError: there is no such device, or the framework has none to choose from.
        """
        raise UnknownNameError(
            f"the backend {self.backend.name!r} has no device {device!r} to choose: it has one."
        )

    def convertible(self) -> Mapping[str, Callable[[Any], Any]]:
        """Operands that are no arrays of the framework but turn into them: a name, and what makes one.

        Made of a NumPy array. NumPy's arrays and scalars, Python's numbers and lists are tried anyway.
        """
        return {}

    def jvp(self, f: Function, inputs: Sequence[Array], tangents: Sequence[Array]) -> tuple[Array, Array]:
        """Forward mode: ``f(*inputs)`` and its tangent. Needed when ``"forward"`` is claimed."""
        raise NotImplementedError

    def compile(self, f: Function) -> Function:
        """``f`` compiled. Needed when ``"compile"`` is claimed."""
        raise NotImplementedError

    def vmap(self, f: Function) -> Function:
        """``f`` over a new leading axis of every input. Needed when ``"vmap"`` is claimed."""
        raise NotImplementedError

    def consumers(self) -> Mapping[str, Mapping[str, Function]]:
        """Every way in which a user writes what is done with a boolean or an integer, by what is done.

        The keys are those of ``surrogate.testing.USES``, which says what each means. A function takes the
        value and an object with what is beside it: floats ``u``, ``v`` and ``table``, and the boolean
        ``mask``. Needed when ``"discrete"`` is claimed; what a framework has not may be left out.
        """
        return {}

    def residuals(self, f: Function, inputs: Sequence[Array]) -> int:
        """Bytes that ``f(*inputs)`` keeps alive for its backward. Needed when ``"residuals"`` is claimed."""
        raise NotImplementedError

    @cached_property
    def _first(self) -> dict[str, Any]:
        return {}


_METHODS = ("asarray", "numpy", "call", "grad", "jvp", "compile", "vmap", "residuals")


def of_methods(backend: Backend) -> Driver:
    """A driver of the methods of a backend's class, where they were in 0.1."""
    own = [name for name in _METHODS if hasattr(type(backend), name)]
    if not {"asarray", "numpy", "call", "grad"} <= set(own):
        raise NotImplementedError(
            f"the conformance kit cannot drive the backend {backend.name!r}: its class has no method "
            "driver() that returns a surrogate.Driver."
        )
    warnings.warn(
        f"the backend {backend.name!r} has {', '.join(own)} for the conformance kit: since 0.2 they belong "
        "to a surrogate.Driver that the backend's driver() returns.",
        DeprecationWarning,
        stacklevel=3,
    )
    methods: dict[str, Any] = {name: _forward(name) for name in own}
    methods["spellings"] = lambda self, op: {op: lambda *inputs, **named: self.call(op, *inputs, **named)}
    made: Driver = type(f"{type(backend).__name__}Driver", (Driver,), methods)(backend)
    return made


def _forward(name: str) -> Function:
    return lambda self, *args, **kwargs: getattr(self.backend, name)(*args, **kwargs)
