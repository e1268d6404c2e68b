"""surrogate/_names.py, written from the catalogue: the names that editors complete.

``python docs/generate_names.py`` writes the file; a test compares it with the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import surrogate

FILE = Path(__file__).parents[1] / "surrogate" / "_names.py"
BACKENDS = ("autograd", "jax", "keras", "tensorflow", "torch")

HEAD = '''\
"""Names as types, so that editors complete them. Written by docs/generate_names.py: do not edit.

They are hints: any other text of the grammar is taken too, and packs bring names of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from surrogate._registry import Spec
else:
    Spec = Any
'''

WIDTH = 108


def text() -> str:
    """The file's text."""
    return "\n".join(lines())


def lines() -> Iterator[str]:
    yield HEAD
    yield from literal("BackendName", BACKENDS, "Backends that come along, and Keras, which has one of them.")
    yield from literal("OpName", surrogate.ops(), "Ops of the catalogue.")
    names = {op: (*surrogate.gradients(op), *surrogate.presets(op), "native") for op in surrogate.ops()}
    every = sorted({name for op in names for name in names[op]} - {"native"})
    yield from literal("GradientName", every, "Gradients and presets of all ops.")
    types: dict[tuple[str, ...], str] = {}
    for op, known in names.items():
        if known not in types:
            types[known] = f"_{op.title().replace('_', '')}"
            yield from literal(types[known], known)
    yield from ("", "")
    yield "class NamedRules(TypedDict, total=False):"
    yield '    """Rules by op, with the gradients of each."""'
    yield ""
    for op, kind in {"compare": types[names["greater"]], **{op: types[names[op]] for op in names}}.items():
        yield f"    {op}: {kind} | Spec"
    yield ""


def literal(name: str, values: Iterable[str], doc: str = "") -> Iterator[str]:
    """``name = Literal[...]`` as the formatter would write it."""
    if doc:
        yield f"#: {doc}"
    quoted = [f'"{value}"' for value in values]
    line = f"{name} = Literal[{', '.join(quoted)}]"
    if len(line) <= WIDTH:
        yield line
        return
    yield f"{name} = Literal["
    yield from (f"    {value}," for value in quoted)
    yield "]"


if __name__ == "__main__":
    FILE.write_text(text())
