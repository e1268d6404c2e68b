"""PyTorch's own operators by native name: values worked out by hand."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 -- as everybody writes it

import surrogate

POOL = "aten::max_pool2d_with_indices"
V = torch.tensor([-1.0, 2.0, 3.0])


@surrogate.register_native("torch", POOL, name="even_share")
def even_share(call: Any, g: Any) -> Any:
    """Every element of the window gets an equal share."""
    rows, columns = call.attributes["kernel_size"]
    return torch.repeat_interleave(torch.repeat_interleave(g, rows, -2), columns, -1) / (rows * columns)


@surrogate.register_native(
    "torch", "aten::relu", name="reversed", jvp=lambda call, t, *, factor=1.0: -factor * t[0]
)
def reversed_relu(call: Any, g: Any, *, factor: float = 1.0) -> Any:
    return -factor * call.native(g)


@surrogate.register_native("torch", "aten::sort", name="same_place")
def same_place(call: Any, g: Any) -> Any:
    assert call.outputs[1].dtype is torch.int64
    return torch.ones_like(call.inputs["self"]) * g


@surrogate.register_native("torch", "aten::mul.Tensor", name="swapped")
def swapped(call: Any, g: Any) -> Any:
    return g * call.inputs["self"], g * call.inputs["other"]


def slope(f: Any, x: Any) -> Any:
    x = x.clone().requires_grad_()
    return torch.autograd.grad(f(x).sum(), x)[0]


def pool(x: Any) -> Any:
    return F.max_pool2d(x, 2)


def test_max_pooling_in_every_mode_and_never_stale() -> None:
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    native, quarter = slope(pool, x), torch.full_like(x, 0.25)
    compiled = torch.compile(pool, fullgraph=True, backend="aot_eager")
    assert torch.equal(slope(compiled, x), native)
    with surrogate.override("torch", {POOL: "even_share"}) as o:
        assert torch.equal(pool(x.clone().requires_grad_()), pool(x))
        assert torch.equal(slope(pool, x), quarter)
        assert torch.equal(slope(compiled, x), quarter)
        assert torch.equal(torch.func.grad(lambda x: pool(x).sum())(x), quarter)
        assert torch.equal(torch.func.vmap(torch.func.grad(lambda x: pool(x).sum()))(x[None])[0], quarter)
        y = pool(x.clone().requires_grad_())
    assert o.hits[POOL] >= 4
    assert torch.equal(slope(compiled, x), native)
    assert torch.equal(slope(pool, x), native)
    assert "NativeBackward" in str(y.grad_fn)


def test_the_ops_own_vjp_parameters_in_place_and_second_derivatives() -> None:
    with surrogate.override("torch", {"aten::relu": "reversed(factor=2)"}):
        expected = torch.tensor([0.0, -2.0, -2.0])
        assert torch.equal(slope(torch.relu, V), expected)
        assert torch.equal(slope(lambda x: F.relu(x * 1.0, inplace=True), V), expected)
        twice = torch.func.jacrev(torch.func.jacrev(lambda x: (torch.relu(x) * x).sum()))(V)
        assert torch.equal(twice, torch.diag(torch.tensor([0.0, -4.0, -4.0])))
        assert torch.equal(torch.func.jvp(torch.relu, (V,), (V,))[1], -2 * V)


def test_integer_outputs_and_what_has_no_forward_mode() -> None:
    with surrogate.override("torch", {"aten::sort": "same_place"}):
        _, indices = torch.sort(V.clone().requires_grad_(), descending=True)
        assert indices.tolist() == [2, 1, 0]
        assert not indices.requires_grad
        weights = torch.tensor([1.0, 10.0, 100.0])
        assert torch.equal(slope(lambda x: torch.sort(x, descending=True).values * weights, V), weights)
    with (
        pytest.raises(surrogate.ForwardModeError, match="register it with jvp="),
        surrogate.override("torch", {"aten::sort": "same_place"}),
    ):
        torch.func.jvp(lambda x: torch.sort(x)[0], (V,), (V,))


def test_a_rule_for_one_overload() -> None:
    five = torch.full((3,), 5.0)
    with surrogate.override("torch", {"aten::mul.Tensor": "swapped"}):
        assert torch.equal(slope(lambda x: x * five, V), V)
        assert torch.equal(torch.func.grad(lambda x: (x * five).sum())(V), V)


def test_a_custom_operator() -> None:
    library = torch.library.Library("surrogate_test", "DEF")
    library.define("step(Tensor x) -> Tensor")
    library.impl("step", lambda x: torch.floor(x), "CompositeExplicitAutograd")
    name = "surrogate_test::step"
    with surrogate.override("torch", {name: lambda call, g: 3 * g}) as o:
        assert torch.equal(slope(torch.ops.surrogate_test.step, V), torch.full((3,), 3.0))
    assert o.hits == {name: 1}


def test_a_native_hole_and_other_ops_untouched() -> None:
    with surrogate.override("torch", {"aten::relu": "reversed"}):
        with surrogate.override("torch", {"aten::relu": "native"}):
            assert torch.equal(slope(torch.relu, V), torch.tensor([0.0, 1.0, 1.0]))
        assert torch.equal(slope(torch.relu, V), torch.tensor([0.0, -1.0, -1.0]))


def test_beside_the_catalogues_own_rule_for_the_operator() -> None:
    with surrogate.override("torch", {"sign": "identity", "aten::sign": lambda call, g: 5 * g}):
        assert torch.equal(slope(torch.sign, V), torch.full((3,), 5.0))
    with surrogate.override("torch", {"sign": "identity"}):
        assert torch.equal(slope(torch.sign, V), torch.ones(3))


def test_what_comes_along_gives_way_to_what_is_registered() -> None:
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    with surrogate.override("torch", {POOL: "spread"}):
        assert torch.equal(slope(pool, x), torch.full_like(x, 0.25))
    surrogate.register_native("torch", "aten::max_pool3d_with_indices", name="spread")(lambda call, g: None)
    known = surrogate.override("torch", {"aten::max_pool3d_with_indices": "spread"})
    assert known.rules["aten::max_pool3d_with_indices"].formula.function.__module__ == __name__
    with pytest.raises(surrogate.UnknownGradientError, match="did you mean 'spread'"):
        surrogate.override("torch", {POOL: "spred"})


def test_copies_and_pickles() -> None:
    made = surrogate.override("torch", {"aten::relu": "reversed(factor=2)"})
    for again in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert again.rules["aten::relu"] is made.rules["aten::relu"]


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (
            lambda call, g: g.sum(),
            r"gives self a cotangent of shape \(\); it must have the shape of self, \(3,\)",
        ),
        (
            lambda call, g: g.double(),
            "gives self a cotangent of dtype torch.float64; it must be",
        ),
        (lambda call, g: (g, g), "returns 2 cotangents for 1 inputs"),
    ],
    ids=["shape", "dtype", "number"],
)
def test_a_wrong_formula_is_named(formula: Any, message: str) -> None:
    with (
        pytest.raises(surrogate.FormulaError, match=message),
        surrogate.override("torch", {"aten::relu": formula}),
    ):
        slope(torch.relu, V)


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        ("aten::sotr", surrogate.UnknownOpError, "It is written 'aten::sort'"),
        ("sgin", surrogate.UnknownOpError, "did you mean 'sign'"),
        ("aten::max_pool2d", surrogate.UnsupportedOpError, f"it ends in '{POOL}'"),
        ("aten::view", surrogate.UnsupportedOpError, "a view of its argument"),
        ("aten::relu_", surrogate.UnsupportedOpError, "a rule for 'aten::relu' holds for it too"),
        ("aten::argmax", surrogate.UnsupportedOpError, "integers"),
        ("torch.nn.functional.max_pool2d", surrogate.UnknownOpError, f"it ends in '{POOL}'"),
        ("torch.sort", surrogate.UnknownOpError, "it ends in 'aten::sort'"),
        ("torch.nn.functional.softmax", surrogate.UnknownOpError, "it ends in 'aten::_softmax'"),
    ],
)
def test_names(key: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        surrogate.override("torch", {key: lambda call, g: g})


def test_an_operator_that_draws_random_numbers_cannot_run_again() -> None:
    with pytest.raises(surrogate.UnsupportedOpError, match="draws random numbers"):
        surrogate.override("torch", {"aten::native_dropout": lambda call, g: call.native(g)})


IMAGE = torch.ones(1, 2, 4, 4, requires_grad=True)
VOLUME = torch.ones(1, 1, 4, 4, 4, requires_grad=True)
LINE = torch.ones(1, 1, 4, requires_grad=True)
TABLE = torch.ones(2, 4, requires_grad=True)
#: A call of each public function that has its answer in a table; of some two, for two answers.
CALLS: dict[str, list[Any]] = {
    "adaptive_avg_pool2d": [lambda: F.adaptive_avg_pool2d(IMAGE, 2)],
    "adaptive_max_pool1d": [lambda: F.adaptive_max_pool1d(LINE, 2)],
    "batch_norm": [lambda: F.batch_norm(IMAGE, None, None, training=True)],
    "conv1d": [lambda: F.conv1d(LINE, torch.ones(1, 1, 2))],
    "conv2d": [lambda: F.conv2d(IMAGE, torch.ones(1, 2, 2, 2))],
    "conv3d": [lambda: F.conv3d(VOLUME, torch.ones(1, 1, 2, 2, 2))],
    "cross_entropy": [lambda: F.cross_entropy(TABLE, torch.tensor([0, 1]))],
    "dropout": [lambda: F.dropout(TABLE, 0.5), lambda: torch.native_dropout(TABLE, 0.5, True)],
    "grid_sample": [
        lambda: F.grid_sample(IMAGE, torch.zeros(1, 2, 2, 2), align_corners=False),
        lambda: F.grid_sample(VOLUME, torch.zeros(1, 2, 2, 2, 3), align_corners=False),
    ],
    "group_norm": [lambda: F.group_norm(IMAGE, 2)],
    "layer_norm": [lambda: F.layer_norm(TABLE, (4,))],
    "linear": [lambda: F.linear(TABLE, TABLE, torch.ones(2)), lambda: F.linear(TABLE, TABLE)],
    "log_softmax": [lambda: F.log_softmax(TABLE, 1)],
    "matmul": [lambda: TABLE @ TABLE.T, lambda: IMAGE @ IMAGE],
    "max_pool1d": [lambda: F.max_pool1d(LINE, 2)],
    "max_pool2d": [lambda: F.max_pool2d(IMAGE, 2)],
    "max_pool3d": [lambda: F.max_pool3d(VOLUME, 2)],
    "norm": [lambda: torch.norm(TABLE), lambda: F.pairwise_distance(TABLE, TABLE)],
    "softmax": [lambda: F.softmax(TABLE, 1)],
}


def test_public_functions_end_in_the_operators_that_they_are_answered_with() -> None:
    from surrogate_torch._ends import ENDS

    assert set(ENDS) == set(CALLS)
    for name, calls in CALLS.items():
        with surrogate.override("torch", {key: lambda call, g: None for key in ENDS[name]}) as o:
            for call in calls:
                call()
        assert all(o.hits.values()), (name, o.hits)


IN_A_FRESH_PROCESS = """
import sys, torch, surrogate
x = torch.tensor([-2.25, 0.375, 2.0], requires_grad=True)
def gradient(f):
    return torch.autograd.grad(f(x).sum(), x)[0].tolist()
def table(name):
    return torch._C._dispatch_dump(f"aten::{name}")
before = {name: table(name) for name in ("round", "sign", "clamp", "relu", "tanh", "max_pool2d_with_indices")}
# a rule by the operator's own name wins, also where its kernel was there first
with surrogate.override("torch", {"sign": "identity", "aten::sign": lambda call, g: 5 * g}):
    assert gradient(torch.sign) == [5.0] * 3
    for compiled in (torch.compile(torch.sign, backend="aot_eager", fullgraph=True),):
        assert gradient(compiled) == [5.0] * 3
with surrogate.override("torch", {"aten::relu": "guided", "relu": "identity"}):
    assert gradient(torch.compile(lambda x: torch.relu(x), backend="aot_eager", fullgraph=True)) == [0, 1, 1]
with surrogate.override("torch", {"aten::linalg_vector_norm": "finite"}):
    norm = torch.compile(lambda x: torch.linalg.vector_norm(x), backend="aot_eager", fullgraph=True)
    assert gradient(norm) == gradient(torch.linalg.vector_norm)
# only operators that have had a rule have a kernel of ours
for name in ("round", "clamp", "tanh", "max_pool2d_with_indices"):
    assert table(name) == before[name], name
for name in ("sign", "relu"):
    assert table(name) != before[name], name
# what was compiled before an op's first rule is never stale
f = torch.compile(lambda x: torch.round(x) * 3, backend="aot_eager", fullgraph=True)
assert gradient(f) == [0.0] * 3
with surrogate.override("torch", {"round": "identity"}):
    assert gradient(f) == [3.0] * 3
# nor is other code where an op's first rule is met while a graph is traced
g = torch.compile(lambda x: torch.floor(x) * 3, backend="aot_eager", fullgraph=True)
assert gradient(g) == [0.0] * 3
def inside(x):
    with surrogate.override("torch", {"floor": "identity"}):
        return torch.floor(x) * 2
assert gradient(torch.compile(inside, backend="aot_eager", fullgraph=True)) == [2.0] * 3
with surrogate.override("torch", {"floor": "identity"}):
    assert gradient(g) == [3.0] * 3
assert gradient(g) == [0.0] * 3
"""


def test_kernels_one_on_another_and_only_over_ops_that_have_had_a_rule(tmp_path: Path) -> None:
    story = tmp_path / "story.py"  # the compiler reads the source
    story.write_text(IN_A_FRESH_PROCESS)
    run = subprocess.run([sys.executable, story], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_numbers_that_pytorch_wraps_for_itself_after_a_rule_for_a_product() -> None:
    with surrogate.override("torch", {"aten::mul.Tensor": "swapped"}):
        slope(lambda x: x * torch.ones(3), V)
    with surrogate.override("torch", {"greater": "identity", "astype": "identity"}):
        slope(lambda x: (x > 0).float() * 2, V)
    assert torch.equal(torch.tensor(3) * 1, torch.tensor(3))
    with surrogate.override("torch", {"sign": "identity"}):
        traced = torch.jit.trace(lambda x: torch.sign(x) * 3, V)  # compares constants, numbers both
        assert torch.equal(slope(traced, V), torch.full((3,), 3.0))
        parts = [V[:1].clone().requires_grad_(), V[1:].clone().requires_grad_()]
        nested = torch.sign(torch.nested.as_nested_tensor(parts, layout=torch.jagged)) * 3
        total = sum(part.sum() for part in nested.unbind())
        assert [g.tolist() for g in torch.autograd.grad(total, parts)] == [[3.0], [3.0, 3.0]]
        mapped = torch.func.grad(lambda x: torch.func.vmap(lambda x: torch.sign(x) * 4)(x).sum())
        assert torch.equal(mapped(V), torch.full((3,), 4.0))


def test_the_pull_of_a_transform_that_has_ended() -> None:
    with surrogate.override("torch", {"aten::relu": "scaled(factor=3)"}):
        _, pull = torch.func.vjp(torch.relu, V)
    (found,) = pull(torch.ones(3))
    assert found.tolist() == [0.0, 3.0, 3.0]
    assert not found.requires_grad


def test_an_operator_of_which_torchscript_has_overloads_of_its_own() -> None:
    with surrogate.override("torch", {"aten::index": "scaled(factor=2)"}):
        assert slope(lambda x: x[torch.tensor([2, 0])], V).tolist() == [2.0, 0.0, 2.0]


ENTRIES = torch.tensor([0.0, 1.0, 4.0, 9.0])
LOOK_UP = {"floor": "identity", "astype": "identity", "aten::index": "interpolated"}


def look_up(table: Any, position: Any) -> Any:
    return table[position.floor().long()]


def test_a_look_up_by_a_float_that_was_floored() -> None:
    at, moved = torch.tensor([0.25, 2.5, 3.2]), torch.tensor([1.0, 10.0, 100.0])
    with surrogate.override("torch", LOOK_UP) as o:
        assert slope(lambda x: look_up(ENTRIES, x), at).tolist() == [1.0, 5.0, 0.0]
        assert slope(lambda x: look_up(ENTRIES, x[1]), at).tolist() == [0.0, 5.0, 0.0]
        mapped = torch.func.vmap(torch.func.grad(lambda x: look_up(ENTRIES, x).sum()))(at[:, None])
        assert mapped.flatten().tolist() == [1.0, 5.0, 0.0]
        assert torch.func.jvp(lambda x: look_up(ENTRIES, x), (at,), (moved,))[1].tolist() == [1.0, 50.0, 0.0]
        assert (
            torch.func.jacfwd(look_up, 1)(ENTRIES, at).tolist()
            == torch.diag(V.new_tensor([1, 5, 0])).tolist()
        )
        table = ENTRIES.clone().requires_grad_()
        x = at.clone().requires_grad_()
        (g,) = torch.autograd.grad(look_up(table, x).sum(), x, create_graph=True)
        assert torch.autograd.grad(g.sum(), table)[0].tolist() == [-1.0, 1.0, -1.0, 1.0]
    assert o.hits["aten::index"] >= 5


def test_what_an_integer_gets_goes_where_it_came_from_and_nowhere_else() -> None:
    def told(call: Any, g: Any) -> Any:
        seen.append(call.wanted)
        return call.native(g)[0] if call.wanted[0] else None, 7 * g

    seen: list[Any] = []
    with surrogate.override("torch", {"astype": "identity", "aten::take": told}):
        assert slope(lambda x: torch.take(ENTRIES, x.long()), V[1:]).tolist() == [7.0, 7.0]
        assert slope(lambda x: torch.take(x, torch.tensor([1, 1])), V).tolist() == [0.0, 2.0, 0.0]
    assert seen == [(False, True), (True, False)]


def test_forward_mode_of_a_formula_that_is_linear_in_the_upstream_gradient() -> None:
    surrogate.register_native("torch", "aten::relu", name="thrice", jvp="transposed")(
        lambda call, g: 3 * call.native(g)
    )
    derivative = torch.diag(torch.tensor([0.0, 3.0, 3.0]))
    with surrogate.override("torch", {"aten::relu": "thrice"}):
        assert torch.equal(torch.func.jacfwd(torch.relu)(V), derivative)
        _, moved = torch.func.vmap(lambda x, t: torch.func.jvp(torch.relu, (x,), (t,)))(V, V)
        assert moved.tolist() == [0.0, 6.0, 9.0]
        twice = torch.func.grad(lambda x: torch.func.jvp(torch.relu, (x,), (x,))[1].sum())(V)
        assert twice.tolist() == [0.0, 3.0, 3.0]
    with surrogate.override("torch", {"aten::sqrt": "finite"}):  # by forward mode and then by reverse mode
        second = torch.func.jacrev(torch.func.jacfwd(torch.sqrt))(torch.tensor([0.0, 4.0]))
        assert second[1, 1, 1].item() == -1 / 32
        assert second[0, 0, 0].item() == 0.0


def test_origins_pass_the_kernel_of_an_operator_that_has_had_a_rule() -> None:
    with surrogate.override("torch", {"aten::mul": "scaled(factor=2)"}):
        assert slope(lambda x: x * torch.ones(3), V).tolist() == [2.0, 2.0, 2.0]

    def thrice(x: Any) -> Any:
        return ((x > 0).long() * 3).float()

    with surrogate.override("torch", {"greater": "identity", "astype": "identity"}):
        for f in (thrice, torch.compile(thrice, fullgraph=True, backend="aot_eager")):
            assert slope(f, V).tolist() == [3.0, 3.0, 3.0]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_integers_times_a_number_keep_their_origin_after_a_rule_for_a_product(
    backend: str, fresh_compiler: None
) -> None:
    """The kernel for the product went past the one that carries origins on, where a compiler had put it."""
    with surrogate.override("torch", {"aten::mul.Tensor": "swapped"}):
        slope(lambda x: x * torch.ones(3), V)
    step = torch.compile(lambda x: ((x > 0).long() * 6 + 1).to(x.dtype), backend=backend, fullgraph=True)
    with surrogate.override("torch", {"compare": "hardtanh"}):
        expected = slope(lambda x: 6 * (x > 0).to(x.dtype), V)
        assert torch.equal(slope(step, V), expected)
    assert expected.tolist() == [3.0, 0.0, 0.0]
