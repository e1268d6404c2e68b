"""TorchScript: scripted, traced, frozen and loaded modules obey at every call."""

import io
import threading

import pytest
import torch
from torch import Tensor, nn

import surrogate

pytestmark = [
    pytest.mark.filterwarnings("ignore:`torch.jit"),
    pytest.mark.filterwarnings("ignore:.*torch.jit.*is deprecated"),
]
X = torch.tensor([-2.25, 0.375, 0.625])
SEVEN = [21.0] * 3


def sign(x: Tensor) -> Tensor:
    return torch.sign(x) * 3.0


def sgn(x: Tensor) -> Tensor:
    return x.sgn() * 3.0


def round(x: Tensor) -> Tensor:  # noqa: A001 -- named for the op
    return torch.round(x) * 3.0


def floor(x: Tensor) -> Tensor:
    return x.floor() * 3.0


def ceil(x: Tensor) -> Tensor:
    return x.ceil() * 3.0


def trunc(x: Tensor) -> Tensor:
    return torch.trunc(x) * 3.0


def relu(x: Tensor) -> Tensor:
    return torch.relu(x) * 3.0


def relu6(x: Tensor) -> Tensor:
    return nn.functional.relu6(x) * 3.0


def clamp(x: Tensor) -> Tensor:
    return torch.clamp(x, -1.0, 1.0) * 3.0


def hardtanh(x: Tensor) -> Tensor:
    return nn.functional.hardtanh(x) * 3.0


def remainder(x: Tensor) -> Tensor:
    return x % 0.7 * 3.0


def fmod(x: Tensor) -> Tensor:
    return torch.fmod(x, 0.7) * 3.0


def floor_divide(x: Tensor) -> Tensor:
    return x // 0.7 * 3.0


def heaviside(x: Tensor) -> Tensor:
    return torch.heaviside(x, torch.ones_like(x)) * 3.0


def absolute(x: Tensor) -> Tensor:
    return x.abs() * 3.0


FUNCTIONS = [
    sign, sgn, round, floor, ceil, trunc, relu, relu6, clamp, hardtanh, remainder, fmod, floor_divide,
    heaviside, absolute,
]  # fmt: skip
OPS = [
    "sign",
    "round",
    "floor",
    "ceil",
    "trunc",
    "mod",
    "fmod",
    "floor_divide",
    "heaviside",
    "clip",
    "relu",
    "relu6",
    "abs",
]


def seven(xp, x):
    """7, which no native derivative is."""
    return 7.0


RULES = {op: surrogate.gradient(op, seven) for op in OPS}


def gradient(function):
    leaf = X.clone().requires_grad_()
    return torch.autograd.grad(function(leaf).sum(), leaf)[0].tolist()


def four_calls(function):
    with surrogate.override("torch", RULES):
        return [gradient(function) for _ in range(4)]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("make", [torch.jit.script, lambda f: torch.jit.trace(f, X)], ids=["script", "trace"])
def test_every_call(make, function):
    assert four_calls(make(function)) == [SEVEN] * 4


@pytest.mark.parametrize("function", [round, relu, clamp, remainder], ids=lambda f: f.__name__)
def test_after_native_calls_and_native_again(function):
    scripted = torch.jit.script(function)
    native = [gradient(scripted) for _ in range(3)]
    assert four_calls(scripted) == [SEVEN] * 4
    assert gradient(scripted) == native[0] == native[2]


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.relu(x).round() * 3.0


def loaded() -> nn.Module:
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(Model()), buffer)
    buffer.seek(0)
    return torch.jit.load(buffer)


MODULES = {
    "script": lambda: torch.jit.script(Model()),
    "trace": lambda: torch.jit.trace(Model(), X),
    "freeze": lambda: torch.jit.freeze(torch.jit.script(Model().eval())),
    "load": loaded,
    "nested": lambda: torch.jit.script(nn.Sequential(Model(), nn.Identity())),
}


@pytest.mark.parametrize("make", MODULES.values(), ids=MODULES)
def test_modules(make):
    module = make()
    gradient(module)
    assert four_calls(module) == [[147.0] * 3] * 4


def test_in_another_thread():
    scripted, found = torch.jit.script(floor), []
    thread = threading.Thread(target=lambda: found.append(four_calls(scripted)))
    thread.start()
    thread.join()
    assert found == [[SEVEN] * 4]


def forked(x: Tensor) -> Tensor:
    first, second = torch.jit.fork(sign, x), torch.jit.fork(sign, x)
    return torch.jit.wait(first) + torch.jit.wait(second)


def test_on_a_thread_that_has_no_python():
    """It sees ``use``, as all threads do, and not somebody's ``override``."""
    scripted, leaf = torch.jit.script(forked), X.clone().requires_grad_()
    with surrogate.use("torch", {"sign": "identity"}):
        y = scripted(leaf)
    assert torch.autograd.grad(y.sum(), leaf)[0].tolist() == [6.0] * 3
    with surrogate.override("torch", {"sign": "identity"}):
        y = scripted(leaf) + torch.sign(leaf)
    assert torch.autograd.grad(y.sum(), leaf)[0].tolist() == [1.0] * 3
