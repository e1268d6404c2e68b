"""Parameters of a gradient that are learned: inputs of the node beside the op's own.

A compiler must be given them as inputs of its graph, or nothing would connect the loss to them. So while
Dynamo traces an op that has one, the call in its graph becomes a :class:`Given`, with the tensors as
arguments: what traces the graph after it, and what runs it, finds them there.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch._guards import TracingContext

from surrogate import ParameterError, Rule

R = TypeVar("R")

_functorch = torch._C._functorch
_unpack_dual = torch._C._VariableFunctions._unpack_dual


class _Thread(threading.local):
    """What stands for a parameter's tensor, by its handle, in the graph that is traced or run."""

    def __init__(self) -> None:
        self.tensors: dict[str, Any] = {}


_thread = _Thread()


def wants_gradient(value: Any) -> bool:
    """Whether a tensor, given as a parameter, is learned; a wrapped one is an argument of a transform."""
    if not isinstance(value, torch.Tensor):
        return False
    wrapped: bool = _functorch.is_functorch_wrapped_tensor(value)
    return value.requires_grad or wrapped or _unpack_dual(value, 0)[1] is not None


def inputs_of(rule: Rule, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """The inputs of a rule: those of the op, then the learned parameters.

    Without these where a compiler looks at its own graph again, in which nothing wants a gradient.

    Raises:
        ParameterError: a parameter is another framework's, or what traces the op can be given none.
    """
    found = [_thread.tensors.get(one.handle) for one in rule.learned]
    if None in found and TracingContext.try_get() is not None:
        if (lifted := _lifted(rule)) is None:
            if any(isinstance(x, torch.Tensor) and x.requires_grad for x in inputs):
                raise ParameterError(
                    f"{rule.id}: a learned parameter is not known to what traces this op. Trace it with "
                    "torch.compile, or give the parameter's value, detach()."
                )
            return tuple(inputs)
        found = lifted
    both = zip(found, rule.learned, strict=True)
    return (*inputs, *[_own(rule, one.tensor) if tensor is None else tensor for tensor, one in both])


def _own(rule: Rule, tensor: Any) -> Any:
    if not isinstance(tensor, torch.Tensor):
        raise ParameterError(
            f"{rule.id}: a learned parameter is a {type(tensor).__name__}, where PyTorch needs a tensor."
        )
    return tensor


def tensors_of(rule: Rule, found: Sequence[Any]) -> dict[str, Any]:
    """The learned parameters by their handles, of inputs of the rule that end with them."""
    handles = [one.handle for one in rule.learned]
    return dict(zip(handles, found[len(found) - len(handles) :], strict=True)) if found else {}


def standing(tensors: Mapping[str, Any], function: Callable[..., R], *args: Any, **kwargs: Any) -> R:
    """``function(*args, **kwargs)``, in which these tensors stand for parameters, by handle."""
    before = _thread.tensors
    _thread.tensors = before | dict(tensors)
    try:
        return function(*args, **kwargs)
    finally:
        _thread.tensors = before


def a_level_below(rule: Rule, inputs: Sequence[Any], function: Callable[..., R], *args: Any) -> R:
    """``function(*args)`` as the innermost transform calls what is below it: with what it has wrapped."""
    if not rule.learned:
        return function(*args)
    level = _functorch.current_level()
    below = {
        handle: _functorch.get_unwrapped(x) if _functorch.maybe_get_level(x) == level else x
        for handle, x in tensors_of(rule, inputs).items()
    }
    return standing(below, function, *args)


class Given:
    """A function in a graph, called with what stands for the parameters' tensors.

    Args:
        function: a function, or the name of a method of the first argument.
    """

    def __init__(self, function: Callable[..., Any] | str) -> None:
        self._function = function
        self.__name__, self.__module__ = "given", __name__  # a graph's code names what it calls

    def __call__(self, handles: tuple[str, ...], tensors: tuple[Any, ...], *args: Any, **kwargs: Any) -> Any:
        given = dict(zip(handles, tensors, strict=True))
        if isinstance(self._function, str):
            return standing(given, getattr(args[0], self._function), *args[1:], **kwargs)
        return standing(given, self._function, *args, **kwargs)


def _lifted(rule: Rule) -> list[Any] | None:
    """The tensors as inputs of the graph that Dynamo is making, as fake tensors; None where it makes none."""
    module = sys.modules.get("torch._dynamo.symbolic_convert")
    tx = None if module is None else getattr(module.tls, "current_tx", None)
    if tx is None:
        return None
    tracer = tx.output.current_tracer
    node = next(iter(reversed(tracer.graph.nodes)), None)
    if node is None or not node.op.startswith("call") or "example_value" in node.meta:
        return None  # Dynamo has run this call before: it is not the one that is traced
    known = _of_graph(tx)
    variables = [known.get(one.handle) or _variable(tx, _own(rule, one.tensor)) for one in rule.learned]
    nodes = tuple(tracer.maybe_lift_tracked_freevar_to_input(v.as_proxy()).node for v in variables)
    handles = tuple(one.handle for one in rule.learned)
    _put_through(node, handles, nodes)
    return [v.as_proxy().node.meta["example_value"] for v in variables]


def stand_in(value: Any) -> torch.Tensor:
    """What stands for a tensor of a graph that Dynamo is making, as the parameter of a gradient."""
    return torch.empty([int(size) for size in value.shape], device="meta", requires_grad=True)


def of_graph(tx: Any, rule: Rule, variables: Sequence[tuple[torch.Tensor, Any]]) -> None:
    """Tell for which variables of Dynamo's such tensors stand; forgotten with the graph."""
    by_tensor = {id(tensor): variable for tensor, variable in variables}
    _of_graph(tx).update((one.handle, by_tensor[id(one.tensor)]) for one in rule.learned)


def _of_graph(tx: Any) -> dict[str, Any]:
    known: dict[str, Any] = vars(tx.output).setdefault("surrogate_learned", {})
    return known


def _variable(tx: Any, tensor: Any) -> Any:
    from torch._dynamo.source import GlobalSource
    from torch._dynamo.variables.builder import VariableBuilder

    name = tx.output.install_global_by_id("surrogate_learned", tensor)
    return VariableBuilder(tx, GlobalSource(name))(tensor)


def _put_through(node: Any, handles: tuple[str, ...], tensors: tuple[Any, ...]) -> None:
    """Rewrite a call in a graph; one that has been is given what it lacks."""
    if isinstance(node.target, Given):
        had, those, *rest = node.args
        known = dict(zip(had, those, strict=True)) | dict(zip(handles, tensors, strict=True))
        node.args = (tuple(known), tuple(known.values()), *rest)
        return
    node.op, node.target, node.args = "call_function", Given(node.target), (handles, tensors, *node.args)
