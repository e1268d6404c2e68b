"""Rules by place in PyTorch: five sound patterns of other people's code keep their derivative."""

import importlib

import pytest
import torch

import surrogate

RULES = {"round": "identity", "floor": "identity"}

PATTERNS = """
import torch

def minimum_image(d, box=3.0):
    return d - box * torch.round(d / box)

def wrapped_angle(x):
    return x - x.floor()

def bilinear(x, image=(0.0, 1.0, 4.0, 9.0, 16.0)):
    image = torch.tensor(image, dtype=x.dtype)
    low = torch.floor(x)
    weight, at = x - low, low.detach().long()
    return image[at] * (1 - weight) + image[at + 1] * weight

def soft_round(x):
    return x.round() + (x - x.round()) ** 3

def by_hand(x):
    return x.round() + (x - x.detach())

class Block(torch.nn.Module):
    def forward(self, x):
        return (lambda y: soft_round(y))(x) + [by_hand(x) for _ in range(1)][0]

ALL = (minimum_image, wrapped_angle, bilinear, soft_round, by_hand, Block())
"""

MINE = """
import torch

def quant(x):
    return torch.round(x)

class Act(torch.nn.Module):
    def forward(self, x):
        return x.round()

class Broken(torch.nn.Module):
    def forward(self, x):
        y = x * 2
        torch._dynamo.graph_break()
        return y.round()
"""


@pytest.fixture(autouse=True)
def code(tmp_path, monkeypatch):
    """An installed package, and two files beside the script."""
    site = tmp_path / "site-packages" / "stplib"
    site.mkdir(parents=True)
    (site / "__init__.py").write_text("")
    (site / "geometry.py").write_text(PATTERNS)
    (tmp_path / "stp_beside.py").write_text(PATTERNS)
    (tmp_path / "stp_mine.py").write_text(MINE)
    monkeypatch.syspath_prepend(site.parent)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    names = ("stplib.geometry", "stp_beside", "stp_mine")
    yield [importlib.import_module(name) for name in names]
    for name in names:
        monkeypatch.delitem(importlib.sys.modules, name)


def slope(f, x=(0.2, 0.7, 1.4, 2.6)):
    x = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    y = f(x)
    (g,) = torch.autograd.grad(y.sum(), x)
    return y.detach().tolist(), g.tolist()


def compiled(f):
    torch.compiler.reset()
    return torch.compile(f, backend="aot_eager", fullgraph=True)


def jvp(f):
    return lambda x: torch.func.jvp(f, (x,), (torch.ones_like(x),))[1]


MODES = pytest.mark.parametrize("run", [lambda f: f, compiled], ids=["eager", "compiled"])
OUTSIDE = ["stplib", "stp_beside"]


@MODES
@pytest.mark.parametrize("verb", [surrogate.use, surrogate.override])
def test_the_patterns_equal_native_where_they_are_left_out(code, run, verb):
    library, beside, mine = code
    native = [slope(f) for module in (library, beside) for f in module.ALL]
    with verb("torch", RULES, outside=OUTSIDE) as handle:
        found = [slope(run(f)) for module in (library, beside) for f in module.ALL]
        own = slope(run(mine.quant))[1]
    assert found == native
    assert native[0][1] == [1.0] * 4
    assert own == [1.0] * 4
    assert handle.hits["round"] >= 1
    assert handle.hits["floor"] == 0


@MODES
def test_without_places_the_patterns_break_as_the_page_says(code, run):
    wrong = {"minimum_image": 0.0, "wrapped_angle": 0.0, "by_hand": 2.0, "soft_round": 1.0}
    with surrogate.override("torch", RULES):
        for f in code[0].ALL:
            if (expected := wrong.get(getattr(f, "__name__", ""))) is not None:
                assert slope(run(f))[1] == [expected] * 4


@MODES
@pytest.mark.parametrize("name", ["stp_mine", "stp_mine.Act", "stp_mine.Act.forward"])
def test_rules_hold_within_a_module_a_class_or_a_method(code, run, name):
    with surrogate.override("torch", RULES, within=name):
        assert slope(run(code[2].Act()))[1] == [1.0] * 4
        assert slope(run(code[2].quant))[1] == ([1.0] * 4 if name == "stp_mine" else [0.0] * 4)
        model = torch.nn.Sequential(code[2].Act(), torch.nn.Identity())
        assert slope(run(model))[1] == [1.0] * 4
        assert slope(run(code[0].by_hand))[1] == [1.0] * 4


def test_one_compiled_function_calls_code_of_several_places(code):
    library, _, mine = code

    def model(x):
        return mine.quant(x) * 10 + library.by_hand(x) + library.wrapped_angle(mine.Act()(x))

    run = compiled(model)
    native = slope(model)[1]
    assert native == [1.0] * 4
    for _ in range(2):  # off, on, off, another place
        assert slope(run)[1] == native
        with surrogate.override("torch", RULES, outside="stplib"):
            assert slope(run)[1] == slope(model)[1] == [12.0] * 4
        assert slope(run)[1] == native
        with surrogate.override("torch", RULES, within=["stplib", "stp_mine.quant"]):
            assert slope(run)[1] == slope(model)[1] == [12.0] * 4
        with surrogate.override("torch", RULES, within="stp_mine.Act"):
            assert slope(run)[1] == slope(model)[1] == [2.0] * 4


def test_equal_graphs_of_two_places_do_not_share_what_was_compiled(code):
    library, beside, _ = code
    run = [compiled(library.wrapped_angle), torch.compile(beside.wrapped_angle, backend="aot_eager")]
    with surrogate.override("torch", RULES, within="stp_beside"):
        assert slope(run[0])[1] == [1.0] * 4
        assert slope(run[1])[1] == [0.0] * 4


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # the compiler looks at it
def test_after_a_break_in_the_graph_a_function_is_still_itself(code):
    torch.compiler.reset()
    with surrogate.override("torch", RULES, within="stp_mine.Broken.forward", trace=True) as block:
        assert slope(torch.compile(code[2].Broken(), backend="aot_eager"))[1] == [2.0] * 4
    assert {row.function for row in block.captures} == {"stp_mine.Broken.forward"}


@pytest.mark.parametrize("transform", [torch.func.vmap, jvp])
def test_under_transforms_of_torch_func(code, transform):
    with surrogate.override("torch", RULES, outside="stplib"):
        x = torch.tensor([0.2, 0.7], dtype=torch.float64)
        if transform is jvp:
            assert jvp(code[0].by_hand)(x).tolist() == [1.0, 1.0]
            assert jvp(code[2].quant)(x).tolist() == [1.0, 1.0]
        else:
            assert slope(torch.func.vmap(code[0].minimum_image), (0.2, 0.7))[1] == [1.0, 1.0]
            assert slope(torch.func.vmap(code[2].quant), (0.2, 0.7))[1] == [1.0, 1.0]


def test_captures_tell_line_function_and_module(code):
    act = code[2].Act()
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Identity(), act))
    x = torch.ones(3, 2)
    with surrogate.override("torch", RULES, trace=True) as block:
        model(x)
        with torch.no_grad():
            model(x)
        code[2].quant(torch.tensor([1.5, 2.5], requires_grad=True))
        code[2].quant(torch.tensor([1, 2]))
    rows = [
        (row.op, row.gradient, row.line, row.function, row.path, row.count, row.why) for row in block.captures
    ]
    assert rows == [
        ("round", "identity", 5, "stp_mine.quant", "", 1, ""),
        ("round", "identity", 9, "stp_mine.Act.forward", "1.1", 1, ""),
        ("round", "", 5, "stp_mine.quant", "", 1, "not a real floating-point tensor"),
        ("round", "", 9, "stp_mine.Act.forward", "1.1", 1, "no gradient is recorded"),
    ]


def test_captures_of_compiled_code_tell_the_same(code):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(code[2].Act()))
    with surrogate.override("torch", RULES, trace=True) as block:
        compiled(model)(torch.ones(3, 2)).sum().backward()
    assert {(row.line, row.function, row.path) for row in block.captures} == {
        (9, "stp_mine.Act.forward", "1.0")
    }


def test_what_pytorch_does_for_itself_is_told(code):
    with surrogate.use("torch", {"clip": "identity"}, trace=True) as handle:
        torch.nn.functional.normalize(torch.ones(3, requires_grad=True), dim=0)
        torch.ones(3, requires_grad=True).clamp(0, 2)
    assert [row.why for row in handle.captures] == ["", "called by a function of PyTorch's"]
