"""What people type for a name of the catalogue: taken where it can mean nothing else, else explained."""

from __future__ import annotations

from collections.abc import Container

#: Operators, which are ops of the catalogue in every framework.
_OPERATORS = {
    "%": "mod",
    "//": "floor_divide",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "==": "equal",
    "!=": "not_equal",
}

#: "The gradient goes through as if the op were not there".
_PASS = ("linear", "pass", "pass_through")

#: The same, or on a window only: papers and libraries do not agree.
_THROUGH = ("ste", "straight_through", "straight_through_estimator")

#: Gradients that are called straight-through too: on a window, or by another of the op's inputs.
_NEARLY_THROUGH = ("hardtanh", "straight_through")

_OPS_EXPLAINED = {
    "where": (
        "where hands its gradient to the branch it took and needs no rule; what stops gradients is its "
        "condition: give 'compare' a rule, as in {'compare': 'arctan'}, or greater, less, ... one."
    ),
    "leaky_relu": (
        "leaky_relu has a derivative of its own that is nowhere 0. For relu with the derivative of "
        "leaky_relu write {'relu': 'leaky'}."
    ),
    "detach": "detach is meant to stop the gradient: take it out, or override the function it is in.",
}


def operator(name: object) -> str | None:
    """The op that an operator is: ``mod`` for ``%``."""
    return _OPERATORS.get(name) if isinstance(name, str) else None


def through(name: str, known: Container[str]) -> str | None:
    """``identity`` for a name of straight-through, if an op's gradients have no other that is called so."""
    nearly = _plain(name) in _THROUGH and any(other in known for other in _NEARLY_THROUGH)
    return "identity" if is_through(name) and "identity" in known and not nearly else None


def is_through(name: str) -> bool:
    """Whether a name stands for straight-through: ``ste``, ``STE``, ``pass``."""
    return _plain(name) in (*_PASS, *_THROUGH)


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def explained_op(name: object) -> str:
    """What to do about a name that is an op of frameworks and none of the catalogue; mostly nothing."""
    return _OPS_EXPLAINED.get(str(name).rpartition("::")[2].rpartition(".")[2], "")


def explained_gradient(name: str, known: Container[str]) -> str:
    """Which of two gradients a name of straight-through may mean; empty for any other name."""
    if not is_through(name) or "identity" not in known:
        return ""
    if "hardtanh" in known:
        return "'identity' is 1 everywhere, 'hardtanh' is 1 on [-width, width] and 0 outside."
    return "'identity' is 1 for the first input, 'straight_through' also -floor(x/y) for the second."
