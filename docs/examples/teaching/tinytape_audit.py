"""A recorder for the audit: what ran, once forward and once backward, as plain data."""

from pathlib import Path

import numpy as np

import tinytape
from surrogate.auditing import Call, Size, Trace, Value, span_of, user_place

#: Files whose lines are not the user's.
OWN = tuple(str(Path(file)) for file in (tinytape.__file__, __file__))

#: What the audit calls these functions; the others have the same name there.
CANONICAL = {"multiply": "mul"}


class Recording:
    """Stands in the place of ``tinytape.call`` while a program runs."""

    def __init__(self, call, rules):
        self.call, self.rules = call, rules
        self.tensors, self.calls, self.values = [], [], {}

    def __call__(self, name, *inputs):
        output = self.call(name, *inputs)
        call = Call(
            CANONICAL.get(name, name),
            name,
            user_place(OWN),
            ins=[self.id_of(x) for x in output.parents],
            outs=[self.id_of(output)],
            live_out=[True],
        )
        if name in self.rules:
            call.rule = self.rules[name].id
        else:
            call.zero_in = zero_by(name, len(inputs))
        self.calls.append(call)
        return output

    def id_of(self, x):
        for number, known in enumerate(self.tensors):  # a real framework looks it up by id()
            if known is x:
                return number
        self.tensors.append(x)
        number = len(self.tensors) - 1
        self.values[number] = Value(
            str(x.data.dtype), x.data.dtype.kind == "f", x.data.shape, span_of(x.data)
        )
        return number


def zero_by(name, count):
    """The inputs by which the derivative is zero everywhere: the function is asked, there is no list."""
    draws = np.random.RandomState(0).standard_normal((count, 96)) * np.logspace(-3, 3, 96)
    _, backward = tinytape.FUNCTIONS[name]
    return frozenset(k for k, g in enumerate(backward(np.ones(96), *draws)) if not g.any())


class Recorded:
    """What makes a backend one that can be audited."""

    def record(self, fn, args, *, loss=None, wrt=None, argnums=0, light=False):
        """Run a program, and differentiate its loss by the arguments, or by what ``wrt`` names."""
        numbers = [argnums] if isinstance(argnums, int) else argnums
        return trace(self, fn, args, loss, wrt or {f"arg{k}": args[k] for k in numbers})


def trace(backend, fn, args, loss, sources):
    """The trace of a program; ``tinytape.call`` is what it was afterwards, whatever happens."""
    before = tinytape.call
    tinytape.call = recording = Recording(before, backend.state().rules)
    ids = {recording.id_of(x): name for name, x in sources.items()}
    try:
        out = fn(*args)
        out = out if loss is None else loss(out)
    except Exception as error:
        error.surrogate_trace = begun(backend, recording, ids, None)
        raise
    finally:
        tinytape.call = before
    found = begun(backend, recording, ids, recording.id_of(out))
    # any weights but equal ones, else a normalised output would have no gradient
    weights = np.ones(1) if out.data.size == 1 else np.random.RandomState(0).standard_normal(out.data.size)
    g = tinytape.Tensor(weights.reshape(out.data.shape))
    cotangents = [x.data for x in tinytape.gradient(out, recording.tensors, g)]
    for call in recording.calls:
        arrived = cotangents[call.outs[0]]
        call.g_out = span_of(arrived)
        call.g_in = [span_of(x) for x in recording.tensors[call.outs[0]].back(arrived)]
    for number, name in ids.items():
        g, x = cotangents[number], recording.tensors[number].data
        finite = bool(np.isfinite(g).all())
        found.grads[name] = Size(float(np.linalg.norm(g)), float(np.linalg.norm(x)), not g.any(), finite)
    return found


def begun(backend, recording, ids, loss):
    """What was recorded."""
    return Trace(backend.name, recording.calls, recording.values, ids, loss)
