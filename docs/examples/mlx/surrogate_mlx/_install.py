"""Where MLX lets an op be caught: functions, methods, operators, and what compiles or recomputes.

Not caught: a function of mlx.core that a container, a closure or a default argument took before this
was loaded, and what ``mx.compile`` compiled before.
"""

import sys
from functools import cache, wraps

import mlx.core as mx

import surrogate
from surrogate_mlx import _namespace

#: op -> its functions in mlx.core that take the op's inputs and nothing else
FUNCTIONS = {
    "sign": ("sign",),
    "floor": ("floor",),
    "ceil": ("ceil",),
    "trunc": ("trunc",),
    "abs": ("abs",),
    "mod": ("remainder",),
    "floor_divide": ("floor_divide",),
}
#: op -> its methods and operators on mx.array; r: reflected, i: in place
METHODS = {
    "abs": ("abs", "__abs__"),
    "mod": ("__mod__", "__imod__"),
    "floor_divide": ("__floordiv__", "__ifloordiv__"),
}
REFLECTED = {"mod": ("__rmod__",), "floor_divide": ("__rfloordiv__",)}


def install(capture):
    """Put the capture in place of MLX's own names, also in modules that imported them before."""
    replaced = {}
    for op, names in FUNCTIONS.items():
        for name in names:
            replaced[name] = _function(capture, op, getattr(mx, name))
    replaced["round"] = _round(capture, mx.round)
    replaced["clip"] = _clip(capture, mx.clip)
    replaced["divmod"] = _divmod(capture, mx.divmod)
    replaced["compile"] = _compile(capture.backend, mx.compile)
    replaced["checkpoint"] = _checkpoint(capture.backend, mx.checkpoint)
    for op, names in METHODS.items():
        for name in names:
            setattr(mx.array, name, _function(capture, op, getattr(mx.array, name)))
    for op, names in REFLECTED.items():
        for name in names:
            setattr(mx.array, name, _reflected(capture, op, getattr(mx.array, name)))
    mx.array.round = _round(capture, mx.array.round)
    _replace(replaced)


def _replace(replaced):
    """Replace functions of mlx.core wherever a module holds them by name."""
    ours = {id(getattr(mx, name)): function for name, function in replaced.items()}
    for name, function in replaced.items():
        setattr(mx, name, function)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "surrogate_mlx" or not hasattr(module, "__dict__"):
            continue
        for key, value in list(vars(module).items()):
            if id(value) in ours:
                setattr(module, key, ours[id(value)])


def _function(capture, op, native):
    @wraps(native)
    def caught(*inputs, **keywords):
        run = (lambda *xs: native(*xs, **keywords)) if keywords else native
        return capture.call(op, run, inputs)

    return caught


def _reflected(capture, op, native):
    forward = {"mod": mx.remainder, "floor_divide": mx.floor_divide}[op]

    @wraps(native)
    def caught(self, other):
        return capture.call(op, forward, (other, self))

    return caught


def _round(capture, native):
    @cache
    def to(decimals):  # one function each, so that what is made of it is made once
        return lambda x: native(x, decimals)

    @wraps(native)
    def caught(x, decimals=0, **keywords):
        run = (lambda y: native(y, decimals, **keywords)) if keywords else to(decimals)
        return capture.call("round", run, (x,), decimals)

    return caught


def _clip(capture, native):
    infinite = float("inf")

    @wraps(native)
    def caught(x, /, a_min, a_max, **keywords):
        if not isinstance(x, mx.array):
            return native(x, a_min, a_max, **keywords)
        bounds = (-infinite if a_min is None else a_min, infinite if a_max is None else a_max)
        run = (lambda y, lo, hi: native(y, lo, hi, **keywords)) if keywords else native
        return capture.call("clip", run, (x, *bounds))

    return caught


def _divmod(capture, native):
    quotient, remainder = (lambda x, y: native(x, y)[0]), (lambda x, y: native(x, y)[1])

    @wraps(native)
    def caught(x, y, **keywords):
        rules = capture.backend.state().rules
        if "floor_divide" not in rules and "mod" not in rules:
            return native(x, y, **keywords)
        return [capture.call("floor_divide", quotient, (x, y)), capture.call("mod", remainder, (x, y))]

    return caught


def _compile(backend, native):
    """``mx.compile`` with one compiled function for each set of rules it is called under."""

    @wraps(native)
    def compiled(fun, inputs=None, *args, **keywords):
        by_rules = {}

        @wraps(fun)
        def call(*given, **named):
            state = backend.state()
            if state.rules not in by_rules:

                def bound(*xs, **ks):  # MLX keys its cache on the function: a new one for other rules
                    return fun(*xs, **ks)

                by_rules[state.rules] = native(bound, _with_variables(state.rules, inputs), *args, **keywords)
            return by_rules[state.rules](*given, **named)

        return call

    return compiled


def _with_variables(rules, inputs):
    """The captured inputs of a compiled function, and the variables that its rules read."""
    values = [value for gradient in rules.values() for value in gradient.params.values()]
    cells = [_namespace.cell(value) for value in values if isinstance(value, surrogate.Variable)]
    return [inputs, cells] if cells and inputs is not None else cells or inputs


def _checkpoint(backend, native):
    """``mx.checkpoint`` whose recomputation runs under the rules of the forward."""

    @wraps(native)
    def checkpoint(fun):
        @wraps(fun)
        def call(*inputs, **named):
            return native(backend.bound(fun))(*inputs, **named)

        return call

    return checkpoint
