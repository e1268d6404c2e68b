"""TorchScript: its executor must not replace an op's derivative by its own.

TorchScript differentiates most ops by itself in graphs it has optimized, from the second call on: the
dispatcher, and so our kernels, would not be asked. Its profiling mode is what does that; without it a
scripted, traced, frozen or loaded module runs its graph as written, and the autograd engine does the rest.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

import torch


def keep_autograd() -> None:
    """Leave derivatives in TorchScript to autograd, also in what was optimized before; once per process."""
    torch._C._jit_set_profiling_mode(False)
    if "torch.jit" in sys.modules:
        for method in _methods():
            try:
                method._debug_flush_compilation_cache()
            except RuntimeError:  # it never ran, so there is nothing to flush
                continue


def _methods() -> Iterator[Any]:
    """Every scripted function and method that is alive."""
    for found in gc.get_objects():  # asking the type, since isinstance may run their code
        if issubclass(type(found), torch.jit.ScriptFunction):
            yield found
        elif issubclass(type(found), torch.jit.RecursiveScriptModule):
            for name in found._c._method_names():
                yield found._c._get_method(name)
