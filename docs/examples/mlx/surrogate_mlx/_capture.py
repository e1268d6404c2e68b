"""One call of an op: look up the rule, run the native op, and give MLX the rule's derivatives for it.

``mx.custom_function`` carries the rule through ``grad``, ``vjp``, ``jvp``, ``vmap`` and ``compile``. It is
decided here, when the op runs or is traced.
"""

import numbers
from functools import lru_cache

import mlx.core as mx
import numpy as np

import surrogate

_FLOATS = (mx.float16, mx.bfloat16, mx.float32, mx.float64)


class Capture:
    """Catches ops for one backend."""

    def __init__(self, backend):
        self.backend = backend
        self._with_rule = lru_cache(maxsize=4096)(self._make)

    def call(self, op, native, inputs, decimals=0):
        """The op on ``inputs``, by its rule if one is in force; ``native(*inputs)`` without."""
        state = self.backend.state()
        gradient = state.rules.get(op)
        arrays = None if gradient is None else _alike(inputs)
        if arrays is None:
            return native(*inputs)
        state.captured(op)
        rule = gradient.at(decimals=decimals) if decimals else gradient.rule
        with self.backend.exactly(None):
            # kept now: a backward pass uses the value of a variable that its forward pass saw
            saved = rule.save(self.backend.xp, arrays)
        return self._with_rule(native, rule, len(saved))(*arrays, *saved)

    def _make(self, native, rule, kept):
        """``native`` as a function of MLX whose derivatives are the rule's.

        What the rule keeps is one input more each, whose value the op does not look at.
        """
        backend, xp, n = self.backend, self.backend.xp, rule.arity
        alone = n + kept == 1

        def listed(x):  # MLX hands over one input bare, and several as a list
            return [x] if alone else list(x)

        @mx.custom_function
        def with_rule(*inputs):
            return native(*inputs[:n])

        @with_rule.vjp
        def _(inputs, g, output):
            inputs = listed(inputs)
            with backend.exactly(None):
                found = [
                    _sum_to(c, x.shape) for c, x in zip(rule.vjp(xp, inputs[n:], g), inputs, strict=False)
                ]
            return found[0] if alone else (*found, *map(mx.zeros_like, inputs[n:]))

        @with_rule.jvp
        def _(inputs, tangents):
            with backend.exactly(None):
                return rule.jvp(xp, listed(inputs)[n:], listed(tangents)[:n])

        @with_rule.vmap
        def _(inputs, axes):
            mapped = [(x, axis) for x, axis in zip(listed(inputs), listed(axes), strict=True)]
            rank = max(x.ndim - _is_mapped(axis) for x, axis in mapped)
            return with_rule(*(_batch_first(x, axis, rank) for x, axis in mapped)), 0

        return with_rule


def _alike(inputs):
    """The inputs as arrays of one float dtype; None, so that the op stays native, for other inputs."""
    arrays = [x for x in inputs if isinstance(x, mx.array)]
    if not arrays or not all(isinstance(x, mx.array | np.ndarray | numbers.Number) for x in inputs):
        return None
    dtype = arrays[0].dtype
    for x in arrays[1:]:
        dtype = mx.result_type(mx.zeros((), dtype), mx.zeros((), x.dtype)) if x.dtype != dtype else dtype
    if dtype not in _FLOATS:
        return None
    return [x.astype(dtype) if isinstance(x, mx.array) else mx.array(x, dtype=dtype) for x in inputs]


def _sum_to(x, shape):
    axes = surrogate.broadcast_axes(tuple(x.shape), tuple(shape))
    return mx.sum(x, axis=axes).reshape(shape) if axes else x.reshape(shape)


def _is_mapped(axis):
    return axis is not None and axis >= 0


def _batch_first(x, axis, rank):
    """``x`` with its mapped axis first and the others aligned to ``rank`` axes at the end."""
    if not _is_mapped(axis):
        return x
    x = mx.moveaxis(x, axis, 0)
    return x.reshape((x.shape[0], *(1,) * (rank + 1 - x.ndim), *x.shape[1:]))
