"""docs/natives.md, written from the backends: the formulas for native ops that come along, op by op.

``python docs/generate_natives.py`` writes the page, with all frameworks at hand; a test compares it.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from surrogate._native import GENERIC

PAGE = Path(__file__).with_name("natives.md")
FRAMEWORKS = ("torch", "tensorflow", "jax")

HEAD = """\
# Native formulas

The gradients of native ops that come with the backends; [how to use them, and
to write others](how-to/native.md).
A name gives the same numbers in every framework. Each cell is the key of the rule; all were checked by
{py:func}`surrogate.testing.check_rule` in float64 against formulas written by hand, to 1e-12, eagerly and
compiled, and in forward mode (`tests/cross/test_natives.py`). `guided` and `deconvnet`, which are not linear
in the upstream gradient, and formulas of whole functions have no forward mode. A dash: the framework has no
such op.

This page is written from the backends by `docs/generate_natives.py`; a test compares them.
"""


class Told(NamedTuple):
    """What the page says of a formula beside its own docstring."""

    what: str
    formula: str
    source: str


TOLD = {
    "scaled": Told(
        "any op", "factor times the native cotangents", "Deep Dream's step norms, gradient scaling"
    ),
    "reversal": Told(
        "any op", "-factor times the native cotangents", "Ganin et al. 2016, arXiv 1505.07818 (DANN)"
    ),
    "guided": Told(
        "any activation",
        "native(max(g, 0))",
        "Springenberg, Dosovitskiy, Brox, Riedmiller 2015, arXiv 1412.6806",
    ),
    "deconvnet": Told("any activation", "max(g, 0)", "Zeiler, Fergus 2014, arXiv 1311.2901"),
    "spread": Told(
        "max pooling",
        "g / n to each of the n elements of a window; padding is none",
        "average pooling's derivative",
    ),
    "soft": Told(
        "max pooling",
        "g softmax(x / temperature) over a window: the derivative of temperature logsumexp(x / temperature)",
        "the shares of SoftPool: Stergiou, Poppe, Kalliatakis 2021, arXiv 2101.00440",
    ),
    "softsort": Told(
        "sort, top-k values",
        "the derivative of softmax(-abs(s - x) / tau) @ x by x and by s, the sorted values",
        "Prillo, Eisenschlos 2020, arXiv 2006.16038",
    ),
    "finite": Told(
        "square root, norm", "the native derivative, and 0 where the result is 0", "PyTorch's norm at 0"
    ),
    "bilinear": Told(
        "sampling by the nearest element",
        "the positions get the derivative of linear interpolation, the array keeps its own",
        "Jaderberg, Simonyan, Zisserman, Kavukcuoglu 2015, arXiv 1506.02025",
    ),
    "interpolated": Told(
        "look-ups by a float that was made an integer",
        "an index gets the sum of g (t[i + 1] - t[i]) over what it looked up, 0 at the end of its axis",
        "linear interpolation's derivative",
    ),
}


def page() -> str:
    """The page's text."""
    return "\n".join([HEAD, *matrix(), *formulas()])


def matrix() -> Iterator[str]:
    """Which key each formula has in each framework."""
    yield f"| formula | of | {' | '.join(f'`{name}`' for name in FRAMEWORKS)} |"
    yield "|" + " --- |" * (2 + len(FRAMEWORKS))
    for name, told in TOLD.items():
        cells = [keys(framework, name) for framework in FRAMEWORKS]
        yield f"| `{name}` | {told.what} | {' | '.join(cells)} |"
    yield ""


def keys(framework: str, name: str) -> str:
    """The keys of a formula in a framework."""
    pack = importlib.import_module(f"surrogate_{framework}._pack")
    if name in GENERIC or name in pack.EVERY:
        return "every op"
    found = {**pack.PACK, **getattr(pack, "FUNCTIONS", {})}
    named = [key if isinstance(key, str) else public(framework, key) for key in found if name in found[key]]
    return "<br>".join(f"`{key}`" for key in named) or "–"


def public(framework: str, function: Any) -> str:
    """Where a function of a framework's is public."""
    return {"norm_v2": "tensorflow.norm", "map_coordinates": "jax.scipy.ndimage.map_coordinates"}[
        function.__name__
    ]


def formulas() -> Iterator[str]:
    """What each computes, its parameters, and where it is from."""
    yield "| formula | gives | from |"
    yield "| --- | --- | --- |"
    for name, told in TOLD.items():
        yield f"| `{name}{signature(name)}` | {told.formula} | {told.source} |"


def signature(name: str) -> str:
    """The parameters of a formula."""
    pack = importlib.import_module("surrogate_torch._pack")
    function = {**GENERIC, **pack.EVERY, **{n: f for named in pack.PACK.values() for n, f in named.items()}}[
        name
    ]
    given = [
        one.name if one.default is one.empty else f"{one.name}={one.default:g}"
        for one in inspect.signature(function).parameters.values()
        if one.kind is one.KEYWORD_ONLY
    ]
    return f"({', '.join(given)})" if given else ""


if __name__ == "__main__":
    PAGE.write_text(page() + "\n", encoding="utf-8")
