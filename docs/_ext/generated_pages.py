"""Pages that are made from the code and from committed results, before Sphinx reads any."""

from pathlib import Path

DOCS = Path(__file__).parents[1]


def write_all(app):
    """Write docs/generated."""
    (DOCS / "generated").mkdir(exist_ok=True)


def setup(app):
    app.connect("builder-inited", write_all)
    return {"parallel_read_safe": True}
