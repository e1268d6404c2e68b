"""Models as people write them, with comparisons, argmax and casts; not a line is changed for us."""

import torch
import torch.nn.functional as F  # noqa: N812
from sklearn import datasets
from torch import nn

import surrogate


class LeakyIntegrateAndFire(nn.Module):
    """As in nearly every spiking repository: a comparison that is cast, and a soft reset."""

    def forward(self, currents):
        v, spikes = torch.zeros_like(currents[0]), []
        for current in currents:
            v = 0.9 * v + current
            spike = (v > 1).float()
            v = v - spike
            spikes.append(spike)
        return torch.stack(spikes)


def test_a_spiking_layer_learns_the_digits():
    torch.manual_seed(0)
    images, labels = datasets.load_digits(return_X_y=True)
    x, y = torch.tensor(images / 16, dtype=torch.float32), torch.tensor(labels)
    order = torch.randperm(len(x))
    train, test = order[:1400], order[1400:]
    hidden, readout, fire = nn.Linear(64, 96), nn.Linear(96, 10), LeakyIntegrateAndFire()
    optimizer = torch.optim.Adam([*hidden.parameters(), *readout.parameters()], lr=5e-3)

    def logits(x):
        return readout(fire(hidden(x).expand(6, -1, -1)).mean(0))

    with surrogate.override("torch", {"compare": "arctan"}) as o:
        for _ in range(12):
            for batch in train.split(100):
                optimizer.zero_grad()
                F.cross_entropy(logits(x[batch]), y[batch]).backward()
                optimizer.step()
    with torch.no_grad():
        right = (logits(x[test]).argmax(-1) == y[test]).float().mean()
    assert right > 0.9
    assert o.hits["greater"] == 12 * 14 * 6


def quantise(z, codebook):
    """Vector quantisation: the nearest code, looked up by its one-hot vector."""
    distances = (z[:, None] - codebook).square().sum(-1)
    return F.one_hot(distances.argmin(-1), len(codebook)).to(z.dtype) @ codebook


def test_a_bottleneck_straight_through_is_the_detach_trick():
    """In code space ``argmin: identity`` is ``one_hot + (-d) - (-d).detach()``, the trick on the scores."""
    torch.manual_seed(0)
    z = torch.randn(8, 4, dtype=torch.float64, requires_grad=True)
    codebook = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)
    w = torch.randn(8, 4, dtype=torch.float64)

    def by_trick():
        scores = -(z[:, None] - codebook).square().sum(-1)
        chosen = F.one_hot(scores.argmax(-1), 5).double() + (scores - scores.detach())
        return ((chosen @ codebook) * w).sum()

    wanted = torch.autograd.grad(by_trick(), (z, codebook))
    with surrogate.override("torch", {"argmin": "identity"}):
        found = torch.autograd.grad((quantise(z, codebook) * w).sum(), (z, codebook))
        distances = (z[:, None] - codebook).square().sum(-1)
        looked_up = torch.autograd.grad((codebook[distances.argmin(-1)] * w).sum(), (z, codebook))
    for a, b, c in zip(found, looked_up, wanted, strict=True):
        torch.testing.assert_close(a, c, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(b, c, rtol=1e-12, atol=1e-12)


def test_a_vq_autoencoder_trains_through_its_codes():
    torch.manual_seed(0)
    x = torch.randn(256, 8)
    encoder, decoder = nn.Linear(8, 4), nn.Linear(4, 8)
    codebook = nn.Parameter(torch.randn(16, 4))
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters(), codebook], lr=1e-2)

    def loss():
        z = encoder(x)
        index = (z[:, None] - codebook).square().sum(-1).argmin(-1)
        return F.mse_loss(decoder(F.embedding(index, codebook)), x)

    before = loss().item()
    with surrogate.override("torch", {"argmin": "softmax(temperature=0.5)"}):
        for _ in range(100):
            optimizer.zero_grad()
            loss().backward()
            assert encoder.weight.grad.abs().sum() > 0
            optimizer.step()
    assert loss().item() < 0.8 * before


def test_a_top_k_mask_passes_the_gradient_to_its_scores():
    scores = torch.tensor([0.1, 0.9, 0.4, 0.7], dtype=torch.float64, requires_grad=True)
    weight = torch.tensor([1.0, -2.0, 3.0, 0.5], dtype=torch.float64)
    with surrogate.override("torch", {"compare": "identity"}):
        threshold = scores.topk(2).values[-1].detach()
        masked = weight * (scores >= threshold)
        (found,) = torch.autograd.grad(masked.sum(), scores)
    assert masked.tolist() == [0.0, -2.0, 0.0, 0.5]
    assert torch.equal(found, weight)


def test_a_hard_concrete_gate():
    log_alpha = torch.tensor([-1.0, 0.2, 1.5], dtype=torch.float64, requires_grad=True)
    s = torch.sigmoid(log_alpha) * 1.2 - 0.1
    with surrogate.override("torch", {"compare": "sigmoid"}):
        gate = torch.where(s > 0.5, torch.ones_like(s), torch.zeros_like(s))
        (found,) = torch.autograd.grad(gate.sum(), log_alpha)
    with surrogate.override("torch", {"heaviside": "sigmoid"}):
        s = torch.sigmoid(log_alpha) * 1.2 - 0.1
        step = torch.heaviside(s - 0.5, torch.zeros((), dtype=torch.float64))
        (wanted,) = torch.autograd.grad(step.sum(), log_alpha)
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=0)


def test_a_jpeg_like_quantiser_by_casts():
    block = torch.linspace(-40, 40, 64, dtype=torch.float64).reshape(8, 8).requires_grad_()
    table = torch.arange(1.0, 65.0, dtype=torch.float64).reshape(8, 8)
    with surrogate.override("torch", {"astype": "identity"}):
        restored = (block / table).to(torch.int32) * table
        (found,) = torch.autograd.grad(restored.sum(), block)
    torch.testing.assert_close(found, torch.ones_like(found), rtol=1e-12, atol=0)
