"""Gradients are interned values: equal specs give one object, here and in another process."""

import copy
import gc
import os
import pickle
import subprocess
import sys
import weakref

import pytest

import surrogate


def test_equal_specs_give_the_identical_object():
    a = surrogate.gradient("sign", "hardtanh(width=2)")
    assert a is surrogate.gradient("sign", " hardtanh( width = 2.0 ) ")
    assert a is surrogate.gradient("sign", a)


def test_defaults_written_out_change_nothing():
    assert surrogate.gradient("sign", "hardtanh") is surrogate.gradient("sign", "hardtanh(width=1)")


def test_equality_follows_op_name_and_parameters():
    found = {
        surrogate.gradient("sign", "hardtanh"),
        surrogate.gradient("sign", "hardtanh(width=2)"),
        surrogate.gradient("sign", "identity"),
        surrogate.gradient("round", "identity"),
        surrogate.gradient("round", "identity"),
    }
    assert len(found) == 4


def test_both_zeros_are_one_parameter():
    def scaled(xp, x, *, shift=0.0):
        return xp.abs(x) <= shift + 1

    surrogate.register("sign", name="zero_test", replace=True)(scaled)
    assert surrogate.gradient("sign", "zero_test(shift=-0.0)") is surrogate.gradient("sign", "zero_test")


def test_repr_and_str_name_it_as_it_is_named_everywhere():
    found = surrogate.gradient("sign", "hardtanh(width=2)")
    assert repr(found) == "Gradient('sign:hardtanh(width=2.0)')"
    assert str(found) == found.spec == "hardtanh(width=2.0)"
    assert surrogate.gradient(found.op.name, found.spec) is found


def test_rich_repr_yields_the_id():
    found = surrogate.gradient("sign", "identity")
    assert list(found.__rich_repr__()) == ["sign:identity", ("upstream", False, False)]


def test_parameters_are_read_only():
    with pytest.raises(TypeError):
        surrogate.gradient("sign", "hardtanh").params["width"] = 2.0


def test_cannot_be_made_by_hand():
    with pytest.raises(TypeError, match=r"surrogate\.gradient"):
        surrogate.Gradient()


@pytest.mark.parametrize("trip", [lambda g: pickle.loads(pickle.dumps(g)), copy.copy, copy.deepcopy])
def test_survives_pickle_and_copies_as_the_same_object(trip):
    found = surrogate.gradient("heaviside", "arctan(alpha=3)")
    assert trip(found) is found


def test_digest_is_the_same_in_another_process():
    code = "import surrogate; print(surrogate.gradient('sign', 'hardtanh(width=2)').digest)"
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert other.stdout.strip() == surrogate.gradient("sign", "hardtanh(width=2)").digest


def test_digest_changes_with_the_formula():
    def bump(xp, x):
        return 1.0

    def other(xp, x):
        return 2.0

    surrogate.register("sign", name="digest_test", replace=True)(bump)
    before = surrogate.gradient("sign", "digest_test")
    surrogate.register("sign", name="digest_test", replace=True)(other)
    after = surrogate.gradient("sign", "digest_test")
    assert before.digest != after.digest
    assert before != after


def test_digest_changes_with_a_helper_of_the_formula(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    text = "def helper(x):\n    return x <= {}\n\ndef f(xp, x):\n    return helper(xp.abs(x))\n"
    (tmp_path / "pack_one.py").write_text(text.format(1))
    (tmp_path / "pack_two.py").write_text(text.format(2))
    import pack_one
    import pack_two

    surrogate.register("sign", name="helped", replace=True)(pack_one.f)
    one = surrogate.gradient("sign", "helped")
    surrogate.register("sign", name="helped", replace=True)(pack_two.f)
    assert one.digest != surrogate.gradient("sign", "helped").digest


def test_a_function_is_a_gradient_with_one_identity():
    def soft(xp, x, *, k=2.0):
        return 1 / (1 + k * xp.square(x))

    digest = surrogate.gradient("sign", soft).digest
    gc.collect()
    assert surrogate.gradient("sign", soft).digest == digest
    assert surrogate.gradient("sign", soft).id == "sign:soft(k=2.0)"


def test_an_anonymous_gradient_is_released_with_its_function():
    def soft(xp, x):
        return 1.0

    watch = weakref.ref(surrogate.gradient("sign", soft))
    function = weakref.ref(soft)
    del soft
    gc.collect()
    assert watch() is None
    assert function() is None


def test_two_anonymous_functions_are_never_taken_for_each_other():
    digests = {surrogate.gradient("sign", eval("lambda xp, x: 1.0")).digest for _ in range(2)}
    assert len(digests) == 2


def test_pickling_a_local_function_says_what_to_do():
    found = surrogate.gradient("sign", lambda xp, x: 1.0)
    with pytest.raises(pickle.PicklingError, match="top level of a module"):
        pickle.dumps(found)


def test_a_gradient_of_another_op_is_refused():
    with pytest.raises(surrogate.SpecError, match="is a gradient for 'sign', not for 'round'"):
        surrogate.gradient("round", surrogate.gradient("sign", "hardtanh"))
