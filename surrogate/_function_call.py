"""One call of a function whose gradient is overridden, the same for every framework.

The function runs on arguments that carry no gradient, so that whatever is inside cannot matter. Its
results are then *grafted* onto carriers: arrays of the same shape whose derivative is the wanted one (the
argument itself for ``identity``, another function's result for ``of``). A backend gives the few steps
that are its framework's in a :class:`FunctionKit`.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from surrogate._errors import FormulaError
from surrogate._exchange import Exchange, caller, dispatch, exchanged, paths, surroundings
from surrogate._function import FunctionGradient
from surrogate._native import NativeCall, NativeFormula, Values
from surrogate._state import State

Array = Any
Call = Callable[..., Any]


class FunctionKit(abc.ABC):
    """What a backend does so that whole functions can be overridden.

    Attributes:
        xp: the backend's namespace.
        late: whether it is known only when results are differentiated what they depend on. Then
            :meth:`depends` is asked for the message alone, and what is given it must raise it.
    """

    xp: Any
    late: bool = False

    def prepare(self, gradient: FunctionGradient) -> None:
        """Called when an override of a function is made, before it is in force."""
        return

    @abc.abstractmethod
    def state(self) -> State | None:
        """What the user's code obeys here; None while a formula runs, which never sees overrides."""

    def is_tracing(self) -> bool:
        """Whether what runs is being compiled, and may run again unseen."""
        return False

    def captured(self, state: State, path: str, frame: FrameType | None) -> None:
        """Count a call that got a function's gradient; ``frame`` is where it is called from."""
        state.captured(path, kept=self.is_tracing(), frame=frame)

    @abc.abstractmethod
    def recording(self, leaves: Sequence[Any]) -> bool:
        """Whether anything done with these values may be recorded for a derivative."""

    @abc.abstractmethod
    def wants(self, arrays: Sequence[Array]) -> bool:
        """Whether a derivative by one of these arrays is wanted."""

    @abc.abstractmethod
    def flatten(self, tree: Any) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
        """The leaves of a tree of lists, tuples, dicts, ..., and how to make the tree of other leaves."""

    @abc.abstractmethod
    def is_float(self, x: Any) -> bool:
        """Whether it is an array of the framework, of a floating dtype."""

    @abc.abstractmethod
    def detach(self, x: Array) -> Array:
        """The same values without a derivative."""

    @abc.abstractmethod
    def like(self, x: Array, value: Array) -> Array | None:
        """``x`` broadcast to the shape of ``value`` and in its dtype; None where shapes do not allow it."""

    @abc.abstractmethod
    def graft(self, value: Array, carrier: Array, closed: str = "") -> Array:
        """The values of ``value``, bit by bit, with the derivative of ``carrier``, an array like it.

        Args:
            value, carrier: the arrays.
            closed: where it is known late, what to say if a derivative by ``value`` is wanted.
        """

    def constant(self, value: Array, closed: str = "") -> Array:
        """A result that gets no derivative."""
        return self.detach(value)

    @abc.abstractmethod
    def without_rules(self, function: Call, *args: Any, **kwargs: Any) -> Any:
        """``function(*args, **kwargs)`` where no override acts."""

    @abc.abstractmethod
    def depends(self, values: Sequence[Array]) -> bool:
        """Whether a derivative is wanted of these results, which were made of arguments without one."""

    def members(self, owner: Any) -> dict[str, Any]:
        """What the object of a method holds, by name; for the message of :meth:`depends`."""
        return dict(getattr(owner, "__dict__", {}))

    @abc.abstractmethod
    def with_formula(
        self, pull: FunctionPull, inputs: Sequence[Array], values: Sequence[Array], closed: str = ""
    ) -> list[Array]:
        """The values; the derivative by the inputs is what a formula makes of the upstream gradients."""

    # -- for a backend whose compiler reads the user's code -------------------------------------------

    #: What an exchanged function calls: ``dispatch(path, args, kwargs)``.
    dispatch = staticmethod(dispatch)
    #: The functions, of those ever overridden, that have one of these codes.
    paths = staticmethod(paths)

    def run(
        self, gradient: FunctionGradient, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, bool]:
        """``call(*args, **kwargs)`` with this gradient, and whether a derivative was wanted."""
        return run(self, gradient, call, args, kwargs)

    @staticmethod
    def native(path: str) -> Call:
        """The function itself, never caught."""
        return exchanged(path).native


class FunctionPull:
    """A formula asked about one call: gives the cotangents of the call's arrays, checked.

    Attributes:
        gradient, names, attributes: the gradient, the names of the arrays, and the other arguments.
        digest: of the gradient.
    """

    def __init__(self, gradient: FunctionGradient, names: Sequence[str], attributes: dict[str, Any]) -> None:
        assert gradient.formula is not None
        self.gradient, self.names, self.attributes = gradient, names, attributes
        self.digest = gradient.digest
        self._formula: NativeFormula = gradient.formula
        self._params = dict(gradient.params)

    def __call__(self, inputs: Sequence[Array], outputs: Sequence[Array], upstream: Sequence[Array]) -> Any:
        """One cotangent per input, or None."""
        call = self._call(inputs, outputs)
        g = upstream[0] if len(upstream) == 1 else tuple(upstream)
        found = self._formula.cotangents(call, g, self._params)
        for cotangent, x, name in zip(found, inputs, self.names, strict=True):
            if cotangent is not None:
                self._formula.check(cotangent, name, cotangent.shape, x.shape, cotangent.dtype, x.dtype)
        return found

    def push(self, inputs: Sequence[Array], outputs: Sequence[Array], tangents: Sequence[Array]) -> Any:
        """The tangents of the outputs."""
        return self._formula.tangent(self._call(inputs, outputs), tuple(tangents), self._params)

    def _call(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> NativeCall:
        return NativeCall(
            Values(inputs, self.names),
            Values(outputs),
            self.attributes,
            _refuse_native(self._formula.label),
        )


def _refuse_native(label: str) -> Call:
    def native(g: Any) -> Any:
        raise FormulaError(
            f"{label}: call.native(g) is for native ops; a function has its own gradient without a rule."
        )

    return native


def catch(
    kit: FunctionKit, found: Exchange, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What an exchanged function does: run as it is, or with its gradient replaced."""
    path, state = found.target.path, kit.state()
    if state is None or path not in state.rules:
        return call(*args, **kwargs)
    frame = caller()
    gradient: Any = state.rule(path, frame)
    if gradient is None:
        return call(*args, **kwargs)
    result, wanted = run(kit, gradient, call, args, kwargs)
    if wanted:
        kit.captured(state, path, frame)
    else:
        state.missed(path, "no gradient recorded", frame=frame)
    return result


def run(
    kit: FunctionKit, gradient: FunctionGradient, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, bool]:
    """``call(*args, **kwargs)`` with this gradient, and whether a derivative was wanted."""
    kept = 1 if gradient.target.method else 0  # the object: what it holds is closed over
    leaves, rebuild = kit.flatten((args[kept:], kwargs))
    at = [i for i, leaf in enumerate(leaves) if kit.is_float(leaf)]
    floats = [leaves[i] for i in at]
    if not kit.recording(leaves):
        return call(*args, **kwargs), False
    cut = list(leaves)
    for i in at:
        cut[i] = kit.detach(leaves[i])
    plain_args, plain_kwargs = rebuild(cut)
    outputs = kit.without_rules(call, *args[:kept], *plain_args, **plain_kwargs)
    results, again = kit.flatten(outputs)
    float_at = [i for i, result in enumerate(results) if kit.is_float(result)]
    values = [results[i] for i in float_at]
    if gradient.name == "of":
        found, wanted = _of(kit, gradient, values, args, kwargs)
    else:
        closed = _closed_over(kit, gradient, args) if kit.late or kit.depends(values) else ""
        if closed and not kit.late:
            raise FormulaError(closed)
        given = _arguments(gradient, args, kwargs)
        found, wanted = _from_arguments(kit, gradient, values, floats, given, closed), kit.wants(floats)
    for i, value in zip(float_at, found, strict=True):
        results[i] = value
    return again(results), wanted


def _from_arguments(
    kit: FunctionKit,
    gradient: FunctionGradient,
    values: list[Array],
    floats: list[Array],
    given: dict[str, Any],
    closed: str,
) -> list[Array]:
    if not values or not floats:
        return values
    if gradient.formula is not None:
        names, attributes = _named(kit, given)
        return kit.with_formula(FunctionPull(gradient, names, attributes), floats, values, closed)
    first = [] if gradient.name == "zero" else values[:1]
    grafted = [kit.graft(value, _carrier(kit, gradient, value, floats[0]), closed) for value in first]
    return grafted + [kit.constant(value, closed) for value in values[len(first) :]]


def _arguments(gradient: FunctionGradient, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by the function's own names for them; without the object of a method."""
    code = gradient.target.function.__code__
    names = list(code.co_varnames[: code.co_argcount])
    more = [f"argument {at}" for at in range(len(names), len(args))]
    given = dict(zip((names + more)[: len(args)], args, strict=True))
    if gradient.target.method:
        del given[names[0]]
    return {**given, **kwargs}


def _named(kit: FunctionKit, given: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """The names of the floating arrays among the arguments, and the arguments that hold none."""
    names: list[str] = []
    attributes = {}
    for name, value in given.items():
        leaves = kit.flatten(value)[0]
        found = [at for at, leaf in enumerate(leaves) if kit.is_float(leaf)]
        if not found:
            attributes[name] = value
        elif len(leaves) == 1 and leaves[0] is value:
            names.append(name)
        else:
            names.extend([f"{name}[{at}]" for at in found])
    return names, attributes


def _carrier(kit: FunctionKit, gradient: FunctionGradient, value: Array, x: Array) -> Array:
    """The argument, made into an array of the result's shape that has the wanted derivative."""
    carrier = kit.without_rules(_derived, kit, gradient, value, x)
    if carrier is None:
        raise FormulaError(
            f"{gradient.id} hands the gradient of the first result, of shape {tuple(value.shape)}, to the "
            f"first floating argument, of shape {tuple(x.shape)}: they must agree or broadcast. Give the "
            "function \"of('a.function')\" or a formula def name(call, g)."
        )
    return carrier


def _derived(kit: FunctionKit, gradient: FunctionGradient, value: Array, x: Array) -> Array | None:
    params = dict(gradient.params)
    if gradient.name == "clipped":
        inside = kit.xp.logical_and(x >= params["lo"], x <= params["hi"])
        x = kit.xp.where(inside, x, kit.detach(x))
    elif gradient.name == "scaled":
        x = x * params["factor"]
    return kit.like(x, value)


def _of(
    kit: FunctionKit,
    gradient: FunctionGradient,
    values: list[Array],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[list[Array], bool]:
    """The values with the derivative of another function's results."""
    assert gradient.other is not None
    if gradient.inner:
        other = gradient.other(*args, **kwargs)
    else:
        other = kit.without_rules(gradient.other, *args, **kwargs)
    smooth = [leaf for leaf in kit.flatten(other)[0] if kit.is_float(leaf)]
    if len(smooth) != len(values):
        raise FormulaError(
            f"{gradient.id}: the other function returns {len(smooth)} floating arrays where "
            f"{gradient.path} returns {len(values)}."
        )
    found = []
    for position, (value, soft) in enumerate(zip(values, smooth, strict=True)):
        if tuple(soft.shape) != tuple(value.shape):
            raise FormulaError(
                f"{gradient.id}: result {position} of the other function has the shape {tuple(soft.shape)}, "
                f"that of {gradient.path} has {tuple(value.shape)}."
            )
        carrier = kit.like(soft, value)
        assert carrier is not None
        found.append(kit.graft(kit.detach(value), carrier))
    return found, kit.wants(smooth)


def _closed_over(kit: FunctionKit, gradient: FunctionGradient, args: tuple[Any, ...]) -> str:
    """What to say where a result depends on something that is no argument."""
    around = surroundings(gradient.target.function)
    if gradient.target.method:
        around.update({f"self.{name}": value for name, value in kit.members(args[0]).items()})
    names = []
    for name, value in around.items():
        if kit.depends([leaf for leaf in kit.flatten(value)[0] if kit.is_float(leaf)]):
            names.append(name)
    named = ", ".join(names) or "something that it closes over"
    return (
        f"{gradient.id}: the result depends on {named}, which is no argument and wants a gradient; "
        f"{gradient.spec} would drop it. Pass it as an argument, detach it, or say which gradient it gets "
        "with \"of('a.function')\"."
    )
