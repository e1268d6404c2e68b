"""Pages that are made before Sphinx reads any: the catalogue from code, the matrix from committed results."""

import json
import runpy
from pathlib import Path

from surrogate.testing import as_html

DOCS = Path(__file__).parents[1]
GENERATED = DOCS / "generated"
EXTRA = GENERATED / "extra"  # copied beside the pages as it is
RESULTS = DOCS / "_data" / "matrix.json"
MEASURED = DOCS / "_data" / "gradients.json"

SIGNS = {
    "passed": "✓",
    "failed": "✗",
    "expected": "(✓)",
    "not claimed": "–",
    "nothing": "",
    "unsupported": "",
}


def write_all(app, config):
    """Write docs/generated, and in it what is copied as it is."""
    EXTRA.mkdir(parents=True, exist_ok=True)
    data = json.loads(RESULTS.read_text())
    (GENERATED / "matrix.md").write_text("\n".join(matrix(data)))
    (GENERATED / "unsupported.md").write_text("\n".join(unsupported(data)))
    for name, task in json.loads(MEASURED.read_text()).items():
        (GENERATED / f"which-{name}.md").write_text("\n".join(accuracies(task)))
    (EXTRA / "matrix-details.html").write_text(as_html(data))
    catalogue = DOCS / "generate_catalogue.py"
    if catalogue.exists():
        runpy.run_path(str(catalogue))["main"]()
    else:
        (GENERATED / "catalogue.md").write_text("# Catalogue\n")


def matrix(data):
    """The support matrix as Markdown: versions, ops by backend, and one table of modes per backend."""
    backends = data["backends"]
    cells = {(cell["op"], cell["backend"], cell["mode"]): cell for cell in data["cells"]}
    ops = [op for op in data["ops"] if op != "(any)"]
    yield f"Run on {data['date'][:10]} with Python {data['python']}, NumPy {data['numpy']},"
    yield f"{data['platform']}:"
    yield ""
    yield from table(
        ["backend", "version", "passed", "known failures", "failed", "not claimed"],
        [
            [
                f"`{name}`",
                about["version"],
                about["counts"]["passed"],
                about["counts"]["expected failure"],
                about["counts"]["failed"] + about["counts"]["unexpected pass"],
                ", ".join(about["not_claimed"]) or "",
            ]
            for name, about in backends.items()
        ],
    )
    yield "## Ops"
    yield ""
    yield from table(
        ["op", *(f"`{name}`" for name in backends)],
        [[f"`{op}`", *(worst(cells, op, name, data["modes"]) for name in backends)] for op in ops],
    )
    yield "✓ every check passed; (✓) with known failures that are named and must go on failing; ✗ failed;"
    yield "*no*: the backend refuses it, [with the reason](limits.md)."
    yield ""
    for name in backends:
        modes = [m for m in data["modes"] if any(cells[op, name, m]["checks"] for op in ops)]
        modes = [m for m in modes if m != "unsupported"]
        rows = [
            [f"`{op}`", *(SIGNS[cells[op, name, mode]["status"]] for mode in modes)]
            for op in ops
            if op not in backends[name]["unsupported"]
        ]
        yield f"## {name} {backends[name]['version']}"
        yield ""
        yield ":::{table}"
        yield ":class: modes"
        yield ""
        yield from table(["op", *(mode.replace("_", " ") for mode in modes)], rows)
        yield ":::"
        yield ""
    yield from agreement(data["agreement"])


def worst(cells, op, backend, modes):
    """One sign for all modes of an op."""
    found = {cells[op, backend, mode]["status"] for mode in modes if mode != "unsupported"}
    sign = next((s for s in ("failed", "expected", "passed") if s in found), None)
    return "*no*" if sign is None else SIGNS[sign]


def agreement(pairs):
    """How backends compare with each other."""
    if not pairs:
        return
    names = sorted({tuple(pair["backends"]) for pair in pairs})
    rows = []
    for left, right in names:
        mine = [pair for pair in pairs if tuple(pair["backends"]) == (left, right)]
        compared, equal = (sum(pair[key] for pair in mine) for key in ("compared", "equal"))
        rows.append(
            [
                f"`{left}` and `{right}`",
                f"{compared:,}",
                f"{100 * equal / max(compared, 1):.2f} %",
                f"{max(pair['worst'] for pair in mine):.1f}",
                sum(pair["wrong"] for pair in mine),
            ]
        )
    yield "## Between backends"
    yield ""
    yield "Their numbers are compared with each other too: masks and constants must be equal to the last bit,"
    yield "float formulas to 2 ulp."
    yield ""
    yield from table(["", "numbers", "equal to the last bit", "largest distance (ulp)", "disagree"], rows)


def accuracies(task):
    """What the gradients of one task came to, the best first."""

    def mean(runs):
        return sum(runs["last"]) / len(runs["last"])

    yield from table(
        [f"gradient of `{task['op']}`", "accuracy", "lowest to highest", "after 3 epochs"],
        [
            [
                f"`{spec}`",
                f"{100 * mean(runs):.1f} %",
                f"{100 * min(runs['last']):.1f} to {100 * max(runs['last']):.1f}",
                f"{100 * runs['curve'][3]:.1f} %",
            ]
            for spec, runs in sorted(task["gradients"].items(), key=lambda item: -mean(item[1]))
        ],
    )


def unsupported(data):
    """What each backend refuses, and why."""
    rows = [
        [f"`{name}`", f"`{op}`", reason]
        for name, about in data["backends"].items()
        for op, reason in about["unsupported"].items()
    ]
    yield from table(["backend", "op", "why"], rows)


def table(head, rows):
    """A Markdown table."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |"
    yield ""


def setup(app):
    app.connect("config-inited", write_all, priority=100)  # before Sphinx looks whether the folders exist
    return {"parallel_read_safe": True}
