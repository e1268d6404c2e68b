"""Putting the kernels over PyTorch's own: over those of an op when it gets its first rule."""

from __future__ import annotations

from collections.abc import Set
from functools import partial
from typing import Any

from surrogate import Backend
from surrogate_torch import _capture, _discrete, _foreach, _shield as shield
from surrogate_torch._boundary import hide
from surrogate_torch._checkpoint import bind_recomputations
from surrogate_torch._consumers import Consumers
from surrogate_torch._fused import FusedWindow
from surrogate_torch._inplace import SurrogateInplace
from surrogate_torch._layers import AUTOGRAD, Layer, Rank, forget_compiled, put
from surrogate_torch._node import Surrogate, SurrogateUnary
from surrogate_torch._operators import bind_operators
from surrogate_torch._scope import Scope
from surrogate_torch._script import keep_autograd
from surrogate_torch._shield import OWN
from surrogate_torch._spellings import SPELLINGS, UNARY

#: What PyTorch calls of our nodes.
_STEPS = [
    vars(node)[step].__func__
    for node in (Surrogate, SurrogateUnary, SurrogateInplace, FusedWindow)
    for step in ("forward", "backward", "jvp")
    if step in vars(node)
]


class Installation:
    """The kernels, over the ops that have had a rule; in place as long as this object lives.

    Making it changes nothing. Every step may be done again where it was interrupted.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._scope = Scope(backend)
        self._layers: list[Layer] = []
        self._libraries: list[Any] = []
        self._consumers: Consumers | None = None
        self._begun = False

    def complete(self, ops: Set[str], before: Set[str]) -> None:
        """Put the kernels of these ops in, where those of others are in place before."""
        if not self._begun:
            hide(_STEPS)
            bind_recomputations(self._backend)
            bind_operators(self._backend)
            keep_autograd()
            self._begun = True
        self._put(_layers_of(with_owners(before | ops), with_owners(before), self._scope))

    def complete_discrete(self) -> None:
        """Those of the ops that give booleans and integers, and what is made of them."""
        self._consumers = None  # what was begun before goes
        self._put(list(_discrete.layers(self._scope)))
        self._consumers = Consumers()

    def _put(self, layers: list[Layer]) -> None:
        if layers:
            self._libraries += put(layers)
            self._layers += layers
            forget_compiled()

    def compares_no_more(self) -> None:
        """No rule for a comparison is in force here."""
        if self._consumers is not None:
            self._consumers.take_out()

    def put_in(self) -> None:
        """Put the kernels over PyTorch's again."""
        self._libraries = put(self._layers)

    def take_out(self) -> None:
        """Take them away, to time one against the other: what they have captured keeps its rule."""
        for library in self._libraries:
            library._destroy()
        for layer in self._layers:
            layer.overload._dispatch_cache.clear()


def with_owners(ops: Set[str]) -> Set[str]:
    """The ops, and those that use them in their own native derivative, which are to stay native in there."""
    return ops | {owner for owner, uses in OWN.items() if not uses.isdisjoint(ops)}


def _layers_of(ops: Set[str], before: Set[str], scope: Scope) -> list[Layer]:
    """The kernels for these ops, without those that are there for others."""
    found: list[Layer] = []
    for spelling in SPELLINGS:
        mine = {spelling.op, *spelling.ops}
        if mine.isdisjoint(ops) or not mine.isdisjoint(before):
            continue
        make = _capture.unary if spelling in UNARY else _capture.general
        targets = [(spelling.overload, make)]
        if spelling.inplace is not None:
            targets.append((spelling.inplace, _capture.inplace))
        for overload, builder in targets:
            found.append(Layer(overload, AUTOGRAD, Rank.RULE, partial(builder, spelling, scope)))
            found.append(_capture.mapped(spelling, overload, scope))
    found.extend(_foreach.layers(ops - before, scope))
    shielded = {(layer.overload, layer.key) for layer in shield.layers(before)}
    found.extend(one for one in shield.layers(ops) if (one.overload, one.key) not in shielded)
    return found
