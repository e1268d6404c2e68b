"""torch.compile: the same object called under other rules is never stale, and agrees with eager."""

import warnings

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch._dynamo.utils import counters
from torch._higher_order_ops.scan import scan
from torch.autograd import forward_ad
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap

import surrogate

pytestmark = [
    pytest.mark.usefixtures("fresh_compiler"),
    # the compiler looks at every tensor, and hides the warning only from those who print it
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor"),
]
X = torch.tensor([-2.0, -0.5, 0.5, 2.0])
BACKENDS = ["eager", "aot_eager", "inductor"]
QUICK = ["eager", "aot_eager"]


def gradient(function, x=X):
    leaf = x.clone().requires_grad_()
    return torch.autograd.grad(function(leaf).sum(), leaf)[0].tolist()


def graphs():
    return counters["stats"]["unique_graphs"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_off_on_other_off_on_one_object(backend):
    compiled = torch.compile(lambda x: torch.sign(x) * 3, backend=backend, fullgraph=True)
    found = [gradient(compiled)]
    with surrogate.override("torch", {"sign": "hardtanh"}):
        found.append(gradient(compiled))
        with surrogate.override("torch", {"sign": "identity"}):
            found.append(gradient(compiled))
        with surrogate.override("torch", {"sign": "native"}):
            found.append(gradient(compiled))
        found.append(gradient(compiled))
    found.append(gradient(compiled))
    off, window, through = [0.0] * 4, [0.0, 3.0, 3.0, 0.0], [3.0] * 4
    assert found == [off, window, through, off, window, off]


KINDS = {
    "of one": ("sign", "identity", torch.sign, [0.0] * 4, [3.0] * 4),
    "in place": ("relu", "identity", lambda x: (x * 1).relu_(), [0.0, 0.0, 3.0, 3.0], [3.0] * 4),
    "of several": (
        "clip",
        "leaky(leak=0.5)",
        lambda x: x.clamp(-1, 1),
        [0.0, 3.0, 3.0, 0.0],
        [1.5, 3.0, 3.0, 1.5],
    ),
    "of a number": ("mod", lambda xp, x, y: (2.0, 0.0), lambda x: x % 0.75, [3.0] * 4, [6.0] * 4),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_compiled_with_no_rule_is_compiled_again(kind):
    """Each kind of kernel has a short way where no rule is in force, but not past the compiler."""
    op, spec, function, native, under = KINDS[kind]
    with surrogate.override("torch", {"abs": "sign0"}):
        gradient(torch.abs)  # our kernels are in place
    compiled = torch.compile(lambda x: function(x) * 3, backend="aot_eager", fullgraph=True)
    found = [gradient(compiled)]
    with surrogate.override("torch", {op: spec}):
        found.append(gradient(compiled))
    found.append(gradient(compiled))
    assert found == [native, under, native]


def test_each_set_of_rules_is_compiled_once():
    compiled = torch.compile(torch.nn.Sequential(nn.Identity(), nn.ReLU()), backend="aot_eager")
    counters.clear()
    for _ in range(2):
        gradient(compiled)
        with surrogate.override("torch", {"relu": "identity"}):
            gradient(compiled)
    assert graphs() == 2


def test_rules_for_other_ops_compile_nothing_again():
    compiled = torch.compile(lambda x: torch.sign(x) * 2, backend="aot_eager")
    counters.clear()
    for other in ({}, {"round": "identity"}, {"floor": "identity", "ceil": "zero"}):
        with surrogate.override("torch", {"sign": "identity"} | other):
            assert gradient(compiled) == [2.0] * 4
            for op in other:
                getattr(torch, op)(X.clone().requires_grad_())
    assert graphs() == 1


def test_a_new_gradient_for_every_step_is_told_before_the_limit():
    compiled = torch.compile(lambda x: torch.sign(x) * 5, backend="eager", fullgraph=True)

    def step(spec):
        with surrogate.override("torch", {"sign": spec}), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", surrogate.SurrogateWarning)
            gradient(compiled)
        return [str(one.message) for one in said]

    limit = torch._dynamo.config.recompile_limit
    said = [step(f"tanh(slope={slope})") for slope in range(1, limit + 1)]
    assert [bool(one) for one in said] == [number == limit - 2 for number in range(1, limit + 1)]
    [message] = said[limit - 3]
    for part in (
        "test_compile.py:",
        f"for {limit - 2} gradients of sign",
        f"After {limit} torch.compile leaves",
    ):
        assert part in message
    assert "surrogate.gradient('sign', 'tanh', parameter=variable)" in message
    with pytest.raises(torch._dynamo.exc.FailOnRecompileLimitHit):  # what it is told of
        step("tanh(slope=20)")
    torch.compiler.reset()
    assert [step(f"tanh(slope={slope})") for slope in (30, 31, 32)] == [[], [], []]


def test_a_variable_and_new_shapes_are_not_told():
    compiled = torch.compile(lambda x: torch.sign(x) * 7, backend="eager", dynamic=False)
    slope = surrogate.Variable(1.0)
    with surrogate.override("torch", {"sign": surrogate.gradient("sign", "tanh", slope=slope)}):
        for size in range(1, 8):
            slope.value = float(size)
            gradient(compiled, torch.ones(size))


@pytest.mark.filterwarnings("ignore:.*was compiled for 6 gradients:surrogate.SurrogateWarning")
def test_more_rules_than_the_recompile_limit():
    compiled = torch.compile(lambda x: torch.sign(x) * 3, backend="eager")
    for alpha in range(1, 13):
        with surrogate.override("torch", {"sign": f"arctan(alpha={alpha})"}):
            eager, got = gradient(lambda x: torch.sign(x) * 3), gradient(compiled)
        assert got == eager
    assert gradient(compiled) == [0.0] * 4


def test_process_wide_rules_and_undoing_in_any_order():
    compiled = torch.compile(lambda x: torch.sign(x) * 1.0, backend="aot_eager", fullgraph=True)
    first = surrogate.use("torch", {"sign": "identity"})
    found = [gradient(compiled)]
    second = surrogate.use("torch", {"sign": "hardtanh"})
    found.append(gradient(compiled))
    first.undo()
    found.append(gradient(compiled))
    second.undo()
    found.append(gradient(compiled))
    assert found == [[1.0] * 4, [0.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0], [0.0] * 4]


EVERY_OP = {
    "sign": torch.sign,
    "sgn": torch.sgn,
    "sign_": lambda x: x.clone().sign_(),
    "round": torch.round,
    "round decimals": lambda x: torch.round(x, decimals=1),
    "special.round": lambda x: torch.special.round(x),
    "floor": torch.floor,
    "ceil": torch.ceil,
    "trunc": torch.trunc,
    "fix": torch.fix,
    "%": lambda x: x % 0.7,
    "%=": lambda x: x.clone().remainder_(0.7),
    "2 %": lambda x: 2 % x,
    "remainder": lambda x: torch.remainder(x, x + 3),
    "fmod": lambda x: torch.fmod(x, 0.7),
    "//": lambda x: x // 2,
    "2 //": lambda x: 2 // x,
    "//=": lambda x: x.clone().floor_divide_(2),
    "div": lambda x: torch.div(x, 2, rounding_mode="floor"),
    "heaviside": lambda x: torch.heaviside(x, torch.tensor(0.5)),
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "clamp tensors": lambda x: x.clamp(torch.tensor(-0.5), torch.tensor(0.5)),
    "clamp_min": lambda x: x.clamp_min(0.5),
    "clip": lambda x: torch.clip(x, max=0.5),
    "hardtanh": F.hardtanh,
    "relu": F.relu,
    "ReLU": nn.ReLU(),
    "relu6": F.relu6,
    "abs": torch.abs,
}


@pytest.mark.parametrize("function", EVERY_OP.values(), ids=EVERY_OP)
def test_every_op_as_in_eager(function, every_rule):
    with surrogate.override("torch", every_rule):
        eager = gradient(lambda x: function(x) * 3)
        compiled = torch.compile(lambda x: function(x) * 3, backend="aot_eager", fullgraph=True)
        assert gradient(compiled) == eager
        assert torch.equal(compiled(X), function(X) * 3)


def test_all_ops_in_one_inductor_graph(every_rule):
    def everything(x):
        return sum(x * function(x) for name, function in EVERY_OP.items() if name != "ReLU")

    with surrogate.override("torch", every_rule):
        eager = torch.tensor(gradient(everything))
        compiled = torch.tensor(gradient(torch.compile(everything, fullgraph=True)))
    torch.testing.assert_close(compiled, eager, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("backend", QUICK)
def test_dynamic_shapes(backend):
    compiled = torch.compile(lambda x, y: (x % y) * 3, backend=backend, dynamic=True, fullgraph=True)
    with surrogate.override("torch", {"mod": "exact"}):
        for n in (2, 3, 5):
            y = torch.full((n, 1), 0.7, requires_grad=True)
            compiled(torch.ones(n, n + 1), y).sum().backward()
            assert y.grad.flatten().tolist() == [-3.0 * (n + 1)] * n


def curved(x):
    return (torch.sign(x) * x).sum()


TRANSFORMS = {
    "grad": grad(curved),
    "vmap(grad)": lambda x: vmap(grad(curved))(x[:, None]),
    "jvp": lambda x: jvp(curved, (x,), (x + 3,))[1],
    "hessian": hessian(curved),
    "jacfwd(jacfwd)": jacfwd(jacfwd(curved)),
    "jacrev(jacfwd)": jacrev(jacfwd(curved)),
    "grad(grad)": grad(lambda x: grad(curved)(x).sum()),
}


@pytest.mark.parametrize("backend", QUICK)
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_compiled_transforms(transform, backend):
    x = X.double()
    compiled = torch.compile(transform, backend=backend, fullgraph=True)
    native = compiled(x)
    with surrogate.override("torch", {"sign": "arctan"}):
        expected = transform(x)
        torch.testing.assert_close(compiled(x), expected, rtol=1e-12, atol=1e-12)
    assert not torch.equal(native, expected)
    assert torch.equal(compiled(x), native)


def test_inductor_compiles_a_transform():
    compiled = torch.compile(vmap(grad(lambda x: torch.sign(x) * x)), fullgraph=True)
    with surrogate.override("torch", {"sign": "hardtanh"}):
        assert compiled(X).tolist() == [-1.0, -1.5, 1.5, 1.0]
    assert compiled(X).tolist() == [-1.0, -1.0, 1.0, 1.0]


@pytest.mark.parametrize("backend", QUICK)
@pytest.mark.parametrize("where", ["inside", "around"])
def test_dual_numbers(backend, where):
    def tangent(x):
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(torch.sign(forward_ad.make_dual(x, x * x)) * 2).tangent

    compiled = torch.compile(tangent if where == "inside" else torch.sign, backend=backend)
    with surrogate.override("torch", {"sign": "hardtanh"}):
        if where == "inside":
            got = compiled(X)
        else:
            with forward_ad.dual_level():
                got = 2 * forward_ad.unpack_dual(compiled(forward_ad.make_dual(X, X * X))).tangent
    assert got.tolist() == [0.0, 0.5, 0.5, 0.0]


def test_graph_breaks():
    def broken(x):
        y = torch.sign(x)
        torch._dynamo.graph_break()
        return y * 2 + torch.round(x)

    compiled = torch.compile(broken, backend="aot_eager")
    off = gradient(compiled)
    with surrogate.override("torch", {"sign": "identity", "round": "identity"}):
        assert gradient(compiled) == [3.0] * 4
    with surrogate.override("torch", {"sign": "identity"}):
        assert gradient(compiled) == [2.0] * 4
    assert gradient(compiled) == off == [0.0] * 4


def with_a_block(x):
    with surrogate.override("torch", {"sign": "identity"}):
        y = torch.sign(x)
    return y * 2 + torch.sign(x)


@surrogate.override("torch", {"sign": "identity"})
def decorated(x):
    return torch.sign(x) * 2


def calls_decorated(x):
    return decorated(x) + torch.sign(x)


@pytest.mark.parametrize("function", [with_a_block, calls_decorated])
@pytest.mark.parametrize("backend", QUICK)
def test_an_override_inside_steps_out_of_the_compiler(function, backend):
    compiled = torch.compile(function, backend=backend)
    for _ in range(2):
        assert gradient(compiled) == [2.0] * 4
    with surrogate.override("torch", {"sign": "hardtanh"}):
        assert gradient(compiled) == [2.0, 3.0, 3.0, 2.0]


def test_compiled_before_an_override():
    """As in test_first_use, where no kernel is there yet; here they are, and no rule is in force."""
    compiled = torch.compile(lambda x: torch.sign(x) * 5, backend="aot_eager", fullgraph=True)
    assert gradient(compiled) == [0.0] * 4
    with surrogate.use("torch", {"sign": "identity"}):
        assert gradient(compiled) == [5.0] * 4


def test_autocast_inside():
    def mixed(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return torch.sign(x @ torch.eye(4)) * 2

    compiled = torch.compile(mixed, backend="aot_eager", fullgraph=True)
    with surrogate.override("torch", {"sign": "hardtanh"}):
        assert gradient(compiled) == gradient(mixed) == [0.0, 2.0, 2.0, 0.0]


def test_backward_after_the_block():
    leaf = X.clone().requires_grad_()
    compiled = torch.compile(lambda x: torch.sign(x) * 2, backend="aot_eager", fullgraph=True)
    with surrogate.override("torch", {"sign": "hardtanh"}):
        y = compiled(leaf)
    with surrogate.override("torch", {"sign": "identity"}):
        torch.sign(leaf)
        assert torch.autograd.grad(y.sum(), leaf)[0].tolist() == [0.0, 2.0, 2.0, 0.0]


def test_compiled_autograd():
    leaf = X.clone().requires_grad_()
    for spec, expected in (("hardtanh", [0.0, 1.0, 1.0, 0.0]), ("identity", [1.0] * 4)):
        with surrogate.override("torch", {"sign": spec}):
            y = torch.sign(leaf).sum()
            with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager")):
                leaf.grad = None
                y.backward()
        assert leaf.grad.tolist() == expected


@pytest.mark.xfail(
    strict=True, reason="torch.func.jvp does not take a compiled function: pytorch issue 128711"
)
def test_forward_mode_around_a_full_graph():
    compiled = torch.compile(torch.sign, backend="eager", fullgraph=True)
    with surrogate.override("torch", {"sign": "identity"}):
        torch.sign(X.clone().requires_grad_())
        jvp(compiled, (X,), (X,))


def test_numbers_that_the_compiler_made_symbols():
    def f(x):
        n = x.shape[0]
        return x.clamp(0, n - 2) + x // n + n % x + x % n

    compiled = torch.compile(f, backend="aot_eager", dynamic=True, fullgraph=True)
    with surrogate.override("torch", {"clip": "closed", "floor_divide": "identity", "mod": "exact"}):
        for n in (4, 6, 9):
            x = torch.linspace(-3, 3, n, dtype=torch.float64)
            assert gradient(compiled, x) == gradient(f, x)


def test_control_flow_operators():
    def branch(x):
        return torch.cond(x.sum() > -10, lambda x: torch.sign(x) * 2, lambda x: torch.cos(x), (x,))

    def accumulate(x):
        def step(carry, a):
            return carry + torch.sign(a), torch.sign(a) * carry

        return scan(step, torch.zeros((), dtype=x.dtype), x)[1]

    with surrogate.override("torch", {"sign": "hardtanh"}):
        assert gradient(branch) == [0.0, 2.0, 2.0, 0.0]
        assert gradient(torch.compile(branch, backend="aot_eager", fullgraph=True)) == [0.0, 2.0, 2.0, 0.0]
        assert gradient(accumulate) == [0.0, 1.0, -1.0, 0.0]
