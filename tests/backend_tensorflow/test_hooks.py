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
def test_a_missing_name_is_refused_and_named(hook):
    gone = _hooks.Hook(f"{hook.where}_gone", hook.why)
    with pytest.raises(surrogate.IncompatibleFrameworkError, match=f"{hook.name}_gone.*{_hooks.TESTED}"):
        surrogate.check_hooks("tensorflow", [gone], _hooks.TESTED)


def test_a_missing_module_is_refused():
    with pytest.raises(surrogate.IncompatibleFrameworkError, match=r"no tensorflow\.python\.nowhere\.x"):
        surrogate.check_hooks("tensorflow", [_hooks.Hook("tensorflow.python.nowhere:x", "everything")], "")


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
try:
    surrogate.use("tensorflow", {"sign": "hardtanh"})
except surrogate.IncompatibleFrameworkError as error:
    print("refused:", error)
"""

# the generated code reads the fast path in a place of its own: seen only when an op can run
CHANGED_IN_EAGER_MODE = """
import tensorflow as tf, surrogate
from tensorflow.python.ops import gen_math_ops
class Frozen:
    TFE_Py_FastPathExecute = staticmethod(gen_math_ops.pywrap_tfe.TFE_Py_FastPathExecute)
gen_math_ops.pywrap_tfe = Frozen
handle = surrogate.use("tensorflow", {"sign": "hardtanh"})
try:
    tf.constant(1.0)
except surrogate.IncompatibleFrameworkError as error:
    print("refused:", error)
"""

LEFT = """
try:
    surrogate.use("tensorflow", {"sign": "hardtanh"})
except surrogate.IncompatibleFrameworkError as error:
    print("refused again:", error)
from surrogate_tensorflow import _hooks
print("left as it was:", all(h.now is h.native for h in _hooks.HOOKS))
"""


def test_loading_refuses_a_tensorflow_without_a_hook():
    assert "refused: tensorflow " in (found := in_fresh_process(REMOVED))
    assert "tensorflow.python.eager.execute.record_gradient" in found


@pytest.mark.parametrize(
    ("code", "way"), [(CHANGED, "tf.gradients in a graph"), (CHANGED_IN_EAGER_MODE, "eager mode")]
)
def test_the_probe_refuses_a_hook_that_no_longer_works(code, way):
    found = in_fresh_process(code + LEFT)
    assert "refused: tensorflow " in found
    assert "refused again: tensorflow " in found
    assert way in found
    assert "left as it was: True" in found


WAYS_TO_LOAD = {
    "import": "import surrogate_tensorflow",
    "defaults, override and use": """
surrogate.defaults('tensorflow')
with surrogate.override('tensorflow', {'sign': 'hardtanh'}): pass
handle = surrogate.use('tensorflow')""",
}
SETTINGS = """
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
tf.config.set_soft_device_placement(True)
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
tf.config.set_visible_devices([cpu])
print("kit loaded:", "surrogate_tensorflow._driver" in sys.modules)
print("devices:", len(tf.config.list_logical_devices("CPU")))
x = tf.constant([0.5, 3.0])
with surrogate.override("tensorflow", {"sign": "hardtanh"}), tf.GradientTape() as tape:
    tape.watch(x)
    y = tf.sign(x)
print("gradient:", tape.gradient(y, x).numpy().tolist())
"""


@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")
@pytest.mark.parametrize("way", WAYS_TO_LOAD)
def test_the_runtime_can_still_be_configured_after(way):
    found = in_fresh_process(f"import sys, tensorflow as tf, surrogate\n{WAYS_TO_LOAD[way]}\n{SETTINGS}")
    assert "devices: 2" in found, found
    assert "gradient: [1.0, 0.0]" in found, found
    assert "kit loaded: False" in found


def test_what_the_check_of_eager_mode_captured_hides_no_warning():
    found = in_fresh_process(
        "import surrogate, tensorflow as tf\n"
        "handle = surrogate.use('tensorflow', {'round': 'identity'})\n"
        "x = tf.constant(1.0)\n"
        "with surrogate.override('tensorflow', {'sign': 'identity'}): pass\n"
    )
    assert "NothingCapturedWarning: the override of sign" in found
