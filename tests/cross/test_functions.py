"""One function of public code, under one rule, in every framework: the values of the code written by hand."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import surrogate

X = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32) * 1.5
G = np.random.default_rng(1).normal(size=(4, 6)).astype(np.float32)
BOOK = np.random.default_rng(2).normal(size=(5, 6)).astype(np.float32)


class Numpy(NamedTuple):
    """What the functions below need of a framework, by NumPy's names."""

    round: Callable[[Any], Any]
    floor: Callable[[Any], Any]
    tanh: Callable[[Any], Any]
    minimum: Callable[[Any, Any], Any]
    maximum: Callable[[Any, Any], Any]
    lowest: Callable[[Any], Any]
    highest: Callable[[Any], Any]
    nearest: Callable[[Any, Any], Any]
    take: Callable[[Any, Any], Any]
    masked: Callable[[Any, int], Any]
    stop: Callable[[Any], Any]


def torch_numpy() -> Numpy:
    torch = importlib.import_module("torch")
    return Numpy(
        torch.round, torch.floor, torch.tanh, torch.minimum, torch.maximum, torch.min, torch.max,
        lambda z, book: (z[:, None] - book[None]).pow(2).sum(-1).argmin(1),
        lambda book, at: book[at],
        lambda x, mask: ((x * 255).to(torch.uint8) & mask).to(x.dtype) / 255,
        lambda x: x.detach(),
    )  # fmt: skip


def jax_numpy() -> Numpy:
    jax, jnp = importlib.import_module("jax"), importlib.import_module("jax.numpy")
    return Numpy(
        lambda x: jnp.round(x, 0), jnp.floor, jnp.tanh, jnp.minimum, jnp.maximum, jnp.min, jnp.max,
        lambda z, book: ((z[:, None] - book[None]) ** 2).sum(-1).argmin(1),
        lambda book, at: book[at],
        lambda x, mask: ((x * 255).astype(jnp.uint8) & mask).astype(x.dtype) / 255,
        jax.lax.stop_gradient,
    )  # fmt: skip


def tensorflow_numpy() -> Numpy:
    tf = importlib.import_module("tensorflow")
    return Numpy(
        tf.round, tf.floor, tf.tanh, tf.minimum, tf.maximum, tf.reduce_min, tf.reduce_max,
        lambda z, book: tf.argmin(tf.reduce_sum((z[:, None] - book[None]) ** 2, -1), 1),
        lambda book, at: tf.linalg.matmul(tf.one_hot(at, 5, dtype=book.dtype), book),
        lambda x, mask: tf.cast(tf.bitwise.bitwise_and(tf.cast(x * 255, tf.uint8), mask), x.dtype) / 255,
        tf.stop_gradient,
    )  # fmt: skip


def autograd_numpy() -> Numpy:
    anp, tracer = importlib.import_module("autograd.numpy"), importlib.import_module("autograd.tracer")
    return Numpy(
        anp.round, anp.floor, anp.tanh, anp.minimum, anp.maximum, anp.min, anp.max,
        lambda z, book: anp.argmin(anp.sum((z[:, None] - book[None]) ** 2, -1), 1),
        lambda book, at: book[at],
        lambda x, mask: (((x * 255).astype(np.uint8) & mask) / np.float32(255)).astype(x.dtype),
        tracer.getval,
    )  # fmt: skip


MAKERS = {
    "autograd": autograd_numpy,
    "jax": jax_numpy,
    "tensorflow": tensorflow_numpy,
    "torch": torch_numpy,
}


def binary_quantize(xp: Numpy, x: Any) -> Any:
    """BinaryNet: scale by the range, round, scale back."""
    low, span = xp.lowest(x), xp.highest(x) - xp.lowest(x)
    return xp.round((x - low) / span * 255.0) / 255.0 * span + low


def pact(xp: Numpy, x: Any, alpha: Any) -> Any:
    """PACT: a learned level, and a scale that is made of it."""
    scale = 3.0 / alpha
    return xp.round(xp.minimum(xp.maximum(x, 0.0 * x), alpha) * scale) / scale


def pact_by_hand(x: Any, alpha: Any) -> tuple[Any, Any, Any]:
    """Value and the sums that autograd makes of it with a straight-through round."""
    scale = 3.0 / alpha
    clipped = np.minimum(np.maximum(x, 0), alpha)
    rounded = np.round(clipped * scale)
    by_alpha = G * ((x > alpha) - (clipped * scale - rounded) / scale / alpha)
    return rounded / scale, G * ((x > 0) & (x < alpha)), by_alpha.sum()


def pact_smooth(xp: Numpy, x: Any, alpha: Any) -> Any:
    scale = 3.0 / alpha
    y = xp.minimum(xp.maximum(x, 0.0 * x), alpha) * scale
    return (y + xp.stop(xp.round(y) - y)) / scale


def posterize(xp: Numpy, image: Any) -> Any:
    return xp.masked(image, 224)


def nearest(xp: Numpy, z: Any, book: Any) -> Any:
    return xp.take(book, xp.nearest(z, book))


def looked_up(xp: Numpy, z: Any, book: Any) -> Any:
    """Straight through to the encoder, and to the entry that was chosen."""
    return z + xp.take(book, xp.nearest(xp.stop(z), xp.stop(book)))


def hard_round(xp: Numpy, x: Any) -> Any:
    return xp.round(x)


def staircase(xp: Numpy, x: Any) -> Any:
    """AdvDrop's relaxation of rounding."""
    floor = xp.stop(xp.floor(x))
    return (xp.tanh((x - floor - 0.5) * float(np.log(3.0))) * 2.0 + 1.0) / 2.0 + floor


def jpeg(xp: Numpy, x: Any, table: Any) -> Any:
    return xp.round(x / table)


def jpeg_cubic(xp: Numpy, x: Any, table: Any) -> Any:
    """DiffJPEG: round(y) + (y - round(y))**3."""
    y = x / table
    return xp.stop(xp.round(y)) + (y - xp.stop(xp.round(y))) ** 3


def chosen(z: Any, book: Any) -> Any:
    return ((z[:, None] - book[None]) ** 2).sum(-1).argmin(1)


TABLE = np.arange(1.0, 7.0, dtype=np.float32)
IMAGE = 1 / (1 + np.exp(-X))
Y = X / TABLE
BOOK_BAR = np.zeros_like(BOOK)
np.add.at(BOOK_BAR, chosen(X, BOOK), G)
SLOPE = np.log(3.0) * (1 - np.tanh((X - np.floor(X) - 0.5) * np.log(3.0)) ** 2)
ALPHA = np.float32(1.2)

CASES: list[tuple[Any, Any, tuple[Any, ...], Any, tuple[Any, ...]]] = [
    (binary_quantize, "identity", (X,), None, (G,)),
    (pact, surrogate.of(pact_smooth), (X, ALPHA), pact_by_hand(X, ALPHA)[0], pact_by_hand(X, ALPHA)[1:]),
    (posterize, "identity", (IMAGE,), ((IMAGE * 255).astype(np.uint8) & 224) / 255, (G,)),
    (nearest, "identity", (X, BOOK), BOOK[chosen(X, BOOK)], (G, 0 * BOOK)),
    (nearest, surrogate.of(looked_up), (X, BOOK), BOOK[chosen(X, BOOK)], (G, BOOK_BAR)),
    (hard_round, surrogate.of(staircase), (X,), np.round(X), (G * SLOPE,)),
    (jpeg, surrogate.of(jpeg_cubic), (X, TABLE), np.round(Y), (3 * (Y - np.round(Y)) ** 2 * G / TABLE, None)),
]
IDS = ["binarynet", "pact", "posterize", "codebook", "codebook-of", "advdrop", "diffjpeg"]


@pytest.mark.parametrize("case", CASES, ids=IDS)
@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("name", MAKERS)
def test_equal_to_the_code_written_by_hand(name: str, mode: str, case: Any) -> None:
    function, spec, arrays, value, cotangents = case
    pytest.importorskip(name)
    backend, xp = surrogate.load_backend(name), MAKERS[name]()
    if mode == "compiled" and "compile" not in backend.transforms:
        pytest.skip("autograd has no compiler")
    inputs = [backend.driver().asarray(np.asarray(x)) for x in arrays]
    g = backend.driver().asarray(G)

    def call(*given: Any) -> Any:
        return function(xp, *given)

    with surrogate.override(name, {function: spec}):
        f = backend.driver().compile(call) if mode == "compiled" else call
        y, found = backend.driver().grad(f, inputs, g)
    if value is not None:
        np.testing.assert_allclose(backend.driver().numpy(y), value, rtol=0, atol=1e-6)
    for got, wanted in zip(found, cotangents, strict=True):
        if wanted is not None:
            np.testing.assert_allclose(backend.driver().numpy(got), wanted, rtol=0, atol=2e-6)
