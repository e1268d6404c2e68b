"""What depends on a source, before anything runs: by value, not by shape only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surrogate.auditing import SHAPE_ONLY
from surrogate_jax._audit_program import Body, Node, inexact, is_literal


def follow(body: Body, tainted: Sequence[bool]) -> list[bool]:
    """Mark in every node the inputs that depend on a source; tell which outputs of the body do."""
    of: dict[Any, bool] = dict(zip(body.jaxpr.invars, tainted, strict=True))

    def known(var: Any) -> bool:
        return not is_literal(var) and of.get(var, False)

    for node in body.nodes:
        ins = [known(var) for var in node.eqn.invars]
        of.update(zip(node.eqn.outvars, _through(node, ins), strict=True))
    return [known(var) for var in body.jaxpr.outvars]


def _through(node: Node, ins: list[bool]) -> list[bool]:
    if node.kind == "op":
        node.asked |= {k for k, yes in enumerate(ins) if yes and inexact(node.eqn.invars[k].aval)}
        return [any(ins) and node.name not in SHAPE_ONLY] * len(node.eqn.outvars)
    if node.kind == "scan":
        return _through_scan(node, ins)
    if node.kind == "cond":
        branches = [follow(body, ins[1:]) for body in node.bodies]
        return [ins[0] or any(outs) for outs in zip(*branches, strict=True)]
    return follow(node.bodies[0], ins)


def _through_scan(node: Node, ins: list[bool]) -> list[bool]:
    """A value that a later iteration taints is tainted."""
    first = node.eqn.params["num_consts"]
    last = first + node.eqn.params["num_carry"]
    while True:
        outs = follow(node.bodies[0], ins)
        carry = [a or b for a, b in zip(ins[first:last], outs, strict=False)]
        if carry == ins[first:last]:
            return outs
        ins = [*ins[:first], *carry, *ins[last:]]
