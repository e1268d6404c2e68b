"""Compiled code that is never stale: rules as guards of torch.compile, and in the keys on disk.

A kernel runs while the compiler traces a frame, with tensors that hold no data. It then adds a guard
"this op has this gradient here" to the frame, so that the frame is compiled again under other rules and
found again under the same; and it puts the rules into the tag that keys the caches on disk.
"""

from __future__ import annotations

import functools
import sys
import warnings
from hashlib import sha256
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch._guards import CompileContext, Guard, TracingContext
from torch.fx.traceback import get_current_meta as _current_meta

import surrogate
from surrogate import Gradient, State, SurrogateWarning
from surrogate_torch import _hooks
from surrogate_torch._scope import Scope
from surrogate_torch._shield import is_function_of

_SEPARATOR = "|surrogate:"

#: What was decided by place while a frame is traced.
_verdicts: WeakKeyDictionary[TracingContext, list[tuple[str, str]]] = WeakKeyDictionary()
#: What was captured while a frame is traced, by op.
_captured: WeakKeyDictionary[TracingContext, dict[str, surrogate.Compiled]] = WeakKeyDictionary()


#: What the compiler keeps with each op of a region in which a whole function's own gradient is evaluated.
REGION = {"surrogate": "native"}


def note(op: str, gradient: Gradient | None, scope: Scope) -> Gradient | None:
    """The gradient of ``op``, which the frame being traced depends on; None where none may act."""
    context = TracingContext.try_get()
    if context is None:
        return gradient
    if gradient is not None and _current_meta().get("custom", {}).get("surrogate") == "native":
        return None
    if gradient is not None:
        _warn_if_inlined(op)
    outer = _blocks_around()
    rules = (
        scope.current() if outer is None else outer.rules
    )  # a block in the graph is no matter of its guards
    if outer is not None or op in rules.placed:  # equal graphs of two places may have two gradients
        _verdicts.setdefault(context, []).append((op, gradient.digest if gradient else ""))
    _tag(rules.digest, _verdicts.get(context))
    guards = context.guards_context.dynamo_guards
    if not any(_guarded(guard) == op for guard in guards):
        spec = gradient.spec if gradient is not None else "native"
        key, captured = rules.keyed.get(op, ""), _captured_by(context, op)
        install = functools.partial(_install, op=op, key=key, spec=spec, captured=captured)
        guards.add(Guard(_source(), install))
    return gradient


def _blocks_around() -> State | None:
    """What is in force around the overrides that the graph itself enters, if the op is in one."""
    module = sys.modules.get("surrogate_torch._in_graph")
    return None if module is None else module.around()


def _captured_by(context: TracingContext, op: str) -> surrogate.Compiled:
    return _captured.setdefault(context, {}).setdefault(op, surrogate.Compiled())


def count(state: State, op: str, scope: Scope) -> None:
    """Count a capture; what the compiler makes of it runs again, and its guards tell so."""
    context, site = TracingContext.try_get(), scope.site()
    if context is None or site is None or _captured_by(context, op).add(state, op, site, news=False):
        state.captured(op, kept=False, frame=site)


def _warn_if_inlined(op: str) -> None:
    """A composite that the compiler traces into has lost its frame, by which :mod:`_shield` knows it."""
    stack = TracingContext.extract_stack()
    inside = is_function_of(op, stack[-1].filename, stack[-1].name) if stack else False
    if inside:
        warnings.warn(
            f"surrogate: torch.compile traces into {stack[-1].name}, so the {op} that it uses for itself has "
            f"the gradient in force as if you had written it. Leave {op} native around the call, or call it "
            "outside the compiled function.",
            SurrogateWarning,
            stacklevel=2,
        )


@functools.cache
def _source() -> Any:
    _hooks.probe(_hooks.COMPILER_HOOKS)
    from torch._dynamo.source import GlobalStateSource

    return GlobalStateSource()


def _guarded(guard: Any) -> str | None:
    """The op that a guard of ours is about."""
    create = guard.create_fn
    return (
        create.keywords["op"] if isinstance(create, functools.partial) and create.func is _install else None
    )


def _install(builder: Any, guard: Any, *, op: str, key: str, spec: str, captured: surrogate.Compiled) -> None:
    """What Dynamo calls to make the guard, once the frame is compiled.

    It may be in another process, to which the compiled frame was taken: rules are known by a digest.
    """
    from surrogate_torch._nearing import note as note_compilation  # needs the compiler

    here = _scope().current_state

    def holds(_: Any) -> bool:
        state = here()
        if state.rules.keyed.get(op, "") != key:
            return False
        if captured and CompileContext.try_get() is None:  # the compiler asks too
            captured.ran(state)
        return True

    note_compilation(builder.f_code, op, key, spec)
    text = [f"surrogate gradient of {op} == {spec}"]
    builder.guard_manager.root.add_lambda_guard(holds, text, guard.user_stack)


@functools.cache
def _scope() -> Scope:
    return Scope(surrogate.load_backend("torch"))


def _tag(digest: str, verdicts: object) -> None:
    """Put the rules into the compiler's tag, after whatever the user has put there.

    Set while tracing, and not when the rules change: the setting is local to the context.
    """
    config = torch.compiler.config
    own = config.cache_key_tag.partition(_SEPARATOR)[0]
    places = f".{sha256(repr(verdicts).encode()).hexdigest()[:16]}" if verdicts else ""
    tag = f"{own}{_SEPARATOR}{digest}.{_code()}{places}" if digest else own
    if tag != config.cache_key_tag:
        config.cache_key_tag = tag


@functools.cache
def _code() -> str:
    """What we make of rules, as a digest of our source: another release may make something else of them."""
    found = sha256(surrogate.__version__.encode())
    for package in (surrogate.__file__, __file__):
        for path in sorted(Path(package).parent.glob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()[:16]
