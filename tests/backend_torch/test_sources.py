"""Functions of public code that nobody can differentiate, under a rule, beside code written by hand."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import surrogate

torch.manual_seed(0)
X = torch.randn(4, 6) * 1.5
G = torch.randn(4, 6)


def same(a: Any, b: Any) -> None:
    torch.testing.assert_close(a, b, rtol=0, atol=1e-6)


def slopes(f: Any, *tensors: Any, g: Any = G) -> Any:
    leaves = [x.clone().requires_grad_() for x in tensors]
    y = f(*leaves)
    return y.detach(), torch.autograd.grad(y, leaves, g, allow_unused=True)


def compiled(f: Any) -> Any:
    return torch.compile(f, fullgraph=True, backend="aot_eager")


@pytest.fixture(params=[lambda f: f, compiled], ids=["eager", "fullgraph"])
def how(request: Any) -> Any:
    torch.compiler.reset()
    return request.param


# -- BinaryNet's Quantize: the whole function straight through -------------------------------------------


def binary_quantize(x: Any, bits: int = 8) -> Any:
    """Scale by the range, round, scale back."""
    low, span = x.min(), x.max() - x.min()
    steps = 2.0**bits - 1
    return torch.round((x - low) / span * steps) / steps * span + low


class BinaryQuantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return binary_quantize(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


def test_binarynet_quantize(how: Any) -> None:
    expected = slopes(BinaryQuantize.apply, X)
    with surrogate.override("torch", {binary_quantize: "identity"}):
        same(slopes(how(lambda x: binary_quantize(x)), X), expected)


# -- PACT: a clipping level that is learned, and a scale that is not detached ------------------------------


def pact(x: Any, alpha: Any, bits: int = 2) -> Any:
    y = torch.minimum(torch.relu(x), alpha)
    scale = (2**bits - 1) / alpha
    return torch.round(y * scale) / scale


def pact_smooth(x: Any, alpha: Any, bits: int = 2) -> Any:
    scale = (2**bits - 1) / alpha
    rounded = pact_round.apply(torch.minimum(torch.relu(x), alpha) * scale)
    return rounded / scale


class pact_round(torch.autograd.Function):  # noqa: N801 -- as it is called
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return torch.round(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


def test_pact_with_an_undetached_scale(how: Any) -> None:
    alpha = torch.tensor(1.2)
    expected = slopes(pact_smooth, X, alpha)
    with surrogate.override("torch", {"round": "identity"}):
        same(slopes(how(lambda x, a: pact(x, a)), X, alpha), expected)
    with surrogate.override("torch", {pact: surrogate.of(pact_smooth)}):
        same(slopes(lambda x, a: pact(x, a), X, alpha), expected)


# -- posterize by bytes and bit masks -----------------------------------------------------------------------


def posterize(image: Any, bits: int = 3) -> Any:
    mask = ~(2 ** (8 - bits) - 1) & 255
    return ((image * 255).to(torch.uint8) & mask).to(image.dtype) / 255


def test_posterize(how: Any) -> None:
    image = torch.sigmoid(X)
    with surrogate.override("torch", {posterize: "identity"}):
        y, (g,) = slopes(how(lambda x: posterize(x)), image)
    same(y, posterize(image))
    same(g, G)


# -- a learned codebook: the nearest entry, straight through to the encoder, and a gradient to the book -----


def nearest(z: Any, book: Any) -> Any:
    distances = (z[:, None, :] - book[None]).pow(2).sum(-1)
    return book[distances.argmin(1)]


def nearest_by_hand(z: Any, book: Any) -> Any:
    return z + (nearest(z, book) - z).detach()


def test_a_learned_codebook(how: Any) -> None:
    book = torch.randn(5, 6)
    with surrogate.override("torch", {nearest: "identity"}):
        y, (z_bar, book_bar) = slopes(how(lambda z, b: nearest(z, b)), X, book)
    expected = slopes(nearest_by_hand, X, book)
    same((y, z_bar), (expected[0], expected[1][0]))
    assert book_bar is None
    expected = slopes(lambda z, b: z + nearest(z.detach(), b) - z.detach(), X, book)
    with surrogate.override("torch", {nearest: surrogate.of(looked_up_smooth)}):
        y, bars = slopes(lambda z, b: nearest(z, b), X, book)
    same(y, nearest(X, book))
    same(bars, expected[1])


def looked_up_smooth(z: Any, book: Any) -> Any:
    chosen = (z.detach()[:, None, :] - book.detach()[None]).pow(2).sum(-1).argmin(1)
    return z + book[chosen]


# -- AdvDrop: rounding forward, a tanh staircase backward ------------------------------------------------


def phi_diff(x: Any, alpha: float = 0.5) -> Any:
    s = 1 / (1 - alpha)
    k = torch.log(torch.tensor(2 / alpha - 1))
    phi = torch.tanh((x - (torch.floor(x) + 0.5)) * k) * s
    return (phi + 1) / 2 + torch.floor(x)


def hard_round(x: Any, alpha: float = 0.5) -> Any:
    return torch.round(x)


class AdvDropRound(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return torch.round(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        k = torch.log(torch.tensor(3.0))
        return g * k * (1 - torch.tanh((x - (torch.floor(x) + 0.5)) * k) ** 2)


def test_advdrop_rounding(how: Any) -> None:
    expected = slopes(AdvDropRound.apply, X)
    with surrogate.override("torch", {hard_round: surrogate.of(phi_diff)}):
        same(slopes(how(lambda x: hard_round(x)), X), expected)


# -- DiffJPEG's quantisation: rounded forward, the cubic's derivative backward ---------------------------


def jpeg_quantize(x: Any, table: Any) -> Any:
    return torch.round(x / table)


def jpeg_smooth(x: Any, table: Any) -> Any:
    y = x / table
    return torch.round(y).detach() + (y - torch.round(y).detach()) ** 3


def test_diffjpeg_quantisation(how: Any) -> None:
    table = torch.arange(1.0, 7.0)
    y = X / table
    expected = 3 * (y - torch.round(y)) ** 2 * G / table
    with surrogate.override("torch", {jpeg_quantize: surrogate.of(jpeg_smooth)}):
        value, (g,) = slopes(how(lambda x: jpeg_quantize(x, table)), X)
    same(value, torch.round(X / table))
    same(g, expected)
