"""Processes with different rules share one cache on disk, and none gets another's gradient."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import surrogate_torch

SCRIPT = Path(__file__).with_name("disk_cache.py")


def run(directory, spec, tag="", where="main", **environment):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), spec, tag, where],
        env=os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(directory)} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_rules_and_the_users_own_tag_are_part_of_the_key(tmp_path):
    off = run(tmp_path, "off")
    through = run(tmp_path, "identity", where="thread")
    again = run(tmp_path, "identity")
    tagged = run(tmp_path, "identity", tag="mine")
    assert off["gradient"] == [-1.0, -1.0, 1.0, 1.0]
    assert through["gradient"] == again["gradient"] == tagged["gradient"] == [-3.0, -1.5, 1.5, 3.0]
    assert [r["hit"] for r in (off, through, again, tagged)] == [0, 0, 1, 0]
    assert [off["tag"], tagged["tag"]] == ["", "mine" + again["tag"]]


#: What the first module's ops give, by the rule: y = sign(x) x has the slope sign(x) + x s(x).
X = [-2.0, -0.5, 0.25, 2.0]
BY = {"off": lambda x: 0.0, "identity": lambda x: 1.0, "hardtanh": lambda x: float(abs(x) <= 1)}


def expected(pair):
    """The chain rule through |x|, a factor of 2, and the second module."""
    first, second = (BY[spec] for spec in pair.split("-"))
    found = []
    for x in X:
        h = 2 * abs(x)
        found.append((h / abs(h) + h * second(h)) * 2 * (x / abs(x) + x * first(x)))
    return found


def test_two_rules_in_one_model_in_any_order_in_processes_that_share_a_cache(tmp_path):
    pairs = ["off-off", "identity-hardtanh", "off-off", "hardtanh-identity"]
    for order in (pairs, pairs[::-1]):
        done = run(tmp_path, "modules", ",".join(order))
        assert done["gradients"] == [expected(pair) for pair in order]


def test_another_release_does_not_take_what_this_one_made(tmp_path):
    package = tmp_path / "release" / "surrogate_torch"
    shutil.copytree(Path(surrogate_torch.__file__).parent, package)
    select = package / "_select.py"
    select.write_text(select.read_text() + "# mended\n")
    cache = tmp_path / "cache"
    first = run(cache, "hardtanh")
    other = run(cache, "hardtanh", PYTHONPATH=str(package.parent))
    assert first["gradient"] == other["gradient"] == [-1.0, -1.5, 1.5, 1.0]
    assert [r["hit"] for r in (first, other)] == [0, 0]
