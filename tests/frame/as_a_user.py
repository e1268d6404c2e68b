"""The public API as a program with types uses it: checked by mypy, never run."""

from collections import Counter
from collections.abc import Mapping

import surrogate


def from_here_on() -> Mapping[str, surrogate.Gradient]:
    handle = surrogate.use(
        "torch", {"sign": "hardtanh(width=1.5)", "round": surrogate.gradient("round", "zero")}
    )
    handle.undo()
    with surrogate.use("torch") as entered:
        hits: Counter[str] = entered.hits
        print(hits["sign"])
    return handle.rules


@surrogate.override("jax", {"round": "identity"})
def loss(w: float) -> float:
    return w


@surrogate.register("sign", name="as_a_user")
def quantize_grad(xp: object, x: float, *, width: surrogate.Positive = 1.0) -> bool:
    return abs(x) <= width


def listing() -> tuple[list[str], dict[str, list[str]], list[str]]:
    return surrogate.ops(), surrogate.gradients(), surrogate.gradients("sign")


value: float = loss(1.0)
defaults: dict[str, surrogate.Gradient] = surrogate.defaults("torch")
slopes = surrogate.reference.vjp("sign", "hardtanh", [-2.0, 0.5], g=1.0)[0].sum()
