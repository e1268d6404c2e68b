"""The registry: ops by name, formulas by op and name, and what a spec means."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType, MappingProxyType
from typing import Any, TypeVar

import numpy as np

from surrogate._aliases import explained_gradient, explained_op, operator, through
from surrogate._errors import (
    DuplicateNameError,
    SpecError,
    UnknownGradientError,
    UnknownOpError,
)
from surrogate._formula import Formula, Function, read_formula
from surrogate._gradient import Gradient, make
from surrogate._inherit import Inherited, of_all_inputs
from surrogate._learned_rule import check_by
from surrogate._names import GradientName, OpName
from surrogate._op import Op
from surrogate._preset import Preset
from surrogate._reads import changed, snapshot
from surrogate._spec import NATIVE, parse, split_id, unwrapped, without_owner
from surrogate._suggest import unknown

#: How many spec strings are remembered, so that entering an override parses nothing.
_REMEMBERED = 1024

_NOTHING: Mapping[str, Any] = MappingProxyType({})

F = TypeVar("F", bound=Callable[..., Any])

#: A gradient spec: ``"hardtanh(width=1.5)"``, a gradient, or a function of the registered form.
Spec = str | Gradient | Function


class Registry:
    """Ops and formulas.

    The catalogue is imported on the first look-up, plugin packs on the first that asks for all names
    or finds none: ``import surrogate`` evaluates nothing.
    """

    def __init__(self) -> None:
        self._ops: dict[str, Op] = {}
        self._formulas: dict[str, dict[str, Formula]] = {}
        self._presets: dict[str, dict[str, Preset]] = {}
        self._inherited = Inherited()
        self._specs: dict[tuple[str, str], Gradient] = {}
        self.complete = False  # the catalogue sets it when all of it is registered
        self._load_packs: Callable[[], None] | None = None
        self._loading = False
        self._lock = threading.RLock()

    # -- ops ---------------------------------------------------------------------------------

    def add_op(self, op: Op) -> None:
        """Make an op known.

        Raises:
            DuplicateNameError: another op has this name.
        """
        known = self._ops.get(op.name)
        if known is not None and known.forward is not op.forward:
            raise DuplicateNameError(f"the op {op.name!r} is already defined: {known!r}.")
        self._ops[op.name] = op
        self._formulas.setdefault(op.name, {})
        self._presets.setdefault(op.name, {})

    def op(self, name: object) -> Op:
        """The op of this name.

        Raises:
            UnknownOpError: with the nearest name and all known names.
        """
        found = self._find(name)
        if found is None:
            raise UnknownOpError(unknown("op", name, self._ops, note=explained_op(name)))
        return found

    def knows(self, name: object) -> bool:
        """Whether an op has this name."""
        return self._find(name) is not None

    def _find(self, name: object) -> Op | None:
        self._catalogue()
        if not isinstance(name, str):
            return None
        if name not in self._ops:
            self._packs()
        return self._ops.get(operator(name) or name)

    def ops(self) -> list[Op]:
        """All ops, in the order of the catalogue."""
        self._catalogue()
        self._packs()
        return list(self._ops.values())

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """If the block raises, nothing of what it registered is known."""
        self._catalogue()
        ops = dict(self._ops)
        formulas = {op: dict(names) for op, names in self._formulas.items()}
        presets = {op: dict(names) for op, names in self._presets.items()}
        try:
            yield
        except BaseException:
            self._ops, self._formulas, self._presets = ops, formulas, presets
            self._specs.clear()
            raise

    # -- formulas ----------------------------------------------------------------------------

    def add_formula(
        self,
        op: str,
        function: Function,
        *,
        name: str | None = None,
        upstream: bool = False,
        replace: bool = False,
        interval: Callable[..., tuple[float, float]] | None = None,
        symmetric: bool = False,
        by: Mapping[str, Function] | None = None,
    ) -> Formula:
        """Register a gradient function under its own name, or ``name``.

        Raises:
            DuplicateNameError: another function has this name and ``replace`` is false.
            FormulaError: the function does not have the registered form.
        """
        name = getattr(function, "__name__", None) if name is None else name
        if not name or name == NATIVE or parse_name(name) != name:
            raise SpecError(f"{name!r} cannot be a gradient's name; give another, as in name='my_gradient'.")
        known_op = self.op(op)
        formula = of_all_inputs(
            known_op,
            read_formula(
                known_op,
                function,
                name=name,
                upstream=upstream,
                interval=interval,
                symmetric=symmetric,
                by=by,
            ),
        )
        with self._lock:
            known = self._formulas[formula.op.name].get(name)
            if known is not None and not replace and not _redefines(formula, known):
                raise DuplicateNameError(
                    f"{formula.label} is already registered by {known.origin}; "
                    f"{formula.origin} cannot take the name. Choose another name, or pass replace=True."
                )
            if all(parameter.default is not None for parameter in formula.parameters.values()):
                # evaluates it once: a wrong formula is refused before it is known
                params = make(formula, {}).params
                check_by(formula.label, formula.function, formula.by, formula.takes, params)
            self._formulas[formula.op.name][name] = formula
            self._specs.clear()
        return formula

    def add_preset(self, op: str, name: str, spec: str, note: str = "") -> None:
        """Let ``name`` (``library:name``) stand for the gradient that ``spec`` names.

        Raises:
            DuplicateNameError: it stands for another spec.
        """
        preset = Preset(self.op(op).name, name, spec, note)
        with self._lock:
            known = self._presets[preset.op].setdefault(name, preset)
        if known.spec != spec:
            raise DuplicateNameError(f"the preset {name!r} for {op!r} already stands for {known.spec!r}.")

    def formula(self, op: str, name: str) -> Formula:
        """The formula of this op and name.

        Raises:
            UnknownOpError, UnknownGradientError: with the nearest name and all known names.
        """
        known = self._known(self.op(op), name)
        if known is None:
            self._packs()
            known = self._known(self.op(op), name)
        if known is None:
            names = {*self.formulas(op), *self.presets(op), NATIVE}
            if (meant := through(name, names)) is not None:
                return self.formula(op, meant)
            note = explained_gradient(name, names)
            raise UnknownGradientError(unknown("gradient", name, names, where=f" for {op!r}", note=note))
        return known

    def formulas(self, op: str) -> dict[str, Formula]:
        """The formulas of an op by name, those that it has from other ops included."""
        self._packs()
        known = self.op(op)
        inherited: dict[str, Formula] = {}
        for source, how in known.inherits:
            for name, formula in self.formulas(source).items():
                inherited.setdefault(name, self._inherited.make(known, formula, how))
        return inherited | self._formulas[known.name]

    def own(self, op: str) -> dict[str, Formula]:
        """The formulas of an op by name, without those that it has from other ops."""
        self._packs()
        return dict(self._formulas[self.op(op).name])

    def presets(self, op: str) -> dict[str, Preset]:
        """The presets of an op by name, those that it has from other ops included."""
        self._packs()
        known = self.op(op)
        inherited: dict[str, Preset] = {}
        for source, _ in known.inherits:
            for name, preset in self.presets(source).items():
                inherited.setdefault(name, dataclasses.replace(preset, op=known.name))
        return inherited | self._presets[known.name]

    def _known(self, op: Op, name: str) -> Formula | None:
        """The formula of this name, the op's own or inherited."""
        if name in self._formulas[op.name]:
            return self._as_it_is_now(self._formulas[op.name][name], name)
        for source, how in op.inherits:
            found = self._known(self.op(source), name)
            if found is not None:
                return self._inherited.make(op, found, how)
        return None

    def _as_it_is_now(self, known: Formula, name: str) -> Formula:
        """A formula; another one, if a value that it reads beside its arguments has changed."""
        if not known.outside or changed(known.function, known.outside) is None:
            return known
        found = dataclasses.replace(known, outside=snapshot(known.function))
        self._formulas[known.op.name][name] = found
        return found

    def has(self, formula: Formula) -> bool:
        """Whether this formula is what its name means now."""
        known = self._known(formula.op, formula.name or "") if formula.op.name in self._formulas else None
        return known is not None and known.version == formula.version

    def anonymous(self, op: str, function: Function) -> Formula:
        """The formula of a function, which need not be registered."""
        known = self.op(op)
        for name, formula in self._formulas[known.name].items():
            if formula.function is function:
                return self._as_it_is_now(formula, name)
        return of_all_inputs(known, read_formula(known, function, name=None, upstream=None))

    # -- specs -------------------------------------------------------------------------------

    def gradient(self, op: str, spec: Spec, parameters: Mapping[str, Any] = _NOTHING) -> Gradient:
        """The gradient that a spec names. See :func:`surrogate.gradient`."""
        known = self.op(op)
        if parameters:
            return self._with(known, spec, parameters)
        if isinstance(spec, Gradient):
            if spec.op.name != known.name:
                raise SpecError(f"{spec.id} is a gradient for {spec.op.name!r}, not for {known.name!r}.")
            return spec
        if isinstance(spec, str):
            return self.remembered(op, spec) or self._read(known, spec)
        if callable(spec):
            return make(self.anonymous(known.name, spec), {})
        raise SpecError(
            f"{spec!r} ({type(spec).__name__}) is no gradient for {known.name!r}: give a string like "
            "'hardtanh(width=1.5)', a Gradient, or a function def name(xp, x, *, width=1.0)."
        )

    def _with(self, op: Op, spec: Spec, parameters: Mapping[str, Any]) -> Gradient:
        """The gradient of a spec with these parameters beside those that it says."""
        if isinstance(spec, str):
            formula, given = self._parsed(op, spec)
            twice = sorted(set(parse(without_owner(spec, op.name))[1]) & set(parameters))
            if twice:
                raise SpecError(f"{twice[0]!r} is given twice: in the spec {spec!r} and as a parameter.")
        elif isinstance(spec, Gradient):
            formula, given = spec.formula, dict(self.gradient(op.name, spec).params)
        elif callable(spec):
            formula, given = self.anonymous(op.name, spec), {}
        else:
            formula, given = self.gradient(op.name, spec).formula, {}  # which raises
        lists = {name: np.asarray(v) for name, v in parameters.items() if isinstance(v, list | tuple)}
        return make(formula, {**given, **parameters, **lists})

    def remembered(self, op: object, spec: object) -> Gradient | None:
        """The gradient of a spec string that was read before, at the cost of one look-up."""
        return self._specs.get((op, spec)) if type(spec) is str and type(op) is str else None

    def _read(self, op: Op, spec: str) -> Gradient:
        found = make(*self._parsed(op, spec))
        if len(self._specs) >= _REMEMBERED:  # a sweep over slopes must not grow for ever
            self._specs.clear()
        if not found.formula.outside:  # else it may be another gradient the next time
            self._specs[op.name, spec] = found
        return found

    def _parsed(self, op: Op, spec: str) -> tuple[Formula, dict[str, Any]]:
        """The formula and the parameters that a spec string says."""
        name, given = parse(without_owner(spec, op.name))
        if name == NATIVE:
            raise SpecError("'native' is no gradient: in rules it says that an op is left alone.")
        preset = self.presets(op.name).get(name) if ":" in name else None
        if preset is None and ":" in name and self.knows(other := name.partition(":")[0]):
            raise SpecError(f"{spec!r} is a gradient for {other!r}, not for {op.name!r}.")
        if preset is not None:
            name, defaults = parse(preset.spec)
            given = {**defaults, **given}
        return self.formula(op.name, name), given

    def on_first_listing(self, load: Callable[[], None]) -> None:
        """What to call before the first look-up that needs the names of plugin packs."""
        self._load_packs = load

    def _catalogue(self) -> None:
        # the import system makes other threads wait here, and lets the catalogue's own look-ups through
        if not self.complete:
            importlib.import_module("surrogate.catalogue")

    def _packs(self) -> None:
        if self._load_packs is None:
            return
        with self._lock:
            if self._load_packs is not None and not self._loading:
                self._loading = True  # a pack that looks something up must not load the packs again
                try:
                    self._load_packs()
                finally:
                    self._load_packs, self._loading = None, False


registry = Registry()


def register(
    op: OpName | str,
    *,
    name: str | None = None,
    upstream: bool = False,
    replace: bool = False,
    interval: Callable[..., tuple[float, float]] | None = None,
    symmetric: bool = False,
    by: Mapping[str, Callable[..., Any]] | None = None,
) -> Callable[[F], F]:
    """Register a surrogate gradient, for all frameworks at once.

    The function is ``derivative(xp, *inputs, **parameters)``: the elementwise partial derivative by
    each input (a tuple for several), over ``xp``, the backend's namespace. It returns a Python number,
    a boolean array (a window), a float array, or :func:`surrogate.window`. The last inputs may be
    left out; their derivative is then the op's own (0, if it has none). Parameters are keyword-only
    numbers; annotate them with :data:`surrogate.Positive` and the like to have them checked.

    With ``upstream=True`` it is ``cotangents(xp, g, *inputs, **parameters)`` and there is no forward mode.

    Registering the same function again (``importlib.reload``, a notebook cell run twice) replaces it.

    Args:
        op: the op it is for, such as ``"sign"``.
        name: the gradient's name; by default the function's.
        upstream: the function takes the upstream gradient ``g`` and returns cotangents.
        replace: take a name over from another function.
        interval: says that the function is 1 on a closed interval and 0 elsewhere, and which: a function
            from its parameters to ``(lo, hi)``, as ``lambda width: (-width, width)``. Backends may then
            use a faster kernel. Checked when a gradient is made.
        symmetric: says, of a gradient of ``argmax`` or ``argmin`` with ``upstream=True``, that it applies a
            symmetric matrix to ``g``, so that forward mode is the same function.
        by: for parameters that may be learned. The formula is the derivative of a function S(x; p);
            ``by={"p": function}`` gives S's derivative by p, ``function(xp, *inputs, **parameters)``. It is
            checked: its own derivative by x must be the formula's by p.

    Returns:
        A decorator that returns the function unchanged.

    Raises:
        UnknownOpError: no op has this name.
        SpecError: it decorates without an op.
        FormulaError: the function does not have this form.
        DuplicateNameError: another function has this name; the message says where both are.
    """
    if callable(op):
        raise SpecError("register needs the op that the function is for: write @surrogate.register('sign').")
    registry.op(op)

    def decorate(function: F) -> F:
        registry.add_formula(
            op,
            function,
            name=name,
            upstream=upstream,
            replace=replace,
            interval=interval,
            symmetric=symmetric,
            by=by,
        )
        return function

    return decorate


def gradient(
    op: OpName | str | Gradient, spec: GradientName | Spec | None = None, **parameters: Any
) -> Gradient:
    """The gradient that a spec names; equal specs give the identical object.

    >>> import surrogate
    >>> surrogate.gradient("sign", "hardtanh", width=2)
    Gradient('sign:hardtanh(width=2.0)')

    Args:
        op: the op it is for, such as ``"sign"``; or op and spec in one, ``"sign:hardtanh(width=2)"``, also as
            a gradient shows itself.
        spec: ``"hardtanh(width=2)"`` (literals only, never evaluated), a :class:`Gradient`, or a
            function of the registered form.
        parameters: further parameters by name. Each is a number; an array of NumPy's or a framework's, a
            constant that broadcasts against the op's input (a width per channel); a
            :class:`surrogate.Variable`, which may change; or a tensor or variable of a framework that wants a
            gradient, where the formula says what that is.

    Raises:
        UnknownOpError, UnknownGradientError, UnknownParameterError: a name nobody registered.
        ParameterError: a value outside the parameter's range, of an array the first such element; or one that
            wants a gradient where the formula gives none.
        SpecError: the spec cannot be read.
    """
    if spec is None:
        op, spec = _one_text(op)
    return registry.gradient(op, spec, parameters)  # type: ignore[arg-type]  # refused there


def _one_text(text: object) -> tuple[str, Spec]:
    """Op and spec of an id, or of a gradient.

    Raises:
        SpecError: it is neither.
        UnknownOpError: it names no op.
    """
    if isinstance(text, Gradient):
        return text.op.name, text
    op, spec = split_id(text) if isinstance(text, str) else ("", "")
    if spec:
        return op, spec
    if isinstance(text, str) and not registry.knows(text):
        owners = [
            op.name
            for op in registry.ops()
            if unwrapped(text).partition("(")[0] in registry.formulas(op.name)
        ]
        if owners:
            raise SpecError(f"{text!r} is a gradient of {', '.join(owners)}: write '{owners[0]}:{text}'.")
    known = registry.op(text).name
    raise SpecError(
        f"{known!r} is an op, and its gradient is missing: give a string like '{known}:identity' or "
        "'sign:hardtanh', or both as in gradient('sign', 'hardtanh')."
    )


def parse_name(name: str) -> str | None:
    """``name`` if it can stand in a spec, else None."""
    try:
        return parse(name)[0]
    except SpecError:
        return None


def _redefines(new: Formula, old: Formula) -> bool:
    """Whether ``new`` is ``old`` defined again: a reload, or a notebook cell run twice."""
    if new.version == old.version:
        return True
    f, g = inspect.unwrap(new.function), inspect.unwrap(old.function)
    if not isinstance(f, FunctionType) or not isinstance(g, FunctionType):
        return new.function is old.function  # of objects, equal ones may behave otherwise
    if f is g:
        return (new.function is old.function) and new.upstream == old.upstream  # else wrapped otherwise
    if (f.__module__, f.__qualname__) != (g.__module__, g.__qualname__) or "<locals>" in f.__qualname__:
        return False
    after, before = getattr(f, "__code__", None), getattr(g, "__code__", None)
    if after is None or before is None:
        return False
    if not Path(after.co_filename).is_file():  # a notebook cell, a prompt: names are redefined freely there
        return True
    same_line = (after.co_filename, after.co_firstlineno) == (before.co_filename, before.co_firstlineno)
    return same_line or f.__module__ in _reloading()


def _reloading() -> Iterable[str]:
    # the interpreter's own record; without it an edited module asks for replace=True when reloaded
    return getattr(importlib, "_RELOADING", ())
