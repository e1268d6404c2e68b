"""The honest backend of the toy framework. Faulty ones override one of its small methods."""

from __future__ import annotations

import contextvars

import numpy as np

import surrogate
from toy import namespace, tape

_program = contextvars.ContextVar("program", default=None)


class Overridden(tape.Primitive):
    """An op with a rule: the native value, the rule's derivatives."""

    def __init__(self, backend, op, rule):
        super().__init__(op, surrogate.op(op).forward)
        self.backend, self.rule = backend, rule

    def save(self, primals, needs):
        with self.backend.exactly(None):
            return self.backend.save(self.rule, primals, needs)

    def vjp(self, saved, out, g, needs):
        rule = self.backend.backward_rule(self.rule)
        with self.backend.exactly(None):
            return self.backend.vjp(rule, saved, g, needs)

    def jvp(self, saved, out, tangents, needs):
        with self.backend.exactly(None):
            return self.backend.tangent(self.rule, saved, tangents, needs)

    def fit(self, cotangent, shape):
        return self.backend.fit(cotangent, shape)


class ToyDriver(surrogate.Driver):
    """What faulty backends change is asked of the backend."""

    def asarray(self, x):
        return np.asarray(x)

    def numpy(self, x):
        return np.asarray(tape.unbox(x))

    def spellings(self, op):
        return {op: lambda *inputs, **attributes: self.backend.call(op, *inputs, **attributes)}

    def grad(self, f, inputs, g):
        return self.backend.grad(f, inputs, g)

    def jvp(self, f, inputs, tangents):
        return tape.jvp(f, inputs, tangents)

    def vmap(self, f):
        return self.backend.vmap(f)

    def compile(self, f):
        return self.backend.compile(f)

    def residuals(self, f, inputs):
        level, _, out = tape.record(f, inputs)
        return sum(np.asarray(x).nbytes for box in tape.nodes(level, out) for x in box.saved)


class Toy(surrogate.Backend):
    name = "toy"
    framework = "numpy"
    ops = frozenset(surrogate.ops())
    transforms = frozenset({"forward", "vmap", "compile", "second", "residuals"})
    dtypes = ("float16", "bfloat16", "float32", "float64")
    xp = namespace

    def driver(self):
        return ToyDriver(self)

    # -- what faulty backends change -------------------------------------------------------

    def save(self, rule, primals, needs):
        return rule.save(self.xp, primals, needs)

    def vjp(self, rule, saved, g, needs):
        return rule.vjp(self.xp, saved, g, needs)

    def tangent(self, rule, saved, tangents, needs):
        return rule.jvp(self.xp, saved, tangents, needs)

    def forward(self, primitive, inputs):
        return primitive(*inputs)

    def backward_rule(self, rule):
        return rule

    def fit(self, cotangent, shape):
        return tape.sum_to(cotangent, shape)

    def rules_here(self):
        return self.state().rules

    def takes(self, x):
        return np.asarray(tape.unbox(x)).dtype.kind in "fV"  # a Python number is a float

    def key(self):
        return self.state().rules

    # -- the framework -----------------------------------------------------------------------

    def call(self, op, *inputs, **attributes):
        program = _program.get()
        gradient = (
            self.decide(op, inputs) if program is None else program.next(lambda: self.decide(op, inputs))
        )
        if gradient is None:
            return native(op)(*inputs)
        return self.forward(Overridden(self, op, gradient.at(**attributes)), inputs)

    def decide(self, op, inputs):
        gradient = self.rules_here().get(op)
        watched = any(isinstance(x, tape.Box) for x in inputs)
        if gradient is None or not watched or not self.takes(inputs[0]):
            return None
        self.count(op)
        return gradient

    def count(self, op):
        state = self.state()
        if op in state.rules:
            state.captured(op)

    def grad(self, f, inputs, g):
        return tape.grad(f, inputs, g)

    def vmap(self, f):
        return tape.vmap(f)

    def compile(self, f):
        programs = {}

        def compiled(*inputs):
            # like a tracing compiler: what the first call decided for these rules is replayed
            key = self.key(), tuple((tape.unbox(x).shape, tape.unbox(x).dtype, _watch(x)) for x in inputs)
            program = programs.setdefault(key, Program())
            token = _program.set(Replay(program))
            try:
                return f(*inputs)
            finally:
                _program.reset(token)

        return compiled


def _watch(x):
    return (type(x), *_watch(x.value)) if isinstance(x, tape.Box) else ()


class Program:
    """The decisions of one traced call, in order."""

    def __init__(self):
        self.decisions = []


class Replay:
    def __init__(self, program):
        self.program, self.position = program, 0

    def next(self, decide):
        if self.position == len(self.program.decisions):
            self.program.decisions.append(decide())
        self.position += 1
        return self.program.decisions[self.position - 1]


def native(op):
    """The op with the framework's own derivative, which is 0 (by the first operand: 1 for mod and clip)."""
    known = surrogate.op(op)
    zeros = [lambda g, out, *xs: g * 0.0 for _ in known.inputs]
    return tape.Primitive(op, known.forward, *zeros)
