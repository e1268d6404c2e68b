"""A framework small enough to read: NumPy arrays that remember how to go back.

It stands for the real one. It knows nothing of surrogate.
"""

import numpy as np


class Tensor:
    """An array, its parents, and ``back(g)``: the parents' cotangents."""

    def __init__(self, data, parents=(), back=None):
        self.data, self.parents, self.back = np.asarray(data), parents, back

    def __add__(self, other):
        return call("add", self, other)

    def __mul__(self, other):
        return call("multiply", self, other)

    def __mod__(self, other):
        return call("mod", self, other)


#: name -> (forward, backward); the functions with steps in them have a derivative of 0
FUNCTIONS = {
    "add": (np.add, lambda g, x, y: (g, g)),
    "multiply": (np.multiply, lambda g, x, y: (g * y, g * x)),
    "mod": (np.mod, lambda g, x, y: (g, g * 0)),
    "relu": (lambda x: np.maximum(x, 0), lambda g, x: (np.where(x > 0, g, 0),)),
    "sign": (np.sign, lambda g, x: (g * 0,)),
    "round": (np.round, lambda g, x: (g * 0,)),
    "floor": (np.floor, lambda g, x: (g * 0,)),
}


def call(name, *inputs):
    """Every function of the framework comes by here."""
    forward, backward = FUNCTIONS[name]
    inputs = tuple(x if isinstance(x, Tensor) else Tensor(x) for x in inputs)
    arrays = [x.data for x in inputs]
    return Tensor(forward(*arrays), inputs, lambda g: backward(g, *arrays))


def relu(x):
    return call("relu", x)


def sign(x):
    return call("sign", x)


def round(x):
    return call("round", x)


def floor(x):
    return call("floor", x)


def gradient(output, inputs, g):
    """The cotangents of ``inputs`` for the cotangent ``g`` of ``output``."""
    found = {id(output): g.data}
    for tensor in reversed(_in_order(output)):
        if tensor.back is None or id(tensor) not in found:
            continue
        cotangents = tensor.back(found[id(tensor)])
        for parent, cotangent in zip(tensor.parents, cotangents, strict=True):
            summed = _sum_to(cotangent, parent.data.shape)
            found[id(parent)] = found.get(id(parent), 0) + summed
    return tuple(Tensor(found.get(id(x), np.zeros_like(x.data))) for x in inputs)


def _sum_to(g, shape):
    """Undo broadcasting."""
    extra = tuple(range(g.ndim - len(shape)))
    g = g.sum(axis=extra)
    repeated = tuple(i for i, size in enumerate(shape) if size == 1 and g.shape[i] != 1)
    return g.sum(axis=repeated, keepdims=True)


def _in_order(output):
    """Everything that ``output`` was made from, parents before children."""
    order, seen = [], set()

    def visit(tensor):
        if id(tensor) not in seen:
            seen.add(id(tensor))
            for parent in tensor.parents:
                visit(parent)
            order.append(tensor)

    visit(output)
    return order
