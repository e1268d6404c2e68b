"""PyTorch's worker processes: what a forked one, a spawned one and a DataLoader's know of rules.

    python workers_torch.py

A forked process has what its parent had in force. A spawned one begins anew: hand it an override, which can
be pickled, and enter it there; or call ``surrogate.use`` in it, as ``worker_init_fn`` does here. Where
``SURROGATE_RULES`` is set, every process has it by itself.
"""

import functools
import os

import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Dataset

import surrogate

RULES = {"sign": "hardtanh"}


def slope():
    """The derivative of sign at 0.5: 1 under the rule, 0 natively."""
    x = torch.tensor(0.5, requires_grad=True)
    torch.sign(x).backward()
    return x.grad.item()


def work(answers, handed=None):
    if handed is None:
        answers.put(slope())
    else:
        with handed:
            answers.put(slope())


class Slopes(Dataset):
    """A data set that differentiates, as one that makes adversarial examples does."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return slope()


def in_process(method, handed=None):
    context = mp.get_context(method)
    answers = context.SimpleQueue()
    process = context.Process(target=work, args=(answers, handed))
    process.start()
    process.join()
    return answers.get()


def in_loader(method, **options):
    context = mp.get_context(method)
    return torch.cat(
        list(DataLoader(Slopes(), num_workers=2, multiprocessing_context=context, **options))
    ).tolist()


def start(rules, worker):
    surrogate.use("torch", rules)


def main():
    override = surrogate.override("torch", RULES)
    by_environment = float("SURROGATE_RULES" in os.environ)
    print("spawned, handed", in_process("spawn", override))
    print("forked, handed", in_process("fork", override))
    print("loader, spawned", in_loader("spawn", worker_init_fn=functools.partial(start, RULES)))
    with override:
        assert slope() == 1
        print("forked inside", in_process("fork"))
        print("loader, forked inside", in_loader("fork"))
        assert in_process("spawn") == by_environment  # it begins anew
    assert slope() == by_environment  # nothing came back


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
