"""Calls from C++: an operator that a user compiled calls ATen's, and obeys the rules like Python code."""

import subprocess
from pathlib import Path

import pytest
import torch
from torch.func import grad, hessian, vmap
from torch.utils import cpp_extension

import surrogate

SOURCE = Path(__file__).with_name("extension.cpp")
X = torch.tensor([-2.25, -0.5, 0.25, 0.875, 1.75], dtype=torch.float64)
IN_PYTHON = {
    "sign": ("sign", torch.sign),
    "sign_method": ("sign", torch.sign),
    "sign_inplace": ("sign", torch.sign),
    "sgn": ("sign", torch.sign),
    "round": ("round", torch.round),
    "round_decimals": ("round", lambda x: torch.round(x, decimals=1)),
    "floor": ("floor", torch.floor),
    "ceil": ("ceil", torch.ceil),
    "trunc": ("trunc", torch.trunc),
    "fix": ("trunc", torch.trunc),
    "abs": ("abs", torch.abs),
    "relu": ("relu", torch.relu),
    "relu6": ("relu6", torch.nn.functional.relu6),
    "hardtanh": ("clip", lambda x: x.clamp(-1, 1)),
    "clamp": ("clip", lambda x: x.clamp(-1, 1)),
    "clamp_min": ("clip", lambda x: x.clamp(min=0)),
    "remainder": ("mod", lambda x: x % 0.75),
    "remainder_reflected": ("mod", lambda x: 2.5 % x),
    "fmod": ("fmod", lambda x: torch.fmod(x, 0.75)),
    "floor_divide": ("floor_divide", lambda x: x // 0.75),
    "div_floor": ("floor_divide", lambda x: x // 0.75),
    "heaviside": ("heaviside", lambda x: torch.heaviside(x, torch.zeros((), dtype=x.dtype))),
}


@pytest.fixture(scope="module")
def extension(tmp_path_factory):
    """The operators, compiled as any extension is, without the parts that an extension does not need."""
    target = tmp_path_factory.mktemp("extension") / "extension.so"
    libraries = cpp_extension.library_paths()
    subprocess.run(
        [
            *(cpp_extension.get_cxx_compiler(), "-std=c++20", "-O0", "-shared", "-fPIC"),
            f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
            *(f"-I{path}" for path in cpp_extension.include_paths()),
            *(str(SOURCE), "-o", str(target)),
            *(f"-L{path}" for path in libraries),
            *("-ltorch_cpu", "-lc10"),
            *(f"-Wl,-rpath,{path}" for path in libraries),
        ],
        check=True,
    )
    torch.ops.load_library(target)
    return torch.ops.surrogate_test_extension


def gradient(function):
    x = X.clone().requires_grad_()
    y = function(x)
    return y.tolist(), torch.autograd.grad(y.sum(), x)[0].tolist()


@pytest.mark.parametrize("name", IN_PYTHON)
def test_an_op_called_in_cpp_is_the_op_called_in_python(extension, name, every_rule):
    op, function = IN_PYTHON[name]
    rules = every_rule | {"clip": "leaky(leak=0.5)"}  # not the native numbers at these points
    call = getattr(extension, name)
    with surrogate.override("torch", {op: rules[op]}) as scope:
        found, right = gradient(call), gradient(function)
    assert found == right
    assert scope.hits == {op: 2}
    assert any(right[1])


def test_on_off_on(extension):
    found = [gradient(extension.sign)[1]]
    for spec in ("hardtanh", "identity"):
        with surrogate.override("torch", {"sign": spec}):
            found.append(gradient(extension.sign)[1])
    found.append(gradient(extension.sign)[1])
    assert found == [[0.0] * 5, [0.0, 1.0, 1.0, 1.0, 0.0], [1.0] * 5, [0.0] * 5]


def test_under_transforms(extension):
    def by_cpp(x):
        return extension.sign_times_itself(x).sum()

    def in_python(x):
        return (torch.sign(x) * x).sum()

    with surrogate.override("torch", {"sign": "arctan"}):
        for transform in (grad, hessian, lambda f: vmap(grad(f))):
            assert torch.equal(transform(by_cpp)(X), transform(in_python)(X))
            assert transform(in_python)(X).any()


@pytest.mark.usefixtures("fresh_compiler")
def test_in_a_compiled_function(extension):
    compiled = torch.compile(lambda x: extension.sign(x) * 3, backend="aot_eager", fullgraph=True)
    found = [gradient(compiled)[1]]
    with surrogate.override("torch", {"sign": "hardtanh"}):
        found.append(gradient(compiled)[1])
    found.append(gradient(compiled)[1])
    assert found == [[0.0] * 5, [0.0, 3.0, 3.0, 3.0, 0.0], [0.0] * 5]
