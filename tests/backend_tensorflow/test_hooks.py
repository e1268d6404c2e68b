"""A TensorFlow that lacks a hook, or whose hook does something else, is refused when the backend loads."""

import subprocess
import sys

import pytest
from surrogate_tensorflow import _hooks

import surrogate


def in_fresh_process(code):
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return run.stdout + run.stderr


@pytest.mark.parametrize("hook", _hooks.HOOKS, ids=str)
def test_a_missing_name_is_refused_and_named(hook, monkeypatch):
    gone = _hooks.Hook(hook.module, f"{hook.name}_gone", hook.purpose)
    with pytest.raises(surrogate.IncompatibleFrameworkError, match=f"{hook.name}_gone.*{_hooks.TESTED}"):
        gone.find()


def test_a_missing_module_is_refused():
    with pytest.raises(surrogate.IncompatibleFrameworkError, match=r"no tensorflow\.python\.nowhere\.x"):
        _hooks.Hook("nowhere", "x", "everything").find()


REMOVED = """
import tensorflow as tf, surrogate
from tensorflow.python.eager import execute
del execute.record_gradient
try:
    surrogate.use("tensorflow", {"sign": "hardtanh"})
except surrogate.IncompatibleFrameworkError as error:
    print("refused:", error)
"""

CHANGED = """
import tensorflow as tf, surrogate
from tensorflow.python.framework import op_def_library
native = op_def_library._apply_op_helper
from tensorflow.python.ops import gen_math_ops
class Frozen:  # the generated code looks the helper up in a place of its own
    _apply_op_helper = staticmethod(native)
gen_math_ops._op_def_library = Frozen
before = tf.clip_by_value, tf.raw_ops.Sign
try:
    surrogate.use("tensorflow", {"sign": "hardtanh"})
except surrogate.IncompatibleFrameworkError as error:
    print("refused:", error)
from surrogate_tensorflow import _hooks
print("left as it was:", all(getattr(h._owner, h._attribute) is h.native for h in _hooks.HOOKS))
"""


def test_loading_refuses_a_tensorflow_without_a_hook():
    assert "refused: tensorflow " in (found := in_fresh_process(REMOVED))
    assert "tensorflow.python.eager.execute.record_gradient" in found


def test_the_probe_refuses_a_hook_that_no_longer_works():
    found = in_fresh_process(CHANGED)
    assert "refused: tensorflow " in found
    assert "a tape around a tf.function" in found
    assert "left as it was: True" in found
