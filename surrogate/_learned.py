"""Parameters of a gradient that are learned: tensors of a framework that want a gradient themselves."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from typing import Any

import numpy as np

from surrogate._errors import ParameterError
from surrogate._variable import ParameterValue, as_array

_known: weakref.WeakValueDictionary[int, Learned] = weakref.WeakValueDictionary()
_lock = threading.Lock()

#: Root of the module of an array's type -> the backend that tells whether it wants a gradient.
_BACKENDS = {
    "autograd": "autograd",
    "jax": "jax",
    "jaxlib": "jax",
    "keras": "tensorflow",
    "tensorflow": "tensorflow",
    "torch": "torch",
}


class Learned(ParameterValue):
    """A tensor as a parameter, whose cotangent is the sum of ``g * dS/dp``. Told apart by which object it is.

    Attributes:
        tensor: the framework's tensor or variable.
    """

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any, sample: Any) -> None:
        super().__init__(sample, f"l{os.urandom(12).hex()}")
        self.tensor = tensor

    @property
    def framework(self) -> str:
        """The name of the backend whose tensor it is."""
        return _backend_of(self.tensor)

    def __repr__(self) -> str:
        return f"learned(shape={self.shape}, {self.handle[1:13]})"


def learned(tensor: Any, default: float | None, owner: str) -> Learned:
    """The parameter of a tensor that wants a gradient; the same for the same tensor.

    ``default`` stands for its value where that is not known, in a traced function.
    """
    with _lock:
        found = _known.get(id(tensor))
        if found is None:
            found = _known[id(tensor)] = Learned(tensor, _sample(tensor, default, owner))
    return found


def is_learned(value: Any) -> bool:
    """Whether a parameter's value wants a gradient."""
    name = _backend_of(value)
    if not name:
        return False
    from surrogate._plugins import _loaded, load_backend  # which imports the registry, which imports this

    if name in _loaded:
        return _loaded[name].wants_gradient(value)
    if getattr(value, "requires_grad", False) or getattr(value, "trainable", False):
        return True
    return name != "torch" and name in sys.modules and load_backend(name).wants_gradient(value)


def _backend_of(value: Any) -> str:
    for kind in type(value).__mro__:
        if found := _BACKENDS.get(kind.__module__.partition(".")[0]):
            return found
    return ""


def _sample(tensor: Any, default: float | None, owner: str) -> Any:
    """Its value, for a look at what the formula returns."""
    from surrogate._plugins import _loaded

    backend = _loaded.get(_backend_of(tensor))
    try:
        return as_array(tensor if backend is None else backend.bare(tensor), owner)
    except ParameterError as error:
        if error.__cause__ is None:  # not finite, or no numbers
            raise
    shape = getattr(tensor, "shape", None)
    if shape is None or any(not isinstance(size, int) for size in shape):
        raise ParameterError(f"{owner} is learned, so that its shape must be known when it is traced.")
    return np.full(tuple(shape), 1.0 if default is None else default)
