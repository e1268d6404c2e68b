"""Is the derivative of an op zero everywhere? No list is kept: the op is asked, alone, and remembered.

First its pullback is traced: a cotangent that reaches no input is zero whatever the numbers. Where it gets
there through a selection only (``heaviside`` is alive in its NaN branch), or by a rule that a user wrote, the
pullback is computed on random numbers of both signs and six decades; a zero for all draws is structural.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from surrogate_jax._audit_names import CALLBACKS, PRODUCTS, SELECTS
from surrogate_jax._audit_program import Body, Node, bind, inexact, is_literal

#: A cotangent does not arrive; arrives if a selection lets it; arrives.
_NEVER, _MAYBE, _SURELY = 0, 1, 2

#: How many answers are remembered.
_KEPT = 4096

_DECADES = np.concatenate([sign * np.logspace(-3, 3, 25) for sign in (1.0, -1.0)])


class Answer(NamedTuple):
    """Positions of the inputs whose derivative is zero everywhere, or why there is none at all."""

    zero: frozenset[int]
    raises: str = ""


_answers: OrderedDict[Any, tuple[Answer, Node]] = OrderedDict()  # a node keeps alive what its key names


def ask_all(body: Body) -> None:
    """Put the answers into every node."""
    for node in body.nodes:
        for inner in node.bodies:
            ask_all(inner)
        if node.kind == "op" and _is_open(node):
            node.zero_in, node.raises = _remembered(node)


def _is_open(node: Node) -> bool:
    """Whether anything is to be asked."""
    silent = node.raw in PRODUCTS or node.raw in CALLBACKS or node.raw == "stop_gradient"
    return bool(node.asked) and not silent and any(inexact(var.aval) for var in node.eqn.outvars)


# -- asking ----------------------------------------------------------------------------------------


def _remembered(node: Node) -> Answer:
    key = _key(node)
    if key not in _answers:
        _answers[key] = _ask(node), node
        if len(_answers) > _KEPT:
            _answers.popitem(last=False)
    return _answers[key][0]


def _key(node: Node) -> Any:
    """The same for calls of one op on arrays of one type: a JAX function is traced anew at each call."""
    avals = tuple(
        float(np.asarray(var.val).ravel()[0]) if is_literal(var) and np.size(var.val) else str(var.aval)
        for var in node.eqn.invars
    )
    given = node.eqn.params
    if node.is_function_of_jax:
        params: Any = str(given.get("jaxpr") or given.get("call_jaxpr"))
    else:
        params = tuple((name, _hashable(value)) for name, value in sorted(given.items()))
    return node.raw, node.eqn.primitive, params, avals, frozenset(node.asked)


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def _ask(node: Node) -> Answer:
    wanted = sorted(node.asked - node.closed)
    if not wanted:
        return Answer(node.closed)
    try:
        arrives = _traced(node, wanted)
    except (NotImplementedError, ValueError, TypeError) as error:  # JAX's words for: no derivative
        return Answer(frozenset(), str(error).partition("\n")[0])
    alone = (
        node.raw == node.eqn.primitive.name
    )  # a primitive's own rule selects by the sign of a number at most
    open_ = [k for k, level in zip(wanted, arrives, strict=True) if level == _MAYBE and not alone]
    zero = {k for k, level in zip(wanted, arrives, strict=True) if level == _NEVER}
    if node.has_custom_rule:
        open_ = [k for k in wanted if k not in zero]
    if open_:
        zero |= set(open_) - _alive_by_numbers(node, wanted)
    return Answer(frozenset(zero) | node.closed)


def _pull(node: Node, wanted: Sequence[int], ins: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """Cotangents of the wanted inputs."""

    def moving(*xs: Any) -> list[Any]:
        full = list(ins)
        for k, x in zip(wanted, xs, strict=True):
            full[k] = x
        return [y for y in bind(node.eqn, full) if inexact(y)]

    _, back = jax.vjp(moving, *(ins[k] for k in wanted))
    return list(back(list(cotangents)))


def _outs(node: Node) -> list[Any]:
    return [var.aval for var in node.eqn.outvars if inexact(var.aval)]


def _traced(node: Node, wanted: Sequence[int]) -> list[int]:
    """Whether the cotangents arrive, by wanted input."""
    given = [k for k, var in enumerate(node.eqn.invars) if not is_literal(var)]

    def pull(values: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        found = dict(zip(given, values, strict=True))
        ins = [var.val if is_literal(var) else found[k] for k, var in enumerate(node.eqn.invars)]
        return _pull(node, wanted, ins, cotangents)

    shapes = [_shape(node.eqn.invars[k].aval) for k in given]
    closed = jax.make_jaxpr(pull)(shapes, [_shape(aval) for aval in _outs(node)])
    levels = [_NEVER] * len(given) + [_SURELY] * len(_outs(node))
    return _levels(closed.jaxpr, levels)


def _shape(aval: Any) -> Any:
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))


def _levels(jaxpr: Any, ins: Iterable[int]) -> list[int]:
    """How surely the marked inputs of a jaxpr reach its outputs."""
    of: dict[Any, int] = dict(zip(jaxpr.invars, ins, strict=True))

    def level(var: Any) -> int:
        return _NEVER if is_literal(var) else of.get(var, _NEVER)

    for eqn in jaxpr.eqns:
        into = [level(var) for var in eqn.invars]
        name, inner = eqn.primitive.name, eqn.params.get("jaxpr")
        if name in ("jit", "pjit", "closed_call") and inner is not None:
            outs = _levels(getattr(inner, "jaxpr", inner), into)
        else:
            outs = [min(max(into, default=_NEVER), _MAYBE if name in SELECTS else _SURELY)] * len(eqn.outvars)
        of.update(zip(eqn.outvars, outs, strict=True))
    return [level(var) for var in jaxpr.outvars]


def _alive_by_numbers(node: Node, wanted: Sequence[int]) -> set[int]:
    """The wanted inputs that get a cotangent that is not zero for some draw."""
    draws = np.random.RandomState(7)
    fixed = [var.val if is_literal(var) else _draw(draws, var.aval) for var in node.eqn.invars]
    cotangents = [_draw(draws, aval) for aval in _outs(node)]

    def one(scale: Any) -> list[Any]:
        ins = [
            x * scale.astype(x.dtype) if inexact(x) and not is_literal(var) else x
            for x, var in zip(fixed, node.eqn.invars, strict=True)
        ]
        return [jnp.any(c != 0) for c in _pull(node, wanted, ins, cotangents)]

    try:
        alive = jax.jit(lambda scales: lax.map(one, scales))(jnp.asarray(_DECADES, jnp.float32))
    except (NotImplementedError, ValueError, TypeError):  # not for these numbers: nothing is claimed
        return set(wanted)
    return set(itertools.compress(wanted, (bool(np.any(x)) for x in alive)))


def _draw(draws: Any, aval: Any) -> Any:
    """Numbers of this type: floats of both signs, small integers, keys."""
    if jnp.issubdtype(aval.dtype, jax.dtypes.prng_key):
        return jnp.broadcast_to(jax.random.key(0), aval.shape)
    if inexact(aval):
        return jnp.asarray(draws.standard_normal(aval.shape), aval.dtype)
    return jnp.asarray(draws.randint(0, 2, aval.shape), aval.dtype)
