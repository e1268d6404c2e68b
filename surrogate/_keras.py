"""Which backend ``"keras"`` means: the one that Keras uses in this process."""

from __future__ import annotations

import importlib

from surrogate._errors import MissingFrameworkError, UnknownBackendError

_DIFFERENTIATES = ("jax", "tensorflow", "torch")


def of_keras() -> str:
    """The name of Keras' own backend.

    Raises:
        MissingFrameworkError: Keras is not installed.
        UnknownBackendError: it uses one that takes no gradients.
    """
    try:
        name = str(importlib.import_module("keras").config.backend())
    except ModuleNotFoundError as error:
        raise MissingFrameworkError(
            f"'keras' stands for the backend that Keras uses, and {error.name!r} is not installed: "
            "name the backend itself, as in 'torch'."
        ) from error
    if name not in _DIFFERENTIATES:
        raise UnknownBackendError(
            f"Keras uses its backend {name!r}, which takes no gradients: set KERAS_BACKEND to one of "
            f"{', '.join(_DIFFERENTIATES)} before Keras is imported."
        )
    return name
