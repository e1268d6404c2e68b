"""What an audit costs, as a ratio to one forward and one backward pass of the same program.

    python benchmarks/bench_audit.py [--json FILE] [jax] [tensorflow]

jax         first: the whole audit against compiling and running jit(value_and_grad), both from cold caches;
            later: the audit's compiled function against the program's, both compiled
tensorflow  whole: the audit against the program under a tape, eagerly; recording: the forward pass alone

CPU seconds, so that other processes matter less; the median of interleaved runs where a run can be repeated.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import surrogate


def seconds(run: Callable[[], Any]) -> float:
    """CPU seconds of one run."""
    begun = time.process_time()
    run()
    return time.process_time() - begun


def ratio(ours: Callable[[], Any], theirs: Callable[[], Any], runs: int) -> float:
    """The ratio of the medians of interleaved runs."""
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(runs)]
    one, other = zip(*pairs, strict=True)
    return median(one) / median(other)


# -- JAX -------------------------------------------------------------------------------------------


def jax_transformer() -> tuple[Any, Any]:
    """Two blocks of attention on sixteen tokens of width 64, as plain functions."""
    import jax
    import jax.numpy as jnp

    draws, width = np.random.RandomState(0), 64

    def weights(*shape: int) -> Any:
        return jnp.asarray(draws.standard_normal(shape) / shape[0] ** 0.5, jnp.float32)

    def block() -> Any:
        names = {"q": width, "k": width, "v": width, "o": width, "up": 4 * width}
        return {name: weights(width, n) for name, n in names.items()} | {"down": weights(4 * width, width)}

    def norm(x: Any) -> Any:
        return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)

    def layer(x: Any, p: Any) -> Any:
        h = norm(x)
        scores = (h @ p["q"]) @ (h @ p["k"]).swapaxes(-1, -2) / width**0.5
        x = x + jax.nn.softmax(scores) @ (h @ p["v"]) @ p["o"]
        return x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]

    def loss(params: Any, x: Any, y: Any) -> Any:
        for p in params:
            x = layer(x, p)
        log_p = jax.nn.log_softmax(x)
        return -jnp.mean(jnp.take_along_axis(log_p, y[..., None], -1))

    y = jnp.asarray(draws.randint(0, width, (8, 16)))
    return loss, ([block(), block()], weights(8, 16, width), y)


def jax_recurrent() -> tuple[Any, Any]:
    """A recurrent network of two hundred steps under lax.scan."""
    import jax
    import jax.numpy as jnp

    draws = np.random.RandomState(0)
    w, u = (jnp.asarray(draws.standard_normal((64, 64)) * 0.1, jnp.float32) for _ in range(2))
    xs = jnp.asarray(draws.standard_normal((200, 32, 64)), jnp.float32)

    def loss(p: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            return jnp.tanh(h @ p["w"] + x @ p["u"]), None

        return jnp.mean(jax.lax.scan(step, jnp.zeros((32, 64)), xs)[0] ** 2)

    return loss, ({"w": w, "u": u}, xs)


def jax_costs() -> dict[str, float]:
    """By program, the first and later calls."""
    import jax
    from surrogate_jax import _audit
    from surrogate_jax._audit_program import read
    from surrogate_jax._audit_questions import ask_all
    from surrogate_jax._audit_taint import follow

    backend, found = surrogate.load_backend("jax"), {}
    for make in (jax_transformer, jax_recurrent):
        loss, args = make()
        backend.record(
            jax.nn.relu, (args[-2] if len(args) > 2 else args[-1],)
        )  # what is made once in a process

        def program(loss: Any = loss, args: Any = args) -> Any:
            return jax.block_until_ready(jax.jit(jax.value_and_grad(loss))(*args))

        jax.clear_caches()
        native = seconds(program)
        jax.clear_caches()
        found[f"{make.__name__} first"] = seconds(lambda: backend.record(loss, args)) / native  # noqa: B023
        leaves, tree = jax.tree.flatten(args[0])
        closed = jax.make_jaxpr(lambda *x: loss(jax.tree.unflatten(tree, x), *args[1:]))(*leaves)  # noqa: B023
        traced = read(closed)
        follow(traced, [True] * len(leaves))
        ask_all(traced)
        step, compiled = _audit.compiled(traced), jax.jit(jax.value_and_grad(loss))
        jax.block_until_ready((step(leaves), compiled(*args)))
        found[f"{make.__name__} later"] = ratio(
            lambda: jax.block_until_ready(step(leaves)),  # noqa: B023
            lambda: jax.block_until_ready(compiled(*args)),  # noqa: B023
            10,
        )
    return found


# -- TensorFlow ------------------------------------------------------------------------------------


def keras_transformer() -> tuple[Any, Any]:
    """Two blocks of Keras attention on sixteen tokens of width 64, in training."""
    import keras
    import tensorflow as tf
    from keras import layers

    keras.utils.set_random_seed(0)
    x = tokens = keras.Input((16,), dtype="int32")
    x = layers.Embedding(100, 64)(x)
    for _ in range(2):
        h = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(4, 16, dropout=0.1)(h, h, use_causal_mask=True)
        x = x + layers.Dense(64)(layers.Dense(256, activation="gelu")(layers.LayerNormalization()(x)))
    net = keras.Model(tokens, layers.Dense(100)(x))
    draws = np.random.RandomState(0)
    y = tf.constant(draws.randint(0, 100, (8, 16)))

    def loss(x: Any) -> Any:
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, net(x, training=True)))

    return loss, (tf.constant(draws.randint(0, 100, (8, 16)), tf.int32),)


def keras_costs() -> dict[str, float]:
    """The whole audit, and its recorded forward pass."""
    import tensorflow as tf
    from surrogate_tensorflow._audit_leaks import recording
    from surrogate_tensorflow._audit_recorder import Recorder

    backend = surrogate.load_backend("tensorflow")
    loss, args = keras_transformer()

    def program() -> None:
        with tf.GradientTape() as tape:
            value = loss(*args)
        tape.gradient(value, tape.watched_variables())

    def recorded() -> None:
        with recording(Recorder()), tf.GradientTape():
            loss(*args)

    first = seconds(lambda: backend.record(loss, args))
    for _ in range(3):
        program()
    once = median(seconds(program) for _ in range(5))
    return {
        "keras_transformer first": first / once,
        "keras_transformer whole": ratio(lambda: backend.record(loss, args), program, 5),
        "keras_transformer recording": ratio(recorded, program, 5),
    }


def main() -> None:
    """Measure, and print."""
    costs = {"jax": jax_costs, "tensorflow": keras_costs}
    parser = argparse.ArgumentParser(description="the cost of an audit")
    parser.add_argument("--json", type=Path, help="write the ratios to this file")
    parser.add_argument("frameworks", nargs="*", choices=[[], *costs], default=[])
    given = parser.parse_args()
    found = {}
    for name in given.frameworks or list(costs):
        found |= costs[name]()
    for what, times in found.items():
        print(f"{what:32}{times:8.1f} x")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
