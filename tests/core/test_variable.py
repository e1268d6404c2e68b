"""Parameters that are arrays and variables: identity, ranges, shapes, values in the reference."""

import copy
import pickle

import numpy as np
import pytest

import surrogate
from surrogate import ParameterError, SpecError, Variable, reference

X = np.array([[0.5, -0.25, 1.5], [1.0, 0.125, -2.0]])


def tanh():
    return surrogate.gradient("sign", "tanh(slope=2)")


def test_parameters_may_be_given_by_name():
    assert surrogate.gradient("sign", "hardtanh", width=2) is surrogate.gradient("sign", "hardtanh(width=2)")
    assert surrogate.gradient("sign", "tanh", slope=np.float32(2)) is tanh()
    given = surrogate.gradient("sign", "tanh(slope=3)")
    assert surrogate.gradient("sign", given, slope=2) is surrogate.gradient("sign", "tanh(slope=2)")
    assert surrogate.gradient("heaviside", "snntorch:sigmoid", slope=3).params["slope"] == 3.0


def test_a_parameter_given_twice_is_refused():
    with pytest.raises(SpecError, match="'width' is given twice"):
        surrogate.gradient("sign", "hardtanh(width=2)", width=3)
    with pytest.raises(surrogate.UnknownParameterError):
        surrogate.gradient("sign", "hardtanh", widht=3)


def test_an_array_is_a_constant_told_apart_by_its_content():
    a = np.array([1.0, 2.0, 3.0])
    found = surrogate.gradient("sign", "tanh", slope=a)
    digest = found.digest
    assert found is surrogate.gradient("sign", "tanh", slope=[1, 2, 3])
    assert found is not surrogate.gradient("sign", "tanh", slope=[1, 2, 4])
    assert found is not surrogate.gradient("sign", "tanh", slope=[[1, 2, 3]])
    a[0] = 9.0  # our own copy stays
    assert found.params["slope"].tolist() == [1, 2, 3]
    assert found.digest == digest == surrogate.gradient("sign", "tanh", slope=np.float32([1, 2, 3])).digest
    assert pickle.loads(pickle.dumps(found)) is found
    with pytest.raises(ValueError, match="read-only"):
        found.params["slope"][0] = 1.0


def test_an_array_of_no_axis_is_a_number():
    assert surrogate.gradient("sign", "tanh", slope=np.array(2.0)) is tanh()


@pytest.mark.parametrize("shape", [(3,), (2, 1), (2, 3), (1, 1)])
@pytest.mark.parametrize("spec", ["tanh", "sigmoid", "arctan", "softsign", "swish_sign", "ede"])
def test_an_array_broadcasts_against_the_input(spec, shape):
    values = np.linspace(0.5, 3, int(np.prod(shape))).reshape(shape)
    (name,) = surrogate.gradient("sign", spec).params
    got = reference.vjp("sign", surrogate.gradient("sign", spec, **{name: values}), X)[0]
    for i, value in np.ndenumerate(np.broadcast_to(values, X.shape)):
        expected = reference.vjp("sign", f"{spec}({name}={float(value)!r})", X[i])[0]
        np.testing.assert_allclose(got[i], expected, rtol=1e-15)
    moved = reference.second("sign", surrogate.gradient("sign", spec, **{name: values}), X)[0]
    assert moved.shape == X.shape


def test_the_first_bad_element_is_named():
    with pytest.raises(ParameterError, match=r"width must be above 0, not -4 at index \(1, 1\)"):
        surrogate.gradient("sign", "hardtanh", width=[[1, 2], [3, -4]])
    with pytest.raises(ParameterError, match="must be finite, not nan at index 1"):
        surrogate.gradient("sign", "hardtanh", width=[1.0, np.nan])
    with pytest.raises(ParameterError, match=r"lo=3 and hi=2 at index \(1,\)"):
        surrogate.gradient("round", "clipped", lo=[0.0, 3.0], hi=2.0)


def test_an_array_that_does_not_fit_the_input_is_refused():
    found = surrogate.gradient("sign", "tanh", slope=[1.0, 2.0])
    with pytest.raises(ParameterError, match=r"slope of shape \(2,\) does not broadcast .* \(2, 3\)"):
        reference.vjp("sign", found, X)
    with pytest.raises(ParameterError, match="does not broadcast"):
        reference.vjp("sign", found, 1.0)


@pytest.mark.parametrize("value", ["2", None, [True], [1j], ["a"], object()])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ParameterError, match="must be a number"):
        surrogate.gradient("sign", "tanh", slope=value)


class NotTrained:
    trainable = False
    dtype = "float32"


def test_a_variable_of_a_framework_would_be_a_constant_in_silence():
    with pytest.raises(ParameterError, match="not trained, and would be taken for a constant"):
        surrogate.gradient("sign", "tanh", slope=NotTrained())


def test_a_variable_holds_from_the_next_forward_on():
    k = Variable(1.0)
    found = surrogate.gradient("sign", "tanh", slope=k)
    rule, xp = found.rule, reference.xp
    before = rule.save(xp, (X,))
    digest, spec = found.digest, found.spec
    k.value = 3.0
    assert (found.digest, found.spec) == (digest, spec)
    assert found is surrogate.gradient("sign", "tanh", slope=k)
    for saved, slope in ((before, 1.0), (rule.save(xp, (X,)), 3.0)):
        expected = reference.vjp("sign", f"tanh(slope={slope})", X)[0]
        np.testing.assert_allclose(rule.vjp(xp, saved, np.ones_like(X))[0], expected, rtol=1e-15)
        np.testing.assert_allclose(rule.jvp(xp, saved, (np.ones_like(X),)), expected, rtol=1e-15)


def test_a_window_keeps_its_mask_and_nothing_of_the_variable():
    k = Variable(1.0)
    rule = surrogate.gradient("sign", "hardtanh", width=k).rule
    (mask,) = rule.save(reference.xp, (X,))
    k.value = 0.1
    assert mask.tolist() == (np.abs(X) <= 1).tolist()
    assert (rule.interval, rule.elementwise) == (None, True)


def test_two_variables_are_two_gradients_and_one_serves_several():
    k, other = Variable([1.0, 2.0, 3.0]), Variable([1.0, 2.0, 3.0])
    a = surrogate.gradient("sign", "tanh", slope=k)
    assert a is not surrogate.gradient("sign", "tanh", slope=other)
    b = surrogate.gradient("heaviside", "sigmoid", slope=k)
    k.value = [3.0, 2.0, 1.0]
    for op, found, name in (("sign", a, "tanh"), ("heaviside", b, "sigmoid")):
        more = (0.5,) if op == "heaviside" else ()
        now = surrogate.gradient(op, name, slope=[3.0, 2.0, 1.0])
        got, expected = (reference.vjp(op, one, X, *more)[0] for one in (found, now))
        np.testing.assert_array_equal(got, expected)


def test_a_value_keeps_shape_and_ranges():
    k = Variable(1.0)
    surrogate.gradient("sign", "tanh", slope=k)
    for bad, message in (
        ([1.0, 2.0], "keeps its shape"),
        (np.nan, "must be finite"),
        (-1.0, "above 0, not -1"),
    ):
        with pytest.raises(ParameterError, match=message):
            k.value = bad
    assert k.value == 1.0
    with pytest.raises(ParameterError, match="slope must be above 0"):
        surrogate.gradient("sign", "tanh", slope=Variable(0.0))


def test_a_schedule():
    k = Variable(5.0).follow(lambda step: 2.0**step)
    assert [k.value, k.step(), k.step(), k.value] == [1.0, 2.0, 4.0, 4.0]
    with pytest.raises(ParameterError, match="follows no schedule"):
        Variable(1.0).step()


def test_a_variable_is_the_same_object_when_it_comes_back():
    k = Variable(1.5)
    found = surrogate.gradient("sign", "tanh", slope=k)
    assert copy.deepcopy(k) is copy.copy(k) is pickle.loads(pickle.dumps(k)) is k
    assert pickle.loads(pickle.dumps(found)) is found
    sent = pickle.dumps(k)
    handle = k.handle
    del k, found
    back = pickle.loads(sent)
    assert (back.value, back.handle) == (1.5, handle)


def test_a_mirror_is_made_once_and_follows():
    k, made = Variable(1.0), []

    class Mirror:
        def __init__(self, array):
            made.append(array.item())

        def set(self, array):
            made.append(-array.item())

    first = k.mirror("a", Mirror)
    assert k.mirror("a", Mirror) is first
    assert k.mirror("b", float) == 1.0
    k.value = 2.0
    assert (made, k.mirror("a", Mirror) is first, k.mirror("b", float)) == ([1.0, -2.0], True, 2.0)


@pytest.mark.parametrize("name", ["tanh", "hardtanh"])
def test_a_rule_names_the_variables_that_it_reads(name):
    parameter = "slope" if name == "tanh" else "width"
    k = surrogate.Variable(2.0)
    assert list(surrogate.gradient("sign", name, **{parameter: k}).rule.variables) == [k]
    assert list(surrogate.gradient("sign", name, **{parameter: np.array([2.0, 3.0])}).rule.variables) == []
    assert list(surrogate.gradient("sign", name).rule.variables) == []
