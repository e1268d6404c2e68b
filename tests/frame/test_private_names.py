"""Private names of a framework stand in the table of hooks: nothing else may break with a release."""

import ast

import pytest

FRAMEWORKS = {
    "autograd": {"autograd"},
    "jax": {"jax", "jaxlib"},
    "tensorflow": {"tensorflow", "keras"},
    "torch": {"torch"},
}


def is_private(name):
    return any(part.startswith("_") and not part.startswith("__") for part in name.split("."))


def private_names(tree, roots):
    """Each dotted private name of a framework that a module reads: ``(name, line)``."""
    names = {}  # what a name of the module stands for
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                names[alias.asname or first] = alias.name if alias.asname else first
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                yield f"{node.module}.{alias.name}", node.lineno
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            first, _, rest = ast.unparse(node).partition(".")
            if first in names and rest.replace(".", "").replace("_", "").isalnum():
                yield f"{names[first]}.{rest}", node.lineno


def used(folder, roots):
    for path in sorted(folder.glob("*.py")):
        if path.name != "_hooks.py":
            for name, line in private_names(ast.parse(path.read_text()), roots):
                if name.partition(".")[0] in roots and is_private(name):
                    yield name, f"{path.name}:{line}"


def listed(folder):
    """The names that the table of hooks has, dotted."""
    tree = ast.parse((folder / "_hooks.py").read_text())
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) == "Hook"
            and isinstance(node.args[0], ast.Constant)
        ):
            yield ast.literal_eval(node.args[0]).replace(":", ".")


@pytest.mark.parametrize("backend", FRAMEWORKS)
def test_a_private_name_is_in_the_table_of_hooks(backend, root):
    folder = root / "backends" / f"surrogate_{backend}"
    known = set(listed(folder))
    missing = {
        name: place
        for name, place in used(folder, FRAMEWORKS[backend])
        if not any(f"{name}.".startswith(f"{hook}.") or hook.startswith(f"{name}.") for hook in known)
    }
    assert missing == {}


@pytest.mark.parametrize(
    "source",
    [
        "import torch\ntorch._C.f()",
        "from torch._guards import Guard",
        "import torch._dynamo",
        "from torch.utils import checkpoint\ncheckpoint._Frame",
    ],
)
def test_the_check_sees_a_private_name(source):
    found = [name for name, _ in private_names(ast.parse(source), {"torch"}) if is_private(name)]
    assert found
