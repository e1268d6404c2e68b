"""An op tells all of itself: where a formula is evaluated, the partials it leaves out, its samples."""

import math

import numpy as np
import pytest

import surrogate
from surrogate import FormulaError, SpecError, _numpy as xp, reference
from surrogate._measure import measure
from surrogate._registry import registry


@pytest.fixture
def add_op():
    """Make an op known for one test."""
    saved = dict(registry._ops)

    def add(*args, **kwargs):
        op = surrogate.Op(*args, **kwargs)
        registry.add_op(op)
        return op

    yield add
    for name in set(registry._ops) - set(saved):
        for table in (registry._ops, registry._formulas, registry._presets):
            del table[name]


def inverse(xp, x):
    return 1 / x


def test_an_attribute_of_another_op_does_not_move_the_formula(add_op):
    add_op("mylog", ("x",), lambda x, decimals: np.round(np.log(x), decimals), attributes=("decimals",))
    assert reference.vjp("mylog", inverse, [2.0], decimals=2)[0].tolist() == [0.5]


def test_an_attribute_may_have_any_name(add_op):
    add_op("logn", ("x",), lambda x, base: np.log(x) / np.log(base), attributes=("base",))
    assert reference.vjp("logn", inverse, [4.0], base=2)[0].tolist() == [0.25]


def test_the_op_says_where_the_formula_is_evaluated(add_op):
    add_op(
        "stepped",
        ("x", "y"),
        lambda x, y, shift=0: np.floor(x + shift) * y,
        attributes=("shift",),
        at=lambda x, y, shift: (x + shift, y),
    )

    def formula(xp, x, y):
        return x, y

    found = surrogate.gradient("stepped", formula)
    assert [c.tolist() for c in reference.vjp("stepped", found, 1.0, 2.0, shift=3)] == [4.0, 2.0]
    assert found.at(shift=0) is found.rule
    assert found.at(shift=3) is found.at(shift=np.int64(3)) is not found.rule


def test_a_formula_is_given_the_attribute_that_it_names(add_op):
    add_op("logb", ("x",), lambda x, base=10: np.log(x) / np.log(base), attributes=("base",))

    def formula(xp, x, *, base=10, scale=1.0):
        return scale / (x * math.log(base))

    found = surrogate.gradient("logb", formula)
    assert dict(found.params) == {"scale": 1.0}
    assert reference.vjp("logb", found, 1.0, base=2)[0] == 1 / math.log(2)
    assert reference.vjp("logb", found, 1.0)[0] == 1 / math.log(10)


def test_an_unknown_attribute_is_an_error():
    with pytest.raises(TypeError, match="round has no attribute 'digits'; it has: decimals"):
        surrogate.gradient("round", "identity").at(digits=2)


def test_the_positional_form_of_0_1_still_works():
    found = surrogate.gradient("round", "identity")
    with pytest.warns(DeprecationWarning, match="decimals=2"):
        assert found.at(2) is found.at(decimals=2)


def weighted(xp, x, y, z):
    return 1.0, x * z, y


def product(x, y, z):
    return x * y * z


@pytest.mark.parametrize("word", ["partials", "tail"])
def test_the_partials_of_left_out_inputs_see_all_inputs(add_op, word):
    """A formula of x alone crashed in backward: the op's own partials were given x only."""
    add_op("weigh", ("x", "y", "z"), product, **{word: weighted})
    found = reference.vjp("weigh", lambda xp, x: 7.0, 2.0, 3.0, 5.0, g=10.0)
    assert [c.item() for c in found] == [70, 100, 30]


def test_only_what_is_read_is_kept(add_op):
    add_op(
        "weigh",
        ("x", "y", "z"),
        product,
        partials=lambda xp, x, y, z: (1.0, 2.0 * z, 3.0 * z),
        reads=("z",),
    )
    rule = surrogate.gradient("weigh", inverse).rule
    x, y, z = (np.array([v]) for v in (2.0, 3.0, 5.0))
    assert [v.item() for v in rule.save(xp, (x, y, z))] == [2.0, 5.0]
    assert [v.item() for v in rule.save(xp, (x, y, z), (True, False, False))] == [2.0]
    found = rule.vjp(xp, rule.save(xp, (x, y, z)), np.ones(1))
    assert [c.item() for c in found] == [0.5, 10.0, 15.0]
    needs = (False, False, True)
    assert rule.vjp(xp, rule.save(xp, (x, y, z), needs), np.ones(1), needs)[2].item() == 15.0


def test_a_gradient_of_the_upstream_gradient_leaves_them_to_the_op_too():
    def doubled(xp, g, x):
        return 2 * g

    found = reference.vjp("heaviside", doubled, [0.0, 1.0], [0.5, 0.5], g=3.0)
    assert [c.tolist() for c in found] == [[6, 6], [3, 0]]


def test_a_mask_that_two_inputs_share_is_kept_once(add_op):
    def both(xp, x, y):
        mask = x > y
        return mask, surrogate.window(mask, -1.0, 0.0)

    rule = surrogate.gradient("mod", both).rule
    x, y = np.array([1.0, 3.0]), np.array([2.0, 2.0])
    assert [m.tolist() for m in rule.save(xp, (x, y))] == [[False, True]]
    found = rule.vjp(xp, rule.save(xp, (x, y)), np.ones(2))
    assert [c.tolist() for c in found] == [[0, 1], [0, -1]]
    assert rule.jvp(xp, rule.save(xp, (x, y)), (np.ones(2), 3 * np.ones(2))).tolist() == [0, -2]


def test_drawing_and_measuring_an_op_of_two_inputs_needs_nothing_said(add_op):
    add_op("scaled", ("x", "y"), lambda x, y: np.floor(x / y) * y)
    found = surrogate.gradient("scaled", lambda xp, x, y: xp.abs(x) <= y)
    assert surrogate.op("scaled").held == (3.0,)
    assert measure(found).mass == 6.0


@pytest.mark.parametrize(
    "given", [{"held": (1.0, 2.0)}, {"operands": ((1.0, 2.0),)}, {"shaped": ((1.0,) * 6,) * 2}]
)
def test_samples_fit_the_inputs(given):
    with pytest.raises(SpecError, match="gives values for 1"):
        surrogate.Op("scaled", ("x", "y"), np.add, samples=surrogate.Samples(**given))


# -- intervals ---------------------------------------------------------------------------------


def test_the_catalogue_says_which_rules_are_intervals():
    assert surrogate.gradient("sign", "hardtanh(width=2)").rule.interval == (-2, 2)
    assert surrogate.gradient("round", "clipped(lo=-1, hi=3)").rule.interval == (-1, 3)
    assert surrogate.gradient("round", "clipped(lo=-1, hi=3)").at(decimals=1).interval is None
    assert surrogate.gradient("sign", "tanh").rule.interval is None


def test_a_function_is_no_interval_by_its_name():
    def clipped(xp, x):
        return surrogate.window(xp.abs(x) <= 1, 2.0)

    assert surrogate.gradient("abs", clipped).rule.interval is None


@pytest.mark.parametrize(
    "formula",
    [
        lambda xp, x: xp.abs(x) < 1,
        lambda xp, x: surrogate.window(xp.abs(x) <= 1, 2.0),
        lambda xp, x: xp.abs(x) <= 1.5,
        lambda xp, x: xp.logical_not(xp.abs(x) > 1),
    ],
    ids=["open", "two", "wider", "at-nan"],
)
def test_what_is_no_interval_cannot_be_registered_as_one(formula):
    with pytest.raises(FormulaError, match=r"registered as the interval \[-1, 1\]"):
        surrogate.register("abs", name="unheard_of", interval=lambda: (-1.0, 1.0))(formula)
    assert "unheard_of" not in surrogate.gradients("abs")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "a b"}, "an op is named like"),
        ({"inputs": "x"}, "are a tuple of names"),
        ({"inputs": ()}, "are a tuple of names"),
        ({"forward": None}, "needs a forward over NumPy arrays"),
        ({"output": "complex"}, "is 'float', 'bool' or 'integer'"),
        ({"reads": ("y",)}, r"reads \['y'\], which are not among its inputs"),
    ],
)
def test_what_is_no_op_is_told_where_it_is_made(given, message):
    with pytest.raises(SpecError, match=message):
        surrogate.Op(**{"name": "mine", "inputs": ("x",), "forward": np.sign} | given)


def test_attributes_are_plain_values_and_those_that_differ_from_their_defaults():
    def forward(x, axis=0, base=2.0, right=False):
        return x

    op = surrogate.Op("mine", ("x",), forward, attributes=("axis", "base", "right"))
    assert op.static({"axis": np.int64(0), "base": 2, "right": False}) == ()
    assert op.static({"base": np.float32(0.5), "axis": (np.int32(1), 0), "right": True}) == (
        ("axis", (1, 0)),
        ("base", 0.5),
        ("right", True),
    )
    with pytest.raises(TypeError, match="has no attribute 'left'; it has: axis, base, right"):
        op.static({"left": True})
    with pytest.raises(TypeError):
        op.static({"axis": 0.5})
