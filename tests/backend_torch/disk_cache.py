"""Run in a process of its own: compile one function under given rules, and print its gradient.

Arguments: a spec for sign, or ``off``; the user's own cache_key_tag, or nothing; ``thread`` or ``main``; or
``modules`` and specs for the two modules of a model, ``off-off,identity-hardtanh``, one after the other.
"""

import json
import sys
import threading

import surrogate_torch
import torch
from torch._dynamo.utils import counters

import surrogate


class Act(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sign(x) * x


def modules(specs: str) -> None:
    """One compiled model under rules that change: two modules of one class, so of one code."""
    model = torch.nn.Sequential(Act(), torch.nn.Linear(4, 4, bias=False), Act())
    with torch.no_grad():
        model[1].weight.copy_(torch.eye(4) * 2)
    compiled, found = torch.compile(model, fullgraph=True), []
    for pair in specs.split(","):
        named = zip(("0", "2"), pair.split("-"), strict=True)
        rules = {name: {"sign": spec} for name, spec in named if spec != "off"}
        handle = surrogate_torch.attach(model, rules) if rules else None
        x = torch.tensor([-2.0, -0.5, 0.25, 2.0], requires_grad=True)
        found.append(torch.autograd.grad(compiled(x).sum(), x)[0].tolist())
        if handle is not None:
            handle.undo()
    print(json.dumps({"gradients": found, "hit": counters["aot_autograd"]["autograd_cache_hit"]}))


def main() -> None:
    if sys.argv[1] == "modules":
        modules(sys.argv[2])
        return
    spec, tag, where = sys.argv[1:4]
    if tag:
        torch.compiler.config.cache_key_tag = tag
    x = torch.tensor([-2.0, -0.5, 0.5, 2.0], requires_grad=True)
    found = {}

    def work() -> None:
        compiled = torch.compile(lambda x: torch.sign(x) * x, fullgraph=True)
        if spec == "off":
            y = compiled(x)
        else:
            with surrogate.override("torch", {"sign": spec}):
                y = compiled(x)
        found["gradient"] = torch.autograd.grad(y.sum(), x)[0].tolist()
        found["tag"] = torch.compiler.config.cache_key_tag

    if where == "thread":
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    else:
        work()
    found["hit"] = counters["aot_autograd"]["autograd_cache_hit"]
    print(json.dumps(found))


main()
