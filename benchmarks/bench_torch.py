"""What the PyTorch backend costs, against what a user would write by hand, and against nothing.

    python benchmarks/bench_torch.py [--json FILE] [--seconds 1] [--threads 1] [--peers] [--no-compile]

One process. Every number is a ratio of medians of interleaved runs.

small      16 elements: a call, and forward and backward, under a rule, against a hand-written Function
large      1e7 elements: forward and backward against that Function, the detach trick, and a plain copy of the
           tensor (what memory allows); bytes that are kept
compiled   the same at 1e7 elements with torch.compile (inductor), against the compiled Function
native     the ops with no rule in force against PyTorch before the first override of the process;
           other ops while an override is in force
peers      the same gradients of snnTorch, SpikingJelly and Brevitas, where they are installed
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

# large tensors from the heap: fresh pages from the system would be most of what is measured
os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", "4000000000")
os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", "8000000000")

import torch

import surrogate

Timed = Callable[[], Any]
SMALL, LARGE = 16, 10_000_000


class Window(torch.autograd.Function):
    """What most people write for sign: keep x, multiply by the window."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.sign()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * (x.abs() <= 1)


class Identity(torch.autograd.Function):
    """The straight-through estimator."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.sign()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


class Arctan(torch.autograd.Function):
    """A float-valued gradient: the formula of sign:arctan."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.sign()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 / (1 + torch.square(torch.pi * x)) * g


def detach_window(x: Any) -> Any:
    """The detach trick with a window (its forward is off by rounding)."""
    soft = x.clamp(-1, 1)
    return soft + (x.sign() - soft).detach()


def detach_identity(x: Any) -> Any:
    """The detach trick."""
    return x + (x.sign() - x).detach()


HAND = {"hardtanh": Window, "identity": Identity, "arctan": Arctan}
TRICKS = {"hardtanh": detach_window, "identity": detach_identity}


def medians(runs: dict[str, Timed], seconds: float, inner: int) -> dict[str, float]:
    """Median seconds of each, in bursts of ``inner`` calls that take turns."""
    for run in runs.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in runs}
    end = time.perf_counter() + seconds * len(runs)
    while time.perf_counter() < end or len(next(iter(times.values()))) < 5:
        for name, run in runs.items():
            start = time.perf_counter()
            for _ in range(inner):
                run()
            times[name].append((time.perf_counter() - start) / inner)
    return {name: median(found) for name, found in times.items()}


def both_ways(f: Callable[[Any], Any], x: Any, g: Any) -> Timed:
    """Forward and backward."""
    return lambda: torch.autograd.grad(f(x), x, g)


def saved(f: Callable[[Any], Any], x: Any) -> float:
    """Bytes kept for the backward, per element."""
    return float(surrogate.load_backend("torch").residuals(f, [x.detach()])) / x.numel()


Row = tuple[str, str, float]
Times = dict[str, float]


def small(seconds: float) -> Iterator[Row]:
    x, g = torch.randn(SMALL, requires_grad=True), torch.randn(SMALL)
    for spec, hand in HAND.items():
        with surrogate.override("torch", {"sign": spec}):
            t = medians(
                {
                    "hand": lambda hand=hand: hand.apply(x),
                    "ours": lambda: torch.sign(x),
                    "hand both": both_ways(hand.apply, x, g),
                    "ours both": both_ways(torch.sign, x, g),
                },
                seconds,
                20,  # short bursts: on a shared machine a long one is often interrupted
            )
        yield f"small {spec}", "forward / hand-written", t["ours"] / t["hand"]
        yield f"small {spec}", "forward+backward / hand-written", t["ours both"] / t["hand both"]


def large(seconds: float) -> Iterator[Row]:
    x, g = torch.randn(LARGE, requires_grad=True), torch.randn(LARGE)
    for spec, hand in HAND.items():
        with surrogate.override("torch", {"sign": spec}):
            runs = {"copy": g.clone, "hand": both_ways(hand.apply, x, g), "ours": both_ways(torch.sign, x, g)}
            if spec in TRICKS:
                runs["trick"] = both_ways(TRICKS[spec], x, g)
            t = medians(runs, 2 * seconds, 1)
            yield f"large {spec}", "forward+backward / hand-written", t["ours"] / t["hand"]
            yield f"large {spec}", "forward+backward / copy", t["ours"] / t["copy"]
            if spec in TRICKS:
                yield f"large {spec}", "forward+backward / detach trick", t["ours"] / t["trick"]
            yield f"large {spec}", "bytes kept per element", saved(torch.sign, x)
            yield f"large {spec}", "bytes kept per element, hand-written", saved(hand.apply, x)


def compiled(seconds: float) -> Iterator[Row]:
    x, g = torch.randn(LARGE, requires_grad=True), torch.randn(LARGE)
    for spec, hand in HAND.items():
        ours = torch.compile(lambda x: torch.sign(x) * 1.5, fullgraph=True)
        by_hand = torch.compile(lambda x, hand=hand: hand.apply(x) * 1.5, fullgraph=True)
        with surrogate.override("torch", {"sign": spec}):
            t = medians(
                {"copy": g.clone, "hand": both_ways(by_hand, x, g), "ours": both_ways(ours, x, g)},
                2 * seconds,
                1,
            )
        yield f"compiled {spec}", "forward+backward / compiled hand-written", t["ours"] / t["hand"]
        yield f"compiled {spec}", "forward+backward / copy", t["ours"] / t["copy"]


class Native:
    """PyTorch's own times, taken before the first override: of sign small and large, and of other ops."""

    def __init__(self) -> None:
        self.x = torch.randn(SMALL, requires_grad=True)
        self.many = torch.randn(1_000_000, requires_grad=True)
        self.square = torch.randn(64, 64)

    def runs(self) -> dict[str, Timed]:
        x, plain, square = self.x, self.x.detach(), self.square
        return {
            "small sign": lambda: torch.sign(x),
            "add": lambda: torch.add(plain, plain),
            "matmul": lambda: torch.matmul(square, square),
        }

    def times(self, seconds: float) -> dict[str, float]:
        few = medians(self.runs(), seconds, 20)
        return few | medians({"1e6 sign": lambda: torch.sign(self.many)}, seconds, 5)


def native(
    seconds: float, bench: Native, before: dict[str, float], imported: dict[str, float]
) -> Iterator[Row]:
    for name in before:
        yield f"imported, not used: {name}", "/ before the import", imported[name] / before[name]
    after = bench.times(seconds)
    for name in ("small sign", "1e6 sign"):
        yield f"no rule in force: {name}", "/ before the first override", after[name] / before[name]
    with surrogate.override("torch", {"sign": "hardtanh"}):
        torch.sign(bench.x)
        during = bench.times(seconds)
    for name in ("add", "matmul"):
        yield f"override in force: {name}", "/ before the first override", during[name] / before[name]


def peers(seconds: float) -> Iterator[Row]:
    """A spike: heaviside and its gradient, by libraries for it, against ours over torch.heaviside."""
    x, g = torch.randn(1_000_000, requires_grad=True), torch.randn(1_000_000)
    zero = torch.tensor(0.0)
    libraries: dict[str, tuple[str, Callable[[Any], Callable[[Any], Any]]]] = {
        "snntorch": ("heaviside:arctan", lambda m: m.surrogate.atan()),
        "spikingjelly.activation_based.surrogate": ("heaviside:arctan", lambda m: m.ATan()),
        "brevitas.function.ops_ste": ("round:identity", lambda m: m.round_ste),
    }
    for module, (case, make) in libraries.items():
        try:
            theirs = make(importlib.import_module(module))
        except Exception as error:  # a peer that is not installed, or does not load here, is left out by name
            print(f"{module} left out: {type(error).__name__}")
            continue
        op, spec = case.split(":")
        ours = torch.round if op == "round" else lambda x: torch.heaviside(x, zero)
        with surrogate.override("torch", {op: spec}):
            t = medians({"theirs": both_ways(theirs, x, g), "ours": both_ways(ours, x, g)}, seconds, 1)
        yield f"{module} {case}", "forward+backward / theirs", t["ours"] / t["theirs"]


def main() -> None:
    parser = argparse.ArgumentParser(description="Ratios of the PyTorch backend.")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--seconds", type=float, default=1.0, help="per measurement")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--peers", action="store_true", help="other libraries, where installed")
    parser.add_argument("--no-compile", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)

    bench = Native()
    before = bench.times(given.seconds)
    surrogate.load_backend("torch")
    imported = bench.times(given.seconds)
    with surrogate.override("torch", {"sign": "hardtanh"}):
        torch.sign(bench.x)  # the kernels are put in place
    rows: list[Row] = [*native(given.seconds, bench, before, imported), *small(given.seconds)]
    rows += large(given.seconds)
    if not given.no_compile:
        rows += compiled(given.seconds)
    if given.peers:
        rows += peers(given.seconds)
    for case, what, value in rows:
        print(f"{case:40} {what:45} {value:6.2f}")
    if given.json:
        keys = ("case", "what", "ratio")
        given.json.write_text(json.dumps([dict(zip(keys, row, strict=True)) for row in rows], indent=2))


if __name__ == "__main__":
    main()
