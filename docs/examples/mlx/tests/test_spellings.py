"""Every way in which a user of MLX writes an op, and the transformations around it."""

import threading

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from mlx.core import sign as imported_early
from surrogate_mlx._driver import Driver

import surrogate
from surrogate.testing import check_backend

surrogate.load_backend("mlx")  # from here on MLX's names are caught; it finds the name imported above

X = [-2.5, -0.25, 0.75]
#: a derivative that native MLX never gives
RULES = {op: lambda xp, x: 3.0 for op in ("sign", "round", "floor", "ceil", "trunc", "abs", "clip")}

UNARY = {
    "mx.sign": mx.sign,
    "imported before": lambda x: imported_early(x),
    "mx.round": mx.round,
    "mx.round(decimals)": lambda x: mx.round(x, 1),
    "mx.round(decimals=)": lambda x: mx.round(x, decimals=1),
    "x.round": lambda x: x.round(),
    "x.round(1)": lambda x: x.round(1),
    "mx.floor": mx.floor,
    "mx.ceil": mx.ceil,
    "mx.trunc": mx.trunc,
    "mx.abs": mx.abs,
    "x.abs": lambda x: x.abs(),
    "abs": abs,
    "mx.clip": lambda x: mx.clip(x, -1.0, 1.0),
    "mx.clip(None)": lambda x: mx.clip(x, None, 1.0),
    "mx.clip(a_min=)": lambda x: mx.clip(x, a_min=-1.0, a_max=None),
    "stream": lambda x: mx.sign(x, stream=mx.cpu),
}


def gradient(f, *inputs, argnums=0):
    return mx.grad(lambda *xs: f(*xs).sum(), argnums=argnums)(*map(mx.array, inputs)).tolist()


@pytest.mark.parametrize("name", UNARY)
def test_a_spelling_of_an_op_of_one_input(name):
    f = UNARY[name]
    native = f(mx.array(X)).tolist()
    with surrogate.override("mlx", RULES):
        assert gradient(f, X) == [3.0, 3.0, 3.0]
        assert f(mx.array(X)).tolist() == native


def _in_place(x, y):
    x %= y
    return x


BINARY = {
    "mod": {
        "%": lambda x, y: x % y,
        "mx.remainder": mx.remainder,
        "mx.divmod": lambda x, y: mx.divmod(x, y)[1],
        "%=": _in_place,
    },
    "floor_divide": {
        "//": lambda x, y: x // y,
        "mx.floor_divide": mx.floor_divide,
        "mx.divmod": lambda x, y: mx.divmod(x, y)[0],
    },
}


@pytest.mark.parametrize(("op", "name"), [(op, name) for op, names in BINARY.items() for name in names])
def test_a_spelling_of_an_op_of_two_inputs(op, name):
    with surrogate.override("mlx", {op: lambda xp, x, y: (3.0, 5.0)}):
        assert gradient(BINARY[op][name], X, [2.0, 2.0, 2.0]) == [3.0, 3.0, 3.0]
        assert gradient(BINARY[op][name], X, [2.0, 2.0, 2.0], argnums=1) == [5.0, 5.0, 5.0]


@pytest.mark.parametrize(("op", "f"), [("mod", lambda x: 2.0 % x), ("floor_divide", lambda x: 2.0 // x)])
def test_a_reflected_operator_is_the_op_with_its_second_input_traced(op, f):
    with surrogate.override("mlx", {op: lambda xp, x, y: (3.0, 5.0)}):
        assert gradient(f, X) == [5.0, 5.0, 5.0]


@pytest.mark.parametrize("f", [lambda x: x % 2, lambda x: x % 2.0, lambda x: x % mx.array(2)])
def test_a_python_number_or_an_integer_array_takes_the_dtype_of_the_other(f):
    x = mx.array(X, dtype=mx.float16)
    dtype = f(x).dtype
    with surrogate.override("mlx", {"mod": "identity"}):
        assert f(x).dtype == dtype
        assert gradient(f, X) == [1.0, 1.0, 1.0]


def test_nothing_but_real_floats_is_captured():
    with surrogate.use("mlx", {"sign": "identity", "round": "identity"}) as handle:
        mx.sign(mx.array([1, -2]))
        mx.sign(mx.array([True]))
        mx.sign(mx.array([1j]))
        assert handle.hits["sign"] == 0
        mx.sign(mx.array([1.0]))
        assert handle.hits["sign"] == 1


def test_a_model_is_not_touched_and_learns():
    model = nn.Sequential(nn.Linear(3, 4), mx.sign, nn.Linear(4, 1))
    loss = nn.value_and_grad(model, lambda x: model(x).sum())
    x = mx.ones((2, 3))

    def moved():
        return float(mx.abs(loss(x)[1]["layers"][0]["bias"]).sum())

    assert moved() == 0.0
    with surrogate.override("mlx", {"sign": "identity"}):
        assert moved() > 0.0
    assert moved() == 0.0


def test_a_gradient_is_that_of_the_forward_when_the_block_lies_inside():
    def f(x):
        with surrogate.override("mlx", {"sign": "identity"}):
            return mx.sign(x)

    assert gradient(f, X) == [1.0, 1.0, 1.0]


def test_a_checkpoint_recomputes_under_the_rules_of_its_forward():
    def f(x):
        with surrogate.override("mlx", {"sign": "identity"}):
            return mx.checkpoint(lambda y: mx.sign(y) * y)(x)

    assert gradient(f, [2.0, -3.0]) == [3.0, -4.0]  # y + sign(y): the product's rule, sign'(y) = 1


def test_a_compiled_function_obeys_the_rules_it_is_called_under():
    f = mx.compile(lambda x: mx.vjp(mx.sign, [x], [mx.ones_like(x)])[1][0])
    x, seen = mx.array(X), []
    for rules in (None, "identity", None, "hardtanh", "identity"):
        if rules is None:
            seen.append(f(x).tolist())
        else:
            with surrogate.use("mlx", {"sign": rules}):
                seen.append(f(x).tolist())
    assert seen == [[0, 0, 0], [1, 1, 1], [0, 0, 0], [0, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize("axes", [(0, 0), (1, 1), (0, None), (None, 0), (1, 0)])
def test_vmap_over_any_axis_of_either_operand(axes):
    x = np.array([[-2.5, 0.25], [1.75, 5.0]], np.float32)
    y = np.array([[2.0, 3.0], [0.5, -2.0]], np.float32)
    picked = [
        mx.array(a) if axis is not None else mx.array(a[0]) for a, axis in zip((x, y), axes, strict=True)
    ]

    def mapped(a, b):
        return mx.vmap(lambda a, b: a % b, in_axes=axes)(a, b)

    with surrogate.override("mlx", {"mod": "exact"}):
        value, found = mx.vjp(mapped, picked, [mx.ones((2, 2))])
    rows = [
        np.broadcast_to(a[0], (2, 2)) if axis is None else np.moveaxis(a, axis, 0)
        for a, axis in zip((x, y), axes, strict=True)
    ]
    assert value[0].tolist() == np.mod(*rows).tolist()
    for i, (cotangent, axis) in enumerate(zip(found, axes, strict=True)):
        expected = surrogate.reference.vjp("mod", "exact", *rows)[i]
        expected = expected.sum(0) if axis is None else np.moveaxis(expected, 0, axis)
        assert cotangent.tolist() == expected.tolist()


def test_another_thread_sees_use_and_not_override():
    seen = []

    def work():
        seen.append(gradient(mx.sign, X))

    def run():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    with surrogate.use("mlx", {"sign": "identity"}), surrogate.override("mlx", {"sign": "zero"}):
        run()
        assert gradient(mx.sign, X) == [0.0, 0.0, 0.0]
    assert seen == [[1.0, 1.0, 1.0]]


@pytest.mark.parametrize("op", ["relu", "relu6", "fmod", "heaviside"])
def test_an_op_that_cannot_be_caught_is_refused_with_the_reason(op):
    backend = surrogate.load_backend("mlx")
    with pytest.raises(surrogate.UnsupportedOpError, match=backend.unsupported[op]):
        surrogate.use("mlx", {op: "identity"})


# -- faults that need a compiler or second derivatives: the kit rejects each, by the right check -------------


def _planted(**attributes):
    """The backend under another name, with parts of its driver replaced."""
    backend = surrogate.load_backend("mlx")
    driver = type("PlantedDriver", (Driver,), attributes)
    parts = {"__init__": lambda self: None, "name": "planted", "driver": lambda self: driver(self)}
    planted = type("Planted", (type(backend),), parts)()
    planted.__dict__["store"] = backend.store
    return planted


def _stale(self, f):
    """Compiled as MLX itself would: the rules are no part of the key."""
    state, inner = [], Driver.compile(self, f)

    def call(*inputs):
        state[:] = state or [self.backend.state()]
        with self.backend.store.exactly(state[0]):
            return inner(*inputs)

    return call


def _constant_slope(self, f, inputs, g):
    value, found = Driver.grad(self, f, inputs, g)
    return value, tuple(mx.stop_gradient(x) for x in found)


def _the_input(self, f, inputs, g):
    return inputs[0], Driver.grad(self, f, inputs, g)[1]


@pytest.mark.parametrize(
    ("attributes", "promise"),
    [
        ({"compile": _stale}, "compiled"),
        ({"grad": _constant_slope}, "second"),
        ({"grad": _the_input}, "value"),
    ],
    ids=["stale in compiled code", "wrong second derivative", "the input for the value"],
)
def test_a_planted_fault_is_rejected(attributes, promise):
    report = check_backend(_planted(**attributes), ops=["sign"])
    assert promise in {result.promise for result in report.failures}


def test_without_a_fault_nothing_is_rejected():
    report = check_backend(_planted(), ops=["sign"])
    assert report.ok, str(report)
