"""Where the user's code is while a compiler traces it: it has no frame of its own on the stack.

torch.compile reads a function's bytecode, and runs what it found a second time from a graph. In the first
pass the translator that stands for the user's frame is on the stack, in the second the graph's node, which
remembers the lines it came from.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

import torch

from surrogate import Backend, Site

#: How many lines of traced code are remembered.
_REMEMBERED = 65536

_RUN_NODE = torch.fx.Interpreter.run_node.__code__
_CALL_MODULE = torch.nn.Module._call_impl.__code__
_TORCH = os.path.dirname(torch.__file__) + os.sep  # noqa: PTH120 -- as text, to compare with
_LINE = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+), in (?P<name>.*)$', re.MULTILINE)
_OURS = ("torch", __name__.partition(".")[0])
_ROOT = re.compile(r"^[LG]\['[^']*'\]\.?")
#: What the compiler calls the rest of a function after a break in its graph.
_RESUMED = re.compile(r"torch_dynamo_resume_in_(?P<name>.+)_at_\d+")

_seen: dict[tuple[str, int, str], Site] = {}


def original(frame: FrameType) -> Site | None:
    """The place in the function as it was written; None for one that the compiler has not taken apart."""
    code = frame.f_code
    if _RESUMED.search(code.co_name) is None:
        return None
    return Site(
        code.co_filename, frame.f_lineno, _resumed(f"{frame.f_globals['__name__']}.{code.co_qualname}")
    )


def _resumed(name: str) -> str:
    return _RESUMED.sub(lambda match: match["name"], name)


def site(backend: Backend) -> Site | FrameType | None:
    """The user's code that is being traced here; a frame where it runs itself."""
    step = _step()
    start = sys._getframe(1)
    for frame in _outwards(start):
        if frame.f_code is step:
            found = _translated(backend, frame.f_locals["self"])
            if found is None and getattr(frame.f_locals["self"], "parent", None) is None:
                return Site("", 0, "")  # compiled once for all callers: whoever is the first decides nothing
        elif frame.f_code is _RUN_NODE:
            found = _remembered(backend, frame.f_locals["n"].meta)
        elif backend.callers.user_frame(frame) is frame:
            return start
        else:
            continue
        if found is not None:
            return found
    return start


def in_compiled_code() -> bool:
    """Whether the op runs in what a compiler has made, which obeys rules no more: they are in it."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (frame.f_globals.get("__name__") or "torch").startswith(_OURS):
        if frame.f_globals.get("__name__", "").startswith("torch._functorch._aot_autograd.runtime_wrappers"):
            return True
        frame = frame.f_back
    return False


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _step() -> CodeType | None:
    """The code by which the compiler reads bytecode, if it has been loaded."""
    module = sys.modules.get("torch._dynamo.symbolic_convert")
    return None if module is None else module.InstructionTranslatorBase.step.__code__


def _translated(backend: Backend, translator: Any) -> Site | None:
    """Of the frame that a translator stands for, or of the one around it if that is PyTorch's."""
    code, line = translator.f_code, translator.lineno
    name = backend.callers.name_of(code, translator.f_globals)
    if not name:
        return None  # the translator of its caller is further out on the stack
    found = Site(code.co_filename, line, _resumed(name), _path(translator.nn_module_stack))
    if len(_seen) >= _REMEMBERED:
        _seen.clear()
    _seen[code.co_filename, line, code.co_name] = found
    return found


def _remembered(backend: Backend, meta: Any) -> Site | None:
    """Of the lines that a node came from the nearest that is the user's."""
    lines = [(m["file"], int(m["line"]), m["name"]) for m in _LINE.finditer(meta.get("stack_trace") or "")]
    for file, line, name in reversed(lines):
        known = _seen.get((file, line, name))
        if known is not None:
            return known._replace(path=_path(meta.get("nn_module_stack") or {}))
        if not file.startswith(_TORCH):
            module = _module_of(file)
            if module is not None and not backend.callers.is_passed_over(module):
                return Site(
                    file, line, _resumed(f"{module}.{name}"), _path(meta.get("nn_module_stack") or {})
                )
    return None


def _module_of(file: str) -> str | None:
    """The name of the loaded module of a file."""
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) == file:
            return name
    return None


def _path(stack: Any) -> str:
    """The name of the innermost module of a model, from the compiler's stack of them."""
    names = [source for source, _ in stack.values()]
    return _ROOT.sub("", names[-1]) if names else ""


def module_path(frame: FrameType | None) -> str:
    """The name, in the outermost module that runs here, of the innermost one."""
    modules = (
        [found.f_locals["self"] for found in _outwards(frame) if found.f_code is _CALL_MODULE]
        if frame
        else []
    )
    if len(modules) < 2:
        return ""
    return next((name for name, module in modules[-1].named_modules() if module is modules[0]), "")
