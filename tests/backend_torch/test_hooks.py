"""A torch without a hook we stand on is refused when the backend loads, by name."""

import subprocess
import sys
import textwrap

import pytest
import torch
from surrogate_torch import _hooks, _namespace

import surrogate


@pytest.mark.parametrize("hook", surrogate.load_backend("torch").hooks, ids=lambda hook: hook.name)
def test_every_hook_is_there(hook):
    assert hook.find() is not None
    assert hook.why


@pytest.mark.parametrize("hook", _hooks.HOOKS, ids=lambda hook: hook.name)
def test_a_missing_hook_is_named_with_what_was_tested(hook):
    gone = surrogate.Hook(f"{hook.where}_gone", hook.why)
    with pytest.raises(surrogate.IncompatibleFrameworkError) as caught:
        _hooks.probe([gone])
    for text in (gone.name, hook.why, torch.__version__, _hooks.TESTED):
        assert text in str(caught.value)


@pytest.mark.parametrize("version", ["2.9.1+cu128", "2.12.0", "1.13.1"])
def test_an_older_torch_is_refused(version):
    with pytest.raises(surrogate.IncompatibleFrameworkError, match=r"2\.13") as caught:
        _hooks.refuse_older(version)
    assert version in str(caught.value)


@pytest.mark.parametrize("version", ["2.13.0+cpu", "2.14.0a0+git1234", "3.0.0"])
def test_a_newer_torch_is_not(version):
    _hooks.refuse_older(version)


@pytest.mark.parametrize(
    "name", ["_current_graph_task_id", "_len_torch_dispatch_stack", "_jit_set_profiling_mode"]
)
def test_it_is_missed_before_any_module_takes_it(name):
    script = f"""
        import torch, surrogate
        del torch._C.{name}
        try:
            surrogate.load_backend("torch")
        except surrogate.IncompatibleFrameworkError as error:
            assert "torch._C.{name}" in str(error), error
        else:
            raise AssertionError("loaded")
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)


def test_every_op_has_a_spelling_that_is_caught():
    backend = surrogate.load_backend("torch")
    assert backend.ops == {op.name for op in map(surrogate.op, surrogate.ops())}
    assert not backend.unsupported


def test_the_namespace_has_every_name():
    from surrogate import _numpy

    assert sorted(_namespace.__all__) == sorted(_numpy.__all__)
    for name in _namespace.__all__:
        assert hasattr(_namespace, name)


FUNCTIONS = [name for name in _namespace.__all__ if callable(getattr(_namespace, name))]


@pytest.mark.parametrize(
    "name",
    [name for name in FUNCTIONS if name not in ("astype_like", "parameter", "softmax", "sum", "where")],
)
def test_python_numbers_give_python_numbers(name):
    from surrogate import _numpy

    function, expected = getattr(_namespace, name), getattr(_numpy, name)
    arguments = (0.75, 1.5) if name in ("logical_and", "logical_or", "maximum", "minimum", "pow") else (0.75,)
    got = function(*arguments)
    assert isinstance(got, int | float)
    assert got == expected(*arguments)


def test_a_number_beside_a_tensor():
    x = torch.tensor([-1.0, 2.0], dtype=torch.float64, requires_grad=True)
    for function, expected in ((_namespace.maximum, [0.0, 2.0]), (_namespace.minimum, [-1.0, 0.0])):
        assert function(x, 0.0).tolist() == function(0.0, x).tolist() == expected
    (tie,) = torch.autograd.grad(_namespace.maximum(x, 2.0).sum(), x)
    assert tie.tolist() == [0.0, 0.5]


def test_sign_of_the_namespace_propagates_nan():
    assert _namespace.sign(torch.tensor([torch.nan, -3.0])).isnan().tolist() == [True, False]
