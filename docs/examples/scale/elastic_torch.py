"""PyTorch under an elastic launcher: a worker dies, all are started again, and training goes on.

    export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1  # else gloo finds the addresses of those that died
    python -m torch.distributed.run --standalone --nproc-per-node 2 --max-restarts 1 elastic_torch.py FOLDER

Each start runs this file from its top, so ``surrogate.use`` holds in the new processes too; rules are no
part of a checkpoint, and a ``surrogate.Variable`` is put into it by hand.
"""

import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from scale_torch import DATA, TARGETS, half, loss_of, make

import surrogate

STEPS, DIES_AT = 4, 2
width = surrogate.Variable(1.0).follow(lambda step: 1.0 + step / 4)
RULES = {"sign": surrogate.gradient("sign", "hardtanh", width=width), "round": "sine", "heaviside": "boxcar"}


def train(model, forward, data, targets, checkpoint=None, failing=False):
    """Plain gradient descent from the last checkpoint on; the width moves with each step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    begin = 0
    if checkpoint is not None and checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=False)
        model.load_state_dict(saved["model"])
        begin = saved["step"]
        for _ in range(begin):
            width.step()
    for step in range(begin, STEPS):
        if failing and step == DIES_AT:
            os._exit(1)
        optimizer.zero_grad()
        loss_of(forward(data), targets).backward()
        optimizer.step()
        width.step()
        if checkpoint is not None:
            if dist.get_rank() == 0:
                torch.save({"model": model.state_dict(), "step": step + 1}, checkpoint)
            dist.barrier()
    return model.state_dict()


def main() -> None:
    dist.init_process_group("gloo")
    rank, restarts = dist.get_rank(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    surrogate.use("torch", RULES)
    model = make()
    found = train(
        model,
        torch.nn.parallel.DistributedDataParallel(model),
        DATA[half(rank)],
        TARGETS[half(rank)],
        Path(sys.argv[1]) / "checkpoint.pt",
        failing=restarts == 0 and rank == 1,
    )
    if rank == 0:
        width.follow(lambda step: 1.0 + (step - STEPS) / 4)  # from the first value once more
        alone = make()
        expected = train(alone, alone, DATA, TARGETS)
        worst = max(float((found[name] - expected[name]).abs().max()) for name in expected)
        assert worst < 1e-12, worst
        print(f"after {restarts} restart: {len(expected)} weights equal")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
