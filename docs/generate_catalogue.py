"""The catalogue's page, written from the code: a section per op, a table and a picture per gradient."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import surrogate
from surrogate._examples import examples
from surrogate._gradient import Gradient
from surrogate._registry import registry
from surrogate.cli._facts import facts
from surrogate.cli.plot import draw

INTRODUCTION = """\
# Catalogue

Every gradient that is registered by default, from its own docstring. The measures are taken of the
reference in float64 along the op's first input: *mass* is the integral over the real line, *half-width*
half the width of the peak at half its height, *even* means g(-x) = g(x) to the last bit. In the pictures
grey is the op's value; at a jump a filled marker is the value, a hollow one a limit from one side. There is
a panel for the derivative by each input; a gradient that depends on the upstream gradient g is drawn for both
its signs.

Formulas are accurate to a few units in the last place, for as far as the rounding of the inputs allows:
a steep tail such as exp(-25|x|) magnifies it by 25|x|. They are finite for every finite input, have their
limits at infinity and are NaN at NaN; windows are closed at NaN. A parameter is a number, an array that
broadcasts against the input, a `surrogate.Variable`; one that *may be learned* also a tensor that wants a
gradient.
"""


_ORDERING = (
    "It has every gradient of `{source}`, h of that name, with the same parameters and presets: %s by x and "
    "%s by y. The rule key `compare` stands for `greater`, `greater_equal`, `less` and `less_equal`."
)
_RISING = _ORDERING % ("h(x - y)", "-h(x - y)")
_FALLING = _ORDERING % ("-h(x - y)", "h(x - y)")
#: What an op makes of another's gradients.
_INHERITED = {
    "greater": _RISING,
    "greater_equal": _RISING,
    "less": _FALLING,
    "less_equal": _FALLING,
    "not_equal": "It has every gradient of `{source}`, with the other sign.",
    "astype": "It has every gradient of `{source}`: those of `trunc` for a cast to an integer, those of "
    "`not_equal` with 0 for a cast to a boolean; a cast of the other kind gets 0.",
    "searchsorted": "It has every gradient of `{source}`, h of that name: the sum over the boundaries b of "
    "h(x - b) by x, and by each boundary -h(x - b), summed over x.",
}


def main() -> None:
    """Write the page where ``docs/catalogue.md`` includes it from."""
    write(Path(__file__).with_name("generated"), root="/generated/")


def write(directory: str | Path, ops: Sequence[str] | None = None, *, root: str = "") -> Path:
    """Write ``catalogue.md`` and its pictures, for all ops or the given ones.

    Args:
        directory: where to.
        ops: names of ops; None for all.
        root: what the pictures' addresses begin with, if the page is read from elsewhere.

    Returns:
        The page's path.
    """
    folder = Path(directory)
    (folder / "catalogue").mkdir(parents=True, exist_ok=True)
    blocks = [INTRODUCTION]
    for op in surrogate.ops() if ops is None else ops:
        blocks += _op(op, folder)
    page = folder / "catalogue.md"
    text = "\n".join(blocks).replace("](catalogue/", f"]({root}catalogue/")
    page.write_text(text, encoding="utf-8")
    return page


def _op(op: str, folder: Path) -> Iterator[str]:
    known = surrogate.op(op)
    default = f"`{known.default}`" if known.default else "none: `use(backend)` leaves it alone"
    yield f"(op-{op})=\n## `{op}`\n"
    yield f"`{op}({', '.join(known.inputs)})`: {escape(known.doc)} Recommended: {default}.\n"
    yield _picture(folder, op, "", f"All gradients of {op}")
    for source, _ in known.inherits:
        yield f"{_INHERITED[op].format(op=op, source=source)}\n"
        yield ", ".join(f"[`{name}`](#{source}-{name})" for name in registry.own(source)) + ".\n"
    for spec in examples(op, inherited=False):
        yield from _gradient(surrogate.gradient(op, spec), folder)
    yield from _presets(op)


def _gradient(gradient: Gradient, folder: Path) -> Iterator[str]:
    op, name = gradient.op.name, gradient.name
    yield f"({op}-{name})=\n### `{op}:{name}`\n"
    yield escape(gradient.doc) + "\n"
    rows = [("spec", f"`{gradient.spec}`"), *((_cell(what), _cell(text)) for what, text in facts(gradient))]
    yield _table(("", ""), rows)
    yield _picture(folder, op, gradient.spec, gradient.id)


def _presets(op: str) -> Iterator[str]:
    presets = registry.presets(op).values()
    if presets:
        yield f"### Presets of `{op}`\n"
        rows = [(f"`{p.name}`", f"`{p.spec}`", _cell(p.note)) for p in presets]
        yield _table(("preset", "stands for", "where the released library differs"), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def _cell(text: str) -> str:
    return escape(" ".join(text.split()))


def _picture(folder: Path, op: str, spec: str, text: str) -> str:
    """Draw a gradient, or all of an op, with a panel per input."""
    name = f"{op}-{spec.partition('(')[0]}.png" if spec else f"{op}.png"
    draw(op, spec, folder / "catalogue" / name, dpi=80)
    return f"![{escape(text)}](catalogue/{name})\n"


def escape(text: str) -> str:
    """Docstring text as Markdown: ``code`` becomes code, all else is taken literally."""
    pieces = re.split(r"``(.+?)``", text)
    return "".join(
        f"`{piece}`" if i % 2 else re.sub(r"([\\`*_{}\[\]<>|#~$])", r"\\\1", piece)
        for i, piece in enumerate(pieces)
    )
