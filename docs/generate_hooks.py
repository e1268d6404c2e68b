"""docs/patched.md, written from the tables of hooks in backends/: what each takes from its framework.

``python docs/generate_hooks.py`` writes the page; a test compares it with the tables. It reads the
sources, so that no framework is needed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = Path(__file__).with_name("patched.md")
BACKENDS = {
    "autograd": "HIPS autograd",
    "jax": "JAX",
    "tensorflow": "TensorFlow and Keras",
    "torch": "PyTorch",
}

HEAD = """\
# What is patched

Every name of a framework, mostly a private one, that a backend replaces, reads or calls. All are looked for
when the backend loads; a version that lacks one is refused, with the name. In a program:
`surrogate.load_backend("torch").hooks`.

This page is written from `_hooks.py` of each backend by `docs/generate_hooks.py`; a test compares them.
"""


def page() -> str:
    """The page's text."""
    return "\n".join([HEAD, *(line for backend in BACKENDS for line in _section(backend))])


def _section(backend: str) -> Iterator[str]:
    source = (ROOT / "backends" / f"surrogate_{backend}" / "_hooks.py").read_text()
    yield f"## {BACKENDS[backend]}\n"
    yield "| name | what for |"
    yield "| --- | --- |"
    for where, why in hooks(ast.parse(source)):
        yield f"| `{where.replace(':', '.')}` | {why} |"
    yield ""


def hooks(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Where each hook of a table is and what for, in order."""
    named = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Hook":
            where, why = node.args
            if isinstance(where, ast.Constant):
                yield str(where.value), str(eval(ast.unparse(why), {}, named))  # a text made of named texts


if __name__ == "__main__":
    PAGE.write_text(page())
