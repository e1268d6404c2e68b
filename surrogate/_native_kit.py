"""A framework's own ops by native names: what a backend does for them, how a formula is registered."""

from __future__ import annotations

import abc
import weakref
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from surrogate._aliases import is_through
from surrogate._digest import digest
from surrogate._errors import SpecError, UnknownGradientError, UnsupportedOpError
from surrogate._native import (
    TRANSPOSED,
    Forward,
    NativeFormula,
    add,
    add_generic,
    add_shipped,
    check_name,
    find_formula,
    formulas,
    read_native,
)
from surrogate._registry import registry
from surrogate._spec import parse, without_owner
from surrogate._suggest import meant, nearest, unknown
from surrogate._target import target

if TYPE_CHECKING:
    from surrogate._backend import Backend

F = TypeVar("F", bound=Callable[..., Any])


class NativeKit(abc.ABC):
    """What a backend does so that its framework's own ops can be overridden by native names."""

    @abc.abstractmethod
    def canonical(self, name: str) -> str:
        """The full name of a native op: with namespace and overload, as the framework has it.

        Raises:
            UnknownOpError: the framework has no such op; names the nearest.
            UnsupportedOpError: it cannot be overridden; says why, and what it ends in.
        """

    @abc.abstractmethod
    def ends_in(self, path: str) -> tuple[str, ...]:
        """The native names that a public function of the framework ends in; empty for any other path."""

    @staticmethod
    def ship(
        backend: str,
        pack: Mapping[Any, Mapping[str, Callable[..., Any]]],
        every: Mapping[str, Callable[..., Any]] = MappingProxyType({}),
    ) -> None:
        """Register the formulas that come with a backend.

        Args:
            backend: its name.
            pack: native name, or a function of the framework's -> formula by name, linear in the upstream
                gradient.
            every: the formulas that every native op has, by name. They have no forward mode.
        """
        add_generic(backend, every)
        for key, named in pack.items():
            owner, path = (backend, key) if isinstance(key, str) else (None, target(key).path)
            for name, function in named.items():
                jvp = TRANSPOSED if owner else None  # of a whole function nothing is transposed
                add_shipped(read_native(owner, path, function, name=name, jvp=jvp, registered=True))

    @staticmethod
    def suggest(name: str, known: Iterable[str]) -> str:
        """``": did you mean 'aten::sort'?"``, or a full stop: for the message of an unknown name."""
        full = {one.rpartition("::")[2]: one for one in sorted(set(known))}
        near = [full[short] for short in nearest(name, list(full))]  # which looks at what is behind the "::"
        return f": did you mean {' or '.join(map(repr, near))}?" if near else "."

    def prepare(self, gradient: NativeGradient) -> None:
        """Called when an override of a native op is made: refuse here what cannot work later.

        Raises:
            UnsupportedOpError: this formula cannot hold for the op; says why.
        """
        return


class NativeGradient:
    """A formula for one native op, with its parameters. Hashable, picklable; interned.

    Attributes:
        backend: the backend's name.
        formula: what was registered.
        params: its parameters.
        digest: hex text; equal in every process where the formula is registered by name.
    """

    __slots__ = ("__weakref__", "backend", "digest", "formula", "params")

    backend: str
    formula: NativeFormula
    params: Mapping[str, float]
    digest: str

    def __init__(self) -> None:
        raise TypeError("a native gradient is made by surrogate.override(backend, {native_name: spec})")

    @property
    def key(self) -> str:
        """The native name."""
        return self.formula.key

    @property
    def spec(self) -> str:
        """How it is written: ``spread``, ``scaled(factor=0.5)``."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        return f"{self.formula.name}({given})" if given else self.formula.name

    @property
    def id(self) -> str:
        """``aten::max_pool2d_with_indices:spread``."""
        return f"{self.key}:{self.spec}"

    def __repr__(self) -> str:
        return f"NativeGradient({self.id!r})"

    def __str__(self) -> str:
        return self.spec

    def __copy__(self) -> NativeGradient:
        return self

    def __deepcopy__(self, memo: object) -> NativeGradient:
        return self

    def __reduce__(self) -> Any:
        what: Any = self.formula.name if self.formula.registered else self.formula.function
        return _rebuild, (self.backend, self.key, what, dict(self.params))


_interned: weakref.WeakValueDictionary[str, NativeGradient] = weakref.WeakValueDictionary()


def native_gradient(backend: str, key: str, spec: object) -> NativeGradient:
    """The gradient of a native op that a spec names.

    Raises:
        UnknownGradientError: no formula of this name is registered for the op.
        UnknownParameterError, ParameterError: the parameters do not fit the formula.
        SpecError: it cannot be read.
    """
    if isinstance(spec, NativeGradient):
        if spec.key != key:
            raise SpecError(f"{spec.id} is a gradient for {spec.key!r}, not for {key!r}.")
        return spec
    if isinstance(spec, str):
        name, given = parse(without_owner(spec, key))
        formula = find_formula(backend, key, name)
        if formula is None:
            op = meant(key, {op.name for op in registry.ops()})
            if op is not None and (name in registry.formulas(op) or is_through(name)):
                raise UnknownGradientError(
                    f"{name!r} is a gradient of the catalogue's op {op!r}: write {{{op!r}: {spec!r}}}. "
                    f"{key!r} takes formulas of surrogate.register_native."
                )
            known = [*formulas(backend, key), "native"]
            raise UnknownGradientError(
                unknown("gradient", name, known, where=f" for {key!r}")
                + f" Register one: @surrogate.register_native({backend!r}, {key!r}, name={name!r})."
            )
        return made(backend, formula, given)
    if callable(spec):
        return made(backend, read_native(backend, key, spec, name=None, jvp=None), {})
    raise SpecError(
        f"{spec!r} ({type(spec).__name__}) is no gradient for {key!r}: give the name of a formula that was "
        "registered with surrogate.register_native, or a formula def name(call, g)."
    )


def made(backend: str, formula: NativeFormula, given: Mapping[str, object]) -> NativeGradient:
    """The one gradient of this formula and these parameters."""
    params = formula.bind(given)
    key = digest(repr(("native", backend, formula.key, formula.name, params, formula.version)))
    found = object.__new__(NativeGradient)
    found.backend, found.formula, found.digest = backend, formula, key
    found.params = MappingProxyType(dict(params))
    return _interned.setdefault(key, found)


def resolve_native(backend: Backend, key: str, spec: object) -> tuple[str, NativeGradient | None]:
    """The full native name of a rule's key, and its gradient; None for ``"native"``."""
    if backend.natives is None:
        raise UnsupportedOpError(f"the backend {backend.name!r} cannot override native ops, as {key!r}.")
    name = backend.natives.canonical(key)
    if spec == "native":
        return name, None
    gradient = native_gradient(backend.name, name, spec)
    backend.natives.prepare(gradient)
    return name, gradient


def register_native(
    backend: str,
    native_name: str,
    *,
    name: str | None = None,
    jvp: Forward = None,
    replace: bool = False,
) -> Callable[[F], F]:
    """Register the gradient of one of a framework's own ops, by the framework's name for it.

    The function is ``formula(call, g, *, parameters)``. It returns one cotangent per input of the call, in
    order, or None for an input that gets none; inputs it leaves out at the end get none. ``call.inputs``
    and ``call.outputs`` are the framework's own arrays, by position and by name, ``call.attributes`` is
    everything else by name, and ``call.native(g)`` gives the framework's own cotangents. Where the op has
    several differentiable outputs ``g`` is a tuple. Each cotangent must have its input's shape and dtype. An
    integer or boolean input may get one too, a float: it goes on to where the input came from if a rule for
    ``astype``, ``argmax`` or a comparison tells (``call.wanted`` says whether), and nowhere else.

    Args:
        backend: the backend's name.
        native_name: ``"aten::max_pool2d_with_indices"``, a TensorFlow op type (``"MaxPool"``), a JAX
            primitive (``"reduce_window_max"``); or the import path of any function.
        name: the formula's name; by default the function's.
        jvp: ``jvp(call, tangents, *, parameters)`` gives the output's tangent. ``"transposed"``: the formula
            is linear in ``g`` for given inputs, and forward mode is made of it. Without it asking for forward
            mode raises :class:`ForwardModeError`.
        replace: take a name over from another formula.

    Returns:
        A decorator that returns the function unchanged.

    Raises:
        UnknownOpError, UnsupportedOpError: the framework has no such op, or it cannot be overridden.
        FormulaError: the function does not take ``call`` and ``g``.
        DuplicateNameError: another formula has this name.
    """
    from surrogate._keys import is_function
    from surrogate._plugins import load_backend

    if callable(native_name) or not isinstance(native_name, str):
        raise SpecError(f"register_native takes a native name like 'aten::sort', not {native_name!r}.")

    def decorate(function: F) -> F:
        if is_function(native_name):
            owner, key = None, target(native_name).path
        else:
            owner = load_backend(backend)
            if owner.natives is None:
                raise UnsupportedOpError(f"the backend {owner.name!r} cannot override native ops.")
            key = owner.natives.canonical(native_name)
        wanted = getattr(function, "__name__", None) if name is None else name
        check_name(wanted, key)
        formula = read_native(
            None if owner is None else owner.name, key, function, name=wanted, jvp=jvp, registered=True
        )
        add(formula, replace=replace)
        return function

    return decorate


def _rebuild(backend: str, key: str, what: Any, params: dict[str, float]) -> NativeGradient:
    """Unpickle: the registered formula by name, any other by its function."""
    if isinstance(what, str):
        formula = find_formula(backend, key, what)
        if formula is None:
            native_gradient(backend, key, what)  # raises, with what is known
            raise AssertionError
        return made(backend, formula, params)
    return made(backend, read_native(backend, key, what, name=None, jvp=None), params)
