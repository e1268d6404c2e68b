"""What is built, and that the tests run against it."""

import importlib.metadata
import os
import zipfile
from pathlib import Path

import pytest

import surrogate

needs_wheel = pytest.mark.skipif(
    "TOX_ENV_DIR" not in os.environ, reason="only tox builds and installs a wheel"
)


@pytest.fixture(scope="module")
def wheel():
    [path] = Path(os.environ["TOX_ENV_DIR"], "tmp", "dist").glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


@needs_wheel
def test_the_installed_package_is_tested_not_the_source_tree():
    assert Path(os.environ["TOX_ENV_DIR"]) in Path(surrogate.__file__).parents


@needs_wheel
def test_the_wheel_holds_the_packages_and_their_type_markers(wheel):
    parts = ("autograd", "jax", "pytest", "tensorflow", "torch")
    packages = {"surrogate", *(f"surrogate_{part}" for part in parts)}
    names = set(wheel.namelist())
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == packages
    assert {f"{package}/py.typed" for package in packages} <= names


@needs_wheel
def test_the_wheel_carries_the_license(wheel):
    assert [name for name in wheel.namelist() if name.endswith("licenses/LICENSE")] != []


def test_the_version_is_that_of_the_metadata():
    assert surrogate.__version__ == importlib.metadata.version("surrogate-gradients")


@pytest.mark.parametrize(
    "extra", ["autograd", "cli", "demo", "jax", "plot", "tensorflow", "testing", "torch"]
)
def test_the_extra_is_offered(extra):
    assert extra in importlib.metadata.metadata("surrogate-gradients").get_all("Provides-Extra")
