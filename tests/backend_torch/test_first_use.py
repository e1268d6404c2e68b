"""What happens before and at the first override of a process."""

import subprocess
import sys

import pytest

PREAMBLE = """
import sys, warnings
warnings.simplefilter("ignore")
import torch
x = torch.tensor([-2.25, 0.375, 0.625], requires_grad=True)
def gradient(f):
    return torch.autograd.grad(f(x).sum(), x)[0].tolist()
"""

IMPORTED_ONLY = """
def dump():
    return [torch._C._dispatch_dump(f"aten::{name}") for name in ("sign", "abs", "clamp", "norm.Scalar")]
before = dump()
import surrogate, surrogate_torch
surrogate.defaults("torch")
with surrogate.override("torch", {}):
    gradient(torch.sign)
assert dump() == before
assert "torch._dynamo" not in sys.modules
"""

OTHER_OPS = """
def tables():
    return [torch._C._dispatch_dump_table(f"aten::{name}") for name in ("add.Tensor", "mul.Tensor", "mm")]
def modes():
    return torch._C._len_torch_dispatch_stack() + torch._C._len_torch_function_stack()
before = tables()
import surrogate
rules = {op: "identity" for op in ("sign", "round", "floor", "ceil", "trunc", "relu", "clip", "heaviside")}
with surrogate.override("torch", rules):
    assert gradient(torch.sign) == [1.0] * 3
    assert tables() == before
    assert modes() == 0
"""

COMPILED_BEFORE = """
compiled = torch.compile(lambda x: torch.sign(x) * 3, backend="aot_eager", fullgraph=True)
assert gradient(compiled) == [0.0] * 3
import surrogate
with surrogate.override("torch", {"sign": "identity"}):
    assert gradient(compiled) == [3.0] * 3
assert gradient(compiled) == [0.0] * 3
"""

COMPOSITE_COMPILED_BEFORE = """
l1_loss = torch.nn.functional.l1_loss
compiled = torch.compile(lambda x: l1_loss(x, 0 * x, reduction="sum"), backend="aot_eager")
assert gradient(compiled) == [-1.0, 1.0, 1.0]
import surrogate
with surrogate.override("torch", {"abs": lambda xp, x: 7.0}):
    assert gradient(compiled) == [-1.0, 1.0, 1.0]
    assert gradient(torch.abs) == [7.0] * 3
"""

SCRIPTED_BEFORE = """
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x).round() * 3.0
scripted = torch.jit.script(Model())
traced = torch.jit.trace(lambda x: x.floor() * 3.0, x.detach())
for _ in range(4):
    gradient(scripted), gradient(traced)
import surrogate
for _ in range(3):
    with surrogate.override("torch", {"relu": "identity", "round": "identity", "floor": "identity"}):
        assert gradient(scripted) == gradient(traced) == [3.0] * 3
    assert gradient(scripted) == gradient(traced) == [0.0] * 3
"""

CHECKPOINTED_BEFORE = """
from torch.utils.checkpoint import checkpoint
made = [checkpoint(lambda x: torch.sign(x * x) * 3, x, use_reentrant=kind).sum() for kind in (True, False)]
import surrogate
with surrogate.use("torch", {"sign": "identity"}):
    assert gradient(torch.sign) == [1.0] * 3
    for loss in made:
        x.grad = None
        loss.backward()
        assert x.grad.tolist() == [0.0] * 3
"""

FIRST_INSIDE_A_COMPILED_FUNCTION = """
import surrogate
def f(x):
    with surrogate.override("torch", {"sign": "identity"}):
        return torch.sign(x) * 3
compiled = torch.compile(f, backend="aot_eager")
assert [gradient(compiled), gradient(compiled)] == [[3.0] * 3] * 2
"""

FIRST_OF_A_LOADED_BACKEND = """
import surrogate
import surrogate_torch
compiled = torch.compile(lambda x: torch.sign(x) * 5, backend="aot_eager", fullgraph=True)
assert gradient(compiled) == [0.0] * 3
for op, f in (("sign", torch.sign), ("greater", lambda x: (x > 0).float())):
    o = surrogate.override("torch", {op: "identity"})
    def block(x):
        with o:
            return f(x) * 3
    inside = torch.compile(block, backend="aot_eager", fullgraph=True)
    assert [gradient(inside), gradient(inside)] == [[3.0] * 3] * 2, op
    assert gradient(compiled) == [0.0] * 3
    with surrogate.override("torch", {"sign": "identity"}):
        assert gradient(compiled) == [5.0] * 3
    torch.compiler.reset()
"""

FIRST_INSIDE_A_FULL_GRAPH = """
import surrogate
for begin in (surrogate.override, surrogate.use):
    def f(x):
        with begin("torch", {"sign": "identity"}):
            return torch.sign(x) * 3
    try:
        torch.compile(f, backend="aot_eager", fullgraph=True)(x)
    except Exception as error:
        assert "begins or ends inside a compiled function" in str(error), error
    else:
        raise AssertionError("compiled")
"""

THE_DEMO_IS_COMPILED = """
import surrogate.demo.models.torch_model as demo
import numpy as np
import surrogate
surrogate.load_backend("torch")
frames = []
def count(graph, inputs):
    frames.append(graph)
    return graph
start = [np.full(shape, 0.25, np.float32) for shape in ((4, 3), (3,), (3, 2), (2,), (2, 2))]
torch.compile(demo.Network(start), backend=count, fullgraph=True)(torch.ones(1, 4)).sum().backward()
assert len(frames) == 1
"""

COMPILER_NOT_LOADED = """
import surrogate
with surrogate.override("torch", {"sign": "identity"}):
    assert gradient(torch.sign) == [1.0] * 3
assert "torch._dynamo" not in sys.modules
"""

FORKED = """
import os, surrogate
surrogate.use("torch", {"sign": "identity"})
assert gradient(torch.sign) == [1.0] * 3
child = os.fork()
if child == 0:
    os._exit(0 if gradient(torch.sign) == [1.0] * 3 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""

SETTINGS_AFTERWARDS = """
import surrogate, surrogate_torch
surrogate.defaults("torch")
surrogate.use("torch").undo()
with surrogate.override("torch", {"sign": "identity"}):
    pass
torch.set_num_interop_threads(2)
torch.set_num_threads(2)
torch.multiprocessing.set_start_method("spawn")
torch.set_default_device("meta")
assert torch.zeros(2).device.type == "meta"
"""

STORIES = {
    "settings can still be made": SETTINGS_AFTERWARDS,
    "importing changes nothing": IMPORTED_ONLY,
    "an override costs other ops nothing": OTHER_OPS,
    "compiled before": COMPILED_BEFORE,
    "a composite compiled before": COMPOSITE_COMPILED_BEFORE,
    "scripted before": SCRIPTED_BEFORE,
    "checkpointed before": CHECKPOINTED_BEFORE,
    "first override inside a compiled function": FIRST_INSIDE_A_COMPILED_FUNCTION,
    "first override inside a full graph of a loaded backend": FIRST_OF_A_LOADED_BACKEND,
    "first override inside a full graph": FIRST_INSIDE_A_FULL_GRAPH,
    "the demo's model is compiled": THE_DEMO_IS_COMPILED,
    "the compiler is not loaded": COMPILER_NOT_LOADED,
    "a forked child": FORKED,
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_in_a_process_of_its_own(story, tmp_path):
    script = tmp_path / "story.py"  # a file: TorchScript reads the source
    script.write_text(PREAMBLE + story)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
