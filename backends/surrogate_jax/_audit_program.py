"""A jaxpr as the audit reads it: ops under the names that a user knows, at the user's lines.

User jits, remat, scan and cond are entered. A jit of JAX's own (``jnp.std``), a function with a custom rule
and a while loop are one op. A node is one call: what a jitted helper does is there once for each call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Literal

from surrogate.auditing import Place
from surrogate_jax import _audit_places, _hooks
from surrogate_jax._audit_names import INLINED, REARRANGES, canonical
from surrogate_jax._formula import formula_p, graft_p

#: Equations that call a jaxpr; what it holds is the user's.
_CALLS = frozenset({"jit", "pjit", "closed_call", "core_call", "remat", "remat2", "checkpoint", "custom_lin"})
_REMAT = frozenset({"remat", "remat2", "checkpoint"})
_CUSTOM = frozenset({"custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"})


@dataclass(eq=False)
class Node:
    """One equation.

    Attributes:
        eqn: the equation.
        kind: ``op``, ``call``, ``remat``, ``scan`` or ``cond``.
        raw: the name of the primitive, or of the function of JAX's that it calls.
        name: the canonical name.
        place: the user's line.
        scope: names of the modules it was called in (``jax.named_scope``).
        bodies: what it enters.
        asked: inputs that depend on a source; the questions below are about them.
        zero_in: those whose derivative is zero everywhere.
        raises: the message, if the op has no derivative by them.
    """

    eqn: Any
    kind: str
    raw: str
    name: str
    place: Place
    scope: str = ""
    bodies: list[Body] = field(default_factory=list)
    asked: set[int] = field(default_factory=set)
    zero_in: frozenset[int] = frozenset()
    raises: str = ""

    @property
    def has_custom_rule(self) -> bool:
        """Whether it is a function with a derivative of its own (``custom_jvp``, ``custom_vjp``)."""
        return self.eqn.primitive.name in _CUSTOM

    @property
    def closed(self) -> frozenset[int]:
        """The inputs of what an override made by which it refuses a derivative: only their values count."""
        params, count = self.eqn.params, len(self.eqn.invars)
        if self.eqn.primitive is graft_p:
            return frozenset({0})
        return (
            frozenset(range(params["call"].count, count)) if self.eqn.primitive is formula_p else frozenset()
        )

    @property
    def is_function_of_jax(self) -> bool:
        """Whether it is a function of JAX's, jitted or with a custom rule."""
        inner = self.eqn.params.get("jaxpr") or self.eqn.params.get("call_jaxpr")
        return self.kind == "op" and inner is not None and _hooks.PUBLIC in _source(inner)

    @property
    def rearranges(self) -> bool:
        """Whether its elements are those of its input."""
        return self.kind == "op" and self.raw in REARRANGES


@dataclass(eq=False)
class Body:
    """A jaxpr, its constants and its nodes."""

    jaxpr: Any
    consts: Sequence[Any]
    nodes: list[Node]


def read(closed: Any) -> Body:
    """Everything a program does, from its jaxpr."""
    jaxpr, consts = (closed.jaxpr, closed.consts) if isinstance(closed, ClosedJaxpr) else (closed, ())
    return Body(jaxpr, consts, [_node(eqn) for eqn in jaxpr.eqns])


def _node(eqn: Any) -> Node:
    primitive, params = eqn.primitive.name, eqn.params
    info = eqn.source_info
    raw = _own_function(eqn) or primitive
    name = _captured_op(eqn) or _inlined(eqn) or canonical(raw)
    kind, inner = "op", []
    if _own_function(eqn) is None:
        if primitive in _CALLS and (called := params.get("jaxpr") or params.get("call_jaxpr")):
            kind, inner = ("remat" if primitive in _REMAT else "call"), [called]
        elif primitive == "scan":
            kind, inner = "scan", [params["jaxpr"]]
        elif primitive == "cond":
            kind, inner = "cond", list(params["branches"])
    place = _audit_places.user_place(info)
    return Node(
        eqn, kind, raw, name, place, _audit_places.named_scope(info), [read(jaxpr) for jaxpr in inner]
    )


def _own_function(eqn: Any) -> str | None:
    """The function that the equation calls, if it is one of JAX's or has a custom derivative."""
    name, params = eqn.primitive.name, eqn.params
    if name in _CUSTOM:
        source = _source(params.get("call_jaxpr") or params.get("fun_jaxpr"))
        return source.split(" ")[0].rpartition(".")[2] or name
    if name in ("jit", "pjit") and _hooks.PUBLIC in _source(params["jaxpr"]):
        return str(params["name"])
    return None


def _source(jaxpr: Any) -> str:
    """``function at file:line`` of a traced function."""
    return getattr(jaxpr, "jaxpr", jaxpr).debug_info.func_src_info or ""


def _captured_op(eqn: Any) -> str | None:
    """The op that an override has captured here."""
    return rule_of(eqn).partition(":")[0] or None


def _inlined(eqn: Any) -> str | None:
    """The function of JAX's, not jitted by it, whose result this equation is."""
    for (file, function, primitive), name in INLINED.items():
        if eqn.primitive.name == primitive and _audit_places.runs_in(eqn.source_info, file, function):
            return name
    return None


def rule_of(eqn: Any) -> str:
    """The id of the gradient that an override gives this call; empty if none does."""
    return eqn.params["call"].rule.id if eqn.primitive.name == "surrogate" else ""


def bind(eqn: Any, ins: Sequence[Any]) -> list[Any]:
    """Compute an equation on these inputs."""
    bound = eqn.primitive.get_bind_params(eqn.params)
    functions, params = bound if isinstance(bound, tuple) else ((), bound)  # a pair before JAX 0.10
    found = eqn.primitive.bind(*functions, *ins, **params)
    return list(found) if eqn.primitive.multiple_results else [found]


def inexact(x: Any) -> bool:
    """Whether a value or an aval is float or complex."""
    return hasattr(x, "dtype") and bool(jnp.issubdtype(x.dtype, jnp.inexact))


def is_literal(var: Any) -> bool:
    """Whether an input of an equation is a number written in the jaxpr."""
    return isinstance(var, Literal)
