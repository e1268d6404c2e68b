"""What is public: the names of the package, and that the backends live on them alone."""

import ast
import re

import pytest

import surrogate

BACKENDS = (
    *(f"backends/surrogate_{name}" for name in ("autograd", "jax", "tensorflow", "torch")),
    *(f"docs/examples/{name}" for name in ("mlx", "pack", "teaching")),
)

_PRIVATE = re.compile(r"\._(?!_)")


def test_all_is_sorted_and_every_name_exists():
    assert surrogate.__all__ == sorted(set(surrogate.__all__))
    assert [name for name in surrogate.__all__ if not hasattr(surrogate, name)] == []


def test_the_reference_page_documents_exactly_the_public_names(root):
    page = (root / "docs" / "reference.md").read_text()
    documented = re.findall(
        r"auto(?:class|function|exception|data|module):: surrogate\.([a-zA-Z]\w*)\s*$", page, re.MULTILINE
    )
    modules = {"auditing", "plot", "testing"}  # imported when they are asked for
    assert sorted(set(documented) - modules) == surrogate.__all__
    assert len(documented) == len(surrogate.__all__) + len(modules)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_backend_uses_only_public_names_of_the_core(backend, root):
    private = [
        f"{path.name}: {name}"
        for path in sorted((root / backend).rglob("*.py"))
        for name in _names_of_the_core(ast.parse(path.read_text()))
        if _PRIVATE.search(name)
    ]
    assert private == []


def _names_of_the_core(tree):
    """Each dotted name of the core that a module reads, by import or as an attribute of ``surrogate``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "surrogate":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] == "surrogate")
        elif isinstance(node, ast.Attribute) and ast.unparse(node).startswith("surrogate."):
            yield ast.unparse(node)


@pytest.mark.parametrize(
    "line",
    [
        "from surrogate._rule import Rule",
        "import surrogate._rule",
        "surrogate._rule.Rule",
        "surrogate.Rule._wanted",
    ],
)
def test_the_check_sees_a_private_name(line):
    assert any(map(_PRIVATE.search, _names_of_the_core(ast.parse(line))))
