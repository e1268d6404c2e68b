"""A formula: the function somebody registered, and what can be read off it."""

from __future__ import annotations

import inspect
import os
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from surrogate._digest import digest
from surrogate._errors import FormulaError
from surrogate._fingerprint import fingerprint
from surrogate._op import Op
from surrogate._parameters import Parameter, read_parameters
from surrogate._reads import changed, refuse_tensors, snapshot

Function = Callable[..., Any]
_unique: weakref.WeakKeyDictionary[Function, str] = weakref.WeakKeyDictionary()
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, eq=False)
class Formula:
    """A gradient function of one op, before its parameters are given.

    Attributes:
        op: the op it is for.
        name: the gradient's name; ``None`` for a function that was never registered.
        function: ``function(xp, *inputs, **parameters)``, or ``function(xp, g, *inputs, ...)``.
        upstream: whether it takes the upstream gradient ``g`` and returns cotangents.
        takes: how many of the op's inputs it takes (the first ones).
        parameters: its keyword-only parameters.
        reads: the op's attributes that it takes, among its keyword-only arguments.
        interval: from its parameters to the bounds ``(lo, hi)`` of the closed interval on which it is 1,
            where it was registered as one that is 0 elsewhere.
        outside: what it reads beside its arguments, as it was when it was read: name -> text.
        symmetric: whether, with ``upstream``, it applies a symmetric matrix to ``g``.
        by: parameter -> the derivative by it of the function whose derivative the formula is.
    """

    op: Op
    name: str | None
    function: Function
    upstream: bool
    takes: int
    parameters: dict[str, Parameter] = field(compare=False)
    reads: tuple[str, ...] = ()
    interval: Callable[..., tuple[float, float]] | None = None
    symmetric: bool = False
    outside: Mapping[str, str] = field(default_factory=dict, compare=False)
    by: Mapping[str, Function] = field(default_factory=dict, compare=False)

    @property
    def label(self) -> str:
        """``sign:hardtanh``, for messages."""
        return f"{self.op.name}:{self.name or getattr(self.function, '__name__', 'function')}"

    @property
    def origin(self) -> str:
        """Where the function was written: ``module.name (file:line)``."""
        function = inspect.unwrap(self.function)
        code = getattr(function, "__code__", None)
        place = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
        name = getattr(function, "__qualname__", type(function).__qualname__)  # an object has none
        return f"{function.__module__}.{name}{place}"

    @property
    def doc(self) -> str:
        """The function's docstring, cleaned."""
        return inspect.getdoc(self.function) or ""

    @cached_property
    def version(self) -> str:
        """A digest of the code, equal in every process that runs the same code.

        A function that was never registered, or whose behaviour cannot all be read off its code (it closes
        over values, is an object with state, reads a global list), gets a version unique to this
        process: neither a gradient in memory nor anything on disk may be taken for it.
        """
        code = None if self.name is None else fingerprint(self.function)
        if code is None:
            return process_unique(self.function) + (repr(self.outside) if self.outside else "")
        stated = [(name, fingerprint(by) or process_unique(by)) for name, by in sorted(self.by.items())]
        return digest(repr((self.upstream, code, *stated)))

    def refuse_changed(self) -> None:
        """Refuse where a value that it reads is another now: compiled code would not follow.

        Raises:
            FormulaError: names the value, and says what to do.
        """
        if found := self.change():
            raise FormulaError(f"{self.label} {found}")

    def change(self) -> str | None:
        """What to say where a value that it reads is another now; None where none is."""
        found = changed(self.function, self.outside)
        if found is None:
            return None
        name, was, now = found
        given = getattr(self.function, "__name__", "function")
        return (
            f"reads {name!r}, which was {was} and is {now} now. Compiled code keeps the value it was traced "
            f"with: make it a parameter, def {given}(xp, ..., *, {name}), and give a surrogate.Variable, "
            f"surrogate.gradient({self.op.name!r}, {given}, {name}=variable)."
        )


def read_formula(
    op: Op,
    function: object,
    *,
    name: str | None,
    upstream: bool | None,
    interval: Callable[..., tuple[float, float]] | None = None,
    symmetric: bool = False,
    by: Mapping[str, Function] | None = None,
) -> Formula:
    """Check the form of a gradient function and read its parameters.

    ``upstream=None`` decides by the second argument: it is the upstream gradient when called ``g``.

    Raises:
        FormulaError: it is not callable, takes no ``xp`` or more inputs than the op has.
    """
    if not callable(function):
        raise FormulaError(f"a gradient for {op.name!r} must be a function, not {function!r}.")
    label = f"{op.name}:{name or getattr(function, '__name__', 'function')}"
    wanted = f"(xp, {', '.join(op.inputs)}, *, parameters)"
    with_g = f"(xp, g, {', '.join(op.inputs)}, *, parameters)"
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise FormulaError(f"{label}: the signature cannot be read; write def {wanted}.") from error
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds or inspect.Parameter.VAR_KEYWORD in kinds:
        raise FormulaError(f"{label}: *args and **kwargs are not allowed; write def {wanted}.")
    positional = [p for p in signature.parameters.values() if p.kind in _POSITIONAL]
    optional = [p.name for p in positional if p.default is not inspect.Parameter.empty]
    if optional:
        raise FormulaError(
            f"{label}: parameters are keyword-only; put * before {optional[0]!r}: def {wanted}."
        )
    names = [p.name for p in positional]
    _refuse_names(op, names, label, f"def {wanted}, or def {with_g} with upstream=True")
    refuse_tensors(function, label)
    if upstream is None:
        upstream = names[1:2] == ["g"]
    if not upstream and names[1:2] == ["g"]:
        raise FormulaError(f"{label} takes the upstream gradient g: register it with upstream=True.")
    takes = len(names) - (2 if upstream else 1)
    if takes < 0 or takes > op.arity:
        raise FormulaError(
            f"{label} takes {names or 'nothing'}; "
            f"write def {with_g if upstream else wanted} (the last inputs may be left out)."
        )
    if interval is not None and (upstream or op.arity != 1):
        raise FormulaError(f"{label}: only a derivative of one input, without upstream, is an interval.")
    if symmetric and not (upstream and op.one_hot):
        raise FormulaError(f"{label}: symmetric=True is for formulas of g, of ops with an axis.")
    if op.one_hot and not upstream:
        raise FormulaError(
            f"{label}: a gradient of {op.name!r} takes g, in the shape of x, and gives the cotangent of x: "
            "write def name(xp, g, x, *, axis=None) and register it with upstream=True."
        )
    reads = tuple(name for name in signature.parameters if name in op.attributes)
    parameters = read_parameters(function, label, without=reads)
    if by and (upstream or not op.elementwise):
        raise FormulaError(
            f"{label}: by= is for elementwise derivatives; of the upstream gradient there is no function."
        )
    for given in by or ():
        if given not in parameters:
            raise FormulaError(f"{label}: by= names {given!r}; its parameters: {', '.join(parameters)}.")
    outside = snapshot(function)
    return Formula(
        op, name, function, bool(upstream), takes, parameters, reads, interval, symmetric, outside, by or {}
    )


#: What other frameworks call an upstream gradient, and the context of a function.
_FOREIGN = frozenset(
    [
        "ctx",
        "context",
        "dout",
        "douts",
        "dy",
        "dys",
        "dz",
        "grad",
        "grad_in",
        "grad_input",
        "grad_inputs",
        "grad_out",
        "grad_output",
        "grad_outputs",
        "gradient",
        "gradients",
        "grads",
        "op",
        "out_grad",
        "output_grad",
        "self",
        "upstream",
    ]
)


def _refuse_names(op: Op, names: list[str], label: str, wanted: str) -> None:
    """Refuse the form of another framework's gradient functions, ``(ctx, grad_output)``: a wrong number else.

    Raises:
        FormulaError: the first argument is not ``xp``, or another is no input of the op by its name.
    """
    if names and names[0] not in ("xp", "_xp", "_"):
        raise FormulaError(f"{label} takes ({', '.join(names)}); the first argument is xp: write {wanted}.")
    inputs = names[2:] if names[1:2] == ["g"] else names[1:]
    for position, name in enumerate(inputs):
        misplaced = name in op.inputs and op.inputs.index(name) != position
        if misplaced or ((name in _FOREIGN or name == "g") and name not in op.inputs):
            raise FormulaError(
                f"{label} takes ({', '.join(names)}), where {name!r} would be given the op's input "
                f"{op.inputs[min(position, op.arity - 1)]!r}: write {wanted}."
            )


def process_unique(function: Function) -> str:
    """The same text for the same function object as long as it lives."""
    fresh = os.urandom(16).hex()
    try:
        return _unique.setdefault(function, fresh)
    except TypeError:  # a callable that cannot be weakly referenced
        return fresh
