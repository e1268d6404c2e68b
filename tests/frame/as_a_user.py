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


def as_they_are_typed(name: str) -> None:
    surrogate.override("torch", {"sign": "hardtanh", "round": "clipped(lo=-1, hi=1)", "compare": "arctan"})
    surrogate.override("torch", {"sign": "hardtanh", "an_op_of_a_pack": "its_gradient"})
    surrogate.override("torch", {name: "hardtanh"}, within="mynet")
    surrogate.override("torch", sign="tanh(slope=2)", heaviside="snntorch:atan", trace=True)
    surrogate.gradient("sign:hardtanh")
    surrogate.gradient("sign", "hardtanh", width=2.0)


def names(
    backend: surrogate.BackendName, op: surrogate.OpName, gradient: surrogate.GradientName
) -> surrogate.Gradient:
    surrogate.use(backend, {op: gradient}).undo()
    return surrogate.gradient(op, gradient)


names("torch", "sign", "hardtanh")
names("torch", "sgin", "hardtanh")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
names("torch", "sign", "hardtahn")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
rules: surrogate.NamedRules = {"sign": "hardtanh", "abs": "sign0"}
misnamed: surrogate.NamedRules = {"sgin": "hardtanh"}  # type: ignore[typeddict-unknown-key]  # pyright: ignore[reportAssignmentType]

value: float = loss(1.0)
defaults: dict[str, surrogate.Gradient] = surrogate.defaults("torch")
slopes = surrogate.reference.vjp("sign", "hardtanh", [-2.0, 0.5], g=1.0)[0].sum()
