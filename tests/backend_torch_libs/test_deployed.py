"""What is exported for inference holds the native op, whatever rules are in force."""

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import nn

import surrogate

X = torch.tensor([[-2.0, -0.5, 0.0, 2.5], [1.5, -0.0, 0.49, -1.5]])


class Model(nn.Module):
    def forward(self, x):
        return torch.sign(x) + torch.round(x) * torch.floor(x) + torch.clamp(x, -1.0, 1.0)


@pytest.fixture
def rules():
    return surrogate.override("torch", dict.fromkeys(("sign", "round", "floor", "clip"), "identity"))


def exported(rules):
    with rules:
        program = torch.export.export(Model(), (X,))
        Model()(X.clone().requires_grad_())
    return program


def test_ahead_of_time_by_inductor(rules, tmp_path):
    package = torch._inductor.aoti_compile_and_package(
        exported(rules), package_path=str(tmp_path / "model.pt2")
    )
    run = torch._inductor.aoti_load_package(package)
    assert torch.equal(run(X), Model()(X))
    with rules:
        assert torch.equal(run(X), Model()(X))
        Model()(X.clone().requires_grad_())


def test_onnx_holds_its_own_ops(rules, tmp_path):
    with rules:
        program = torch.onnx.export(Model(), (X,), dynamo=True, verbose=False)
        Model()(X.clone().requires_grad_())
    program.save(str(tmp_path / "model.onnx"))
    graph = onnx.load(str(tmp_path / "model.onnx")).graph
    assert {"Sign", "Round", "Floor", "Clip"} <= {node.op_type for node in graph.node}
    assert {node.domain for node in graph.node} == {""}
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {session.get_inputs()[0].name: X.numpy()})
    np.testing.assert_array_equal(found, Model()(X).numpy())
