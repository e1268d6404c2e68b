"""Clean models as they are trained: the audit names nothing in them, and every gradient is PyTorch's own."""

import copy

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

import surrogate


def sequence(*parts):
    return nn.Sequential(*parts)


class Block(nn.Module):
    """A residual block with batch normalisation, as of a ResNet."""

    def __init__(self, n, m, stride):
        super().__init__()
        self.body = sequence(
            *(nn.Conv2d(n, m, 3, stride, 1, bias=False), nn.BatchNorm2d(m), nn.ReLU(inplace=True)),
            *(nn.Conv2d(m, m, 3, 1, 1, bias=False), nn.BatchNorm2d(m)),
        )
        self.skip = sequence(nn.Conv2d(n, m, 1, stride, bias=False), nn.BatchNorm2d(m))

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x), inplace=True)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = sequence(nn.Conv2d(3, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.blocks = sequence(Block(8, 8, 1), Block(8, 16, 2), Block(16, 32, 2))
        self.head = nn.Linear(32, 5)

    def forward(self, x, y):
        h = self.blocks(F.max_pool2d(self.stem(x), 2))
        return F.cross_entropy(self.head(h.mean((2, 3))), y, label_smoothing=0.1)


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.token = nn.Conv2d(3, 16, 4, 4), nn.Parameter(torch.zeros(1, 1, 16))
        self.position = nn.Parameter(torch.randn(1, 17, 16) * 0.02)
        layer = nn.TransformerEncoderLayer(16, 2, 32, 0.1, F.gelu, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 5)

    def forward(self, x, y):
        h = self.patch(x).flatten(2).transpose(1, 2)
        h = torch.cat([self.token.expand(len(x), -1, -1), h], 1) + self.position
        return F.cross_entropy(self.head(self.norm(self.encoder(h))[:, 0]), y)


class Tagger(nn.Module):
    """A packed bidirectional LSTM over sequences of several lengths, labels padded with -100."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 8, padding_idx=0)
        self.lstm, self.out = nn.LSTM(8, 6, 2, batch_first=True, bidirectional=True), nn.Linear(12, 4)

    def forward(self, x, lengths, y):
        packed = nn.utils.rnn.pack_padded_sequence(
            self.words(x), lengths, batch_first=True, enforce_sorted=False
        )
        h, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return F.cross_entropy(self.out(h).flatten(0, 1), y.flatten(), ignore_index=-100)


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(20, 16), nn.Embedding(8, 16)
        self.qkv, self.proj, self.norm = nn.Linear(16, 48), nn.Linear(16, 16), nn.LayerNorm(16)
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)
        self.register_buffer("mask", torch.tril(torch.ones(8, 8)))

    def attend(self, h):
        q, k, v = (z.unflatten(-1, (2, 8)).transpose(1, 2) for z in self.qkv(self.norm(h)).split(16, -1))
        score = (q @ k.transpose(-2, -1)) / 8**0.5
        score = score.masked_fill(self.mask == 0, float("-inf")).softmax(-1)
        return self.proj((F.dropout(score, 0.1) @ v).transpose(1, 2).flatten(2))

    def forward(self, ids):
        h = self.words(ids) + self.places(torch.arange(8))
        h = h + self.attend(h)
        h = h + self.down(F.gelu(self.up(self.norm(h)), approximate="tanh"))
        logits = h @ self.words.weight.T
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        self.last = (loss.item(), (logits.argmax(-1) == ids).float().mean().item())  # only logged
        return loss


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(6, 4), nn.Linear(4, 6)
        self.codes = nn.Embedding(10, 4)

    def forward(self, x):
        z = self.enc(x)
        distance = (z[:, None] - self.codes.weight[None]).pow(2).sum(-1)
        q = self.codes(distance.argmin(1))
        commit = (q.detach() - z).pow(2).mean() * 0.25 + (q - z.detach()).pow(2).mean()
        q = z + (q - z).detach()
        return (self.dec(q) - x).pow(2).mean() + commit


class Critic(nn.Module):
    """WGAN-GP: the norm of a gradient is part of the loss."""

    def __init__(self):
        super().__init__()
        self.net = sequence(nn.Linear(5, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def forward(self, real, fake):
        t = torch.rand(len(real), 1)
        mixed = (t * real + (1 - t) * fake).requires_grad_()
        (g,) = torch.autograd.grad(self.net(mixed).sum(), mixed, create_graph=True)
        penalty = ((g.norm(2, dim=1) - 1) ** 2).mean()
        return self.net(fake).mean() - self.net(real).mean() + 10 * penalty


class Byol(nn.Module):
    """A target network that follows by exponential moving average, under no_grad."""

    def __init__(self):
        super().__init__()
        self.online = sequence(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))
        self.predict, self.target = nn.Linear(4, 4), copy.deepcopy(self.online)
        self.target.requires_grad_(False)

    def forward(self, a, b):
        with torch.no_grad():
            for p, q in zip(self.target.parameters(), self.online.parameters(), strict=True):
                p.mul_(0.99).add_(q, alpha=0.01)
            wanted = F.normalize(self.target(b), dim=-1)
        return 2 - 2 * (F.normalize(self.predict(self.online(a)), dim=-1) * wanted).sum(-1).mean()


class Dropped(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.scale = nn.Linear(6, 12), nn.Linear(12, 3), nn.Parameter(torch.tensor(1e-6))

    def forward(self, x, y):
        h = F.dropout(F.silu(self.a(x)), 0.5)
        keep = (torch.rand(len(x), 1) > 0.1).float() / 0.9  # stochastic depth
        h = h + self.scale * h * keep
        return F.binary_cross_entropy_with_logits(self.b(h), y)


class Leaky(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 16), nn.Linear(16, 1)

    def forward(self, x, y):
        h = self.a(x)
        h = torch.where(h > 0, h, 0.01 * h)
        error = (self.b(h) - y).squeeze(1)
        return torch.where(error.abs() < 1, 0.5 * error**2, error.abs() - 0.5).mean()  # Huber's


class Mixture(nn.Module):
    """Experts chosen by the top two of a router, with a balancing loss."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(6, 4, bias=False)
        self.experts = nn.ModuleList(nn.Linear(6, 6) for _ in range(4))

    def forward(self, x, y):
        p = self.router(x).softmax(-1)
        weight, index = p.topk(2)
        weight = weight / weight.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for k, expert in enumerate(self.experts):
            row, slot = torch.where(index == k)
            out = out.index_add(0, row, expert(x[row]) * weight[row, slot, None])
        used = F.one_hot(index, 4).float().mean((0, 1))
        return (out - y).pow(2).mean() + 0.01 * 4 * (used * p.mean(0)).sum()


def images():
    return torch.randn(4, 3, 16, 16), torch.tensor([0, 1, 2, 3])


MODELS = {
    ResNet: images,
    ViT: images,
    Tagger: lambda: (
        torch.tensor([[1, 2, 3, 4], [5, 6, 0, 0], [7, 8, 9, 0]]),
        torch.tensor([4, 2, 3]),
        torch.tensor([[0, 1, 2, 3], [1, 2, -100, -100], [3, 2, 1, -100]]),
    ),
    GPT: lambda: (torch.randint(0, 20, (2, 8)),),
    VQVAE: lambda: (torch.randn(8, 6),),
    Critic: lambda: (torch.randn(6, 5), torch.randn(6, 5)),
    Byol: lambda: (torch.randn(6, 5), torch.randn(6, 5)),
    Dropped: lambda: (torch.randn(8, 6), torch.rand(8, 3)),
    Leaky: lambda: (torch.randn(8, 4), torch.randn(8, 1)),
    Mixture: lambda: (torch.randn(16, 6), torch.randn(16, 6)),
}


@pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.__name__)
def test_a_clean_model_has_no_finding(kind):
    torch.manual_seed(0)
    model, args = kind(), MODELS[kind]()
    report = surrogate.audit("torch", model, *args)
    assert report.ok(), str(report)
    assert report.unreached == {}
    assert report.notes == ()
    model(*args).backward()


@pytest.mark.parametrize("kind", [ResNet, VQVAE, Mixture, Byol], ids=lambda kind: kind.__name__)
def test_its_gradients_are_pytorchs(kind):
    torch.manual_seed(0)
    model, args = kind(), MODELS[kind]()
    report = surrogate.audit("torch", model, *args)
    model(*args).backward()
    wanted = {n: float(p.grad.double().norm()) for n, p in model.named_parameters() if p.requires_grad}
    assert report.gradients == {name: pytest.approx(norm, rel=1e-6) for name, norm in wanted.items()}
