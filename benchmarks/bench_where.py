"""What it costs where rules hold and what parameters are, in every framework: ratios within one run.

    python benchmarks/bench_where.py [torch] [tensorflow] [jax] [autograd] [--json FILE] [--rounds 60] [--cpu]

Forward and backward of ``sign`` under ``tanh``, against the same with a number as its slope, in turns:

array      the slope as an array: 10 numbers for 10 elements, one for the large and compiled rows
variable   the slope as a ``surrogate.Variable``
within     a rule with ``within=`` that names this file
outside    a rule with ``outside=`` that names other code
none       a rule without places, while another op has one

small is 10 elements eagerly, large is 1e7, compiled is 1e7 with the framework's compiler. ``attach`` is what
entering a module that has rules costs, in microseconds. ``--cpu`` takes the time of the process and not of
the clock, for a machine that does other work.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import surrogate

Run = Callable[[], Any]
SMALL, LARGE = 10, 10_000_000
NAME = "__main__"


class Torch:
    """PyTorch, on one thread."""

    name = "torch"

    def __init__(self) -> None:
        import torch

        torch.set_num_threads(1)
        self.torch = torch

    def run(self, size: int) -> Run:
        torch = self.torch
        x, g = torch.linspace(-2, 2, size, requires_grad=True), torch.ones(size)
        return lambda: torch.autograd.grad(torch.sign(x), x, g)

    def compiled(self, size: int) -> Run:
        torch = self.torch
        x, g = torch.linspace(-2, 2, size, requires_grad=True), torch.ones(size)
        function = torch.compile(lambda x: torch.sign(x))
        return lambda: torch.autograd.grad(function(x), x, g)

    def attached(self) -> tuple[Run, Callable[[], Any]]:
        import surrogate_torch

        module, x = self.torch.nn.Identity(), self.torch.ones(4)
        return lambda: module(x), lambda: surrogate_torch.attach(module, {"sign": "identity"})


class TensorFlow:
    """TensorFlow."""

    name = "tensorflow"

    def __init__(self) -> None:
        import tensorflow

        self.tf = tensorflow

    def run(self, size: int, function: Any = None) -> Run:
        tf = self.tf
        x = tf.linspace(-2.0, 2.0, size)

        def call() -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.sign(x) if function is None else function(x)
            return tape.gradient(y, x)

        return call

    def compiled(self, size: int) -> Run:
        return self.run(size, self.tf.function(lambda x: self.tf.sign(x)))

    def attached(self) -> tuple[Run, Callable[[], Any]]:
        import keras
        import surrogate_tensorflow

        layer, x = keras.layers.Identity(), self.tf.ones((1, 4))
        return lambda: layer(x), lambda: surrogate_tensorflow.attach(layer, {"sign": "identity"})


class Jax:
    """JAX: a small op outside of ``jit`` is traced each time."""

    name = "jax"

    def __init__(self) -> None:
        import jax

        self.jax = jax

    def run(self, size: int) -> Run:
        jnp = self.jax.numpy
        x = jnp.linspace(-2, 2, size)
        grad = self.jax.grad(lambda x: jnp.sum(jnp.sign(x)))
        return lambda: grad(x).block_until_ready()

    def compiled(self, size: int) -> Run:
        jnp = self.jax.numpy
        x = jnp.linspace(-2, 2, size)
        grad = self.jax.jit(self.jax.grad(lambda x: jnp.sum(jnp.sign(x))))
        return lambda: grad(x).block_until_ready()


class Autograd:
    """HIPS autograd."""

    name = "autograd"

    def run(self, size: int) -> Run:
        import autograd

        x = np.linspace(-2, 2, size)
        grad = autograd.elementwise_grad(lambda x: autograd.numpy.sign(x))
        return lambda: grad(x)


FRAMEWORKS = {kind.name: kind for kind in (Torch, TensorFlow, Jax, Autograd)}


def options(size: int) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Rules and places by row; ``number`` is what the others are compared with."""
    number = surrogate.gradient("sign", "tanh", slope=2.0)
    array = surrogate.gradient("sign", "tanh", slope=np.full(size if size == SMALL else 1, 2.0))
    variable = surrogate.gradient("sign", "tanh", slope=surrogate.Variable(2.0))
    return {
        "number": ({"sign": number}, {}),
        "array": ({"sign": array}, {}),
        "variable": ({"sign": variable}, {}),
        "within": ({"sign": number}, {"within": NAME}),
        "outside": ({"sign": number}, {"outside": ["elsewhere"]}),
        "none": ({"sign": number}, {}),
    }


def ratios(
    backend: str, run: Run, size: int, rounds: int, inner: int, clock: Callable[[], float]
) -> dict[str, float]:
    """The median of each row's times through those of the number beside them."""
    blocks = {
        row: surrogate.override(backend, rules, **places) for row, (rules, places) in options(size).items()
    }
    other = surrogate.override(backend, {"round": "identity"}, within="elsewhere")
    times: dict[str, list[float]] = {row: [] for row in blocks}
    for turn in range(rounds + 1):
        for row, block in blocks.items():
            with other if row == "none" else surrogate.override(backend, {}), block:
                run()
                start = clock()
                for _ in range(inner):
                    run()
                if turn:
                    times[row].append((clock() - start) / inner)
    pairs = {row: zip(found, times["number"], strict=True) for row, found in times.items()}
    return {row: median(a / b for a, b in pair) for row, pair in pairs.items() if row != "number"}


def entering(run: Run, attach: Callable[[], Any], rounds: int, clock: Callable[[], float]) -> float:
    """Microseconds that a call takes longer with rules on."""
    found = []
    for _ in range(rounds):
        before = _timed(run, clock)
        handle = attach()
        run()
        found.append(_timed(run, clock) - before)
        handle.undo()
    return median(found) * 1e6


def _timed(run: Run, clock: Callable[[], float], inner: int = 500) -> float:
    start = clock()
    for _ in range(inner):
        run()
    return (clock() - start) / inner


def rows(name: str, rounds: int, clock: Callable[[], float]) -> Iterator[tuple[str, str, float]]:
    """Setting, row and number of one framework."""
    framework = FRAMEWORKS[name]()
    measured = functools.partial(ratios, name, clock=clock)
    for row, ratio in measured(framework.run(SMALL), SMALL, rounds=rounds, inner=50).items():
        yield "small", row, ratio
    for row, ratio in measured(framework.run(LARGE), LARGE, rounds=max(3, rounds // 12), inner=1).items():
        yield "large", row, ratio
    if hasattr(framework, "compiled"):
        run = framework.compiled(LARGE)
        for row, ratio in measured(run, LARGE, rounds=max(3, rounds // 12), inner=1).items():
            yield "compiled", row, ratio
    if hasattr(framework, "attached"):
        yield "attach", "microseconds", entering(*framework.attached(), rounds=rounds // 4, clock=clock)


def main() -> None:
    """Print a table; with ``--json`` write it too."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("frameworks", nargs="*", choices=[*FRAMEWORKS, []])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--cpu", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore", surrogate.SurrogateWarning)  # places that no code is met in
    clock = time.process_time if given.cpu else time.perf_counter
    found: dict[str, dict[str, float]] = {}
    for name in given.frameworks or FRAMEWORKS:
        for setting, row, number in rows(name, given.rounds, clock):
            print(f"{name:12}{setting:10}{row:14}{number:8.3f}", flush=True)
            found.setdefault(name, {})[f"{setting} {row}"] = number
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
