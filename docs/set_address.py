"""Give the release its address: ``python docs/set_address.py https://host/owner/surrogate``.

A package index shows README alone, so its relative links and its picture must be absolute there, and
``[project.urls]`` names the places. Nothing is known of the address before it is published; run once before
a release, on the commit that is built, see RELEASING.md.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"(?P<mark>!?)\[(?P<text>[^\]]*)\]\((?P<path>(?![a-z]+:|#)[^)]+)\)")


def absolute(text: str, address: str, tag: str) -> str:
    """Markdown with every relative link at the address; pictures as the file itself."""

    def link(match: re.Match[str]) -> str:
        kind = "raw" if match["mark"] else "blob"
        return f"{match['mark']}[{match['text']}]({address}/{kind}/{tag}/{match['path']})"

    return _LINK.sub(link, text)


def urls(address: str, tag: str) -> str:
    """The table for pyproject.toml."""
    rows = {
        "Homepage": address,
        "Documentation": f"{address}/blob/{tag}/docs/index.md",
        "Changelog": f"{address}/blob/{tag}/CHANGELOG.md",
        "Issues": f"{address}/issues",
    }
    return "[project.urls]\n" + "".join(f'{name} = "{url}"\n' for name, url in rows.items()) + "\n"


def main(address: str) -> None:
    """Rewrite README.md and pyproject.toml in place."""
    project, readme = ROOT / "pyproject.toml", ROOT / "README.md"
    settings = project.read_text()
    found = re.search(r'^version = "(.+)"$', settings, re.MULTILINE)
    assert found is not None
    tag, address = f"v{found[1]}", address.rstrip("/")
    readme.write_text(absolute(readme.read_text(), address, tag))
    if "[project.urls]" not in settings:
        before = "[project.scripts]\n"
        project.write_text(settings.replace(before, urls(address, tag) + before, 1))


if __name__ == "__main__":
    main(sys.argv[1])
