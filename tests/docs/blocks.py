"""Python blocks of Markdown pages, sorted by the framework that they use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        ROOT / "README.md",
        *(p for p in (ROOT / "docs").rglob("*.md") if not {"_build", "generated"} & {*p.parts}),
    ]
)
FRAMEWORKS = ("autograd", "jax", "tensorflow", "tinytape", "torch")

_BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_USES = re.compile(
    r"(?:^|\n)\s*(?:import|from) (?:surrogate_)?(\w+)|\w\(\s*[\"'](\w+)[\"']|backend = [\"'](\w+)"
)
_CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
_HEADING = re.compile(r"^#+ ", re.MULTILINE)
_PRINTS = re.compile(r"^\s*print\(.*\)  # (.*)$", re.MULTILINE)


#: A block whose last line prints what the text block below it shows.
_PRINTS_BELOW = re.compile(r"^print\([^#\n]*\)\n\Z", re.MULTILINE)
_TEXT = re.compile(r"\s*```text\n(.*?)```", re.DOTALL)


class Block(NamedTuple):
    """One fenced block, and what each ``print(...)  # this`` in it says that it prints."""

    page: Path
    line: int
    code: str
    framework: str | None
    prints: list[str]


def blocks(page: Path) -> Iterator[Block]:
    """The python blocks of a page, in order.

    A block belongs to the framework that it names in an import or as a backend, else to the framework
    of the block before it in the same section.
    """
    text, end, framework = page.read_text(), 0, None
    for match in _BLOCK.finditer(text):
        indent, code = match.groups()
        code = re.sub(rf"^{indent}", "", code, flags=re.MULTILINE)
        line = text.count("\n", 0, match.start()) + 2
        if _HEADING.search(text, end, match.start()):
            framework = None
        end = match.end()
        named = {name for groups in _USES.findall(code) for name in groups if name in FRAMEWORKS}
        if len(named) > 1:
            raise ValueError(f"{page}:{line} mixes {sorted(named)}: one framework a block")
        framework = named.pop() if named else framework
        prints = _PRINTS.findall(code)
        if _PRINTS_BELOW.search(code) and (below := _TEXT.match(text, end)):
            prints += [" ".join(line.split()) for line in below.group(1).splitlines()]
        yield Block(page, line, code, framework, prints)


def story(page: Path, framework: str | None) -> list[Block]:
    """The blocks of a page that a reader with this framework runs; none if the page is not about it."""
    mine = [block for block in blocks(page) if block.framework in (None, framework)]
    return mine if any(block.framework == framework for block in mine) else []


def commands(page: Path) -> list[str]:
    """The lines of the page's console blocks, without their comments."""
    lines = (
        line.partition("  #")[0].strip()
        for text in _CONSOLE.findall(page.read_text())
        for line in text.splitlines()
    )
    return [line for line in lines if line]
