"""Loading every plugin to see whether it can be: each in a process of its own, so that none harms another."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from surrogate._plugins import BACKENDS, PACKS, Found, found
from surrogate.cli import _cache

_TIMEOUT = 300.0


@dataclass(frozen=True)
class Inspection:
    """A plugin, and how loading it went.

    Attributes:
        name, group, distribution, version: what its metadata says.
        state: ``"loads"``, ``"not installed"`` (its framework is missing), ``"disabled"``,
            ``"incompatible"`` (its framework lacks a hook) or ``"broken"``.
        reason: why it does not load, and what to do.
        framework, framework_version, tested: the framework it is for, and what it was checked on.
        ops, unsupported, transforms: what the backend claims.
        hooks: what it says of the private names of its framework that it stands on. It has probed them.
    """

    name: str
    group: str
    distribution: str
    version: str
    state: str
    reason: str = ""
    framework: str = ""
    framework_version: str = ""
    tested: str = ""
    ops: Sequence[str] = ()
    unsupported: dict[str, str] = field(default_factory=dict)
    transforms: Sequence[str] = ()
    hooks: str = ""

    @property
    def faulty(self) -> bool:
        """Whether it is installed and does not load."""
        return self.state in ("broken", "incompatible")

    def plain(self) -> dict[str, Any]:
        """JSON-ready data."""
        return asdict(self)


def inspect_all(groups: Sequence[str] = (BACKENDS, PACKS), *, remembered: bool = False) -> list[Inspection]:
    """Inspect every plugin of the given entry-point groups, in order of name.

    Args:
        groups: entry-point groups.
        remembered: whether what was found before will do, for plugins that have not changed since.
    """
    plugins = [plugin for group in groups for _, plugin in sorted(found(group).items())]
    known = {plugin: _cache.recall(plugin) for plugin in plugins if remembered and not plugin.disabled}
    missing = [plugin for plugin in plugins if known.get(plugin) is None]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        fresh = dict(zip(missing, pool.map(_outcome, missing), strict=True))
    if fresh:
        _cache.remember({plugin: outcome for plugin, outcome in fresh.items() if not plugin.disabled})
    return [_inspection(plugin, known.get(plugin) or fresh[plugin]) for plugin in plugins]


def _inspection(plugin: Found, outcome: dict[str, Any]) -> Inspection:
    return Inspection(plugin.name, plugin.group, plugin.distribution, plugin.version, **outcome)


def _outcome(plugin: Found) -> dict[str, Any]:
    """Load one plugin in a process of its own."""
    if plugin.disabled:
        return {"state": "disabled", "reason": "by SURROGATE_DISABLED_PLUGINS"}
    return _run(plugin.group, plugin.name)


def rivals(groups: Sequence[str] = (BACKENDS, PACKS)) -> list[str]:
    """One sentence for each name that several distributions provide; only the first is used."""
    sentences = []
    for group in groups:
        for name, plugin in found(group).items():
            entries = importlib.metadata.entry_points(group=group, name=name)
            names = {entry.dist.metadata["Name"] for entry in entries if entry.dist is not None}
            if len(names) > 1:
                others = ", ".join(sorted(names - {plugin.distribution}))
                sentences.append(f"{name!r} of {plugin.distribution} is used; {others} provides one too.")
    return sentences


def _run(group: str, name: str) -> dict[str, Any]:
    command = [sys.executable, "-P", "-m", "surrogate.cli._inspect", group, name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return {"state": "broken", "reason": f"loading it took more than {_TIMEOUT:.0f} seconds"}
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"state": "broken", "reason": f"loading it ends the process ({done.returncode}): {last}"}
    outcome: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return outcome
