"""Traces written by hand, for the rules of the audit: ``Program`` records calls over named values."""

from __future__ import annotations

from surrogate.auditing import Call, Place, Size, Span, Trace, Value


class Program:
    """A program whose calls are written down. ``w``, ``w1``, ... are sources."""

    def __init__(self, *sources, constants=()):
        self.ids, self.values, self.calls = {}, {}, []
        self.sources = {self.value(name): name for name in sources}
        for name, span in dict(constants).items():
            self.value(name, span=span)

    def value(self, name, dtype="float32", span=None):
        i = self.ids.setdefault(name, len(self.ids))
        self.values[i] = Value(dtype, dtype.startswith(("float", "bfloat")), (2,), span)
        return i

    def call(self, op, ins, out, *, dtype="float32", live=None, span=None, line=None, **more):
        """One call; its line is its number from 1."""
        inputs = [self.ids[name] if name in self.ids else self.value(name) for name in ins.split()]
        outs = [self.value(one, dtype, span) for one in out.split()]
        alive = self.values[outs[0]].inexact if live is None and outs else live
        place = Place("net.py", line or len(self.calls) + 1, "forward")
        made = Call(op, op, place, inputs, outs, [bool(alive)] * len(outs), **more)
        self.calls.append(made)
        return made

    def trace(self, loss, **grads):
        sizes = {name: None if g is None else Size(g, 1.0, g == 0, True) for name, g in grads.items()}
        return Trace("toy", self.calls, self.values, self.sources, self.ids[loss], sizes)


def span(lo, hi, **counts):
    return Span(float(lo), float(hi), size=10, **counts)
