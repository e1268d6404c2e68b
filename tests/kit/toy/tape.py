"""Reverse and forward mode over NumPy arrays: boxes, primitives, and levels that nest."""

from __future__ import annotations

import itertools

import numpy as np

_levels = itertools.count(1)


class Box:
    """An array that one transformation watches."""

    __array_ufunc__ = None

    def __init__(self, level, value):
        self.level, self.value = level, value

    dtype = property(lambda self: self.value.dtype)
    shape = property(lambda self: self.value.shape)


class Reverse(Box):
    """Remembers how it was made: ``parents`` and ``pull``, which gives their cotangents."""

    def __init__(self, level, value, parents=(), pull=None, saved=()):
        super().__init__(level, value)
        self.parents, self.pull, self.saved = parents, pull, saved


class Forward(Box):
    """Carries its tangent."""

    def __init__(self, level, value, tangent):
        super().__init__(level, value)
        self.tangent = tangent


class Primitive:
    """A function of arrays with its derivatives, each written with primitives."""

    def __init__(self, name, forward, *partials):
        self.name, self.forward, self.partials = name, forward, partials

    def save(self, primals, needs):
        return tuple(primals)

    def vjp(self, saved, out, g, needs):
        return [self.partials[i](g, out, *saved) if need else None for i, need in enumerate(needs)]

    def jvp(self, saved, out, tangents, needs):
        terms = [self.partials[i](tangents[i], out, *saved) for i, need in enumerate(needs) if need]
        return sum(terms[1:], terms[0])

    def fit(self, cotangent, shape):
        """The cotangent of an operand that was broadcast."""
        return sum_to(cotangent, shape)

    def __call__(self, *inputs):
        return apply(self, inputs)


def apply(primitive, inputs):
    level = max((x.level for x in inputs if isinstance(x, Box)), default=0)
    if not level:
        with np.errstate(all="ignore"):
            return np.asarray(primitive.forward(*inputs))
    mine = [isinstance(x, Box) and x.level == level for x in inputs]
    primals = [x.value if own else x for x, own in zip(inputs, mine, strict=True)]
    kind = type(next(x for x, own in zip(inputs, mine, strict=True) if own))
    out = apply(primitive, primals)
    saved = primitive.save(primals, mine)
    shapes = [np.shape(unbox(x)) for x in inputs]
    if kind is Forward:
        tangents = [x.tangent if own else None for x, own in zip(inputs, mine, strict=True)]
        tangent = primitive.jvp(saved, out, tangents, mine)
        return Forward(level, out, zeros_like(out) if tangent is None else broadcast(tangent, out.shape))

    def pull(g):
        found = primitive.vjp(saved, out, g, mine)
        return [
            None if c is None else primitive.fit(c, shape) for c, shape in zip(found, shapes, strict=True)
        ]

    return Reverse(level, out, [x if own else None for x, own in zip(inputs, mine, strict=True)], pull, saved)


def unbox(x):
    while isinstance(x, Box):
        x = x.value
    return x


def record(f, inputs):
    """Run ``f`` with a reverse level around: its output and the boxes of the inputs."""
    level = next(_levels)
    boxes = [Reverse(level, x) for x in inputs]
    out = f(*boxes)
    return level, boxes, out


def nodes(level, out):
    """The boxes that ``out`` was made from, latest first."""
    order, seen = [], set()

    def visit(box):
        if isinstance(box, Box) and box.level == level and id(box) not in seen:
            seen.add(id(box))
            for parent in box.parents:
                visit(parent)
            order.append(box)

    visit(out)
    return order[::-1]


def grad(f, inputs, g):
    level, boxes, out = record(f, inputs)
    if not (isinstance(out, Box) and out.level == level):
        return out, tuple(zeros_like(x) for x in inputs)
    total = {id(out): g}
    for box in nodes(level, out):
        if box.pull is None:
            continue
        for parent, c in zip(box.parents, box.pull(total[id(box)]), strict=True):
            if parent is not None and c is not None:
                total[id(parent)] = total[id(parent)] + c if id(parent) in total else c
    return out.value, tuple(total[id(b)] if id(b) in total else zeros_like(b.value) for b in boxes)


def jvp(f, inputs, tangents):
    level = next(_levels)
    out = f(*(Forward(level, x, t) for x, t in zip(inputs, tangents, strict=True)))
    if isinstance(out, Box) and out.level == level:
        return out.value, out.tangent
    return out, zeros_like(out)


def vmap(f):
    def mapped(*inputs):
        rows = [f(*(take(i)(x) for x in inputs)) for i in range(unbox(inputs[0]).shape[0])]
        if isinstance(rows[0], tuple):
            return tuple(stack(len(rows))(*column) for column in zip(*rows, strict=True))
        return stack(len(rows))(*rows)

    return mapped


def zeros_like(x):
    return np.zeros_like(unbox(x))


def sum_to(x, shape):
    return x if np.shape(unbox(x)) == shape else _sum(shape)(x)


def broadcast(x, shape):
    return x if np.shape(unbox(x)) == shape else _broadcast(shape)(x)


def _reduce(x, shape):
    extra = x.ndim - len(shape)
    axes = [*range(extra), *(extra + i for i, n in enumerate(shape) if n == 1 and x.shape[extra + i] != 1)]
    return x.sum(axis=tuple(axes)).reshape(shape)


def _sum(shape):
    return Primitive("sum", lambda x: _reduce(x, shape), lambda g, out, x: broadcast(g, np.shape(unbox(x))))


def _broadcast(shape):
    return Primitive(
        "broadcast", lambda x: np.broadcast_to(x, shape), lambda g, out, x: sum_to(g, np.shape(unbox(x)))
    )


class _Linear(Primitive):
    """A linear map with its transpose."""

    def __init__(self, name, forward, transpose):
        super().__init__(name, forward)
        self.transpose = transpose

    def save(self, primals, needs):
        return tuple(np.shape(unbox(x)) for x in primals)

    def vjp(self, saved, out, g, needs):
        return self.transpose(saved, g)

    def jvp(self, saved, out, tangents, needs):
        return self(
            *(np.zeros(s, unbox(out).dtype) if t is None else t for s, t in zip(saved, tangents, strict=True))
        )


def take(i):
    def put(shapes, g):
        rows = [g if j == i else zeros_like(g) for j in range(shapes[0][0])]
        return [stack(len(rows))(*rows)]

    return _Linear("take", lambda x: x[i], put)


def stack(n):
    return _Linear("stack", lambda *rows: np.stack(rows), lambda shapes, g: [take(i)(g) for i in range(n)])
