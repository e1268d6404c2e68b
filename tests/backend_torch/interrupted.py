"""What is interrupted; see ``tests/interrupts.py``."""

import torch
import torch._dynamo  # as whoever compiles has; imported half, it would stay so
from torch.utils.checkpoint import checkpoint

BACKEND = "torch"
# of PyTorch's own context managers: a level of torch.func that was entered and not left, or the reverse
INSTEAD = ("RuntimeError", "UnboundLocalError")
RULES = {"sign": "arctan", "round": "identity", "clip": "half"}

torch.set_num_threads(1)
_W = torch.linspace(-2, 2, 32 * 32).reshape(32, 32)


def _loss(w):
    return ((torch.sign(w) @ torch.round(4 * w)) ** 2).mean() + torch.clamp(w, -0.5, 0.5).sum()


def _gradient(loss):
    w = _W.clone().requires_grad_()
    loss(w).backward()
    return w.grad.numpy()


def eager(scope):
    with scope():
        return _gradient(_loss)


def backward_later(scope):
    w = _W.clone().requires_grad_()
    with scope():
        loss = _loss(w)
    loss.backward()
    return w.grad.numpy()


def checkpointed(scope):
    with scope():
        return _gradient(lambda w: checkpoint(_loss, w, use_reentrant=False))


def checkpointed_reentrant(scope):
    with scope():
        return _gradient(lambda w: checkpoint(_loss, w, use_reentrant=True))


def transformed(scope):
    with scope():
        return torch.func.vmap(torch.func.grad(_loss))(_W.reshape(4, 16, 16)).numpy()


_compiled = torch.compile(_loss, backend="aot_eager", fullgraph=True)


def compiled(scope):
    with scope():
        return _gradient(_compiled)


def compiling(scope):
    torch.compiler.reset()
    with scope():
        return _gradient(_compiled)


STEPS = {
    step.__name__: step
    for step in (
        eager,
        backward_later,
        checkpointed,
        checkpointed_reentrant,
        transformed,
        compiled,
        compiling,
    )
}
