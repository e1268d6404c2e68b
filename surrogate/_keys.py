"""Keys of rules that are no ops of the catalogue: whole functions, and a framework's own ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from surrogate._aliases import explained_op
from surrogate._errors import SpecError, UnknownOpError, UnsupportedOpError
from surrogate._native_kit import resolve_native
from surrogate._registry import registry
from surrogate._spec import NATIVE
from surrogate._suggest import meant

if TYPE_CHECKING:
    from surrogate._backend import Backend


def is_function(key: object) -> bool:
    """Whether a key means a whole function: an object, or an import path, which has a dot in it."""
    return not isinstance(key, str) or ("." in key and "::" not in key)


def resolve_other(backend: Backend, key: Any, spec: Any) -> tuple[str, Any] | None:
    """What a rule's key that is no op of the catalogue stands for, and its gradient; None for an op.

    Raises:
        UnknownOpError, UnsupportedOpError: see :func:`resolve_function` and :class:`NativeKit`.
    """
    if is_function(key):
        return resolve_function(backend, key, spec)
    if "::" in key:
        return resolve_native(backend, key, spec)
    if backend.natives is None or registry.knows(key):
        return None
    try:
        return resolve_native(backend, key, spec)
    except UnknownOpError as native:
        try:
            registry.op(key)
        except UnknownOpError as error:
            if "did you mean" in str(error) or explained_op(key):
                raise error from None
        raise native from None


def resolve_function(backend: Backend, key: Any, spec: Any) -> tuple[str, Any]:
    """The path of a function and its gradient; None for ``"native"``.

    Raises:
        UnknownOpError: there is no such function, or it is one of the framework's, which ends in native ops.
        UnsupportedOpError: it cannot be exchanged, or the backend cannot override functions.
    """
    from surrogate._exchange import exchange
    from surrogate._function import function_gradient  # not needed before anybody overrides one
    from surrogate._target import target

    if not isinstance(key, str) and not callable(key):
        raise SpecError(f"a rule is for an op by name or for a function, not for {key!r}.")
    natives = backend.natives
    if natives is not None and (ends := natives.ends_in(key if isinstance(key, str) else _path(key))):
        op = meant(ends[0], {op.name for op in registry.ops()})
        name = (
            "that name"
            if op is None
            else f"{op!r}, the op of the catalogue (that name for a formula of yours)"
        )
        raise UnknownOpError(
            f"{key} is a function of {backend.framework}; it ends in {' and '.join(map(repr, ends))}: "
            f"give {name}, which holds for every way the op is called."
        )
    if backend.functions is None:
        raise UnsupportedOpError(
            f"the backend {backend.name!r} cannot override whole functions, as {key!r}: its class has no "
            "functions kit (surrogate.Backend.functions)."
        )
    found = target(key)
    exchange(found)
    gradient = None
    if not isinstance(spec, str) or spec != NATIVE:
        gradient = function_gradient(found, spec)
        backend.functions.prepare(gradient)
    return found.path, gradient


def _path(function: Any) -> str:
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"
