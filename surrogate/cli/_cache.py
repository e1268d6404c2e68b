"""What backends said of themselves when they were last loaded, so that a list imports no framework again.

An entry holds as long as Python, the plugin's files, this library's and the framework's are the same ones.
Only plugins that loaded are remembered; a cache that cannot be read or written is no cache.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from surrogate._plugins import Found

_LAYOUT = 1


def path() -> Path:
    """The cache's file, where the platform keeps such things."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    else:
        base = os.environ.get("XDG_CACHE_HOME")
    return Path(base or Path.home() / ".cache") / "surrogate" / "inspections.json"


def recall(plugin: Found) -> dict[str, Any] | None:
    """What was remembered of a plugin, if nothing that it depends on has changed."""
    entry = _read().get(_name(plugin))
    if not isinstance(entry, dict) or entry.get("stamp") != _stamp(plugin, entry.get("framework", "")):
        return None
    found: dict[str, Any] = entry["outcome"]
    return found


def remember(outcomes: dict[Found, dict[str, Any]]) -> None:
    """Keep what was found of each plugin that loads; called once for all, by one process at a time."""
    entries = _read()
    for plugin, outcome in outcomes.items():
        entries.pop(_name(plugin), None)
        if outcome.get("state") == "loads":
            framework = outcome.get("framework", "")
            entries[_name(plugin)] = {
                "framework": framework,
                "stamp": _stamp(plugin, framework),
                "outcome": outcome,
            }
    file = path()
    fresh = file.with_suffix(f".{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(json.dumps({"layout": _LAYOUT, "entries": entries}))
        fresh.replace(file)  # at once: another process never reads half of it
    except OSError:
        return


def _read() -> dict[str, Any]:
    try:
        data = json.loads(path().read_text())
    except (OSError, ValueError):
        return {}
    entries = data.get("entries") if isinstance(data, dict) and data.get("layout") == _LAYOUT else None
    return entries if isinstance(entries, dict) else {}


def _name(plugin: Found) -> str:
    return f"{plugin.group}/{plugin.name}"


def _stamp(plugin: Found, framework: str) -> list[Any]:
    modules = ("surrogate", plugin.entry_point.module.partition(".")[0])
    return [
        sys.version,
        sys.executable,
        plugin.distribution,
        plugin.version,
        *(_state_of(module, deep=True) for module in modules),
        _state_of(framework, deep=False),
    ]


def _state_of(module: str, *, deep: bool) -> list[Any]:
    """Where a top-level module lies, and when it, or the newest file of its package, was written."""
    try:
        spec = find_spec(module) if module else None
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None:
        return []
    file = Path(spec.origin)
    files = sorted(file.parent.rglob("*.py")) if deep and file.name == "__init__.py" else [file]
    try:
        return [str(file), len(files), max(one.stat().st_mtime_ns for one in files)]
    except OSError:
        return []
