"""Backends with one planted fault each, and the promise that it breaks."""

from __future__ import annotations

import re
import types

import numpy as np
from toy import namespace, tape
from toy.backend import Toy

import surrogate
from surrogate import Kind
from surrogate._gradient import owner

#: (faulty backend, the promise whose check must reject it, others that it cannot help breaking)
FAULTS = []


def breaks(right, *also):
    """The promise that a faulty backend breaks, and those that break with it: exactly these."""

    def add(cls):
        FAULTS.append((cls, right, set(also)))
        return cls

    return add


#: (faulty backend, what the id of a check that rejects it looks like)
NARROW = []


def breaks_only(right):
    """The ids of the checks that reject a faulty backend, as a regular expression: some, and no others."""

    def add(cls):
        NARROW.append((cls, re.compile(right)))
        return cls

    return add


@breaks("vjp", "select", "shapes", "decimals", "second", "product")
class GradientDropped(Toy):
    """The cotangent of round is dropped: its native gradient comes back."""

    def vjp(self, rule, saved, g, needs):
        found = super().vjp(rule, saved, g, needs)
        return [np.zeros_like(tape.unbox(g))] if rule.id.startswith("round:") else found


@breaks("vjp", "select", "jvp", "product")
class OpenEdge(Toy):
    """The edge of a window is open instead of closed."""

    def save(self, rule, primals, needs):
        saved = super().save(rule, primals, needs)
        if not rule.id.startswith("sign:hardtanh"):
            return saved
        return (np.abs(tape.unbox(primals[0])) < rule.interval[1],)


@breaks("vjp", "shapes", "closed_over")
class WrongQuadrant(Toy):
    """The divisor's cotangent has the wrong sign where x < 0 < y."""

    def vjp(self, rule, saved, g, needs):
        found = list(super().vjp(rule, saved, g, needs))
        if rule.id == "mod:exact":
            x, y = map(tape.unbox, saved)
            flip = (x < 0) & (y > 0) & np.isfinite(tape.unbox(g))
            found[1] = found[1] * np.where(flip, -1, 1).astype(g.dtype)
        return found


@breaks("value", "shapes", "closed_over", "decimals")
class OffByOneUlp(Toy):
    """The forward is one ulp too large, as of arithmetic like ``x + (f(x) - x)``."""

    def forward(self, primitive, inputs):
        exact = primitive.forward
        primitive.forward = lambda *xs: np.nextafter(exact(*xs), xs[0].dtype.type(np.inf))
        return primitive(*inputs)


@breaks("dtype")
class DtypeChanged(Toy):
    """The cotangents are float32 whatever the input was."""

    def vjp(self, rule, saved, g, needs):
        found = super().vjp(rule, saved, g, needs)
        narrow = tape.unbox(g).dtype.itemsize < 4
        return [namespace.widen(c) if narrow and c is not None else c for c in found]


@breaks("scope", "compiled", "contract")
class Leaks(Toy):
    """The last rules stay in force after their override has ended."""

    stale = surrogate.RuleSet({})

    def apply(self, rules, scope):
        self.stale = rules or self.stale

    def rules_here(self):
        return self.state().rules or self.stale

    def key(self):
        return self.rules_here()


@breaks("scope")
class RulesOfTheProcess(Toy):
    """Whoever made the last change decides for every thread."""

    stale = surrogate.RuleSet({})

    def apply(self, rules, scope):
        self.stale = self.store._process.rules if rules is None else rules

    def rules_here(self):
        return self.stale


@breaks("shapes")
class NotSummed(Toy):
    """The cotangent of a broadcast operand keeps the output's shape."""

    def fit(self, cotangent, shape):
        return cotangent


@breaks("shapes")
class MeanInsteadOfSum(Toy):
    """The cotangent of a broadcast operand is the mean over the axes it was repeated along."""

    def fit(self, cotangent, shape):
        total, values = tape.sum_to(cotangent, shape), tape.unbox(cotangent)
        return total * values.dtype.type(max(np.prod(shape), 1) / max(values.size, 1))


@breaks("closed_over")
class LostForOneOperand(Toy):
    """Where not every operand asks for a cotangent, none gets one."""

    def vjp(self, rule, saved, g, needs):
        found = super().vjp(rule, saved, g, needs)
        return found if all(needs) else [np.zeros_like(tape.unbox(g)) for _ in needs]


@breaks("compiled")
class StaleAfterExit(Toy):
    """The compiler's cache key does not know the rules: what was traced first stays."""

    def key(self):
        return None


@breaks("compiled")
class CompilesAgain(Toy):
    """Every call compiles anew."""

    def key(self):
        return object()


@breaks("scope")
class DecidedAtBackward(Toy):
    """The backward pass uses the rule in force when it runs."""

    def backward_rule(self, rule):
        op = rule.id.partition(":")[0]
        found = self.state().rules.get(op)
        return surrogate.gradient(op, "zero").rule if found is None else found.at(**rule.attributes)


@breaks("second", "product", "composites")
class SecondDropped(Toy):
    """The formula's own derivative is lost: second derivatives are 0."""

    def vjp(self, rule, saved, g, needs):
        return super().vjp(rule, tuple(tape.unbox(x) for x in saved), g, needs)


@breaks("select")
class MaskMultiplied(Toy):
    """A window is multiplied with the upstream gradient, not selected by it."""

    def vjp(self, rule, saved, g, needs):
        if rule.kept(needs) is not Kind.MASK or not rule.id.startswith("sign:hardtanh"):
            return super().vjp(rule, saved, g, needs)
        return [saved[0].astype(tape.unbox(g).dtype) * g]


@breaks("residuals")
class MaskSavedAsFloat(Toy):
    """The mask is kept in the dtype of the input: four bytes where one will do."""

    def save(self, rule, primals, needs):
        saved = super().save(rule, primals, needs)
        if rule.kept(needs) is not Kind.MASK:
            return saved
        return tuple(mask.astype(tape.unbox(primals[0]).dtype) for mask in saved)


@breaks_only(r"residuals\[(mod|clip|floor_divide):.*-number\]")
class KeepsForNumbers(Toy):
    """What is kept does not ask which operands carry a gradient."""

    def save(self, rule, primals, needs):
        return super().save(rule, primals, None)

    def vjp(self, rule, saved, g, needs):
        found = super().vjp(rule, saved, g, None)
        return [c if need else None for c, need in zip(found, needs, strict=True)]

    def tangent(self, rule, saved, tangents, needs):
        return super().tangent(rule, saved, tangents, None)


@breaks("value", "shapes", "closed_over", "decimals")
class ReturnsTheInput(Toy):
    """value_and_grad gives the op's input in place of its output."""

    def grad(self, f, inputs, g):
        value, cotangents = super().grad(f, inputs, g)
        return (
            inputs[0] if np.shape(tape.unbox(inputs[0])) == np.shape(tape.unbox(value)) else value
        ), cotangents


@breaks("jvp")
class TangentDoubled(Toy):
    """Forward mode gives other numbers than reverse mode."""

    def tangent(self, rule, saved, tangents, needs):
        found = super().tangent(rule, saved, tangents, needs)
        return found + found if rule.id == "sign:tanh(slope=1.0)" else found


@breaks("no_forward_mode")
class SilentForwardMode(Toy):
    """Forward mode through a gradient that has none gives 0 in place of an error."""

    def tangent(self, rule, saved, tangents, needs):
        return None if not rule.forward_mode else super().tangent(rule, saved, tangents, needs)


@breaks("decimals")
class DecimalsIgnored(Toy):
    """The formula of ``round(x, decimals)`` is evaluated at ``x``, not where ``round`` steps."""

    def backward_rule(self, rule):
        return owner(rule).rule if rule.attributes else rule


@breaks("integers")
class IntegersTaken(Toy):
    """Integer inputs are turned into floats to have a gradient."""

    def call(self, op, *inputs, **attributes):
        if op in self.state().rules and getattr(tape.unbox(inputs[0]), "dtype", np.dtype("O")).kind == "i":
            inputs = [x.astype(np.float64) for x in inputs]
        return super().call(op, *inputs, **attributes)


@breaks("composites")
class FormulaSeesOverrides(Toy):
    """A formula's own calls are overridden too."""

    def __init__(self):
        self.xp = types.SimpleNamespace(**vars(namespace))
        self.xp.abs = self.abs
        self.outer = None

    def abs(self, x):
        return self.call("abs", x) if "abs" in self.state().rules else namespace.abs(x)

    def backward_rule(self, rule):
        self.outer = self.state()
        return rule

    def vjp(self, rule, saved, g, needs):
        with self.exactly(self.outer):
            return super().vjp(rule, saved, g, needs)


@breaks("contract", "compiled")
class NothingCounted(Toy):
    """Captures are not counted."""

    def count(self, op):
        pass


@breaks("contract", "namespace")
class IncompleteNamespace(Toy):
    """A name is missing in xp."""

    xp = types.SimpleNamespace(**{k: v for k, v in vars(namespace).items() if k != "sinh"})


@breaks(
    *("value", "dtype", "vjp", "select", "second", "product", "jvp", "compiled", "closed_over", "parameters"),
)
class FailsInVmap(Toy):
    """It claims vmap and cannot do it."""

    def vmap(self, f):
        raise NotImplementedError("no vmap here")


@breaks_only(
    r"closed_over\[(mod|clip|floor_divide)-(number|whole-number|number-first)-.*\]"
    r"|residuals\[(mod|clip|floor_divide):.*-number\]"
)
class NativeWithANumber(Toy):
    """An op with a Python number among its operands keeps its native gradient."""

    def decide(self, op, inputs):
        return None if any(isinstance(x, int | float) for x in inputs) else super().decide(op, inputs)


@breaks_only(r"closed_over\[(mod|clip|floor_divide)-whole-number-.*\]")
class NativeWithAWholeNumber(Toy):
    """An op with a Python integer among its operands keeps its native gradient."""

    def decide(self, op, inputs):
        return None if any(isinstance(x, int) for x in inputs) else super().decide(op, inputs)


@breaks_only(r"shapes\[(mod|clip|floor_divide)-same-.*\]")
class SameArrayLosesASide(Toy):
    """Where one array is every operand, only the first of them gets its cotangent."""

    def call(self, op, *inputs, **attributes):
        first, *rest = inputs
        rest = [x.value if x is first and isinstance(x, tape.Box) else x for x in rest]
        return super().call(op, first, *rest, **attributes)


@breaks_only(r"contract\[hits-once-(eager|forward)\]")
class CountedTwice(Toy):
    """Every capture is counted twice."""

    def count(self, op):
        super().count(op)
        super().count(op)


@breaks_only(r"contract\[hits-unrecorded\]")
class CountedWithoutGradient(Toy):
    """A call under a rule is counted whether or not a gradient is recorded."""

    def decide(self, op, inputs):
        if not any(isinstance(x, tape.Box) for x in inputs) and self.takes(inputs[0]):
            self.count(op)
        return super().decide(op, inputs)


@breaks_only(r"integers\[.*-bool\]")
class BooleansTaken(Toy):
    """Boolean inputs are turned into floats to have a gradient."""

    def call(self, op, *inputs, **attributes):
        if op in self.state().rules and getattr(tape.unbox(inputs[0]), "dtype", np.dtype("O")).kind == "b":
            inputs = [x.astype(np.float32) for x in inputs]
        return super().call(op, *inputs, **attributes)


@breaks_only(r"integers\[.*-(int32|bool)\]")
class IntegersCounted(Toy):
    """Integers keep their value, yet count as captured."""

    def decide(self, op, inputs):
        if np.asarray(tape.unbox(inputs[0])).dtype.kind in "ib":
            self.count(op)
        return super().decide(op, inputs)
