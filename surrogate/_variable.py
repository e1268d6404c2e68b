"""Values of a gradient's parameters that are no numbers: arrays, and variables that change while training."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from surrogate._digest import digest
from surrogate._errors import ParameterError

Floats = npt.NDArray[np.float64]
#: Check a new value; raise a ParameterError.
Check = Callable[[Any], object]
T = TypeVar("T")

_lock = threading.RLock()
_variables: weakref.WeakValueDictionary[str, Variable] = weakref.WeakValueDictionary()


class ParameterValue:
    """A parameter's value that is no Python number; ``xp.parameter(value, like)`` gives a backend's array.

    Attributes:
        handle: names it in every process: the digest of an array's content, or a variable's name.
        changes: whether :attr:`array` may change.
    """

    __slots__ = ("__weakref__", "_array", "_mirrors", "handle")

    changes = False

    def __init__(self, array: Any, handle: str) -> None:
        self._array: Floats = _frozen(array)
        self._mirrors: dict[Any, Any] = {}
        self.handle = handle

    @property
    def array(self) -> Floats:
        """The value now, in float64; it cannot be written to."""
        return self._array

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape, which never changes."""
        return self._array.shape

    def mirror(self, key: Any, make: Callable[[Floats], T]) -> T:
        """What ``make(array)`` gave the first time for this key: a framework's own array, say, kept as long.

        If the value changes and what was made has a method ``set``, that is called with the new array;
        without one it is made anew when it is asked for again.
        """
        found = self._mirrors.get(key)
        if found is None:
            with _lock:
                found = self._mirrors.get(key)
                if found is None:
                    found = self._mirrors[key] = make(self._array)
        return found


class FixedArray(ParameterValue):
    """An array as a parameter: a constant, equal to another of the same content."""

    __slots__ = ()

    def __init__(self, array: Any) -> None:
        frozen = _frozen(array)
        super().__init__(frozen, digest(f"{frozen.shape}{frozen.tobytes().hex()}"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FixedArray) and self.handle == other.handle

    def __hash__(self) -> int:
        return hash(self.handle)

    def __repr__(self) -> str:
        return f"array(shape={self.shape}, {self.handle[:12]})"


class Variable(ParameterValue):
    """A parameter that changes while training: an annealed slope or temperature.

    A new value holds from the next forward pass on, in eager and in compiled code, and nothing is traced or
    compiled again; a backward pass uses the value that its forward pass saw. One variable may serve several
    gradients and frameworks. It is told apart by which object it is, not by its value; pickled, it is the
    same object again where that is alive.

    >>> import surrogate
    >>> slope = surrogate.Variable(1.0)
    >>> sharp = surrogate.gradient("sign", "tanh", slope=slope)
    >>> slope.value = 2.0

    Args:
        value: a finite number, or an array of them that broadcasts against the op's input.

    Raises:
        ParameterError: it is no finite number, and no array of them.
    """

    __slots__ = ("_checks", "_schedule", "_steps")

    changes = True

    def __init__(self, value: Any) -> None:
        super().__init__(as_array(value, "the value of a Variable"), f"v{os.urandom(12).hex()}")
        self._checks: dict[str, Check] = {}
        self._schedule: Callable[[int], Any] | None = None
        self._steps = 0
        _variables[self.handle] = self

    @property
    def value(self) -> float | Floats:
        """The value now: a number, or an array that cannot be written to.

        Setting it raises :class:`ParameterError` where it has another shape, is not finite, or is outside the
        range of a parameter that it is given for; the old value is then kept.
        """
        return float(self._array) if self._array.ndim == 0 else self._array

    @value.setter
    def value(self, value: Any) -> None:
        array = as_array(value, "the value of a Variable")
        if array.shape != self.shape:
            raise ParameterError(
                f"a Variable keeps its shape {self.shape}; the new value has the shape {array.shape}. "
                "Make another Variable for another shape."
            )
        for check in tuple(self._checks.values()):
            check(array)
        frozen = _frozen(array)
        with _lock:
            self._array = frozen
            for key, mirror in list(self._mirrors.items()):
                if hasattr(mirror, "set"):
                    mirror.set(frozen)
                else:
                    del self._mirrors[key]

    def follow(self, schedule: Callable[[int], Any]) -> Variable:
        """From now on take the value from a function of the step, at once the one of the step reached.

        Args:
            schedule: from the number of steps (0, 1, ...) to a value: a lambda, an optax schedule.

        Returns:
            The variable itself.
        """
        self.value = schedule(self._steps)
        self._schedule = schedule
        return self

    def step(self) -> float | Floats:
        """Count one step, and take the value that the schedule has for it.

        Returns:
            The new value.

        Raises:
            ParameterError: it follows no schedule.
        """
        if self._schedule is None:
            raise ParameterError("this Variable follows no schedule; call follow(schedule) first.")
        self.value = self._schedule(self._steps + 1)
        self._steps += 1
        return float(self._array) if self._array.ndim == 0 else self._array

    def require(self, name: str, check: Check) -> None:
        """Check the value, now and whenever it changes. ``name``: whose check it is."""
        check(self._array)
        self._checks[name] = check

    def __copy__(self) -> Variable:
        return self

    def __deepcopy__(self, memo: object) -> Variable:
        return self

    def __reduce__(self) -> Any:
        return _variable, (self.handle, np.array(self._array), self._steps)

    def __repr__(self) -> str:
        return f"Variable({self.handle[1:13]})"


def _variable(handle: str, array: Floats, steps: int) -> Variable:
    """Unpickle: the variable of this handle if it is alive, else one like it."""
    found = _variables.get(handle)
    if found is None:
        found = Variable(array)
        found.handle, found._steps = handle, steps
        _variables[handle] = found
    return found


def is_array(value: Any) -> bool:
    """Whether it is an array of NumPy's or a framework's."""
    return hasattr(value, "__array__") or hasattr(value, "dtype")


def refuse_variable(value: Any, owner: str) -> None:
    """A framework's variable that is not trained would be taken for a constant.

    Raises:
        ParameterError: it is one.
    """
    if hasattr(value, "trainable"):
        raise ParameterError(
            f"{owner} is given a {type(value).__name__} that is not trained, and would be taken for a "
            "constant. Give its value (numpy()), or a surrogate.Variable, which may change."
        )


def as_array(value: Any, owner: str) -> Floats:
    """A number, a list of them, or an array of NumPy's or a framework's, in float64.

    Raises:
        ParameterError: it is no array of finite real numbers.
    """
    try:
        bare = value.detach() if hasattr(value, "detach") else value  # a tensor of PyTorch's
        bare = bare.cpu().double() if hasattr(bare, "cpu") and hasattr(bare, "double") else bare
        array = np.asarray(bare)
    except Exception as error:  # a tracer, a symbolic tensor, one without data
        raise ParameterError(
            f"{owner} must be known when nothing is traced, and {type(value).__name__} is not: give a number "
            "or an array from outside the compiled function, or a surrogate.Variable, which may change."
        ) from error
    if array.dtype.kind not in "fiu" and "float" not in array.dtype.name:
        raise ParameterError(f"{owner} must be a number or an array of numbers, not {value!r}.")
    found = array.astype(np.float64)
    if not np.isfinite(found).all():
        raise ParameterError(f"{owner} must be finite, not {first_bad(found, ~np.isfinite(found))}.")
    return found


def first_bad(array: Floats, bad: npt.NDArray[np.bool_]) -> str:
    """The first element that is bad, and where it is."""
    if array.ndim == 0:
        return f"{float(array):g}"
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    return f"{array[index]:g} at index {index[0] if len(index) == 1 else index}"


def _frozen(array: Any) -> Floats:
    found = np.array(array, np.float64)
    found.flags.writeable = False
    return found
