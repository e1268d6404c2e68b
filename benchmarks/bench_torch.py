"""What the PyTorch backend costs, against what a user would write by hand, and against nothing.

    python benchmarks/bench_torch.py [--json FILE] [--seconds 1] [--threads 1] [--peers] [--no-compile]
                                     [--fresh-pages]

One process. Every number is a ratio of medians of interleaved runs. Large tensors come from the heap, unless
``--fresh-pages`` is given: then the system gives and takes the memory of each, as glibc does by default, and
clearing it is most of what is measured, of any implementation.

small      16 elements: a call, and forward and backward, under a rule, against a hand-written Function
large      1e7 elements: forward and backward against that Function, the detach trick, and a plain copy of the
           tensor (what memory allows); bytes that are kept
compiled   the same at 1e7 elements with torch.compile (inductor), against the compiled Function
native     the ops with no rule in force, and other ops while an override is in force, against PyTorch's own
           kernels, exchanged with ours in turns; and the least that a kernel written in Python costs
comparison a comparison that is cast to float, against a hand-written Function of its formula; and other ops
           while a rule for comparisons is in force, against none
peers      the same gradients of snnTorch, SpikingJelly and Brevitas, where they are installed
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

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


class Arctan(Window):
    """A float-valued gradient: the formula of sign:arctan."""

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


class Fused(Window):
    """The same by the one kernel that PyTorch has for it, which gives 0 at the edges."""

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return torch.ops.aten.hardtanh_backward(g, x, -1, 1)


def chosen_fused(x: Any) -> Any:
    """What we do if that kernel is chosen."""
    from surrogate_torch import fused_windows  # loads the backend, whose import is measured too

    with fused_windows():
        return torch.sign(x)


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
    return float(surrogate.load_backend("torch").driver().residuals(f, [x.detach()])) / x.numel()


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
            if spec == "hardtanh":
                runs["fused"] = both_ways(Fused.apply, x, g)
                runs["chosen"] = both_ways(chosen_fused, x, g)
            t = medians(runs, 2 * seconds, 1)
            yield f"large {spec}", "forward+backward / hand-written", t["ours"] / t["hand"]
            yield f"large {spec}", "forward+backward / copy", t["ours"] / t["copy"]
            if spec in TRICKS:
                yield f"large {spec}", "forward+backward / detach trick", t["ours"] / t["trick"]
            if "fused" in t:
                yield f"large {spec}", "forward+backward / fused kernel that keeps x", t["ours"] / t["fused"]
                yield f"large {spec}", "in fused_windows() / that kernel", t["chosen"] / t["fused"]
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
    """The cost where there is nothing to do: of an op with no rule in force, and of other ops under one.

    PyTorch's kernels and ours are exchanged from round to round, so that both are timed in the same moments.
    """

    def __init__(self) -> None:
        x, many, square = torch.randn(SMALL, requires_grad=True), torch.randn(1_000_000), torch.randn(64, 64)
        plain = x.detach()
        many.requires_grad_()
        in_turn = itertools.cycle([torch.randn(1_000_000, requires_grad=True) for _ in range(24)])
        self.bursts: dict[str, tuple[Timed, int]] = {
            "small sign": (lambda: torch.sign(x), 20),
            "small clamp": (lambda: torch.clamp(x, -1, 1), 20),
            "small relu_": (lambda: torch.relu_(plain), 20),
            "1e6 sign": (lambda: torch.sign(many), 2),  # 4 MB: it may stay in the cache
            "1e6 sign, one of 24": (lambda: torch.sign(next(in_turn)), 6),  # 96 MB
            "add": (lambda: torch.add(plain, plain), 20),
            "matmul": (lambda: torch.matmul(square, square), 20),
        }
        self.times: dict[tuple[str, str], list[float]] = {}

    def burst(self, moment: str) -> None:
        """Time each some times, once the processor is used to it: the exchange has emptied its caches."""
        for name, (run, inner) in self.bursts.items():
            taken = []
            for _ in range(8):
                start = time.perf_counter()
                for _ in range(inner):
                    run()
                taken.append((time.perf_counter() - start) / inner)
            self.times.setdefault((moment, name), []).append(median(taken[2:]))

    def repeat(self, moment: str, seconds: float) -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.burst(moment)

    def ratio(self, moment: str, name: str, base: str) -> float:
        return median(self.times[moment, name]) / median(self.times[base, name])


def native(seconds: float, bench: Native) -> Iterator[Row]:
    for name in bench.bursts:
        yield f"imported, not used: {name}", "/ before the import", bench.ratio("imported", name, "before")
    installation = surrogate.load_backend("torch")._installation  # type: ignore[attr-defined]
    installation.take_out()
    kernel = torch.library.get_kernel(torch.ops.aten.sign.default, "AutogradCPU")

    def pass_on(keys: Any, x: Any) -> Any:
        """The least that a kernel in Python can be."""
        return kernel.call_boxed(keys, x)

    end = time.perf_counter() + 8 * seconds
    while time.perf_counter() < end:
        installation.take_out()
        bench.burst("native")
        least = torch.library.Library("aten", "IMPL")
        least.impl("sign", pass_on, "Autograd", with_keyset=True)
        bench.burst("least")
        least._destroy()
        installation.put_in()
        bench.burst("no rule")
        with surrogate.override("torch", {"sign": "hardtanh"}):
            bench.burst("rule")
    for name in ("small sign", "small clamp", "small relu_", "1e6 sign", "1e6 sign, one of 24"):
        yield f"no rule in force: {name}", "/ native", bench.ratio("no rule", name, "native")
    for name in ("small sign", "1e6 sign", "1e6 sign, one of 24"):
        yield f"a kernel that only passes on: {name}", "/ native", bench.ratio("least", name, "native")
    for name in ("add", "matmul"):
        yield f"override in force: {name}", "/ no rule in force", bench.ratio("rule", name, "no rule")


class Spike(torch.autograd.Function):
    """The spike of snnTorch and SpikingJelly: keep x, the formula of heaviside:arctan."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return (x > 0).float()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 1 / (1 + (torch.pi * x).pow_(2)) * g


def comparison(seconds: float) -> Iterator[Row]:
    for size, inner, name in ((SMALL, 50, "16 elements"), (LARGE, 1, "1e7 elements")):
        x, g = torch.randn(size, requires_grad=True), torch.ones(size)
        other = {"add": lambda x=x: x + 1, "multiply": lambda x=x: x * x}
        none = medians(other, seconds, inner)
        with surrogate.override("torch", {"compare": "arctan"}):
            spikes = {
                "theirs": both_ways(Spike.apply, x, g),
                "ours": both_ways(lambda x: (x > 0).float(), x, g),
            }
            t = medians(spikes, seconds, inner)
            ruled = medians(other, seconds, inner)
        yield f"(x > 0).float(), {name}", "forward+backward / hand-written", t["ours"] / t["theirs"]
        for op in other:
            yield f"{op} beside a rule for comparisons, {name}", "/ no rule in force", ruled[op] / none[op]


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


HEAP = {"MALLOC_MMAP_THRESHOLD_": "4000000000", "MALLOC_TRIM_THRESHOLD_": "8000000000"}


def keep_pages() -> None:
    """Start again with an allocator that keeps its memory: it reads these when a process begins."""
    if not HEAP.keys() <= os.environ.keys():
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | HEAP)


def main() -> None:
    parser = argparse.ArgumentParser(description="Ratios of the PyTorch backend.")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--seconds", type=float, default=1.0, help="per measurement")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--peers", action="store_true", help="other libraries, where installed")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--fresh-pages", action="store_true", help="leave the system's allocator as it is")
    given = parser.parse_args()
    if not given.fresh_pages:
        keep_pages()
    torch.set_num_threads(given.threads)

    bench = Native()
    bench.repeat("before", 2 * given.seconds)
    surrogate.load_backend("torch")
    bench.repeat("imported", 2 * given.seconds)
    with surrogate.override("torch", {"sign": "hardtanh"}):
        torch.sign(torch.ones(1, requires_grad=True))  # the kernels are put in place
    rows: list[Row] = [*native(given.seconds, bench), *small(given.seconds)]
    rows += large(given.seconds)
    rows += comparison(given.seconds)
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
