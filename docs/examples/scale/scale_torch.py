"""PyTorch on two processes: the same gradients as on one.

    python -m torch.distributed.run --standalone --nproc-per-node 2 scale_torch.py

``torchrun`` starts this file twice, so ``surrogate.use`` at its top holds in both processes. With
``SURROGATE_RULES`` in the environment a script needs no line of ours: give ``--by-environment``.
"""

import sys
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.utils.checkpoint import checkpoint

import surrogate

RULES = {"sign": "arctan", "round": "sine", "heaviside": "boxcar"}
torch.set_default_dtype(torch.float64)  # sums in another order: only then the numbers show an error
DATA, TARGETS = torch.linspace(-2, 2, 64).reshape(8, 8), torch.ones(8, 2)


class Block(nn.Module):
    """A layer with activations that have no derivative of their own; recomputed in the backward if asked."""

    def __init__(self, seed: int, inner: int = 8, outer: int = 8, recompute: bool = False) -> None:
        super().__init__()
        self.up, self.down, self.recompute = nn.Linear(8, inner), nn.Linear(inner, outer), recompute
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.rand(parameter.shape, generator=generator) - 0.5)

    def run(self, x):
        h = self.up(x)
        steps = torch.heaviside(h, torch.zeros_like(h))
        return self.down(torch.sign(h) + torch.round(2 * h) + steps)

    def forward(self, x):
        return checkpoint(self.run, x, use_reentrant=False) if self.recompute else self.run(x)


def make(recompute=False):
    return nn.Sequential(Block(0, recompute=recompute), Block(1, outer=2, recompute=recompute))


def loss_of(y, targets):
    return (y - targets).square().mean()


def gradients(model):
    """By name, whole also where a process holds a part."""
    found = {}
    for name, parameter in model.named_parameters():
        grad = parameter.grad
        name = name.removeprefix("_orig_mod.").removeprefix("module.")
        found[name] = grad.full_tensor() if hasattr(grad, "full_tensor") else grad
    return found


def half(rank):
    return slice(4 * rank, 4 * rank + 4)


def data_parallel(rank):
    model = nn.parallel.DistributedDataParallel(make())
    loss_of(model(DATA[half(rank)]), TARGETS[half(rank)]).backward()
    return gradients(model)


def data_parallel_compiled(rank):
    model = torch.compile(nn.parallel.DistributedDataParallel(make()), backend="aot_eager")
    loss_of(model(DATA[half(rank)]), TARGETS[half(rank)]).backward()
    return gradients(model)


def fully_sharded(rank):
    from torch.distributed.fsdp import fully_shard

    model = make(recompute=True)  # recomputed while the shards are gathered again
    for block in model:
        fully_shard(block)
    fully_shard(model)
    loss_of(model(DATA[half(rank)]), TARGETS[half(rank)]).backward()
    return gradients(model)


def tensor_parallel(rank):
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    model, mesh = make(), init_device_mesh("cpu", (2,))
    for block in model:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    loss_of(model(DATA), TARGETS).backward()
    return gradients(model)


def pipeline(rank):
    """One block on each process, two microbatches."""
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    block = make()[rank]
    stage = PipelineStage(block, rank, 2, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, n_microbatches=2, loss_fn=loss_of)
    schedule.step(DATA) if rank == 0 else schedule.step(target=TARGETS)
    return {f"{rank}.{name}": grad for name, grad in gradients(block).items()}


def main():
    if "--by-environment" not in sys.argv:
        surrogate.use("torch", RULES)
    warnings.simplefilter("ignore")  # of PyTorch's, about its own parts
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    model = make()
    loss_of(model(DATA), TARGETS).backward()
    expected = gradients(model)
    assert expected["0.up.weight"].abs().max() > 0.01  # natively there is none
    for story in (data_parallel, data_parallel_compiled, fully_sharded, tensor_parallel, pipeline):
        found = story(dist.get_rank())
        for name, grad in found.items():
            torch.testing.assert_close(grad, expected[name])
        dist.barrier()
        if dist.get_rank() == 0:
            print(story.__name__, len(found), "gradients equal")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
