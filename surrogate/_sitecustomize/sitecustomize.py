"""Python imports this when it starts, if its folder is on ``PYTHONPATH``: ``surrogate run --print-env``."""

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

if os.environ.get("SURROGATE_RULES"):
    import surrogate  # noqa: F401 -- which reads the variable


def _next() -> None:
    """Run the ``sitecustomize`` that this one came before, if there is one."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 -- pathlib is slow to import
    spec = PathFinder.find_spec("sitecustomize", [p for p in sys.path if os.path.abspath(p) != here])  # noqa: PTH100
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


_next()
