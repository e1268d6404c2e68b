"""The numbers of an audit, from one compiled function: of what every op computed, and of what came back.

A *tap* is an identity whose pullback puts six numbers of the cotangent into the gradient of a slot: so the
numbers of all cotangents are the gradient by the slots, and only they leave the compiled function. Slots of
a scan ride in as ``xs`` and the numbers of its values come out as ``ys``; a branch of a cond that was not
taken has NaN for numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from surrogate.auditing import BATCH, SATURATING, STRICT
from surrogate_jax._audit_clip import bounds
from surrogate_jax._audit_names import CALLBACKS, PLAIN
from surrogate_jax._audit_program import Body, Node, bind, inexact, is_literal

#: Smallest and largest finite element; how many are NaN, infinite, zero; how many there are.
NUMBERS = 6


def numbers(x: Any) -> Any:
    """The six numbers of an array, in the widest float; one pass costs half the compile time of five."""
    wide = jnp.zeros(()).dtype
    x = lax.optimization_barrier(lax.stop_gradient(x))  # XLA takes seconds to fold a reduction of a constant
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        x = jnp.stack([jnp.real(x), jnp.imag(x)])
    x = x.astype(wide)
    finite = jnp.isfinite(x)
    counts = (jnp.isnan(x), jnp.isinf(x), x == 0)
    columns = (
        jnp.where(finite, x, jnp.inf),
        jnp.where(finite, x, -jnp.inf),
        *(c.astype(wide) for c in counts),
    )
    empty = tuple(jnp.asarray(number, wide) for number in (jnp.inf, -jnp.inf, 0, 0, 0))
    found = lax.reduce(columns, empty, _together, tuple(range(x.ndim)))
    return jnp.stack([*found, jnp.asarray(x.size, wide)])


def _together(a: Sequence[Any], b: Sequence[Any]) -> tuple[Any, ...]:
    counts = (x + y for x, y in zip(a[2:], b[2:], strict=True))
    return (lax.min(a[0], b[0]), lax.max(a[1], b[1]), *counts)


def _identity(x: Any, slot: Any) -> Any:
    return x


def _tap_forward(x: Any, slot: Any) -> tuple[Any, None]:
    return x, None


def _tap_backward(_: None, cotangent: Any) -> tuple[Any, Any]:
    return cotangent, numbers(cotangent)


_tap = jax.custom_vjp(_identity)
_tap.defvjp(_tap_forward, _tap_backward)


# -- where the taps are ----------------------------------------------------------------------------


def slots(body: Body, lead: tuple[int, ...] = ()) -> list[Any]:
    """Empty slots for every node, nested as the nodes are."""
    return [_slots_of(node, lead) for node in body.nodes]


def _slots_of(node: Node, lead: tuple[int, ...]) -> Any:
    if node.kind == "scan":
        return slots(node.bodies[0], (*lead, node.eqn.params["length"]))
    if node.kind != "op":
        return [slots(body, lead) for body in node.bodies]
    if not _is_tapped(node):
        return {}
    outs = [f"out{k}" for k, var in enumerate(node.eqn.outvars) if inexact(var.aval)]
    ins = [f"in{k}" for k in sorted(node.asked - node.zero_in)]
    return {key: jnp.zeros((*lead, NUMBERS)) for key in (*outs, *ins)}


def _is_tapped(node: Node) -> bool:
    """Whether its cotangents are wanted: those of a sum or a view say nothing new."""
    return bool(node.asked) and not _is_opaque(node) and node.raw not in PLAIN


def _is_opaque(node: Node) -> bool:
    """Whether asking JAX for a derivative by it would fail, or is known to give none."""
    return bool(node.raises) or node.raw in CALLBACKS or node.raw == "stop_gradient"


# -- running ---------------------------------------------------------------------------------------


def run(body: Body, args: Sequence[Any], slots: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """What a body returns, and the numbers of its values, nested as its nodes are."""
    of = dict(zip(body.jaxpr.constvars, body.consts, strict=True))
    of.update(zip(body.jaxpr.invars, args, strict=True))

    def read(var: Any) -> Any:
        return var.val if is_literal(var) else of[var]

    found = []
    for node, slot in zip(body.nodes, slots, strict=True):
        outs, seen = _RUN[node.kind](node, [read(var) for var in node.eqn.invars], slot)
        of.update(zip(node.eqn.outvars, outs, strict=True))
        found.append(seen)
    return [read(var) for var in body.jaxpr.outvars], found


def _run_op(node: Node, ins: list[Any], slot: dict[str, Any]) -> tuple[list[Any], Any]:
    if _is_opaque(node):
        ins = [lax.stop_gradient(x) if inexact(x) else x for x in ins]
    ins = [lax.stop_gradient(x) if k in node.closed else x for k, x in enumerate(ins)]  # else by its probe
    ins = [_tap(x, slot[f"in{k}"]) if f"in{k}" in slot else x for k, x in enumerate(ins)]
    outs = bind(node.eqn, ins)
    seen: dict[str, Any] = {"outs": [None if node.rearranges or not inexact(y) else numbers(y) for y in outs]}
    if shares := _shares(node, ins, outs):
        seen["shares"] = shares
    return [_tap(y, slot[f"out{k}"]) if f"out{k}" in slot else y for k, y in enumerate(outs)], seen


def _run_call(node: Node, ins: list[Any], slot: Any) -> tuple[list[Any], Any]:
    outs, seen = run(node.bodies[0], ins, slot[0])
    return outs, [seen]


def _run_remat(node: Node, ins: list[Any], slot: Any) -> tuple[list[Any], Any]:
    params = node.eqn.params
    remat = jax.checkpoint(
        lambda xs, inner: run(node.bodies[0], xs, inner),
        prevent_cse=params["prevent_cse"],
        policy=params["policy"],
    )
    outs, seen = remat(ins, slot[0])
    return outs, [seen]


def _run_scan(node: Node, ins: list[Any], slot: Any) -> tuple[list[Any], Any]:
    params, body = node.eqn.params, node.bodies[0]
    first = params["num_consts"]
    last = first + params["num_carry"]

    def step(carry: Any, given: Any) -> tuple[Any, Any]:
        xs, inner = given
        outs, seen = run(body, [*ins[:first], *carry, *xs], inner)
        return outs[: last - first], (outs[last - first :], seen)

    carry, (ys, seen) = lax.scan(
        step, ins[first:last], (ins[last:], slot), length=params["length"], reverse=params["reverse"]
    )
    return [*carry, *ys], seen


def _run_cond(node: Node, ins: list[Any], slot: Any) -> tuple[list[Any], Any]:
    index = jnp.clip(jnp.asarray(ins[0], jnp.int32), 0, len(node.bodies) - 1)
    shapes = [
        jax.eval_shape(lambda xs, inner, body=body: run(body, xs, inner)[1], ins[1:], inner)
        for body, inner in zip(node.bodies, slot, strict=True)
    ]

    def branch(taken: int) -> Callable[..., Any]:
        def take(xs: Any, inner: Any) -> tuple[Any, Any]:
            outs, seen = run(node.bodies[taken], xs, inner[taken])
            return outs, [
                seen if k == taken else jax.tree.map(_nothing, shape) for k, shape in enumerate(shapes)
            ]

        return take

    outs, seen = lax.switch(index, [branch(k) for k in range(len(node.bodies))], ins[1:], slot)
    return outs, {"index": index, "branches": seen}


def _nothing(shape: Any) -> Any:
    return jnp.full(shape.shape, jnp.nan if inexact(shape) else -1, shape.dtype)


_RUN = {"op": _run_op, "call": _run_call, "remat": _run_remat, "scan": _run_scan, "cond": _run_cond}


# -- activations -----------------------------------------------------------------------------------


def _shares(node: Node, ins: Sequence[Any], outs: Sequence[Any]) -> dict[str, Any]:
    """Of an activation: which share of elements and units passes no gradient."""
    if not node.asked or not outs or not inexact(outs[0]) or not outs[0].size:
        return {}
    y: Any = outs[0]
    if node.name in SATURATING:
        slope = 1 - y * y if node.name == "tanh" else y * (1 - y)
        return {"steep": jnp.mean(slope < 0.01 * SATURATING[node.name])}
    between = bounds(node, ins) if node.name in STRICT else None
    if between is None:
        return {}
    low, high = between
    on = jnp.logical_and(True if low is None else y > low, True if high is None else y < high)
    found = {"passed": jnp.mean(on)}
    if on.ndim >= 2 and on.shape[0] >= BATCH:
        found["unit_dead"] = jnp.mean(~on.reshape(-1, on.shape[-1]).any(0))
    return found
