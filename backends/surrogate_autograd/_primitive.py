"""The primitive that stands for a captured op: the native value, the rule's derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from autograd.extend import defjvp_argnums, defvjp_argnums

from surrogate import Rule
from surrogate_autograd import _namespace as xp
from surrogate_autograd._extend import primitive
from surrogate_autograd._learned import dtype_of
from surrogate_autograd._scope import suspended
from surrogate_autograd._spellings import Call
from surrogate_autograd._sum import Meta, cast, fit, meta, spread

Array = Any


class Captured(NamedTuple):
    """What an op was captured with: its native function, how it was called, and its rule.

    Attributes:
        learned: how many operands, the last ones, are parameters of the rule that the value ignores.
    """

    native: Callable[..., Array]
    call: Call
    rule: Rule
    learned: int = 0


@primitive
def captured(how: Captured, *operands: Array) -> Array:
    """The native value, whatever is differentiated."""
    args, kwargs = how.call.put(operands[: len(operands) - how.learned])
    return how.native(*args, **kwargs)


def _save(
    argnums: Sequence[int], out: Meta, how: Captured, operands: Sequence[Array]
) -> tuple[tuple[bool, ...], tuple[Array, ...]]:
    """Which operands are differentiated, and what the rule keeps for that."""
    needs = tuple(position + 1 in argnums for position in range(len(operands)))
    own = len(operands) - how.learned
    inputs = [_as_input(x, need, out.dtype) for x, need in zip(operands[:own], needs, strict=False)]
    inputs += [cast(x, dtype_of(out.dtype)) for x in operands[own:]]
    return needs, how.rule.save(xp, inputs, needs)


def _as_input(x: Array, need: bool, dtype: np.dtype[Any]) -> Array:
    """An operand as rules take it: in the output's dtype, or a Python number."""
    return x if type(x) in (int, float) and not need else cast(x, dtype)


def _pull(
    rule: Rule,
    saved: Sequence[Array],
    needs: Sequence[bool],
    out: Meta,
    operands: Sequence[Meta],
    g: Array,
) -> tuple[Array, ...]:
    """The cotangents of the operands that are differentiated. Holds nothing but its arguments."""
    found = rule.vjp(xp, saved, spread(g, out), needs)
    wanted = (cotangent for cotangent, need in zip(found, needs, strict=True) if need)
    return tuple(fit(c, to) for c, to in zip(wanted, operands, strict=True))


def _vjp(
    argnums: Sequence[int], ans: Array, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[[Array], tuple[Array, ...]]:
    how, operands, out = args[0], args[1:], meta(ans)
    needs, saved = suspended(_save, argnums, out, how, operands)
    return partial(suspended, _pull, how.rule, saved, needs, out, [meta(args[at]) for at in argnums])


def _jvp(
    argnums: Sequence[int],
    tangents: Sequence[Array],
    ans: Array,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Array:
    return suspended(_push, argnums, tangents, args[0], args[1:], meta(ans))


def _push(
    argnums: Sequence[int], tangents: Sequence[Array], how: Captured, operands: tuple[Any, ...], out: Meta
) -> Array:
    needs, saved = _save(argnums, out, how, operands)
    given = dict(zip(argnums, tangents, strict=True))
    spreads = [spread(given[at + 1], out) if at + 1 in given else None for at in range(len(operands))]
    tangent = how.rule.jvp(xp, saved, spreads, needs)
    return np.zeros(out.shape, out.dtype) if tangent is None else spread(tangent, out)


defvjp_argnums(captured, _vjp)
defjvp_argnums(captured, _jvp)
