"""One of two processes: a model's gradient under DDP, FSDP2 and DTensor equals that of one process."""

import sys
import warnings
from contextlib import nullcontext

import surrogate_torch
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.checkpoint import checkpoint

import surrogate

RULES = {"sign": "arctan", "round": "sine", "floor_divide": "identity", "clip": "leaky(leak=0.25)"}
DATA = torch.linspace(-2, 2, 32).reshape(4, 8)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 2)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.rand(parameter.shape, generator=generator) - 0.5)

    def forward(self, x):
        h = torch.sign(self.first(x))
        return self.second(h + torch.round(self.first(x) * 2) + self.first(x) // 2)


def gradients(model):
    return {name.removeprefix("module."): whole(p.grad) for name, p in model.named_parameters()}


def whole(grad):
    return grad.full_tensor() if hasattr(grad, "full_tensor") else grad


def single():
    model = Model()
    with surrogate.override("torch", RULES):
        model(DATA).square().mean().backward()
    return gradients(model)


def train(model, rank, handle):
    with handle:
        loss = model(DATA[2 * rank : 2 * rank + 2]).square().mean()
    loss.backward()  # after the block: each node has its rule
    return gradients(model)


def ddp(rank):
    model = nn.parallel.DistributedDataParallel(Model())
    return train(model, rank, surrogate.override("torch", RULES))


def compiled_ddp(rank):
    model = nn.parallel.DistributedDataParallel(Model())
    return train(torch.compile(model, backend="aot_eager"), rank, surrogate.use("torch", RULES))


def fsdp(rank):
    from torch.distributed.fsdp import fully_shard

    model = Model()
    fully_shard(model.first)
    fully_shard(model)
    return train(model, rank, surrogate.override("torch", RULES))


class Checkpointed(Model):
    def forward(self, x):
        return checkpoint(super().forward, x, use_reentrant=False)


def attached_ddp(rank):
    model = Checkpointed()
    surrogate_torch.attach(model, RULES)
    return train(nn.parallel.DistributedDataParallel(model), rank, nullcontext())


def attached_compiled_ddp(rank):
    model = nn.parallel.DistributedDataParallel(Model())
    surrogate_torch.attach(model, {"module": RULES})
    return train(torch.compile(model, backend="aot_eager"), rank, nullcontext())


def attached_fsdp(rank):
    from torch.distributed.fsdp import fully_shard

    model = nn.Sequential(Model())
    surrogate_torch.attach(model, {"0": {**RULES, "sign": "zero"}})
    fully_shard(model[0])
    fully_shard(model)
    surrogate_torch.attach(model, {"0": {"sign": RULES["sign"]}})  # after it was sharded, over the other
    return {name.removeprefix("0."): gradient for name, gradient in train(model, rank, nullcontext()).items()}


def dtensor(rank):
    """sign, //, clamp and sign_ of tensors in every placement, with the placement kept."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

    mesh = init_device_mesh("cpu", (2,))
    for placement in (Shard(0), Shard(1), Replicate()):
        whole = DATA.clone()
        leaf = distribute_tensor(whole, mesh, [placement]).requires_grad_()
        with surrogate.override("torch", RULES):
            y = torch.sign(leaf) + leaf // 2 + leaf.clone().sign_() + leaf.clamp(-1, 1)
        assert y.placements == (placement,)
        y.full_tensor().sum().backward()
        window = surrogate.reference.vjp("clip", RULES["clip"], whole.numpy(), -1, 1)[0]
        expected = 2 * surrogate.reference.vjp("sign", "arctan", whole.numpy())[0] + 0.5 + window
        torch.testing.assert_close(leaf.grad.full_tensor(), torch.tensor(expected).float())
    part = (DATA / 2).requires_grad_()  # each process holds half of every number
    with surrogate.override("torch", RULES):
        y = torch.sign(DTensor.from_local(part, mesh, [Partial()]))
    y.full_tensor().sum().backward()
    expected = surrogate.reference.vjp("sign", "arctan", DATA.numpy())[0]
    torch.testing.assert_close(part.grad, torch.tensor(expected).float())
    return


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rank, store = int(sys.argv[1]), sys.argv[2]
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    expected = single()
    for story in (ddp, compiled_ddp, fsdp, attached_ddp, attached_compiled_ddp, attached_fsdp, dtensor):
        found = story(rank)
        for name, gradient in (found or {}).items():
            torch.testing.assert_close(gradient, expected[name.removeprefix("_orig_mod.module.")])
        print(story.__name__)
    dist.destroy_process_group()


main()
