"""An override as a notebook shows it: what it puts in force, where it was put, what it caught."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surrogate._override import Override


def as_html(override: Override) -> str:
    """A table of its rules and hits; below it where they were captured, if that was recorded."""
    layer, hits = override._layer, override.hits
    rows = "".join(
        f"<tr><td><code>{escape(op)}</code></td>"
        f"<td><code>{escape('native' if gradient is None else gradient.spec)}</code></td>"
        f"<td style='text-align:right'>{'' if gradient is None else hits[op]}</td></tr>"
        for op, gradient in layer.rules.items()
    )
    where = f", {layer.places}" if layer.places else ""
    return (
        f"<p><b>{escape(type(override).__name__)}</b> of {escape(override.backend)}{escape(where)}, "
        f"put at <code title='{escape(layer.where)}'>{escape(Path(layer.where).name)}</code></p>"
        f"<table><thead><tr><th>op</th><th>gradient</th><th>captured</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>{override.captures._repr_html_() if layer.trace else ''}"
    )
