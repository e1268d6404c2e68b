"""What the JAX backend costs, beside rules written by hand and JAX without us.

    python benchmarks/bench_jax.py [--json FILE] [--seconds 3]

Each number is a ratio of medians of interleaved runs in one process.

off       hooks installed, no rule in force, against JAX with the hooks taken away
trace     tracing and lowering of 300 overridden ops, against 300 hand-written custom_jvp and custom_vjp
call      a cached jitted value_and_grad under an override, against native and hand-written ones
kept      bytes per element that the pullback keeps, float32
same_hlo  whether the optimised operations are those of a hand-written custom_vjp
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import json
import re
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import primitives

import surrogate

OPS = 300
Function = Callable[[Any], Any]


@jax.custom_vjp
def custom_vjp(x: Any) -> Any:
    return jnp.sign(x)


custom_vjp.defvjp(lambda x: (jnp.sign(x), jnp.abs(x) <= 1.0), lambda mask, g: (jnp.where(mask, g, 0.0),))


@jax.custom_jvp
def custom_jvp(x: Any) -> Any:
    return jnp.sign(x)


custom_jvp.defjvp(lambda p, t: (custom_jvp(*p), jnp.where(jnp.abs(p[0]) <= 1.0, t[0], 0.0)))


def stop_gradient(x: Any) -> Any:
    soft = jnp.clip(x, -1.0, 1.0)
    return soft + jax.lax.stop_gradient(jnp.sign(x) - soft)


def loss(f: Function) -> Function:
    return lambda x: (f(x * 1.1) * x).sum()


def override() -> AbstractContextManager[Any]:
    return surrogate.override("jax", {"sign": "hardtanh"})


@contextmanager
def without_us() -> Iterator[None]:
    """JAX with our hooks taken away."""
    found = [p for p in (*vars(jax.lax).values(), primitives.jit_p) if "bind" in getattr(p, "__dict__", {})]
    hooks = {id(p): (p, p.bind) for p in found}
    for p, _ in hooks.values():
        del p.bind
    try:
        yield
    finally:
        for p, bind in hooks.values():
            p.bind = bind


def compared(
    runs: dict[str, tuple[Callable[[], Any], Callable[[], AbstractContextManager[Any]]]], seconds: float
) -> dict[str, float]:
    """Median seconds of each, run in turn for so long."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for run, around in runs.values():
        with around():
            run()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(next(iter(times.values()))) < 3:
        for name, (run, around) in runs.items():
            with around():
                start = time.perf_counter()
                run()
                times[name].append(time.perf_counter() - start)
    return {name: median(found) for name, found in times.items()}


def lowering(f: Function) -> Callable[[], Any]:
    """Trace and lower the gradient of 300 calls, as a function that JAX has not seen."""
    x = jnp.ones(8)

    def many(x: Any) -> Any:
        for _ in range(OPS):
            x = f(x) * 0.5 + x
        return x.sum()

    return lambda: jax.jit(jax.grad(lambda x: many(x))).lower(x)


def cached(f: Function, size: int) -> Callable[[], Any]:
    x, run = jnp.linspace(-2.0, 2.0, size), jax.jit(jax.value_and_grad(loss(f)))
    return lambda: jax.block_until_ready(run(x))


def off(seconds: float) -> dict[str, float]:
    found = compared(
        {"off": (lowering(jnp.sign), nullcontext), "without us": (lowering(jnp.sign), without_us)}, seconds
    )
    return {"trace and lower, off / without us": found["off"] / found["without us"]}


def trace(seconds: float) -> dict[str, float]:
    found = compared(
        {
            "ours": (lowering(jnp.sign), override),
            "custom_jvp": (lowering(custom_jvp), nullcontext),
            "custom_vjp": (lowering(custom_vjp), nullcontext),
            "native": (lowering(jnp.sign), nullcontext),
        },
        seconds,
    )
    ours = found.pop("ours")
    return {f"trace and lower {OPS} ops / {name}": ours / other for name, other in found.items()}


def call(seconds: float) -> dict[str, float]:
    ratios = {}
    for size in (16, 1_000_000):
        found = compared(
            {
                "ours": (cached(jnp.sign, size), override),
                "native": (cached(jnp.sign, size), nullcontext),
                "custom_vjp": (cached(custom_vjp, size), nullcontext),
                "custom_jvp": (cached(custom_jvp, size), nullcontext),
                "stop_gradient": (cached(stop_gradient, size), nullcontext),
            },
            seconds,
        )
        ours = found.pop("ours")
        ratios |= {f"call n={size} / {name}": ours / other for name, other in found.items()}
    return ratios


def spyx(seconds: float) -> dict[str, float]:
    """Spyx's SuperSpike, where it is installed, and ours of the same formula.

    (Qwix rounds by the stop_gradient trick, which is measured above.)
    """
    package = importlib.util.find_spec("spyx")
    if package is None or package.origin is None:
        return {}
    # the one file: the package imports data loaders that this needs not
    spec = importlib.util.spec_from_file_location("axn", Path(package.origin).with_name("axn.py"))
    assert spec is not None
    assert spec.loader is not None
    axn = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(axn)

    def ours(x: Any) -> Any:
        return jnp.heaviside(x, 0.0)

    def rule() -> AbstractContextManager[Any]:
        return surrogate.override("jax", {"heaviside": "fast_sigmoid(slope=25)"})

    ratios = {}
    for size in (16, 1_000_000):
        runs = {"ours": (cached(ours, size), rule), "spyx": (cached(axn.superspike(25), size), nullcontext)}
        found = compared(runs, seconds)
        ratios[f"call n={size} / spyx superspike"] = found["ours"] / found["spyx"]
    return ratios


def kept() -> dict[str, float]:
    x = jnp.ones(100_000)
    rows = {"custom_vjp": custom_vjp, "custom_jvp": custom_jvp, "stop_gradient": stop_gradient}

    def size(f: Function) -> float:
        return sum(leaf.nbytes for leaf in jax.tree.leaves(jax.vjp(f, x)[1])) / x.size

    with override():
        ours = size(jnp.sign)
    with surrogate.override("jax", {"sign": "identity"}):
        nothing = size(jnp.sign)
    return {"kept, ours window": ours, "kept, ours identity": nothing} | {
        f"kept, {name}": size(f) for name, f in rows.items()
    }


def same_hlo() -> dict[str, float]:
    def operations(f: Function) -> collections.Counter[str]:
        text = jax.jit(jax.value_and_grad(loss(f))).lower(jnp.ones(16)).compile().as_text()
        return collections.Counter(re.findall(r"= \S+ ([a-z][\w-]*)\(", text))

    with override():
        ours = operations(jnp.sign)
    return {"optimised operations as custom_vjp (1 = same)": float(ours == operations(custom_vjp))}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each comparison")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", surrogate.NothingCapturedWarning)  # cached functions are not seen again
    surrogate.load_backend("jax")
    rows = off(arguments.seconds * 3) | trace(arguments.seconds * 6) | call(arguments.seconds)
    rows |= spyx(arguments.seconds) | kept() | same_hlo()
    if arguments.json:
        arguments.json.write_text(json.dumps({"jax": jax.__version__, **rows}, indent=1))
    print(f"jax {jax.__version__}")
    for name, value in rows.items():
        print(f"{value:8.2f}  {name}")


if __name__ == "__main__":
    main()
