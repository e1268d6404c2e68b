"""The core imports numpy and pluggy only, loads no framework, and is quick to import."""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import surrogate

FRAMEWORKS = {
    "torch",
    "tensorflow",
    "keras",
    "jax",
    "jaxlib",
    "autograd",
    "matplotlib",
    "click",
    "rich",
    "sklearn",
}


def run(code, **environment):
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return json.loads(result.stdout)


def test_listing_everything_imports_no_framework():
    loaded = run(
        "import json, sys, surrogate\n"
        "surrogate.backends(), surrogate.ops(), surrogate.gradients(), surrogate.presets('sign')\n"
        "surrogate.reference.vjp('sign', 'hardtanh', 1.0)\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    assert not FRAMEWORKS & set(loaded)


def test_only_numpy_and_pluggy_are_needed():
    third_party = run(
        "import json, sys, numpy, pluggy\n"
        "before = set(sys.modules)\n"
        "import surrogate\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(json.dumps(sorted(new - sys.stdlib_module_names)))"
    )
    assert {name for name in third_party if not name.startswith("_")} <= {"numpy", "pluggy", "surrogate"}


def test_importing_takes_at_most_twice_as_long_as_numpy(tmp_path):
    # both from bytecode, as installed packages are: a source tree may be read-only, or told to keep none
    bytecode = {"PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    run("import numpy, surrogate; print(0)", **bytecode)
    ratios = [
        run(
            "import json, time\n"
            "a = time.perf_counter(); import numpy\n"
            "b = time.perf_counter(); import surrogate\n"
            "c = time.perf_counter()\n"
            "print(json.dumps((c - a) / (b - a)))",
            **bytecode,
        )
        for _ in range(7)
    ]
    assert median(ratios) <= 2.0, ratios


def test_all_is_sorted_and_complete():
    assert surrogate.__all__ == sorted(surrogate.__all__)
    assert all(hasattr(surrogate, name) for name in surrogate.__all__)


def test_the_version_is_that_of_the_installed_distribution():
    from importlib.metadata import version

    assert surrogate.__version__ == version("surrogate-gradients")


def test_an_unknown_attribute_is_an_attribute_error():
    import pytest

    with pytest.raises(AttributeError, match="no attribute 'usse'"):
        surrogate.usse  # noqa: B018


def test_types_are_shipped():
    assert (Path(surrogate.__file__).parent / "py.typed").exists()
