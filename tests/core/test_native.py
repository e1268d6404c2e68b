"""Rules for a framework's own ops, as the core sees them: names, formulas, what is refused and why."""

import copy
import pickle

import core_toy
import pytest

import surrogate
from surrogate import _native, _plugins
from surrogate._native import NativeCall, Values
from surrogate._native_kit import NativeKit, resolve_native


class Kit(NativeKit):
    """``lib::sort`` and ``lib::pool``; ``lib.sorted`` ends in the first."""

    known = ("lib::sort", "lib::pool", "lib::sign")

    def canonical(self, name):
        for full in self.known:
            if name in (full, full.partition("::")[2]):
                return full
        raise surrogate.UnknownOpError(f"lib has no op {name!r}{self.suggest(name, self.known)}")

    def ends_in(self, path):
        return {"lib.sorted": ("lib::sort",), "lib.sgn": ("sign",)}.get(path, ())

    def prepare(self, gradient):
        if gradient.params.get("factor") == 0:
            raise surrogate.UnsupportedOpError("a factor of 0 is for zero")


@pytest.fixture(autouse=True)
def formulas_as_before(monkeypatch):
    for table in ("_formulas", "_packs", "_generic"):
        monkeypatch.setattr(_native, table, {})


@pytest.fixture
def lib(monkeypatch):
    backend = core_toy.Toy("lib", natives=Kit())
    monkeypatch.setitem(_plugins._loaded, "lib", backend)
    return backend


def spread(call, g, *, by: float = 2.0):
    return g * by


def gradient(lib, key, spec):
    return resolve_native(lib, key, spec)[1]


def test_a_formula_is_found_by_its_name_with_its_parameters(lib):
    surrogate.register_native("lib", "sort")(spread)
    found = gradient(lib, "lib::sort", "spread(by=3)")
    assert (found.key, found.spec, found.id) == ("lib::sort", "spread(by=3.0)", "lib::sort:spread(by=3.0)")
    assert (str(found), repr(found)) == (found.spec, "NativeGradient('lib::sort:spread(by=3.0)')")
    call = NativeCall(Values([1.0], ["x"]), Values([1.0]), {}, lambda g: g)
    assert found.formula.cotangents(call, 5.0, found.params) == (15.0,)


def test_equal_specs_are_one_object_that_copies_and_pickles_to_itself(lib):
    surrogate.register_native("lib", "sort")(spread)
    found = gradient(lib, "sort", "spread")
    assert gradient(lib, "lib::sort", "lib::sort:spread(by=2)") is found
    assert copy.copy(found) is copy.deepcopy(found) is pickle.loads(pickle.dumps(found)) is found
    assert gradient(lib, "sort", found) is found
    assert gradient(lib, "sort", "native") is None


def test_a_function_is_a_formula_too(lib):
    found = gradient(lib, "sort", spread)
    assert found.spec == "spread(by=2.0)"
    assert pickle.loads(pickle.dumps(found)) is found


def test_every_native_op_has_the_generic_ones_and_those_that_come_along(lib):
    def keep(call, g):
        return g

    NativeKit.ship("lib", {"lib::pool": {"spread": spread}}, {"keep": keep})
    assert _native.formulas("lib", "lib::pool") == ["keep", "reversal", "scaled", "spread"]
    assert _native.shipped("lib") == {"lib::pool": ["spread"]}
    call = NativeCall(Values([1.0, 2]), Values([1.0]), {}, lambda g: (g, None))
    scaled, back = gradient(lib, "pool", "scaled(factor=0.5)"), gradient(lib, "pool", "reversal")
    assert scaled.formula.cotangents(call, 4.0, scaled.params) == (2.0, None)
    assert back.formula.cotangents(call, 4.0, back.params) == (-4.0, None)


@pytest.mark.parametrize(
    ("key", "spec", "error", "message"),
    [
        ("lib::sorts", "scaled(factor=2)", surrogate.UnknownOpError, "did you mean 'lib::sort'"),
        ("lib::sort", "spreads", surrogate.UnknownGradientError, "@surrogate.register_native"),
        ("lib::sign", "hardtanh", surrogate.UnknownGradientError, "a gradient of the catalogue's op 'sign'"),
        ("lib::sort", 3, surrogate.SpecError, "is no gradient for 'lib::sort'"),
        ("lib::sort", lambda g: g, surrogate.FormulaError, "must take two arguments"),
        ("lib::sort", "scaled(factor=0)", surrogate.UnsupportedOpError, "a factor of 0"),
        ("lib::sort", "scaled(factr=2)", surrogate.UnknownParameterError, "factor"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_where_the_override_is_made(lib, key, spec, error, message):
    with pytest.raises(error, match=message):
        surrogate.override(lib, {key: spec})


def test_a_gradient_is_for_its_own_op(lib):
    with pytest.raises(surrogate.SpecError, match=r"is a gradient for 'lib::sort', not for 'lib::pool'"):
        gradient(lib, "pool", gradient(lib, "sort", spread))


def test_a_backend_without_natives_says_so(toy):
    with pytest.raises(surrogate.UnsupportedOpError, match="cannot override native ops, as 'lib::sort'"):
        surrogate.override(toy, {"lib::sort": "spread"})


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("lib.sorted", "it ends in 'lib::sort': give that name, which holds"),
        ("lib.sgn", "give 'sign', the op of the catalogue"),
    ],
)
def test_a_function_of_the_framework_is_not_exchanged(lib, path, message):
    with pytest.raises(surrogate.UnknownOpError, match=message):
        surrogate.override(lib, {path: "identity"})


def test_a_name_that_nobody_knows_is_explained_by_who_knows_better(lib):
    with pytest.raises(surrogate.UnknownOpError, match="did you mean 'sign'"):
        surrogate.override(lib, {"sing": "hardtanh"})
    with pytest.raises(surrogate.UnknownOpError, match="did you mean 'lib::pool'"):
        surrogate.override(lib, {"pools": "spread"})


def test_a_name_is_taken_over_only_on_purpose(lib):
    surrogate.register_native("lib", "sort", name="mine")(spread)

    def other(call, g):
        return g

    with pytest.raises(surrogate.DuplicateNameError, match="pass replace=True"):
        surrogate.register_native("lib", "sort", name="mine")(other)
    surrogate.register_native("lib", "sort", name="mine", replace=True)(other)
    assert gradient(lib, "sort", "mine").formula.function is other


@pytest.mark.parametrize("name", ["native", "a b", "f(x=1)"])
def test_a_name_that_cannot_stand_in_a_spec_is_refused(lib, name):
    with pytest.raises(surrogate.SpecError, match="cannot be a formula's name"):
        surrogate.register_native("lib", "sort", name=name)(spread)


def test_registration_is_by_name(lib):
    with pytest.raises(surrogate.SpecError, match="takes a native name"):
        surrogate.register_native("lib", spread)
    with pytest.raises(TypeError, match=r"made by surrogate\.override"):
        surrogate.NativeGradient()


def test_values_are_found_by_position_and_name():
    values = Values([1, 2], ["x", "axis"])
    assert (values["axis"], values[0], list(values), len(values)) == (2, 1, [1, 2], 2)
    assert (repr(values), repr(Values([1, 2]))) == ("Values(x, axis)", "Values(2)")
    with pytest.raises(KeyError, match="there are: x, axis"):
        values["y"]


def test_forward_mode_is_told_where_there_is_none(lib):
    found = gradient(lib, "sort", spread)
    call = NativeCall(Values([1.0]), Values([1.0]), {}, lambda g: g)
    with pytest.raises(surrogate.ForwardModeError, match="register it with jvp="):
        found.formula.tangent(call, (1.0,), found.params)
    with pytest.raises(surrogate.ForwardModeError, match="own forward mode"):
        call.native_jvp((1.0,))


def test_cotangents_fit_their_inputs(lib):
    formula = gradient(lib, "sort", lambda call, g: (g, g)).formula
    call = NativeCall(Values([1.0], ["x"]), Values([1.0]), {}, lambda g: g)
    with pytest.raises(surrogate.FormulaError, match=r"returns 2 cotangents for 1 inputs \(x\)"):
        formula.cotangents(call, 1.0, {})
    with pytest.raises(surrogate.FormulaError, match=r"it must have the shape of x, \(3,\)"):
        formula.check(None, "x", (2,), (3,), "f4", "f4")
    with pytest.raises(surrogate.FormulaError, match="dtype f8; it must be f4"):
        formula.check(None, "x", (3,), (3,), "f8", "f4")
