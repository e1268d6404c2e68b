"""Every way of losing a gradient in PyTorch, eager and compiled, in loops and branches: the exact line."""

import pytest
import torch
from losing import names_the_line, program, table

IMPORTS = "import numpy as np\nimport torch"

WAYS = {
    "sign": "g = torch.sign(h)  #!",
    "round": "g = torch.round(h)  #!",
    "floor": "g = h.floor()  #!",
    "ceil": "g = torch.ceil(h)  #!",
    "trunc": "g = torch.trunc(h)  #!",
    "heaviside": "g = torch.heaviside(h, torch.tensor(0.5))  #!",
    "floor_divide": "g = h // 0.5  #!",
    "comparison": "g = (h > 0.1).float()  #!",
    "equality": "g = torch.eq(h, h.amax()).float()  #!",
    "cast": "g = h.to(torch.int32).to(h.dtype)  #!",
    "argmax": "g = h.argmax(-1).to(h.dtype)  #!",
    "argsort": "g = h.argsort(-1).to(h.dtype)  #!",
    "bucketize": "g = torch.bucketize(h, torch.tensor([0.0, 1.0])).to(h.dtype)  #!",
    "detach": "g = h.detach()  #!",
    "data": "g = h.data  #!",
    "no_grad": "with torch.no_grad():\n    g = h * 3.0  #!",
    "inference_mode": "with torch.inference_mode():\n    g = h * 3.0  #!\ng = g.clone()",
    "item": "g = h.sum().item()  #!",
    "tolist": "g = torch.tensor(h.tolist())  #!",
    "numpy": "g = torch.from_numpy(np.tanh(h.detach().numpy()))  #!",
    "new tensor": "g = torch.tensor([float(h[0, 0])] * 3)  #!",
    "written to": "g = torch.zeros(2, 3)\nwith torch.no_grad():\n    g.add_(h)  #!",
}

SURROUNDINGS = {
    "eager": "def program(w, b):\n    h = w * 2.0\n    @@\n    return (g * b).sum()",
    "compiled": "@torch.compile\ndef program(w, b):\n    h = w * 2.0\n    @@\n    return (g * b).sum()",
    "loop": """def program(w, b):
    total = torch.zeros(())
    for scale in (2.0, 3.0):
        h = w * scale
        @@
        total = total + (g * b).sum()
    return total""",
    "branch": """def program(w, b):
    if b.sum() > -1e9:
        h = w * 2.0
        @@
    else:
        g = w
    return (g * b).sum()""",
    "module": """class Net(torch.nn.Module):
    def forward(self, w, b):
        h = w * 2.0
        @@
        return (g * b).sum()


program = torch.compile(Net())""",
}


@pytest.mark.filterwarnings("ignore")  # PyTorch warns of some
@pytest.mark.parametrize(("surrounding", "way"), table(WAYS, SURROUNDINGS))
def test_the_line_that_loses_a_gradient_is_named(surrounding, way, tmp_path):
    module, at = program(tmp_path, IMPORTS, SURROUNDINGS[surrounding], WAYS[way])
    w = torch.tensor([[0.3, -0.7, 1.2], [0.4, 0.9, -1.6]], requires_grad=True)
    b = torch.tensor(1.5, requires_grad=True)
    names_the_line("torch", module, at, "arg0", w, b)
