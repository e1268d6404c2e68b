"""Every operator of PyTorch's own test database, native and under absurd rules: only the ops change.

The constant 7 is no op's derivative, so whatever has it has a rule. By hand, or in the tox environment
``torch-sweep``: ``python tests/backend_torch/operator_sweep.py [--every N] [--ops sign,clip]``.
"""

from __future__ import annotations

import argparse
import functools
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch.testing._internal.common_methods_invocations import op_db

import surrogate

#: The operators that are spellings of an op, or composed of one for the user.
OWN = frozenset(
    """
    abs sign sgn round floor ceil trunc fix remainder __rmod__ fmod floor_divide heaviside clamp clamp_min
    clamp_max clip maximum minimum div special.round nn.functional.relu
    nn.functional.relu6 nn.functional.hardtanh gt ge lt le eq ne argmax argmin bucketize searchsorted
    """.split()  # noqa: SIM905 -- a list of words
)
#: The same by name and variant: ``torch.max(x, y)`` is maximum.
OWN_VARIANTS = frozenset({("max", "binary"), ("min", "binary")})
#: Ops whose result is a float: under a rule for them an operator's gradient may not change.
OPS = "sign,clip,abs,relu,relu6,floor,ceil,floor_divide,trunc,round,mod,fmod,heaviside,maximum,minimum"
#: Samples of each operator.
_SAMPLES = 6


def seven(xp: Any, x: Any) -> float:
    """No op's derivative."""
    return 7.0


class Leak(NamedTuple):
    """An operator that a rule has changed."""

    operator: str
    hits: dict[str, int]
    error: str


def gradient(op: Any, sample: Any) -> Sequence[Any] | None:
    """The gradient of a sum over the outputs, by every float tensor of the sample; None without any."""
    leaves: list[Any] = []

    def leaf(x: Any) -> Any:
        if isinstance(x, torch.Tensor) and x.is_floating_point() and x.layout is torch.strided:
            leaves.append(x.detach().clone().requires_grad_())
            return leaves[-1]
        return type(x)(map(leaf, x)) if type(x) in (list, tuple) else x

    given = leaf(sample.input), leaf(tuple(sample.args)), {key: leaf(v) for key, v in sample.kwargs.items()}
    torch.manual_seed(0)
    found = op(given[0], *given[1], **given[2])
    outputs = [
        y
        for y in (found if isinstance(found, tuple | list) else [found])
        if isinstance(y, torch.Tensor)
        and y.requires_grad
        and y.is_floating_point()
        and y.layout is torch.strided
    ]
    if not outputs:
        return None
    total = sum((y * y.detach().cos()).sum() for y in outputs)
    return torch.autograd.grad(total, leaves, allow_unused=True)


def same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether gradients are equal, NaN included.

    Not to the last bit: LAPACK's results depend on where an array lies in memory (linalg.lstsq natively too).
    The rules multiply by 7, so what leaks is far off.
    """
    close = functools.partial(torch.allclose, rtol=1e-9, atol=1e-12, equal_nan=True)
    return all(
        (a is None and b is None) or (a is not None and b is not None and close(a, b))
        for a, b in zip(one, other, strict=True)
    )


def leaks(ops: Sequence[str], every: int) -> Iterator[Leak | None]:
    """One for each sample of every ``every``-th operator; None where nothing has changed."""
    rules = dict.fromkeys(ops, seven)
    for op in op_db[::every]:
        own = op.name in OWN or (op.name, op.variant_test_name) in OWN_VARIANTS
        if own or not op.supports_autograd or torch.float64 not in op.dtypes:
            continue
        try:
            samples = list(op.sample_inputs("cpu", torch.float64, requires_grad=False))[:_SAMPLES]
        except Exception:
            continue  # it needs what is not installed, or another machine
        for sample in samples:
            try:
                native = gradient(op, sample)
            except Exception:
                continue  # PyTorch cannot differentiate this one
            if native is not None:
                yield _judge(op, sample, native, rules)


def _judge(op: Any, sample: Any, native: Sequence[Any], rules: dict[str, Any]) -> Leak | None:
    name = f"{op.name}{op.variant_test_name and ' ' + op.variant_test_name}"
    with surrogate.override("torch", rules) as o:
        try:
            found = gradient(op, sample)
        except Exception as error:
            return Leak(name, dict(+o.hits), f"{type(error).__name__}: {str(error)[:200]}")
    hits = dict(+o.hits)
    return Leak(name, hits, "") if hits or found is None or not same(native, found) else None


def main(arguments: list[str]) -> int:
    """The command line; 0 if nothing leaks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--every", type=int, default=1, help="only every N-th operator")
    parser.add_argument("--ops", default=OPS, help="ops to be overridden")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found = list(leaks(given.ops.split(","), given.every))
    bad = sorted({(leak.operator, str(leak.hits), leak.error) for leak in found if leak is not None})
    print(f"{len(found)} samples, {len(bad)} leaks")
    for leak in bad:
        print(*leak)
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
