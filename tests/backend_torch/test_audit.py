"""The audit of PyTorch programs: ways to lose a gradient with their lines, sound idioms, no trace left."""

import inspect
import random
import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

import surrogate

W = torch.linspace(-1.5, 2.0, 12).reshape(3, 4)


def marks(program):
    """Line -> kind and ops of the comments ``#! kind:op|op``."""
    lines, first = inspect.getsourcelines(program)
    found = (re.search(r"#! (\w+):([\w|]+)", line) for line in lines)
    return {first + n: mark.groups() for n, mark in enumerate(found) if mark}


def named(report, level="warning"):
    return {f.where.line: (f.kind, f.op) for f in report.findings if f.at_least(level)}


def check(report, program):
    wanted, got = marks(program), named(report)
    for line, (kind, ops) in wanted.items():
        assert line in got, str(report)
        assert got[line][0] == kind, str(report)
        assert got[line][1] in ops.split("|"), str(report)
    assert set(got) == set(wanted), str(report)


def leaf(x=W):
    return x.clone().requires_grad_()


# -- every op of the catalogue that has no derivative ------------------------------------------------


def sign(w):
    return (torch.sign(w) ** 2 * 0.5 + 1).sum()  #! zero:sign


def round_(w):
    return torch.round(w * 3).pow(2).sum()  #! zero:round


def round_decimals(w):
    return torch.round(w, decimals=1).pow(2).sum()  #! zero:round


def floor(w):
    return torch.floor(w).pow(2).sum()  #! zero:floor


def ceil(w):
    return w.ceil().pow(2).sum()  #! zero:ceil


def trunc(w):
    return torch.trunc(w).pow(2).sum()  #! zero:trunc


def floor_divide(w):
    return (w // 0.5).pow(2).sum()  #! zero:floor_divide


def div_floor(w):
    return torch.div(w, 0.5, rounding_mode="floor").pow(2).sum()  #! zero:floor_divide


def heaviside(w):
    return torch.heaviside(w, torch.tensor(0.5)).pow(2).sum()  #! zero:heaviside


def in_place(w):
    h = w * 3
    h.round_()  #! zero:round
    return h.pow(2).sum()


def behind_another(w):
    h = torch.sign(w * 2)  #! zero:sign
    return torch.round(h * 0.7).sum()  #! zero:round


STEPS = (
    *(sign, round_, round_decimals, floor, ceil, trunc, floor_divide, div_floor, heaviside),
    *(in_place, behind_another),
)


@pytest.mark.parametrize("program", STEPS, ids=lambda p: p.__name__)
def test_a_zero_derivative_is_named_and_what_is_suggested_reaches(program):
    w = leaf()
    report = surrogate.audit("torch", program, w)
    check(report, program)
    assert report.unreached == {"arg0": "cut"}
    assert [f.verified for f in report.findings if f.rule] == [("arg0",)] * len(report.suggest())
    after = report.verify()
    assert after.unreached == {}
    assert after.ok("cut", "zero")
    with surrogate.override("torch", report.suggest()):
        (gradient,) = torch.autograd.grad(program(w), w)
    assert after.gradients["arg0"] == pytest.approx(float(gradient.double().norm()), rel=1e-6)


def test_what_lies_behind_an_op_that_is_mended_is_found_by_trying():
    report = surrogate.audit("torch", behind_another, leaf())
    assert set(report.suggest()) == {"sign", "round"}
    assert surrogate.audit("torch", behind_another, leaf(), kinds=["cut"]).findings == ()


# -- ways to leave the differentiable world ----------------------------------------------------------


def compared(w):
    keep = w > 0.1  #! cut:gt
    return (keep.float() * 2).sum()


def argmax(w):
    k = w.argmax(1)  #! cut:argmax
    return k.float().sum()


def to_integer(w):
    k = (w * 4).long()  #! cut:cast
    return k.float().mean()


def to_bool(w):
    k = w.bool()  #! cut:cast
    return k.float().mean()


def bucketize(w):
    k = torch.bucketize(w, torch.linspace(-1, 1, 5))  #! cut:bucketize
    return k.float().mean()


def topk(w):
    k = w.topk(2).indices  #! cut:topk
    return k.float().mean()


def sort(w):
    k = w.argsort(1)  #! cut:argsort|sort
    return k.float().mean()


def detached(w):
    h = (w * 2).detach()  #! cut:detach
    return h.pow(2).sum()


def by_data(w):
    h = (w * 2).data  #! cut:detach
    return h.pow(2).sum()


def under_no_grad(w):
    with torch.no_grad():
        h = w * 2  #! cut:mul
    return h.pow(2).sum()


def by_item(w):
    far = w.max().item()  #! cut:item
    return torch.ones(3).sum() * far


def by_float(w):
    return torch.ones(3).sum() * float(w.sum())  #! cut:item


def by_list(w):
    return torch.tensor(w.tolist()).pow(2).sum()  #! cut:tolist


def by_numpy(w):
    h = np.tanh(w.detach().numpy())  #! cut:detach
    return torch.from_numpy(h).pow(2).sum()


def by_torch_tensor(w):
    return torch.tensor([x.item() for x in w[0]]).pow(2).sum()  #! cut:item


def a_leaf_by_hand(w):
    k = w.argmax(1).float()  #! cut:argmax
    k.requires_grad_()  #! cut:requires_grad
    return k.sum()


def a_leaf_by_hand_set(w):
    k = (w > 0).float().mean()  #! cut:gt
    k.requires_grad = True  #! cut:requires_grad
    return k


def in_a_loop(w):
    total = torch.zeros(())
    for row in w:
        total = total + torch.round(row).sum()  #! zero:round
    return total


def as_a_bound(w):
    n = int(w.abs().sum().long())  #! cut:cast
    return torch.arange(40.0)[:n].sum()


WAYS = (
    *(compared, argmax, to_integer, to_bool, bucketize, topk, sort, detached, by_data, under_no_grad),
    *(by_item, by_float, by_list, by_numpy, by_torch_tensor, a_leaf_by_hand, a_leaf_by_hand_set, in_a_loop),
    as_a_bound,
)


@pytest.mark.filterwarnings("ignore:Converting a tensor")  # so PyTorch says of float(w)
@pytest.mark.parametrize("program", WAYS, ids=lambda p: p.__name__)
def test_a_way_to_lose_the_gradient_is_named_with_its_line(program):
    report = surrogate.audit("torch", program, leaf())
    check(report, program)
    assert report.unreached == {"arg0": "cut"}
    assert any(f.severity == "error" for f in report.findings)


@pytest.mark.parametrize("program", [round_, compared, detached, in_a_loop], ids=lambda p: p.__name__)
def test_a_compiled_program_has_the_same_lines_and_stays_compiled(program):
    runs = []
    compiled = torch.compile(program, backend=lambda graph, inputs: (runs.append(1), graph.forward)[1])
    compiled(leaf())
    before = len(runs)
    check(surrogate.audit("torch", compiled, leaf()), program)
    compiled(leaf())
    assert (before, len(runs)) == (before, before)


@pytest.mark.parametrize(
    ("program", "op"),
    [(compared, "greater"), (argmax, "argmax"), (to_integer, "astype")],
    ids=lambda p: str(p),
)
def test_a_discrete_op_of_the_catalogue_is_suggested_and_was_tried(program, op):
    report = surrogate.audit("torch", program, leaf())
    assert report.suggest().keys() == {op}
    assert report.findings[0].verified == ("arg0",)
    after = report.verify()
    assert after.unreached == {}
    assert after.notes == ()
    with surrogate.override("torch", report.suggest()):
        w = leaf()
        (gradient,) = torch.autograd.grad(program(w), w)
    assert after.gradients["arg0"] == pytest.approx(float(gradient.double().norm()), rel=1e-6)


# -- sound idioms ------------------------------------------------------------------------------------


def straight_through(w):
    q = torch.round(w * 4) / 4
    return (w + (q - w).detach()).pow(2).sum()


def straight_through_forwards(w):
    return (torch.round(w).detach() + w - w.detach()).pow(2).sum()


def fractional_part(w):
    return (w - w.floor()).pow(2).sum()


def minimum_image(w):
    d = w[:, None] - w[None]
    return (d - 2.0 * torch.round(d / 2.0)).pow(2).sum()


def interpolation(w):
    table = torch.linspace(0, 5, 9)
    x = (w + 2).clamp(0, 7)
    low = x.floor().long()
    t = x - low
    return (table[low] * (1 - t) + table[low + 1] * t).sum()


def leaky_by_where(w):
    return torch.where(w > 0, w, 0.1 * w).pow(2).sum()


def padding_mask(w):
    mask = torch.tensor([[1.0, 1, 0, 0]])
    return (w * mask).pow(2).sum() / mask.sum()


def causal_mask(w):
    score = w @ w.T
    score = score.masked_fill(torch.triu(torch.ones(3, 3), 1).bool(), float("-inf"))
    return (score.softmax(-1) @ w).pow(2).sum()


def ignored_labels(w):
    return F.cross_entropy(w, torch.tensor([1, -100, 2]))


def softmax_by_hand(w):
    e = (w - w.max(1, keepdim=True).values.detach()).exp()
    return (e / e.sum(1, keepdim=True)).pow(2).sum()


def accuracy_is_logged(w):
    accuracy = (w.argmax(1) == torch.tensor([1, 2, 3])).float().mean().item()
    assert accuracy >= 0
    return F.cross_entropy(w, torch.tensor([1, 2, 3]))


def branch_in_python(w):
    return w.pow(2).sum() if w.sum() > 0 else w.pow(4).sum()


def gradient_penalty(w):
    x = torch.ones(2, 3, requires_grad=True)
    (g,) = torch.autograd.grad(torch.tanh(x @ w).sum(), x, create_graph=True)
    return (g.norm(dim=1) - 1).pow(2).mean()


def dropped_out(w):
    return F.dropout(w, 0.5, training=True).pow(2).sum()


def hard_gumbel(w):
    return (F.gumbel_softmax(w, hard=True) * torch.arange(4.0)).sum()


def written_element_by_element(w):
    m = torch.zeros(2, 2)
    m[0, 0] = w[0, 0].cos()
    m[1, 1] = w.sum()
    m[0, 1] = 1.0
    out = torch.empty(2, 3)  # of whatever was in the memory
    out[0] = m.sum()
    out[1] = (m * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum()
    return out.pow(2).sum()


def guarded_denominator(w):
    safe = torch.where(w < 0, torch.full_like(w, -1e-3), torch.full_like(w, 1e-3))
    return (1 / torch.where(w.abs() < 1e-3, safe, w)).pow(2).sum()


def by_a_spectrum(w):
    return (torch.fft.rfft(w) * torch.fft.rfft(w.flip(1)).conj()).abs().pow(2).sum()


def padded_for_a_maximum(w):
    return F.max_pool2d(F.pad(w[None], (1, 1, 1, 1), value=float("-inf")), 2).pow(2).sum()


def picked_among_detached(w):
    with torch.no_grad():
        roots = w.sort(1).values
    index = (w + roots).argmax(1, keepdim=True)
    return (w + roots.gather(1, index)).pow(2).sum()


def a_count_is_printed(w):
    assert isinstance(f"{int((w > 0).sum())}", str)
    return w.pow(2).sum()


SOUND = (
    *(straight_through, straight_through_forwards, fractional_part, minimum_image, interpolation),
    *(leaky_by_where, padding_mask, causal_mask, ignored_labels, softmax_by_hand, accuracy_is_logged),
    *(branch_in_python, gradient_penalty, dropped_out, hard_gumbel),
    *(written_element_by_element, guarded_denominator, by_a_spectrum, padded_for_a_maximum),
    *(picked_among_detached, a_count_is_printed),
)


@pytest.mark.parametrize("program", SOUND, ids=lambda p: p.__name__)
def test_a_sound_idiom_is_not_named(program):
    torch.manual_seed(0)
    report = surrogate.audit("torch", program, leaf())
    assert report.ok(), str(report)
    assert report.unreached == {}
    w = leaf()
    torch.manual_seed(0)
    (gradient,) = torch.autograd.grad(program(w), w)
    assert report.gradients["arg0"] == pytest.approx(float(gradient.double().norm()), rel=1e-6)
    assert report.notes == ()


# -- terms, factors and Python -----------------------------------------------------------------------


def test_a_dead_term_of_the_loss_is_a_warning():
    def program(w):
        best = w.argmax(1)  #! cut:argmax
        return F.cross_entropy(w, torch.tensor([1, 2, 3])) + 0.5 * (best.float() - 1).abs().mean()

    report = surrogate.audit("torch", program, leaf())
    check(report, program)
    assert [f.severity for f in report.findings if f.at_least("warning")] == ["warning"]


def test_a_source_that_only_numpy_sees_is_untracked():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
            self.view = self.b.detach().numpy()

        def forward(self, x):
            return (x * self.a * torch.from_numpy(self.view * 2)).sum()  #! cut:untracked

    report = surrogate.audit("torch", Net(), torch.ones(3))
    assert report.unreached == {"b": "cut"}
    assert list(named(report).values()) == [("cut", "untracked")]


def test_a_random_program_cannot_tell_and_says_so():
    generator = torch.Generator()  # its own state, which nobody puts back

    def program(w):
        far = w.max().item()
        return (w * torch.rand(4, generator=generator)).sum() * far

    report = surrogate.audit("torch", program, leaf())
    assert "the program is random" in report.notes[0]
    assert [f.severity for f in report.findings] == ["info"]


def test_a_backward_that_raises_is_a_finding():
    def program(w, v):
        h = torch.special.zeta(w.abs() + 3, v.abs() + 1)  #! cut:special_zeta
        return h.sum() + v.sum()

    report = surrogate.audit("torch", program, leaf(), leaf())
    check(report, program)
    assert "backward raises: the derivative for 'zeta' is not implemented" in report.findings[0].detail


def test_an_error_of_the_program_takes_what_was_found_along():
    def program(w):
        h = torch.sqrt(w - 100)
        return h @ torch.ones(7)

    with pytest.raises(RuntimeError, match="size mismatch") as info:
        surrogate.audit("torch", program, leaf())
    assert [(f.kind, f.op) for f in info.value.report.findings] == [("nonfinite", "sqrt")]


def test_a_custom_function_is_one_op_and_taken_at_its_word():
    class Ste(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.round(x)

        @staticmethod
        def backward(ctx, g):
            return g

    report = surrogate.audit("torch", lambda w: Ste.apply(w).pow(2).sum(), leaf())
    assert report.ok()
    assert report.unreached == {}


@pytest.mark.parametrize("reentrant", [True, False])
def test_inside_a_checkpoint_the_line_is_named(reentrant):
    from torch.utils.checkpoint import checkpoint

    def program(w):
        def block(x):
            return torch.round(x * 3)  #! zero:round

        return checkpoint(block, w, use_reentrant=reentrant).sum()

    check(surrogate.audit("torch", program, leaf()), program)


# -- numbers -----------------------------------------------------------------------------------------


def test_the_first_nan_forward_and_backward():
    def forward(w):
        h = torch.log(w)  #! nonfinite:log
        return (h * w).sum()

    def backward(w):
        r = torch.sqrt(w.clamp(min=0))  #! nonfinite:sqrt
        return torch.where(w > 0, r, w).sum()

    for program in (forward, backward):
        assert marks(program).items() <= {**named(surrogate.audit("torch", program, leaf()))}.items()


def test_a_log_of_a_softmax_is_told_before_it_fails():
    def program(w):
        return -torch.log(torch.softmax(w, 1))[:, 0].sum()  #! unstable:log

    report = surrogate.audit("torch", program, leaf())
    check(report, program)
    assert report.findings[0].suggestion == "log_softmax"


def test_constants_that_half_precision_cannot_hold():
    def program(w):
        return torch.log(w.sigmoid().clamp(1e-9, 1 - 1e-6)).sum()  #! precision:clip

    report = surrogate.audit("torch", program, leaf(W.bfloat16()), kinds=["precision"])
    check(report, program)
    probed = surrogate.audit("torch", program, leaf(), kinds=["precision"], probes=["float16"])
    check(probed, program)


def test_saturated_dead_and_vanishing():
    def saturated(w):
        return torch.sigmoid(w * 200 + 300).sum()  #! saturated:sigmoid

    def dead(w):
        return torch.relu(w - 10).pow(2).sum()  #! dead:relu

    check(surrogate.audit("torch", saturated, leaf()), saturated)
    check(surrogate.audit("torch", dead, leaf()), dead)
    torch.manual_seed(0)
    deep = nn.Sequential(*(layer for _ in range(12) for layer in (nn.Linear(8, 8), nn.Sigmoid())))
    report = surrogate.audit("torch", deep, torch.randn(4, 8))
    assert [f.kind for f in report.findings] == ["vanishing"]
    assert [layer.name for layer in report.layers] == [str(2 * n) for n in range(12)]
    assert report.layers[0].gradient < 1e-6 * report.layers[-1].gradient


# -- sources, and what is left behind ----------------------------------------------------------------


def test_models_are_found_in_closures_globals_methods_and_partials():
    import functools

    model = nn.Linear(3, 2)

    class Trainer:
        def __init__(self):
            self.net = model

        def step(self, x):
            return self.net(x).pow(2).sum()

    x = torch.ones(1, 3)
    for fn in (lambda x: model(x).pow(2).sum(), Trainer().step, functools.partial(Trainer().step)):
        report = surrogate.audit("torch", fn, x)
        assert (report.reached, report.sources) == (2, 2)
    assert surrogate.audit("torch", lambda m, x: m(x), model, x).sources == 2
    assert surrogate.audit("torch", model, x, wrt=model.weight).gradients.keys() == {"weight"}
    assert surrogate.audit("torch", model, x, wrt={"mine": model.bias}).gradients.keys() == {"mine"}


def test_no_source_is_an_error_that_says_what_to_do():
    with pytest.raises(surrogate.SpecError, match="Say with wrt="):
        surrogate.audit("torch", lambda x: x.sum(), torch.ones(3))
    with pytest.raises(surrogate.SpecError, match="no leaf tensor"):
        surrogate.audit("torch", lambda x: x.sum(), torch.ones(3), wrt={"x": torch.ones(3)})


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.l, self.n = nn.Linear(4, 4), nn.BatchNorm1d(4)
        self.register_buffer("ema", torch.zeros(4))
        self.calls = torch.zeros(())

    def forward(self, x):
        self.calls += 1
        h = F.dropout(self.n(self.l(x)), 0.3)
        with torch.no_grad():
            self.ema.mul_(0.9).add_(h.mean(0))
            self.l.bias.add_(1e-3)
        return (h + torch.rand(4) * random.random() * np.random.rand()).pow(2).mean()


def test_the_program_is_as_before_and_a_second_audit_says_the_same():
    torch.manual_seed(0)
    model, x = Stateful(), torch.randn(6, 4)
    model(x).backward()
    state = {k: v.clone() for k, v in model.state_dict().items()}
    grads = {k: (p.grad, p.grad.clone()) for k, p in model.named_parameters()}
    calls, seed = model.calls.clone(), torch.get_rng_state()
    python, numpy = random.getstate(), np.random.get_state()[1].tolist()
    apply = torch.autograd.Function.__dict__["apply"]

    first, second = (surrogate.audit("torch", model, x) for _ in range(2))
    with pytest.raises(ZeroDivisionError):
        surrogate.audit("torch", lambda: (model(x), 1 / 0))

    assert first == second
    assert first.ok(), str(first)
    assert all(torch.equal(v, state[k]) for k, v in model.state_dict().items())
    for name, p in model.named_parameters():
        assert p.grad is grads[name][0]
        assert torch.equal(p.grad, grads[name][1])
    assert torch.equal(model.calls, calls)
    assert torch.equal(torch.get_rng_state(), seed)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == (python, numpy)
    assert torch.autograd.Function.__dict__["apply"] is apply
    assert torch.is_grad_enabled()
    model(x).backward()  # and it still trains


# -- under an override -------------------------------------------------------------------------------


def test_an_audit_under_an_override_sees_its_gradient():
    with surrogate.override("torch", {"round": "identity"}):
        report = surrogate.audit("torch", round_, leaf())
        assert report.unreached == {}
        assert report.rules == {"round": "identity"}
        assert report.ok()
        cancelled = surrogate.audit("torch", minimum_image, leaf())
    assert list(named(cancelled).values()) == [("zero", "round")]
    assert "under round:identity" in cancelled.findings[0].detail
    assert cancelled.gradients["arg0"] == 0.0


def test_a_straight_through_by_hand_is_not_changed_by_an_override_and_not_named():
    with surrogate.override("torch", {"round": "identity"}):
        assert surrogate.audit("torch", straight_through, leaf()).ok()


# -- keeping little ----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Converting a tensor")
@pytest.mark.parametrize("program", [*STEPS, *WAYS, *SOUND], ids=lambda p: p.__name__)
def test_a_light_recording_says_the_same(program):
    reports = []
    for keep in ("all", "light"):
        torch.manual_seed(0)
        reports.append(surrogate.audit("torch", program, leaf(), keep=keep))
    assert reports[0] == reports[1]


def test_a_light_recording_holds_no_activation():
    from surrogate_torch._audit_recorder import Recorder

    with Recorder(light=True) as recorder, torch.no_grad():
        x = torch.ones(1000)
        for _ in range(40):
            x = x * 2 + 1
    assert len(recorder.calls) > 80
    assert len(recorder.tensors.held) < 10
    assert set(recorder.tensors.state) | set(recorder.tensors.held) == set(recorder.tensors.known)
