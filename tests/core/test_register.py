"""Registering: the ten-line example, reloads and notebook cells, and what is refused."""

import importlib
import linecache
import sys

import pytest

import surrogate


def test_the_examples_of_the_design():
    @surrogate.register("sign", replace=True)
    def quantize_grad(xp, x, *, width=1.0):
        """1 on [-width, width], 0 outside."""
        return xp.abs(x) <= width

    @surrogate.register("relu", upstream=True, replace=True)
    def guided_example(xp, g, x):
        return xp.where((x > 0) & (g > 0), g, 0)

    reference = surrogate.reference
    (sign,) = reference.vjp("sign", "quantize_grad(width=2)", [-3.0, -2.0, 0.0, 2.0, 3.0], g=5.0)
    (relu,) = reference.vjp("relu", "guided_example", [-1.0, 2.0, 3.0], g=[1.0, -1.0, 2.0])
    assert sign.tolist() == [0, 5, 5, 5, 0]
    assert relu.tolist() == [0, 0, 2]
    assert "quantize_grad" in surrogate.gradients("sign")


@pytest.fixture
def pack(tmp_path, monkeypatch):
    """A module on disk whose text can be changed and reloaded."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "surrogate_test_pack", raising=False)
    file = tmp_path / "surrogate_test_pack.py"

    def write(body):
        file.write_text(body)
        linecache.clearcache()
        importlib.invalidate_caches()

    return write


MODULE = """
import surrogate
@surrogate.register("sign")
def reloaded(xp, x):
    return {value}
"""


def test_reloading_a_module_is_fine_and_takes_the_new_formula(pack, monkeypatch):
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    pack(MODULE.format(value="1.0"))
    import surrogate_test_pack

    importlib.reload(surrogate_test_pack)
    before = surrogate.gradient("sign", "reloaded")
    pack("\n\n\n" + MODULE.format(value="3.25"))  # moved and changed: what an editor does
    importlib.reload(surrogate_test_pack)
    after = surrogate.gradient("sign", "reloaded")
    assert surrogate.reference.vjp("sign", before, 0.0)[0] == 1.0
    assert surrogate.reference.vjp("sign", after, 0.0)[0] == 3.25


def test_a_notebook_cell_run_twice_is_fine():
    for value in ("1.0", "2.0"):
        cell = compile(
            f"@surrogate.register('sign')\ndef cell_gradient(xp, x):\n    return {value}\n",
            f"<cell {value}>",
            "exec",
        )
        exec(cell, {"surrogate": surrogate, "__name__": "__main__"})
    assert surrogate.reference.vjp("sign", "cell_gradient", 0.0)[0] == 2.0


def test_two_functions_under_one_name_are_an_error_naming_both():
    @surrogate.register("sign", name="taken", replace=True)
    def first(xp, x):
        return 1.0

    def second(xp, x):
        return 2.0

    with pytest.raises(surrogate.DuplicateNameError, match="replace=True") as caught:
        surrogate.register("sign", name="taken")(second)
    assert ".first (" in str(caught.value)
    assert ".second (" in str(caught.value)
    assert surrogate.reference.vjp("sign", "taken", 0.0)[0] == 1.0
    surrogate.register("sign", name="taken", replace=True)(second)
    assert surrogate.reference.vjp("sign", "taken", 0.0)[0] == 2.0


def test_two_functions_of_one_name_in_one_file_are_an_error(pack):
    pack(MODULE.format(value="1.0") + MODULE.format(value="2.0"))
    with pytest.raises(surrogate.DuplicateNameError, match="surrogate_test_pack"):
        importlib.import_module("surrogate_test_pack")


def test_a_factory_does_not_silently_replace_its_earlier_product():
    def make(k):
        @surrogate.register("sign", name="from_factory")
        def product(xp, x):
            return k * xp.ones_like(x)

        return product

    make(1.0)
    with pytest.raises(surrogate.DuplicateNameError):
        make(2.0)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: 1.0, "write def"),
        (lambda xp, x, y: 1.0, "write def"),
        (lambda xp, x, k=1.0: 1.0, "keyword-only"),
        (lambda xp, *x: 1.0, "not allowed"),
        (lambda xp, x, **k: 1.0, "not allowed"),
        (lambda xp, g, x: 1.0, "register it with upstream=True"),
        (lambda xp, x: (1.0, 2.0), "returns 2 values"),
        (lambda xp, x: x.sum(), "elementwise"),
        (lambda xp, x: xp.ones_like(x)[:2], "elementwise"),
        (lambda xp, x: "1", "a derivative is"),
        (lambda xp, x: float("nan"), "constant derivative"),
        (lambda xp, x: xp.sort(x), "over xp"),
        (lambda xp, x: surrogate.window(xp.abs(x)), "must be boolean"),
    ],
)
def test_a_function_of_the_wrong_form_is_refused_and_not_known_afterwards(function, message):
    with pytest.raises(surrogate.FormulaError, match=message):
        surrogate.register("sign", name="refused")(function)
    assert "refused" not in surrogate.gradients("sign")


@pytest.mark.parametrize("name", ["native", "two words", "1st", "", "a(b)"])
def test_a_name_that_no_spec_can_hold_is_refused(name):
    with pytest.raises(surrogate.SpecError, match="cannot be a gradient's name"):
        surrogate.register("sign", name=name)(lambda xp, x: 1.0)


def test_registering_for_an_unknown_op_gets_a_suggestion():
    with pytest.raises(surrogate.UnknownOpError, match="did you mean 'sign'"):
        surrogate.register("sing", name="any")(lambda xp, x: 1.0)


def test_an_unknown_op_is_told_before_anything_is_decorated():
    with pytest.raises(surrogate.UnknownOpError, match="did you mean 'sign'"):
        surrogate.register("sing")


def test_decorating_without_an_op_is_refused():
    with pytest.raises(surrogate.SpecError, match=r"write @surrogate\.register\('sign'\)"):

        @surrogate.register
        def mine(xp, x):
            return 1.0


def test_something_that_is_not_callable_is_refused():
    with pytest.raises(surrogate.FormulaError, match="must be a function"):
        surrogate.register("sign", name="number")(3)
