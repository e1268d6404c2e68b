"""The toy framework's functions, and ``xp``: differentiable, with the library's conventions."""

# ruff: noqa: A001

from __future__ import annotations

import numpy as np

from surrogate import _numpy
from toy.tape import Box, Primitive, unbox

__all__ = [*_numpy.__all__]

e, inf, nan, pi = np.e, np.inf, np.nan, np.pi

add = Primitive("add", np.add, lambda g, o, x, y: g, lambda g, o, x, y: g)
subtract = Primitive("subtract", np.subtract, lambda g, o, x, y: g, lambda g, o, x, y: -g)
multiply = Primitive("multiply", np.multiply, lambda g, o, x, y: g * y, lambda g, o, x, y: g * x)
divide = Primitive(
    "divide", np.divide, lambda g, o, x, y: g / y, lambda g, o, x, y: negative(g * (x / (y * y)))
)
negative = Primitive("negative", np.negative, lambda g, o, x: -g)
_power = Primitive(
    "pow", np.power, lambda g, o, x, y: g * y * pow(x, y - 1), lambda g, o, x, y: g * o * log(x)
)


def _unary(name, forward, derivative):
    return Primitive(name, forward, lambda g, out, x: g * derivative(x, out))


def _flat(name, forward):
    return Primitive(name, forward, lambda g, out, x: g * 0.0)


def sign(x):
    return Primitive("sign", np.sign, lambda g, out, x: np.zeros_like(unbox(g)))(x)


ceil, floor = _flat("ceil", np.ceil), _flat("floor", np.floor)
round, trunc = _flat("round", np.rint), _flat("trunc", np.trunc)
abs = _unary("abs", np.abs, lambda x, o: sign(x))
atan = _unary("atan", np.arctan, lambda x, o: 1 / (1 + x * x))
cos = _unary("cos", np.cos, lambda x, o: -sin(x))
cosh = _unary("cosh", np.cosh, lambda x, o: sinh(x))
exp = _unary("exp", np.exp, lambda x, o: exp(x))
expm1 = _unary("expm1", np.expm1, lambda x, o: exp(x))
log = _unary("log", np.log, lambda x, o: 1 / x)
log1p = _unary("log1p", np.log1p, lambda x, o: 1 / (1 + x))
sin = _unary("sin", np.sin, lambda x, o: cos(x))
sinh = _unary("sinh", np.sinh, lambda x, o: cosh(x))
sqrt = _unary("sqrt", np.sqrt, lambda x, o: 0.5 / sqrt(x))
square = _unary("square", np.square, lambda x, o: 2 * x)
tan = _unary("tan", np.tan, lambda x, o: 1 + square(tan(x)))
tanh = _unary("tanh", np.tanh, lambda x, o: 1 - square(tanh(x)))


def pow(x, y):
    if isinstance(y, Box):
        return _power(x, y)
    return Primitive("pow", lambda v: np.power(v, y), lambda g, o, v: g * (y * pow(v, y - 1)))(x)


def where(mask, x, y):
    mask = unbox(mask)
    return Primitive(
        "where",
        lambda a, b: np.where(mask, a, b),
        lambda g, o, a, b: where(mask, g, zeros_like(g)),
        lambda g, o, a, b: where(mask, zeros_like(g), g),
    )(x, y)


def _share(better):
    def share(x, y):
        return np.where(unbox(x) == unbox(y), 0.5, better(unbox(x), unbox(y))).astype(
            np.result_type(unbox(x))
        )

    return share


def _pick(name, forward, better):
    share = _share(better)
    return Primitive(
        name,
        forward,
        lambda g, o, x, y: g * share(x, y),
        lambda g, o, x, y: g * (1 - share(x, y)),
    )


maximum = _pick("maximum", np.maximum, np.greater)
minimum = _pick("minimum", np.minimum, np.less)


def _plain(function):
    return lambda *xs: function(*(unbox(x) for x in xs))


isfinite, isinf, isnan = _plain(np.isfinite), _plain(np.isinf), _plain(np.isnan)
logical_and, logical_or, logical_not = _plain(np.logical_and), _plain(np.logical_or), _plain(np.logical_not)
zeros_like, ones_like = _plain(np.zeros_like), _plain(np.ones_like)


def cast(x, dtype):
    if x.dtype == dtype:
        return x
    before = x.dtype
    return Primitive(
        "cast", lambda v: v.astype(dtype), lambda g, o, v: cast(g, o.dtype if g.dtype != dtype else before)
    )(x)


def widen(x):
    dtype = getattr(x, "dtype", None)
    return (
        cast(x, np.dtype(np.float32)) if dtype is not None and dtype.itemsize < 4 and dtype.kind != "b" else x
    )


def astype_like(x, like):
    return cast(x, like.dtype) if hasattr(x, "dtype") else np.asarray(x, like.dtype)


def _operators():
    for name, function in {"add": add, "sub": subtract, "mul": multiply, "truediv": divide}.items():
        setattr(Box, f"__{name}__", lambda self, other, f=function: f(self, other))
        setattr(Box, f"__r{name}__", lambda self, other, f=function: f(other, self))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        operation = getattr(
            np,
            {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}.get(
                name, "equal" if name == "eq" else "not_equal"
            ),
        )
        setattr(Box, f"__{name}__", lambda self, other, f=operation: f(unbox(self), unbox(other)))
    Box.__neg__ = lambda self: negative(self)
    Box.__abs__ = lambda self: abs(self)
    Box.__pow__ = lambda self, other: pow(self, other)
    Box.__hash__ = None


_operators()


# no op of the toy's has a formula along an axis: not differentiable
sum, softmax = _numpy.sum, _numpy.softmax
parameter = _numpy.parameter
