"""What the TensorFlow backend costs in eager mode, against what a user would write, and against nothing.

    python benchmarks/bench_tensorflow.py [--json FILE] [--seconds 2]

Each number is a ratio of medians of interleaved runs in one process.

small, large     forward and backward of sign under a rule, against a hand-written ``tf.custom_gradient``,
                 the ``stop_gradient`` trick, and larq's and qkeras' functions where they are installed
other ops        add and matmul while an override of sign is in force, against none alive
nothing active   the backend loaded and no override alive, against TensorFlow without it
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
from surrogate_tensorflow import TensorFlowBackend, _install

import surrogate

Timed = Callable[[], Any]
Place = tuple[AbstractContextManager[Any], Timed]
Row = tuple[str, Place, Place]

SMALL, LARGE = 16, 10_000_000


def ratio(ours: Place, theirs: Place, seconds: float) -> tuple[float, float]:
    """How much longer ours takes (median over pairs of runs), and the microseconds that theirs takes."""
    timed(ours), timed(theirs)
    pairs: list[tuple[float, float]] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(pairs) < 5:
        pairs.append((timed(ours), timed(theirs)))
    return median(a / b for a, b in pairs), median(b for _, b in pairs) * 1e6


def timed(place: Place) -> float:
    """Seconds of one run, without getting there."""
    where, f = place
    with where:
        start = time.perf_counter()
        f()
        return time.perf_counter() - start


def gradient(f: Callable[[Any], Any], x: Any) -> Timed:
    """Forward and backward."""

    def run() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    return run


def under(rules: dict[str, str], run: Timed) -> Place:
    """Inside an override."""
    return surrogate.override("tensorflow", rules), run


def plain(run: Timed) -> Place:
    """With no override alive."""
    return nullcontext(), run


def many(f: Timed, times: int) -> Timed:
    """Often enough to be timed."""

    def run() -> None:
        for _ in range(times):
            f()

    return run


@tf.custom_gradient
def hand_window(x: Any) -> Any:
    """As most people write it."""
    return tf.sign(x), lambda g: tf.where(tf.abs(x) <= 1.0, g, tf.zeros_like(g))


@tf.custom_gradient
def hand_identity(x: Any) -> Any:
    """The straight-through estimator."""
    return tf.sign(x), lambda g: g


def trick(x: Any) -> Any:
    """The trick, which also computes another value."""
    return x + tf.stop_gradient(tf.sign(x) - x)


def peers() -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Functions of other packages with the same gradient, where they are installed."""
    with suppress(ImportError):
        yield "larq.ste_sign", importlib.import_module("larq").quantizers.SteSign()
    with suppress(ImportError):
        yield "qkeras.binary", importlib.import_module("qkeras").binary(alpha=1.0)


def rows(backend: TensorFlowBackend) -> Iterator[Row]:
    """All comparisons."""
    for size, shape, times in (("small", [SMALL], 20), ("large", [LARGE], 1)):
        x = tf.random.normal(shape)
        run = many(gradient(tf.sign, x), times)
        window, identity = under({"sign": "hardtanh"}, run), under({"sign": "identity"}, run)
        yield f"{size}: window / custom_gradient", window, plain(many(gradient(hand_window, x), times))
        for name, function in peers():
            yield f"{size}: window / {name}", window, plain(many(gradient(function, x), times))
        yield f"{size}: identity / custom_gradient", identity, plain(many(gradient(hand_identity, x), times))
        yield f"{size}: identity / stop_gradient trick", identity, plain(many(gradient(trick, x), times))
    x, m = tf.random.normal([SMALL]), tf.random.normal([8, 8])
    others = {
        "add": lambda: x + x,
        "matmul": lambda: m @ m,
        "add, forward and backward": gradient(lambda v: v + v, x),
    }
    others["a tf.function"] = tf.function(lambda: x + x)
    for name, f in others.items():
        run = many(f, 50)
        yield f"other ops: {name}, active / none alive", under({"floor": "identity"}, run), plain(run)
    for name, f in {**others, "sign, forward and backward": gradient(tf.sign, x)}.items():
        run = many(f, 50)
        yield f"nothing active: {name}, loaded / not loaded", plain(run), (Unloaded(backend), run)


class Unloaded:
    """TensorFlow without us."""

    def __init__(self, backend: TensorFlowBackend) -> None:
        self._backend = backend

    def __enter__(self) -> None:
        _install.uninstall()

    def __exit__(self, *_: object) -> None:
        _install.install(self._backend)


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--seconds", type=float, default=2.0)
    given = parser.parse_args()
    backend = surrogate.load_backend("tensorflow")
    warnings.simplefilter("ignore", surrogate.NothingCapturedWarning)
    found = {name: ratio(ours, theirs, given.seconds) for name, ours, theirs in rows(backend)}
    if given.json:
        numbers = {name: {"ratio": r, "theirs_us": us} for name, (r, us) in found.items()}
        given.json.write_text(json.dumps(numbers, indent=1))
    for name, (r, us) in found.items():
        print(f"{name:55} {r:6.2f}   ({us:10.1f} us)")


if __name__ == "__main__":
    main()
