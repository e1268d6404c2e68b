"""Whole training steps and single ops, against other libraries' surrogates in the same process.

    python benchmarks/bench_peers.py [--framework torch] [--rounds 15] [--threads 1] [--device cpu]
                                     [--compile] [--json FILE]
    python benchmarks/bench_peers.py --page FILE.json ... > docs/peers.md

A row is one program with two ways to make its surrogate: theirs, and the native op under a rule of ours. All
else is the same code. The two take turns; time is the median of the ratios of neighbouring runs, ours to
theirs, so that less is better; memory is what is kept for the backward pass, ours to theirs (on CUDA the
allocator's peak). On a CPU and one thread it is the thread's own time. A library that is not installed, or
does not load here, is left out and named.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import surrogate

Function = Callable[..., Any]
HEAP = {"MALLOC_MMAP_THRESHOLD_": "4000000000", "MALLOC_TRIM_THRESHOLD_": "8000000000"}


class Peer(NamedTuple):
    """A library's surrogate: its module, what to make of that, and our rule with the native op for it."""

    library: str
    module: str
    make: Callable[[Any], Function]
    rule: tuple[str, str]


class Row(NamedTuple):
    """What was measured."""

    program: str
    library: str
    time: float
    memory: float | None


def found(peers: list[Peer]) -> Iterator[tuple[Peer, Function]]:
    for peer in peers:
        try:
            yield peer, peer.make(loaded(peer.module))
        except Exception as error:  # not installed, or not for this version: named, and left out
            print(f"{peer.library} left out: {type(error).__name__}: {error}", file=sys.stderr)


def loaded(module: str) -> Any:
    """A module; of a package of which another part lacks something the second try finds it done."""
    try:
        return importlib.import_module(module)
    except ImportError:
        return importlib.import_module(module)


def relative(ours: int, theirs: int) -> float:
    """Memory, ours to theirs; 1 where nobody keeps anything."""
    return ours / theirs if theirs else 1.0 if not ours else float("inf")


def ratio(ours: Function, theirs: Function, rounds: int, clock: Callable[[Function], float]) -> float:
    """Median of ours / theirs over neighbouring runs."""
    for _ in range(2):
        ours(), theirs()
    return median(clock(ours) / clock(theirs) for _ in range(rounds))


def torch_rows(given: argparse.Namespace) -> Iterator[Row]:
    import torch
    from torch import nn

    torch.set_num_threads(given.threads)
    torch.manual_seed(0)
    device = given.device
    zero = torch.zeros((), device=device)
    one_thread = given.threads == 1 and device == "cpu"

    def clock(run: Function) -> float:
        if device != "cpu":
            torch.cuda.synchronize()
        now = time.thread_time if one_thread else time.perf_counter
        start = now()
        run()
        if device != "cpu":
            torch.cuda.synchronize()
        return now() - start

    def kept(run: Function) -> int:
        if device != "cpu":
            torch.cuda.reset_peak_memory_stats()
            run()
            return int(torch.cuda.max_memory_allocated())
        sizes: dict[int, int] = {}

        def pack(x: Any) -> Any:
            sizes[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
            return x

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
            run()
        return sum(sizes.values())

    class HandSpike(torch.autograd.Function):
        """The spike as tutorials write it."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return (x > 0).to(x.dtype)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g / (1 + (torch.pi * x).pow_(2))

    class HandSign(torch.autograd.Function):
        """The binarisation as tutorials write it."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.sign()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * (x.abs() <= 1)

    here = __name__
    spikes = [
        Peer("snnTorch", "snntorch.surrogate", lambda m: m.atan(), ("heaviside", "arctan")),
        Peer(
            "SpikingJelly",
            "spikingjelly.activation_based.surrogate",
            lambda m: m.ATan(),
            ("heaviside", "arctan"),
        ),
        Peer(
            "norse",
            "norse.torch.functional.threshold",
            lambda m: lambda x: m.threshold(x, "super", 100.0),
            ("heaviside", "fast_sigmoid(slope=100)"),
        ),
        Peer("by hand", here, lambda m: HandSpike.apply, ("heaviside", "arctan")),
    ]
    rounds = [
        Peer("Brevitas", "brevitas.function.ops_ste", lambda m: m.round_ste, ("round", "identity")),
        Peer(
            "vector-quantize-pytorch",
            "vector_quantize_pytorch.finite_scalar_quantization",
            lambda m: m.round_ste,
            ("round", "identity"),
        ),
        Peer("by detach()", here, lambda m: lambda x: x + (x.round() - x).detach(), ("round", "identity")),
    ]
    signs = [Peer("by hand", here, lambda m: HandSign.apply, ("sign", "hardtanh"))]

    def spike(x: Any) -> Any:
        return torch.heaviside(x, zero)

    def op(f: Function) -> Function:
        x = torch.randn(1_000_000, device=device, requires_grad=True)
        g = torch.ones_like(x)
        return lambda: torch.autograd.grad(f(x), x, g)

    def spiking_net(f: Function) -> Function:
        """5 layers of 256 leaky neurons by 25 steps, a batch of 64."""
        layers = nn.ModuleList(nn.Linear(256, 256) for _ in range(5)).to(device)
        data = torch.rand(25, 64, 256, device=device)

        def forward(data: Any) -> Any:
            potentials = [torch.zeros(64, 256, device=device)] * 5
            total = torch.zeros(64, 256, device=device)
            for x in data:
                for i, layer in enumerate(layers):
                    v = 0.9 * potentials[i] + layer(x)
                    x = f(v - 0.5)
                    potentials[i] = v - 0.5 * x.detach()
                total = total + x
            return total.square().mean()

        return step(forward, layers, data)

    def step(forward: Function, module: Any, data: Any) -> Function:
        if given.compile:
            forward = torch.compile(forward)

        def run() -> None:
            module.zero_grad()
            forward(data).backward()

        return run

    def bnn(f: Function) -> Function:
        """Three binary layers of 512, a batch of 256."""
        layers = nn.ModuleList(nn.Linear(512, 512, bias=False) for _ in range(3)).to(device)
        data = torch.randn(256, 512, device=device)

        def forward(x: Any) -> Any:
            for layer in layers:
                x = nn.functional.linear(f(x), f(layer.weight)) / 512**0.5
            return x.square().mean()

        return step(forward, layers, data)

    def lsq_block(f: Function) -> Function:
        """A residual block of two 3x3 convolutions with learned steps for weights and activations."""
        block = nn.ModuleList(nn.Conv2d(32, 32, 3, padding=1, bias=False) for _ in range(2)).to(device)
        steps = nn.Parameter(torch.full((4,), 0.1, device=device))
        block.register_parameter("steps", steps)
        data = torch.randn(8, 32, 32, 32, device=device)

        def quantized(x: Any, s: Any) -> Any:
            return f((x / s).clamp(-8, 7)) * s

        def forward(x: Any) -> Any:
            h = x
            for i, conv in enumerate(block):
                weight = quantized(conv.weight, steps[2 * i])
                h = nn.functional.conv2d(quantized(h, steps[2 * i + 1]), weight, padding=1).relu()
            return (h + x).square().mean()

        return step(forward, block, data)

    def fsq(f: Function) -> Function:
        """An autoencoder with a code of 8 numbers of 5 levels, a batch of 4096."""
        model = nn.ModuleList([nn.Linear(64, 256), nn.Linear(256, 8), nn.Linear(8, 256), nn.Linear(256, 64)])
        model = model.to(device)
        data = torch.randn(4096, 64, device=device)

        def forward(x: Any) -> Any:
            code = f(2 * model[1](model[0](x).relu()).tanh())
            return (model[3](model[2](code).relu()) - x).square().mean()

        return step(forward, model, data)

    programs: list[tuple[str, Function, list[Peer], Function]] = [
        ("spike, 1e6 elements", op, spikes, spike),
        ("round, 1e6 elements", op, rounds, torch.round),
        ("sign, 1e6 elements", op, signs, torch.sign),
        ("spiking net, 5 layers x 25 steps", spiking_net, spikes, spike),
        ("binary net, 3 layers", bnn, signs, torch.sign),
        ("LSQ residual block", lsq_block, rounds, torch.round),
        ("FSQ autoencoder", fsq, rounds, torch.round),
    ]
    for name, make, peers, native in programs:
        for peer, theirs in found(peers):
            with surrogate.override("torch", dict([peer.rule])):
                ours_run, theirs_run = make(native), make(theirs)
                t = ratio(ours_run, theirs_run, given.rounds, clock)
                memory = None if given.compile else relative(kept(ours_run), kept(theirs_run))
            yield Row(f"{name}{', compiled' * given.compile}", peer.library, t, memory)


def jax_rows(given: argparse.Namespace) -> Iterator[Row]:
    import jax
    import jax.numpy as jnp

    def clock(run: Function) -> float:
        start = time.process_time()
        run()
        return time.process_time() - start

    def by_hand() -> Function:
        @jax.custom_vjp
        def spike(x: Any) -> Any:
            return (x > 0).astype(x.dtype)

        spike.defvjp(lambda x: (spike(x), x), lambda x, g: (g / (1 + jnp.square(jnp.pi * x)),))
        return spike

    def stopped(x: Any) -> Any:
        return x + jax.lax.stop_gradient(jnp.round(x) - x)

    spikes = [
        Peer("Spyx", "spyx.axn", lambda m: m.superspike(25), ("heaviside", "fast_sigmoid(slope=25)")),
        Peer("by custom_vjp", __name__, lambda m: by_hand(), ("heaviside", "arctan")),
    ]
    rounds = [
        Peer("by stop_gradient", __name__, lambda m: stopped, ("round", "identity")),
    ]

    def op(f: Function) -> Function:
        x = jnp.linspace(-2, 2, 1_000_000)
        step = jax.jit(jax.grad(lambda x: (f(x) * x).sum()))
        return lambda: step(x).block_until_ready()

    def spiking_net(f: Function) -> Function:
        """5 layers of 256 leaky neurons by 25 steps, a batch of 64, in a scan."""
        weights = jax.random.normal(jax.random.key(0), (5, 256, 256)) / 16
        data = jax.random.uniform(jax.random.key(1), (25, 64, 256))

        def loss(weights: Any) -> Any:
            def at(potentials: Any, x: Any) -> Any:
                after = []
                for w, v in zip(weights, potentials, strict=True):
                    v = 0.9 * v + x @ w
                    x = f(v - 0.5)
                    after.append(v - 0.5 * jax.lax.stop_gradient(x))
                return tuple(after), x

            _, spikes = jax.lax.scan(at, (jnp.zeros((64, 256)),) * 5, data)
            return jnp.square(spikes.sum(0)).mean()

        step = jax.jit(jax.grad(loss))
        return lambda: step(weights).block_until_ready()

    programs: list[tuple[str, Function, list[Peer], Function]] = [
        ("spike, 1e6 elements, jit", op, spikes, lambda x: jnp.heaviside(x, 0.0)),
        ("round, 1e6 elements, jit", op, rounds, jnp.round),
        ("spiking net, 5 layers x 25 steps, jit", spiking_net, spikes, lambda x: jnp.heaviside(x, 0.0)),
    ]
    for name, make, peers, native in programs:
        for peer, theirs in found(peers):
            with surrogate.override("jax", dict([peer.rule])):
                yield Row(name, peer.library, ratio(make(native), make(theirs), given.rounds, clock), None)


def tensorflow_rows(given: argparse.Namespace) -> Iterator[Row]:
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(given.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)

    def clock(run: Function) -> float:
        start = time.process_time()
        run()
        return time.process_time() - start

    @tf.custom_gradient
    def ste_sign(x: Any) -> Any:
        """larq's formula, as its documentation gives it."""
        return tf.sign(x), lambda g: tf.where(tf.abs(x) <= 1, g, tf.zeros_like(g))

    @tf.custom_gradient
    def ste_round(x: Any) -> Any:
        return tf.round(x), lambda g: g

    signs = [Peer("larq's formula", __name__, lambda m: ste_sign, ("sign", "hardtanh"))]
    rounds = [Peer("by custom_gradient", __name__, lambda m: ste_round, ("round", "identity"))]

    def op(f: Function, compiled: bool) -> Function:
        x = tf.Variable(tf.random.normal((1_000_000,), seed=0))

        def step() -> Any:
            with tf.GradientTape() as tape:
                y = f(x)
            return tape.gradient(y, x)

        return tf.function(step) if compiled else step  # type: ignore[no-any-return]

    def bnn(f: Function, compiled: bool) -> Function:
        """Three binary layers of 512, a batch of 256."""
        weights = [tf.Variable(tf.random.normal((512, 512), seed=i)) for i in range(3)]
        data = tf.random.normal((256, 512), seed=9)

        def step() -> Any:
            with tf.GradientTape() as tape:
                x = data
                for w in weights:
                    x = tf.matmul(f(x), f(w)) / 512**0.5
                loss = tf.reduce_mean(tf.square(x))
            return tape.gradient(loss, weights)

        return tf.function(step) if compiled else step  # type: ignore[no-any-return]

    programs: list[tuple[str, Function, list[Peer], Function]] = [
        ("sign, 1e6 elements", op, signs, tf.sign),
        ("round, 1e6 elements", op, rounds, tf.round),
        ("binary net, 3 layers", bnn, signs, tf.sign),
    ]
    for name, make, peers, native in programs:
        for compiled in (False, True):
            for peer, theirs in found(peers):
                with surrogate.override("tensorflow", dict([peer.rule])):
                    t = ratio(make(native, compiled), make(theirs, compiled), given.rounds, clock)
                yield Row(f"{name}{', tf.function' * compiled}", peer.library, t, None)


LIBRARIES = {
    "torch": ("snntorch", "spikingjelly", "norse", "brevitas", "vector-quantize-pytorch"),
    "jax": ("spyx",),
    "tensorflow": (),
}
ROWS = {"torch": torch_rows, "jax": jax_rows, "tensorflow": tensorflow_rows}


def machine(given: argparse.Namespace) -> dict[str, Any]:
    """What the numbers depend on."""
    versions = {}
    for name in (given.framework, *LIBRARIES[given.framework]):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return {
        "processor": model or platform.machine(),
        "cores": os.cpu_count(),
        "threads": given.threads,
        "device": given.device,
        "compiled": given.compile,
        "python": platform.python_version(),
        "versions": versions,
        "load": round(os.getloadavg()[0], 1),
    }


def bar(value: float) -> str:
    """A ratio as a picture: a block for a tenth."""
    return "█" * min(30, max(1, round(10 * value)))


INTRODUCTION = """Written by `python benchmarks/bench_peers.py --page`, from runs of that script. A number
is ours divided by theirs, so less is better: 1.00 is the same, and ten blocks are 1.00. Time is the median
of the ratios of neighbouring runs in one process; memory is what is kept for the backward pass. A row of one
op is its forward and backward pass; the others are whole training steps.
"""

BOUNDS = """Where a number is above 1.05 the library is ahead:

- A call in eager PyTorch costs microseconds more than that of a function known by its name: a kernel in
  Python on PyTorch's dispatcher finds the rule that is in force, and a node for any rule finds what to do in
  the backward. That is the spiking net, with 125 spikes of 16 384 elements, and Brevitas's rounding, which
  has nothing to do in the backward.
- The formula of the spike is six operations, each rounded as in every other framework; theirs divides the
  upstream gradient at once, two passes fewer. At a million elements ours is ahead: it runs in the cache.
- The binary net in PyTorch (1.06 to 1.09 in three runs) and rounding in a `tf.function` (1.08 and 1.09 in
  two): not explained.
- JAX: rows differ by up to 0.1 from run to run on this machine, which had other work to do.

Not measured: compiled PyTorch (the script has `--compile`), torchao, AQT and Qwix (of the last two no
straight-through function was found that is called by itself), snnax (it did not import here), softtorch
and softjax (not installable here).
"""


def page(files: list[Path]) -> Iterator[str]:
    """The page of the documentation."""
    yield "# Against other libraries\n"
    yield INTRODUCTION
    yield BOUNDS
    for path in files:
        data = json.loads(path.read_text())
        about = data["machine"]
        versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
        yield f"## {data['framework']}{', compiled' * about['compiled']}\n"
        yield f"{versions}, Python {about['python']}; {about['processor']}, {about['cores']} cores,"
        yield f"{about['threads']} thread, {about['device']}; load of the machine {about['load']}.\n"
        yield "| program | against | time | | memory |"
        yield "| --- | --- | --- | --- | --- |"
        for program, library, value, memory in data["rows"]:
            kept = "" if memory is None else f"{memory:.2f}"
            yield f"| {program} | {library} | {value:.2f} | `{bar(value)}` | {kept} |"
        yield ""


def main() -> None:
    parser = argparse.ArgumentParser(description="Training steps against other libraries.")
    parser.add_argument("--framework", choices=ROWS, default="torch")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="of PyTorch: cpu, or cuda where there is one")
    parser.add_argument("--compile", action="store_true", help="PyTorch's programs with torch.compile")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--page", type=Path, nargs="+", help="print the documentation's page of such files")
    given = parser.parse_args()
    if given.page:
        print("\n".join(page(given.page)).rstrip())
        return
    if not HEAP.keys() <= os.environ.keys():  # an allocator that keeps its memory: read when a process begins
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | HEAP)
    rows = []
    for row in ROWS[given.framework](given):
        rows.append(row)
        memory = "" if row.memory is None else f"{row.memory:6.2f}"
        print(f"{row.program:40} {row.library:26} {row.time:6.2f} {memory}", flush=True)
    if given.json:
        result = {"framework": given.framework, "machine": machine(given), "rows": rows}
        given.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
