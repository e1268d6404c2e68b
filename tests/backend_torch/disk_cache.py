"""Run in a process of its own: compile one function under given rules, and print its gradient.

Arguments: a spec for sign, or ``off``; the user's own cache_key_tag, or nothing; ``thread`` or ``main``.
"""

import json
import sys
import threading

import torch
from torch._dynamo.utils import counters

import surrogate


def main() -> None:
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
