"""20 planted faults and 10 clean programs, written after the rules of the audit, without a look at them.

A line at fault carries ``#! kinds:ops``; one with ``#= why`` is sound.
"""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn


def draw(*shape, seed=0):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=g).requires_grad_()


# ---- planted
def p01():
    """top-k sparsification mask by a threshold that should learn."""
    w, tau = draw(8), torch.tensor(0.3, requires_grad=True)

    def loss(w, tau):
        keep = (w.abs() > tau).float()  #! cut:gt
        return ((w * keep) ** 2).sum()

    return loss, (w, tau)


def p02():
    """histogram equalisation by rank."""
    x = draw(10)

    def loss(x):
        order = torch.argsort(x)  #! cut:argsort|sort
        return (order.float() / 10 - 0.5).pow(2).sum()

    return loss, (x,)


def p03():
    """temperature schedule through .item()."""
    x, t = draw(6), torch.tensor(1.5, requires_grad=True)

    def loss(x, t):
        k = t.item()  #! cut:item
        return torch.tanh(x * k).sum()

    return loss, (x, t)


def p04():
    """encoder under no_grad left from evaluation."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.enc = nn.Linear(4, 4)
            self.dec = nn.Linear(4, 1)

        def forward(self, x):
            with torch.no_grad():
                h = torch.relu(self.enc(x))  #! cut:*
            return self.dec(h).pow(2).mean()

    return Net(), (torch.ones(3, 4),)


def p05():
    """stochastic binary activations by bernoulli."""
    a = draw(12)

    def loss(a):
        s = torch.bernoulli(torch.sigmoid(a))  #! zero|cut:bernoulli
        return (s.sum() - 3) ** 2

    return loss, (a,)


def p06():
    """one-hot of argmax as attention."""
    q, k, v = draw(3, 4), draw(5, 4, seed=1), draw(5, 2, seed=2)

    def loss(q, k, v):
        pick = (q @ k.T).argmax(-1)  #! cut:argmax
        return F.one_hot(pick, 5).float().matmul(v).pow(2).sum()

    return loss, (q, k, v)


def p07():
    """normalised by a norm that is zero."""
    x = torch.zeros(3, requires_grad=True)

    def loss(x):
        n = torch.sqrt((x * x).sum())  #! nonfinite:sqrt
        return (x / (n + 1e-6)).sum() + n

    return loss, (x,)


def p08():
    """log of softmax by hand."""
    z = torch.tensor([[200.0, -200.0, 0.0]], requires_grad=True)

    def loss(z):
        p = torch.softmax(z, -1)
        return -torch.log(p)[0, 1]  #! nonfinite|unstable:log

    return loss, (z,)


def p09():
    """phase quantised with floor."""
    phi = draw(7)

    def loss(phi):
        idx = torch.floor(phi * 4)  #! zero:floor
        return torch.cos(idx / 4).sum()

    return loss, (phi,)


def p10():
    """a gate by sign in a module."""

    class Gate(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(1)
            self.a = nn.Linear(4, 4)
            self.b = nn.Linear(4, 1)

        def forward(self, x):
            g = torch.sign(self.a(x))  #! zero:sign
            return self.b(g * x).sum()

    return Gate(), (torch.randn(5, 4, generator=torch.Generator().manual_seed(3)),)


def p11():
    """converted to numpy and back for a scipy-like filter."""
    x = draw(9)

    def loss(x):
        y = x.detach().numpy() ** 2  #! cut:*
        return torch.from_numpy(y).sum() + 0.0 * x[0].exp().log()

    return loss, (x,)


def p12():
    """deep sigmoid stack."""

    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.ls = nn.ModuleList(nn.Linear(16, 16) for _ in range(14))

        def forward(self, x):
            for layer in self.ls:
                x = torch.sigmoid(layer(x))  #! vanishing:*
            return x.sum()

    return Deep(), (torch.randn(8, 16, generator=torch.Generator().manual_seed(0)),)


def p13():
    """dead relus by a bias of -50."""

    class Dead(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.l = nn.Linear(8, 8)
            nn.init.constant_(self.l.bias, -50.0)
            self.o = nn.Linear(8, 1)

        def forward(self, x):
            h = torch.relu(self.l(x))  #! dead:relu
            return self.o(h).pow(2).sum()

    return Dead(), (torch.randn(32, 8, generator=torch.Generator().manual_seed(0)),)


def p14():
    """saturated tanh on raw pixels."""

    class Sat(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.l = nn.Linear(16, 8)
            self.o = nn.Linear(8, 1)

        def forward(self, x):
            return self.o(torch.tanh(self.l(x))).pow(2).sum()  #! saturated:tanh

    return Sat(), (torch.randint(0, 255, (32, 16), generator=torch.Generator().manual_seed(0)).float(),)


def p15():
    """a quantiser with clamp and int cast."""
    w, s = draw(6), torch.tensor(0.1, requires_grad=True)

    def loss(w, s):
        q = (w / s).clamp(-8, 7).to(torch.int8)  #! cut:to|int|astype|cast
        return (q.float() * s).pow(2).sum()

    return loss, (w, s)


def p16():
    """a loss term without effect: accuracy."""
    w = draw(4, 3)
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(2))
    y = torch.tensor([0, 1, 2, 0, 1, 2])

    def loss(w):
        z = x @ w
        wrong = z.argmax(-1) != y  #! cut:argmax|ne
        return F.cross_entropy(z, y) + 0.5 * wrong.float().mean()

    return loss, (w,)


def p17():
    """exponential overflow."""
    x = torch.tensor([1.0, 100.0], requires_grad=True)

    def loss(x):
        e = torch.exp(x)  #! nonfinite|unstable:exp
        return (e / e.sum()).pow(2).sum()

    return loss, (x,)


def p18():
    """a new Parameter made of a tensor."""
    x = draw(5)

    def loss(x):
        y = torch.tensor(x.tolist())  #! cut:*
        return (y * 2).sum() + 0 * x.sum()

    return loss, (x,)


def p19():
    """bucketised positions in an embedding."""
    pos = torch.linspace(0.1, 3.9, 6).requires_grad_()
    table = draw(5, 2)

    def loss(pos, table):
        b = torch.bucketize(pos, torch.arange(4.0))  #! cut:bucketize
        return table[b].pow(2).sum()

    return loss, (pos, table)


def p20():
    """round in a compiled function."""
    x = draw(5)

    @torch.compile(backend="eager")
    def q(x):
        return torch.round(x * 8) / 8  #! zero:round

    return lambda x: q(x).pow(2).sum(), (x,)


# ---- clean
def c01():
    class R(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.c = nn.Conv2d(3, 8, 3, padding=1)
            self.b = nn.BatchNorm2d(8)
            self.f = nn.Linear(8, 10)
            self.d = nn.Dropout(0.2)

        def forward(self, x):
            h = F.relu(self.b(self.c(x)))
            h = F.max_pool2d(h, 2)  # = max pooling
            return F.cross_entropy(self.f(self.d(h.mean((2, 3)))), torch.tensor([1, 2]))

    return R(), (torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0)),)


def c02():
    q, k, v = draw(2, 4, 8), draw(2, 4, 8, seed=1), draw(2, 4, 8, seed=2)

    def loss(q, k, v):
        m = torch.tril(torch.ones(4, 4)).bool()
        a = (q @ k.transpose(1, 2) / 8**0.5).masked_fill(~m, -1e9)  # = causal mask
        return (a.softmax(-1) @ v).pow(2).mean()

    return loss, (q, k, v)


def c03():
    x = draw(6)

    def loss(x):
        return torch.where(x > 0, x, 0.1 * x).pow(2).sum()  # = leaky relu

    return loss, (x,)


def c04():
    z = draw(4, 3)
    cb = draw(5, 3, seed=1)

    def loss(z, cb):
        d = torch.cdist(z, cb)
        i = d.argmin(-1)  # = nearest code
        q = cb[i]
        st = z + (q - z).detach()  # = straight through
        return st.pow(2).sum() + F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())  # = commitment

    return loss, (z, cb)


def c05():
    x = draw(5)

    def loss(x):
        lo = torch.floor(x * 3)
        w = x * 3 - lo  # = interpolation
        return ((1 - w) * lo + w * (lo + 1) * 2).sum()

    return loss, (x,)


def c06():
    class GP(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.d = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

        def forward(self, x):
            x = x.clone().requires_grad_()
            y = self.d(x).sum()
            (g,) = torch.autograd.grad(y, x, create_graph=True)
            return ((g.norm(dim=1) - 1) ** 2).mean() + y  # = gradient penalty

    return GP(), (torch.randn(6, 4, generator=torch.Generator().manual_seed(4)),)


def c07():
    x = draw(3, 7)

    def loss(x):
        m = x.detach().max(-1, keepdim=True).values  # = stable softmax
        e = (x - m).exp()
        return (e / e.sum(-1, keepdim=True))[:, 0].sum()

    return loss, (x,)


def c08():
    class S(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.g = nn.GRU(3, 4, batch_first=True)
            self.o = nn.Linear(4, 1)

        def forward(self, x, n):
            p = nn.utils.rnn.pack_padded_sequence(x, n, batch_first=True, enforce_sorted=False)
            _, h = self.g(p)
            return self.o(h[0]).pow(2).mean()  # = packed

    return S(), (torch.randn(3, 5, 3, generator=torch.Generator().manual_seed(0)), torch.tensor([5, 3, 2]))


def c09():
    z = draw(8, 5)
    y = torch.tensor([0, 1, -100, 2, 3, -100, 4, 0])

    def loss(z):
        acc = (z.argmax(-1) == y).float().mean().item()  # = logging
        total = F.cross_entropy(z, y)  # = ignored labels
        print(end="" if acc >= 0 else "!")
        return total

    return loss, (z,)


def c10():
    h = draw(6, 4)
    w = draw(4, 3, seed=1)
    ex = draw(3, 4, seed=2)

    def loss(h, w, ex):
        p = (h @ w).softmax(-1)
        v, i = p.topk(2, -1)  # = router
        load = F.one_hot(i[:, 0], 3).float().mean(0)  # = load
        return ((v.unsqueeze(-1) * ex[i]).sum(1) * h).sum() + 0.01 * 3 * (
            load * p.mean(0)
        ).sum()  # = balancing loss

    return loss, (h, w, ex)
