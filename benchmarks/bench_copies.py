"""How many copies of the tensor a rule costs in PyTorch, and what native forwards cost.

    python benchmarks/bench_copies.py [--elements 10000000] [--rounds 15] [--threads 1] [--device cpu]
                                      [--json FILE]

A copy is ``x.clone()``: it reads and writes each element once, 8 bytes of float32. Everything is a ratio to
it, of medians of runs that take turns in one process. On a CPU and one thread it is the thread's own time, so
that other programs disturb less; on CUDA it is that of events, and bytes are the allocator's. Large tensors
come from the heap.

rules     forward and backward, and the forward alone, of rules of each kind; bytes kept for an element
forwards  every op of the catalogue: the native value, and the one that a rule takes where it is another
"""

from __future__ import annotations

import argparse
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
Row = tuple[str, str, float]
HEAP = {"MALLOC_MMAP_THRESHOLD_": "4000000000", "MALLOC_TRIM_THRESHOLD_": "8000000000"}

RULES = {
    "sign": (torch.sign, ("hardtanh", "identity", "arctan", "tanh")),
    "round": (torch.round, ("clipped(lo=-1, hi=1)", "identity", "sine")),
    "heaviside": (lambda x: torch.heaviside(x, x.new_zeros(())), ("boxcar", "arctan", "fast_sigmoid")),
    "compare": (lambda x: (x > 0).to(x.dtype), ("arctan", "hardtanh")),
    "relu": (torch.relu, ("leaky",)),
}


class Clock:
    """Time of a run on a device."""

    def __init__(self, device: str, threads: int) -> None:
        self.cuda = device.startswith("cuda")
        self._now = time.thread_time if threads == 1 else time.perf_counter

    def __call__(self, run: Timed) -> float:
        if not self.cuda:
            start = self._now()
            run()
            return self._now() - start
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        return float(begin.elapsed_time(end)) / 1e3


def in_turns(runs: dict[str, Timed], rounds: int, clock: Clock) -> dict[str, float]:
    """Median time of each."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(clock(run))
    return {name: median(found) for name, found in times.items()}


def kept(f: Callable[[Any], Any], x: Any) -> float:
    """Bytes that autograd saves, per element."""
    return float(surrogate.load_backend("torch").driver().residuals(f, [x.detach()])) / x.numel()


def rules(x: Any, g: Any, rounds: int, clock: Clock) -> Iterator[Row]:
    for op, (f, specs) in RULES.items():
        for spec in specs:
            with surrogate.override("torch", {op: spec}):
                t = in_turns(
                    {
                        "copy": x.detach().clone,
                        "forward": lambda f=f: f(x),
                        "both": lambda f=f: torch.autograd.grad(f(x), x, g),
                    },
                    rounds,
                    clock,
                )
                yield f"{op}:{spec}", "copies, forward and backward", t["both"] / t["copy"]
                yield f"{op}:{spec}", "copies, forward", t["forward"] / t["copy"]
                yield f"{op}:{spec}", "bytes kept per element", kept(f, x)


def forwards(x: Any, rounds: int, clock: Clock) -> Iterator[Row]:
    """Values alone: native, and under a rule while a gradient is recorded."""
    other = torch.randn_like(x)
    zero, half = x.new_zeros(()), x.new_full((), 0.5)
    rows = x.numel() // 1000
    table = {
        "sign": ("sign", torch.sign),
        "round": ("round", torch.round),
        "floor": ("floor", torch.floor),
        "abs": ("abs", torch.abs),
        "relu": ("relu", torch.relu),
        "clip": ("clip", lambda x: x.clamp(-1, 1)),
        "maximum": ("maximum", lambda x: torch.maximum(x, other)),
        "mod": ("mod", lambda x: torch.remainder(x, 0.7)),
        "fmod": ("fmod", lambda x: torch.fmod(x, 0.7)),
        "floor_divide": ("floor_divide", lambda x: torch.floor_divide(x, 0.7)),
        "heaviside, 0 at 0": ("heaviside", lambda x: torch.heaviside(x, zero)),
        "heaviside, 0.5 at 0": ("heaviside", lambda x: torch.heaviside(x, half)),
        "heaviside, a tensor at 0": ("heaviside", lambda x: torch.heaviside(x, other)),
        "greater": ("greater", lambda x: x > 0),
        "argmax": ("argmax", lambda x: x[: rows * 1000].view(rows, 1000).argmax(1)),
    }
    plain = x.detach()
    for name, (op, f) in table.items():
        known = surrogate.gradients(op)
        spec = {op: "identity" if "identity" in known else next(iter(known))}

        def ruled(f: Any = f, spec: Any = spec) -> Any:
            with surrogate.override("torch", spec):
                return f(x)

        t = in_turns({"copy": plain.clone, "native": lambda f=f: f(plain), "ruled": ruled}, rounds, clock)
        yield f"{name}, {x.dtype}", "copies, native value", t["native"] / t["copy"]
        yield f"{name}, {x.dtype}", "copies, value under a rule", t["ruled"] / t["copy"]


def peak(x: Any, g: Any) -> Iterator[Row]:
    """The most that CUDA's allocator held in a forward and backward pass, per element."""
    for op, (f, specs) in RULES.items():
        for spec in specs:
            with surrogate.override("torch", {op: spec}):
                torch.cuda.reset_peak_memory_stats()
                before = torch.cuda.memory_allocated()
                torch.autograd.grad(f(x), x, g)
                found = torch.cuda.max_memory_allocated() - before
            yield f"{op}:{spec}", "bytes at the peak per element", found / x.numel()


def keep_pages() -> None:
    """Start again with an allocator that keeps its memory: it reads these when a process begins."""
    if not HEAP.keys() <= os.environ.keys():
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | HEAP)


def main() -> None:
    parser = argparse.ArgumentParser(description="Copies of a tensor that rules cost in PyTorch.")
    parser.add_argument("--elements", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="cpu, or cuda where there is one")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    given = parser.parse_args()
    keep_pages()
    torch.set_num_threads(given.threads)
    x = torch.randn(given.elements, device=given.device, requires_grad=True)
    g = torch.randn_like(x)
    clock = Clock(given.device, given.threads)
    found = [*rules(x, g, given.rounds, clock), *forwards(x, given.rounds, clock)]
    if clock.cuda:
        found += peak(x, g)
    for what, against, number in found:
        print(f"{what:32} {against:32} {number:6.2f}")
    if given.json:
        machine = {"torch": torch.__version__, "device": given.device, "threads": given.threads}
        given.json.write_text(json.dumps({**machine, "elements": given.elements, "rows": found}, indent=1))


if __name__ == "__main__":
    main()
