"""docs/gradients.md, written from the registry: every op with its gradients, in tables that need no pictures.

``python docs/generate_gradients.py`` writes the page; a test compares it with the registry.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import surrogate
from surrogate._examples import examples

PAGE = Path(__file__).with_name("gradients.md")

HEAD = """\
# All gradients

One line each, as registered; *default* is what `surrogate.use("torch")` takes. The [catalogue](catalogue.md)
of the documentation has the formulas in full, with pictures and measures.

This page is written from the registry by `docs/generate_gradients.py`; a test compares them.
"""


def page() -> str:
    """The page's text."""
    return "\n".join([HEAD, *(line for op in surrogate.ops() for line in _section(op))])


def _section(op: str) -> Iterator[str]:
    default = surrogate.op(op).default
    yield f"## {op}\n"
    yield "| gradient | what it is |"
    yield "| --- | --- |"
    for spec in examples(op):
        gradient = surrogate.gradient(op, spec)
        says = " ".join(gradient.doc.split("\n\n")[0].split()).replace("``", "`")
        mark = " (default)" if gradient.name == default else ""
        yield f"| `{gradient.spec}`{mark} | {says.replace('|', '&#124;')} |"
    yield ""


if __name__ == "__main__":
    PAGE.write_text(page())
