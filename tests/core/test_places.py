"""Rules by place: ``within=`` and ``outside=``, judged by the nearest code of the user's."""

import copy
import pickle
import subprocess
import sys
import types
from pathlib import Path

import core_toy
import pytest

import surrogate

SOURCE = """
def quant(toy, op="round"):
    gradient = toy.state().rule(op)
    if gradient is not None:
        toy.state().captured(op)
    return None if gradient is None else gradient.spec

class Layer:
    def forward(self, toy):
        return quant_here(toy)

    def inner(self, toy):
        def deeper():
            return [(lambda: ask(toy))() for _ in range(1)][0]
        return deeper()

def quant_here(toy):
    return ask(toy)
"""


def module(name, ask):
    made = types.ModuleType(name)
    made.ask = ask
    exec(compile(SOURCE, f"/{name.replace('.', '/')}.py", "exec"), vars(made))
    return made


@pytest.fixture
def placed():
    return core_toy.Toy(places=True)


@pytest.fixture
def code():
    names = ("mynet", "mynet.layers", "mynets", "kornia.filters")
    return {name: module(name, module("numpy.x", None).quant) for name in names}


@pytest.mark.parametrize(
    ("within", "outside", "holds"),
    [
        ("mynet", None, {"mynet", "mynet.layers"}),
        (["mynet.layers", "kornia"], None, {"mynet.layers", "kornia.filters"}),
        (None, "kornia", {"mynet", "mynet.layers", "mynets"}),
        ("mynet", ["mynet.layers"], {"mynet"}),
        ("mynet.layers.quant", "mynet.layers.quant_here", {"mynet.layers"}),
        (None, None, {"mynet", "mynet.layers", "mynets", "kornia.filters"}),
    ],
)
@pytest.mark.parametrize("verb", [surrogate.use, surrogate.override])
@pytest.mark.filterwarnings("ignore::surrogate.UnmetPlaceWarning")
def test_rules_hold_in_the_code_that_is_named(placed, code, verb, within, outside, holds):
    with verb(placed, {"round": "identity"}, within=within, outside=outside) as handle:
        got = {name: found.quant(placed) for name, found in code.items()}
    assert {name for name, spec in got.items() if spec == "identity"} == holds
    assert handle.hits["round"] == len(holds)


def test_classes_methods_and_functions_inside_functions_are_named_by_what_is_around_them(placed, code):
    layers = code["mynet.layers"]
    for name in ("mynet.layers.Layer", "mynet.layers.Layer.inner", layers.Layer, layers.Layer.inner, layers):
        with surrogate.override(placed, {"round": "identity"}, within=name):
            assert layers.Layer().inner(placed) == "identity"
    with surrogate.override(placed, {"round": "identity"}, outside="mynet.layers.Layer.inner") as block:
        assert layers.Layer().inner(placed) is None
        assert layers.Layer().forward(placed) == "identity"  # by the nearest code, not by its callers
    assert block.hits["round"] == 1


def test_where_an_inner_layer_does_not_hold_the_outer_one_does(placed, code):
    mine, theirs = code["mynet"], code["kornia.filters"]
    with (
        surrogate.use(placed, {"round": "clipped(lo=-1, hi=1)"}),
        surrogate.override(placed, {"round": "identity"}, within="mynet"),
        surrogate.override(placed, {"round": "native"}, within="mynet.Layer"),
    ):
        assert mine.quant(placed) == "identity"
        assert theirs.quant(placed).startswith("clipped")
        assert mine.Layer().inner(placed) is None
        with surrogate.override(placed, {"round": "zero"}) as inner:
            assert mine.Layer().inner(placed) == "zero"
    assert inner.hits["round"] == 1


@pytest.mark.filterwarnings("ignore::surrogate.SurrogateWarning")
def test_code_that_is_nobodys_is_outside_of_everything(placed):
    frame = surrogate.Site("", 0, "")
    with surrogate.override(placed, {"round": "identity"}, outside="mynet") as block:
        assert placed.state().rule("round", frame) is not None
        placed.state().captured("round", frame=frame)
    with surrogate.use(placed, {"round": "identity"}, within="elsewhere"):
        assert placed.state().rule("round", frame) is None
        assert placed.state().rule("round") is None
    assert block.hits["round"] == 1


# -- identity -----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::surrogate.SurrogateWarning")
def test_places_are_part_of_the_rules_identity(placed):
    def rules(**places):
        with surrogate.override(placed, {"round": "identity"}, **places):
            return surrogate.active(placed)

    everywhere, within, outside = rules(), rules(within="a"), rules(outside="a")
    assert len({everywhere, within, outside}) == 3
    assert len({r.digest for r in (everywhere, within, outside)}) == 3
    assert rules(within=["b", "a"]) is rules(within=("a", "b", "a"))
    for one in (everywhere, within, outside):
        assert copy.deepcopy(one) == one == pickle.loads(pickle.dumps(one))
        assert pickle.loads(pickle.dumps(one)) is one
    assert within != dict(within)
    assert repr(within) == "RuleSet({'round': \"identity [within='a']\"})"


def test_the_digest_of_rules_with_places_is_equal_in_every_process(placed):
    program = f"""if True:
        import sys; sys.path.insert(0, {str(Path(core_toy.__file__).parent)!r})
        import surrogate, toy
        made = toy.Toy(places=True)
        with surrogate.use(made, {{"round": "identity"}}, within=["b", "a"], outside="c"):
            print(surrogate.active(made).digest)
    """
    made = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert made[0] == made[1] != ""


@pytest.mark.filterwarnings("ignore::surrogate.SurrogateWarning")
def test_rules_that_no_place_is_about_keep_their_digest(placed):
    with surrogate.use(placed, {"sign": "identity", "round": "identity"}):
        plain = surrogate.active(placed)
        with surrogate.override(placed, {"round": "zero"}, within="a"):
            both = surrogate.active(placed)
    assert both.keyed["sign"] == plain.keyed["sign"]
    assert both.keyed["round"] != plain.keyed["round"]


@pytest.mark.filterwarnings("ignore::surrogate.SurrogateWarning")
def test_an_override_with_places_is_copied_and_pickled_with_them(code):
    known = core_toy.Toy("placed", places=True)
    surrogate.register_backend(known)
    made = surrogate.override(
        "placed", {"round": "identity"}, within="mynet", outside="mynet.layers", trace=True
    )
    for again in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        with again:
            assert code["mynet"].quant(known) == "identity"
            assert code["mynet.layers"].quant(known) is None
        assert [row.why for row in again.captures] == ["", "not within='mynet', outside='mynet.layers'"]


# -- what is said -------------------------------------------------------------------------------


def test_a_name_that_was_never_met_is_told_once_with_the_nearest(placed, code):
    block = surrogate.override(placed, {"round": "identity"}, within=["mynet", "mynet.layrs"])

    def run():
        with block:
            code["mynet"].quant(placed)
            code["mynet.layers"].quant(placed)

    with pytest.warns(
        surrogate.UnmetPlaceWarning,
        match=r"within='mynet.layrs' of the override of round for 'toy' is of no code that was met: "
        r"did you mean 'mynet.layers'\? These ops were called in mynet.layers.quant, mynet.quant\.",
    ) as caught:
        run()
    assert caught[0].filename == __file__
    run()  # once is enough


def test_what_captured_nothing_because_of_its_places_says_where_the_ops_ran(placed, code):
    block = surrogate.override(placed, {"round": "identity"}, outside="mynet")

    def run():
        with block:
            code["mynet"].quant(placed)

    with pytest.warns(
        surrogate.NothingCapturedWarning,
        match=r"captured nothing: round in mynet.quant ran, which is not outside='mynet'\.",
    ):
        run()


@pytest.mark.parametrize(
    "name", ["", "my net", "mynet.", ".mynet", "mynet/layers.py", 3, b"mynet", ["ok", None]]
)
@pytest.mark.parametrize("word", ["within", "outside"])
def test_a_name_that_cannot_be_one_is_refused(placed, word, name):
    with pytest.raises(surrogate.SpecError, match=rf"{word}=.*dotted name of a module"):
        surrogate.override(placed, {"round": "identity"}, **{word: name})


def test_nowhere_is_refused(placed):
    with pytest.raises(surrogate.SpecError, match="leaves no code"):
        surrogate.use(placed, {"round": "identity"}, within=[])
    with surrogate.override(placed, {"round": "identity"}, outside=[]) as block:
        placed.hit("round")
    assert block.hits["round"] == 1


def test_a_backend_that_does_not_judge_places_refuses_them(toy):
    with pytest.raises(surrogate.UnsupportedOpError, match="within='mynet' would not hold"):
        surrogate.override(toy, {"round": "identity"}, within="mynet")


# -- trace --------------------------------------------------------------------------------------


def test_captures_tell_op_gradient_place_and_count_and_what_was_missed(placed, code):
    with surrogate.override(
        placed, {"round": "clipped(lo=-1, hi=1)", "sign": "identity"}, outside="kornia", trace=True
    ) as block:
        for _ in range(3):
            code["mynet"].quant(placed)
        code["kornia.filters"].quant(placed)
        placed.state().missed("sign", "no gradient is recorded")
        placed.state().missed("floor", "no rule of it is traced")
    rows = {(r.op, r.gradient, r.function, r.count, r.why) for r in block.captures}
    here = f"{__name__}.test_captures_tell_op_gradient_place_and_count_and_what_was_missed"
    assert rows == {
        ("round", "clipped(lo=-1.0, hi=1.0)", "mynet.quant", 3, ""),
        ("sign", "", here, 1, "no gradient is recorded"),
        ("round", "", "kornia.filters.quant", 1, "not outside='kornia'"),
    }
    assert block.captures[0].where == "/mynet.py:5:quant"


def test_captures_are_shown_as_a_table(placed, code):
    with surrogate.override(placed, {"round": "identity"}, trace=True) as block:
        code["mynet"].quant(placed)
        placed.state().missed("round", "not a <float>")
    text = str(block)
    assert text.splitlines()[0].endswith("captured: round 1")
    assert text.splitlines()[1].split() == ["op", "gradient", "where", "module", "count"]
    assert "mynet.py:5:quant" in text
    assert "native: not a <float>" in text
    assert "<td>mynet.py:5:quant</td>" in block._repr_html_()
    assert "native: not a &lt;float&gt;" in block._repr_html_()


def test_nothing_is_recorded_where_nobody_asks(placed, code):
    with surrogate.override(placed, {"round": "identity"}) as block:
        code["mynet"].quant(placed)
        placed.state().missed("round", "no gradient is recorded")
    assert len(block.captures) == 0
    assert str(block) == "<ScopedOverride toy {'round': 'identity'}> captured: round 1"
