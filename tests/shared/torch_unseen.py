"""Programs written from the README and the wish list alone, before their author read a rule of the audit.

Ten have one planted fault each, at the line that says so; five are sound.
"""

import numpy as np
import torch
from torch import nn
from torch.nn import functional


def critic_as_a_python_number():
    """A value loss joins the policy loss as a float: the critic learns nothing."""
    policy, critic = nn.Linear(6, 3), nn.Linear(6, 1)

    def loss(observations, actions, returns):
        chosen = functional.log_softmax(policy(observations), dim=1).gather(1, actions[:, None]).squeeze(1)
        value = critic(observations).squeeze(1)
        penalty = functional.mse_loss(value, returns)
        extra = float(penalty)  # plant: cut
        return -(chosen * returns).mean() + 0.5 * extra

    wrt = {f"critic.{k}": p for k, p in critic.named_parameters()}
    args = (torch.randn(8, 6), torch.randint(3, (8,)), torch.randn(8))
    return loss, args, {"wrt": wrt}


def smoothed_in_numpy():
    """A signal model whose middle step was borrowed from NumPy."""

    class Denoiser(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode = nn.Linear(32, 32)
            self.decode = nn.Linear(32, 32)

        def smooth(self, rows):
            taps = np.hanning(5) / np.hanning(5).sum()
            plain = rows.detach().cpu().numpy()  # plant: cut
            out = np.stack([np.convolve(row, taps, mode="same") for row in plain])
            return torch.as_tensor(out, dtype=rows.dtype)

        def forward(self, x):
            return self.decode(torch.tanh(self.smooth(self.encode(x))))

    return Denoiser(), (torch.randn(4, 32),), {"loss": lambda y: (y**2).mean()}


def hard_memory_compiled():
    """A module that reads the one slot that scores best, compiled."""

    class HardMemory(nn.Module):
        def __init__(self):
            super().__init__()
            self.query = nn.Linear(8, 8)
            self.slots = nn.Parameter(torch.randn(5, 8))

        def forward(self, x):
            scores = self.query(x) @ self.slots.T
            best = scores.argmax(dim=-1)  # plant: cut|zero
            return self.slots[best]

    return torch.compile(HardMemory()), (torch.randn(6, 8),), {"loss": lambda y: y.square().mean()}


def encoder_left_under_no_grad():
    """The features are meant to be fine-tuned; a no_grad from evaluation stayed."""
    encoder = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
    head = nn.Linear(16, 2)

    def loss(images, labels):
        with torch.no_grad():
            features = encoder(images)  # plant: cut
        return functional.cross_entropy(head(features), labels)

    args = (torch.randn(4, 1, 8, 8), torch.randint(2, (4,)))
    return loss, args, {"wrt": dict(encoder.named_parameters())}


def loss_of_the_wrong_variable():
    """The loss compares the input with the code's own mean, never with the reconstruction."""

    class Auto(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Linear(10, 4)
            self.decoder = nn.Linear(4, 10)  # plant: unreached decoder

        def forward(self, x):
            code = torch.tanh(self.encoder(x))
            recon = self.decoder(code)
            return code, recon

    x = torch.randn(5, 10)
    return Auto(), (x,), {"loss": lambda out: functional.mse_loss(out[0].mean(1), x.mean(1))}


def pixels_not_scaled():
    """Bytes 0..255 go into a sigmoid layer."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(64, 16)
            nn.init.normal_(self.first.weight, std=0.5)
            self.second = nn.Linear(16, 3)

        def forward(self, x):
            hidden = torch.sigmoid(self.first(x))  # plant: saturated
            return self.second(hidden)

    x = torch.randint(0, 256, (8, 64)).float()
    return Net(), (x,), {"loss": lambda y: functional.cross_entropy(y, torch.arange(8) % 3)}


def units_that_never_fire():
    """A large negative bias, as a too long first step leaves it."""
    trunk, out = nn.Linear(12, 12), nn.Linear(12, 1)
    nn.init.constant_(trunk.bias, -25.0)

    def loss(x, y):
        for _ in range(2):
            x = functional.relu(trunk(x))  # plant: dead
        return functional.mse_loss(out(x).squeeze(1), y)

    wrt = {**dict(trunk.named_parameters()), **{f"out.{k}": p for k, p in out.named_parameters()}}
    return loss, (torch.randn(16, 12), torch.randn(16)), {"wrt": wrt}


def logarithm_of_a_softmax():
    """Cross entropy by hand with a student's temperature."""
    student = nn.Linear(6, 5)

    def distill(x, teacher):
        probabilities = torch.softmax(student(x) / 0.1, dim=-1)
        return -(teacher * torch.log(probabilities)).sum(-1).mean()  # plant: unstable

    teacher = torch.softmax(torch.randn(7, 5), -1)
    return distill, (torch.randn(7, 6), teacher), {"wrt": dict(student.named_parameters())}


def recurrence_without_a_bound():
    """A linear recurrence whose matrix stretches by three, sixty times."""

    class Linear(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp = nn.Linear(3, 8)
            self.rec = nn.Parameter(3.0 * torch.linalg.qr(torch.randn(8, 8))[0])

        def forward(self, xs):
            h = torch.zeros(xs.shape[1], 8)
            for x in xs:
                h = h @ self.rec + self.inp(x)  # plant: exploding
            return h

    return Linear(), (torch.randn(60, 2, 3),), {"loss": lambda h: h.mean()}


def parameters_copied_into_a_new_tensor():
    """An affine warp whose matrix is built with torch.tensor."""
    angle, scale = nn.Parameter(torch.tensor(0.3)), nn.Parameter(torch.tensor(1.2))

    def register(moving, fixed):
        c, s = scale * torch.cos(angle), scale * torch.sin(angle)
        theta = torch.tensor([[c, -s, 0.0], [s, c, 0.0]])  # plant: cut
        grid = functional.affine_grid(theta[None], moving.shape, align_corners=False)
        return functional.mse_loss(functional.grid_sample(moving, grid, align_corners=False), fixed)

    images = torch.rand(1, 1, 8, 8), torch.rand(1, 1, 8, 8)
    return register, images, {"wrt": {"angle": angle, "scale": scale}}


def clean_convolutions():
    """Convolutions, batch norm, dropout, a residual, labels smoothed."""

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.a, self.b = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
            self.na, self.nb = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

        def forward(self, x):
            return functional.relu(x + self.nb(self.b(functional.relu(self.na(self.a(x))))))

    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2), Block(8), nn.MaxPool2d(2), Block(8), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Dropout(0.2), nn.Linear(8, 4),
    )  # fmt: skip
    labels = torch.randint(4, (8,))
    return (
        model,
        (torch.randn(8, 3, 24, 24),),
        {"loss": lambda y: functional.cross_entropy(y, labels, label_smoothing=0.1)},
    )


def clean_variational():
    """A VAE: reparameterised sample, KL, binary cross entropy with logits."""
    enc, mu, logvar, dec = nn.Linear(20, 16), nn.Linear(16, 3), nn.Linear(16, 3), nn.Linear(3, 20)

    def elbo(x):
        h = functional.softplus(enc(x))
        m, lv = mu(h), logvar(h)
        z = m + torch.exp(0.5 * lv) * torch.randn_like(m)
        kl = -0.5 * (1 + lv - m.pow(2) - lv.exp()).sum(1)
        return (functional.binary_cross_entropy_with_logits(dec(z), x, reduction="none").sum(1) + kl).mean()

    modules = nn.ModuleDict({"enc": enc, "mu": mu, "logvar": logvar, "dec": dec})
    return elbo, (torch.rand(6, 20).round(),), {"wrt": dict(modules.named_parameters())}


def clean_transformer():
    """Token and position tables, two encoder layers with a causal mask, next-token loss."""

    class Small(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(30, 16), nn.Embedding(10, 16)
            layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True, norm_first=True)
            self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.out = nn.Linear(16, 30)

        def forward(self, ids):
            n = ids.shape[1]
            x = self.tokens(ids) + self.places(torch.arange(n))
            mask = torch.full((n, n), float("-inf")).triu(1)
            return self.out(self.layers(x, mask=mask))

    ids = torch.randint(30, (4, 10))
    return (
        Small(),
        (ids,),
        {"loss": lambda y: functional.cross_entropy(y[:, :-1].reshape(-1, 30), ids[:, 1:].reshape(-1))},
    )


def clean_recurrent():
    """A GRU over packed sequences, the last states pooled with a length mask."""

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.gru, self.out = (
                nn.Embedding(12, 6),
                nn.GRU(6, 8, batch_first=True),
                nn.Linear(8, 3),
            )

        def forward(self, ids, lengths):
            packed = nn.utils.rnn.pack_padded_sequence(self.table(ids), lengths, batch_first=True)
            states, _ = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], batch_first=True)
            mask = (torch.arange(states.shape[1])[None] < lengths[:, None]).float()
            return self.out((states * mask[..., None]).sum(1) / lengths[:, None])

    target = torch.tensor([0, 2, 1])
    args = (torch.randint(12, (3, 7)), torch.tensor([7, 5, 2]))
    return Tagger(), args, {"loss": lambda y: functional.cross_entropy(y, target)}


def clean_q_learning():
    """Double Q-learning: a frozen target network, an argmax for the action, a Huber loss."""
    online = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    target = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2)).requires_grad_(False)

    def loss(state, action, reward, after, done):
        q = online(state).gather(1, action[:, None]).squeeze(1)
        with torch.no_grad():
            best = online(after).argmax(1, keepdim=True)
            aim = reward + 0.99 * (1 - done) * target(after).gather(1, best).squeeze(1)
        return functional.smooth_l1_loss(q, aim)

    args = (torch.randn(9, 4), torch.randint(2, (9,)), torch.randn(9), torch.randn(9, 4), torch.zeros(9))
    return loss, args, {"wrt": dict(online.named_parameters())}


PLANTED = [
    critic_as_a_python_number, smoothed_in_numpy, hard_memory_compiled, encoder_left_under_no_grad,
    loss_of_the_wrong_variable, pixels_not_scaled, units_that_never_fire, logarithm_of_a_softmax,
    recurrence_without_a_bound, parameters_copied_into_a_new_tensor,
]  # fmt: skip
CLEAN = [clean_convolutions, clean_variational, clean_transformer, clean_recurrent, clean_q_learning]
