"""What the autograd backend costs: nothing while no override is alive, and what one costs where it is.

    python benchmarks/bench_autograd.py [--json FILE]

Each number is a ratio of medians of interleaved runs in one process. The autograd "without us" is a
second copy of autograd, imported before, that this package never touches.

without an override   the package loaded and used, against autograd without us
elsewhere             an override alive in another context, against autograd without us
active                an override in force, against a primitive that a user would write by hand
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

Timed = Callable[[], Any]

SIZES = (16, 10_000)


def another_autograd() -> Any:
    """A copy of autograd of its own."""
    names = ("autograd", "autograd.numpy", "autograd.extend")
    modules = [importlib.import_module(name) for name in names]
    for name in [name for name in sys.modules if name.partition(".")[0] == "autograd"]:
        del sys.modules[name]
    return modules


bare, bare_numpy, bare_extend = another_autograd()

import autograd  # noqa: E402
import autograd.numpy as anp  # noqa: E402

import surrogate  # noqa: E402

surrogate.load_backend("autograd")


def ratios(ours: Timed, theirs: Timed, seconds: float) -> tuple[float, float]:
    """How much longer ours takes, and the microseconds that theirs takes."""
    for f in (ours, theirs):
        f()
    times: tuple[list[float], list[float]] = [], []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for f, measured in zip((ours, theirs), times, strict=True):
            start = time.perf_counter()
            f()
            measured.append(time.perf_counter() - start)
    return median(times[0]) / median(times[1]), median(times[1]) * 1e6


def forward(np_: Any, grad: Any, op: str, x: Any) -> Timed:
    f = getattr(np_, op)
    args = (-1.0, 1.0) if op == "clip" else (0.7,) if op == "mod" else ()
    return lambda: f(x, *args)


def reverse(np_: Any, grad: Any, op: str, x: Any) -> Timed:
    call = getattr(np_, op)
    args = (-1.0, 1.0) if op == "clip" else (0.7,) if op == "mod" else ()
    return grad(lambda x: np_.sum(call(x, *args) * x)).__get__(x)


MODES = {"plain arrays": forward, "grad": reverse}


def by_hand(np_: Any, extend: Any) -> dict[str, Any]:
    """The primitives that a user writes without this package."""

    @extend.primitive
    def sign(x: Any) -> Any:
        return np.sign(x)

    extend.defvjp(sign, lambda ans, x: lambda g: np_.where(np_.abs(x) <= 1, g, 0.0))

    @extend.primitive
    def rounded(x: Any) -> Any:
        return np.round(x)

    extend.defvjp(rounded, lambda ans, x: lambda g: g)

    @extend.primitive
    def tanh_sign(x: Any) -> Any:
        return np.sign(x)

    extend.defvjp(tanh_sign, lambda ans, x: lambda g: g * (1 - np_.tanh(x) ** 2))

    @extend.primitive
    def mod(x: Any, y: Any) -> Any:
        return np.mod(x, y)

    extend.defvjp(mod, lambda ans, x, y: lambda g: g, None)
    return {"hardtanh": sign, "identity": rounded, "tanh": tanh_sign, "mod": mod}


@contextmanager
def elsewhere() -> Iterator[None]:
    """An override is alive in a context that is not this one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", surrogate.NothingCapturedWarning)
        with surrogate.override("autograd", {"heaviside": "identity"}):
            context = copy_context()
    yield
    del context


def without(seconds: float, label: str) -> Iterator[dict[str, Any]]:
    for mode, make in MODES.items():
        for op in ("sign", "round", "mod", "clip"):
            for size in SIZES:
                x = np.linspace(-2, 2, size)
                ours = make(anp, autograd.grad, op, x)
                theirs = make(bare_numpy, bare.grad, op, x)
                ratio, micro = ratios(ours, theirs, seconds)
                yield row(label, f"{op}, {mode}", size, ratio, micro)


def active(seconds: float) -> Iterator[dict[str, Any]]:
    hand = by_hand(bare_numpy, bare_extend)
    cases = [
        ("sign", "hardtanh", (), hand["hardtanh"]),
        ("sign", "tanh", (), hand["tanh"]),
        ("round", "identity", (), hand["identity"]),
        ("mod", "identity", (0.7,), hand["mod"]),
    ]
    for op, spec, args, written in cases:
        for size in SIZES:
            x = np.linspace(-2, 2, size)
            call = getattr(anp, op)

            def user(x: Any, call: Any = call, args: Any = args) -> Any:
                return anp.sum(call(x, *args) * x)

            def peer(x: Any, call: Any = written, args: Any = args) -> Any:
                return bare_numpy.sum(call(x, *args) * x)

            with surrogate.override("autograd", {op: spec}):
                ours, theirs = autograd.grad(user), bare.grad(peer)
                np.testing.assert_allclose(ours(x), theirs(x), rtol=1e-14)
                ratio, micro = ratios(lambda: ours(x), lambda: theirs(x), seconds)  # noqa: B023
            yield row("active", f"{op}:{spec}, grad", size, ratio, micro)


def enter_and_leave(rounds: int = 200, bursts: int = 40) -> float:
    """Microseconds to make, enter and leave an override of every op; the best burst."""
    backend = surrogate.load_backend("autograd")
    rules = surrogate.defaults(backend)
    best = math.inf
    for _ in range(bursts):
        start = time.perf_counter()
        for _ in range(rounds):
            with surrogate.override(backend, rules):
                backend.state().captured("sign")
        best = min(best, time.perf_counter() - start)
    return best / rounds * 1e6


def row(setting: str, case: str, size: int, ratio: float, micro: float) -> dict[str, Any]:
    return {"setting": setting, "case": case, "size": size, "ratio": ratio, "microseconds": micro}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--seconds", type=float, default=0.4, help="per row")
    options = parser.parse_args()

    rows = [*without(options.seconds, "without an override")]
    with elsewhere():
        rows += without(options.seconds, "elsewhere")
    rows += active(options.seconds)
    medians = {
        setting: median(r["ratio"] for r in rows if r["setting"] == setting)
        for setting in ("without an override", "elsewhere", "active")
    }
    override = enter_and_leave()
    if options.json:
        found = {"rows": rows, "medians": medians, "override_microseconds": override}
        options.json.write_text(json.dumps(found, indent=1))
    print(f"{'setting':<20}  {'case':<22} {'size':>7} {'ratio':>7}   without us or by hand")
    for r in rows:
        where, case, size = r["setting"], r["case"], r["size"]
        print(f"{where:<20}  {case:<22} {size:>7} {r['ratio']:>7.3f} {r['microseconds']:>10.1f} us")
    for setting, ratio in medians.items():
        print(f"median, {setting}: {ratio:.3f}")
    print(f"override of every op, entered and left: {override:.1f} us (at most 20)")


if __name__ == "__main__":
    main()
