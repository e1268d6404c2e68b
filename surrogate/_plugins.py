"""Finding plugins and loading them one at a time, so that a broken one breaks nothing else."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import pluggy

from surrogate import _hookspecs
from surrogate._backend import Backend
from surrogate._errors import (
    BackendError,
    BrokenBackendError,
    MissingFrameworkError,
    SpecError,
    SurrogateWarning,
    UnknownBackendError,
)
from surrogate._framework import warn_if_newer
from surrogate._hookspecs import Definition
from surrogate._keras import of_keras
from surrogate._op import Op
from surrogate._registry import registry
from surrogate._suggest import unknown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

BACKENDS = "surrogate.backends"
PACKS = "surrogate.plugins"
_DISABLED = "SURROGATE_DISABLED_PLUGINS"

manager = pluggy.PluginManager(_hookspecs.PROJECT)
manager.add_hookspecs(_hookspecs)

T = TypeVar("T")

_loaded: dict[str, Backend] = {}
_lock = threading.RLock()


@dataclass(frozen=True)
class Found:
    """A plugin as its metadata describes it, before anything of it is imported."""

    name: str
    group: str
    distribution: str
    version: str
    install: str
    disabled: bool
    entry_point: EntryPoint


def found(group: str) -> dict[str, Found]:
    """The plugins of one entry-point group by name, from metadata alone."""
    from importlib.metadata import entry_points  # slow to import, and not needed before

    disabled = {name.strip() for name in os.environ.get(_DISABLED, "").split(",")}
    plugins: dict[str, Found] = {}
    for entry in entry_points(group=group):
        dist = entry.dist
        name = dist.metadata["Name"] if dist is not None else "?"
        extras = (dist.metadata.get_all("Provides-Extra") or []) if dist is not None else []
        what = f'"{name}[{entry.name}]"' if entry.name in extras else name
        version = dist.version if dist is not None else "?"
        plugins.setdefault(
            entry.name,
            Found(entry.name, group, name, version, f"pip install {what}", entry.name in disabled, entry),
        )
    return plugins


def backends() -> list[str]:
    """Names of the backends that plugins provide, sorted; imports no framework.

    That a name is listed does not say that its framework is installed: ``surrogate doctor`` does.
    """
    return sorted({*_loaded, *(name for name, plugin in found(BACKENDS).items() if not plugin.disabled)})


def load_backend(backend: str | Backend | ModuleType) -> Backend:
    """The backend of this name, loaded on first use; a :class:`Backend` is returned as it is.

    ``"keras"`` is the backend that Keras uses, and a framework's module the framework's.

    Raises:
        UnknownBackendError: no plugin provides it.
        MissingFrameworkError: its framework is not installed; says the command.
        IncompatibleFrameworkError: the framework lacks a hook the backend stands on.
        BrokenBackendError: the plugin fails otherwise; ``__cause__`` says why.
    """
    if isinstance(backend, Backend):
        return _named(backend)
    loaded = _loaded.get(backend) if isinstance(backend, str) else None
    if loaded is not None:
        return loaded
    if isinstance(backend, ModuleType):
        backend = backend.__name__.partition(".")[0]
    if not isinstance(backend, str):
        raise SpecError(f"a backend is named by a string like 'torch', not {backend!r}.")
    if backend == "keras" and backend not in found(BACKENDS):
        backend = of_keras()
    with _lock:
        known = backend in _loaded
        if not known:
            _loaded[backend] = _load(backend)
        loaded = _loaded[backend]
    if not known:
        warn_if_newer(loaded)  # once, and after it: a warning that is made an error leaves nothing half done
    return loaded


def register_backend(backend: Backend) -> None:
    """Make a backend known without packaging it: for tests and notebooks.

    A backend of the same name that was registered or loaded before is replaced.
    """
    if not isinstance(backend, Backend):
        raise SpecError(f"{backend!r} is not a surrogate.Backend.")
    _loaded[_named(backend).name] = backend


def _named(backend: Backend) -> Backend:
    if not isinstance(getattr(backend, "name", None), str):
        kind = type(backend).__name__
        raise SpecError(f"the backend {kind} has no name: write name = 'mine' in class {kind}.")
    return backend


def _load(name: str) -> Backend:
    plugins = found(BACKENDS)
    plugin = plugins.get(name)
    if plugin is None:
        raise UnknownBackendError(unknown("backend", name, {*plugins, *_loaded}))
    if plugin.disabled:
        raise UnknownBackendError(f"the backend {name!r} is disabled by {_DISABLED}={os.environ[_DISABLED]}.")
    try:
        backend = _ask(name, plugin.entry_point.load())
    except BackendError:
        raise
    except ModuleNotFoundError as error:
        if _is_own_module(error.name, plugin):
            raise _broken(plugin, error) from error
        raise MissingFrameworkError(
            f"the backend {name!r} needs the package {error.name!r}, which is not installed. "
            f"Install it with: {plugin.install}"
        ) from error
    except Exception as error:
        raise _broken(plugin, error) from error
    backend.store.seen.clear()  # what it tried while it was loading runs in nobody's code
    return backend


def _ask(name: str, plugin: Any) -> Backend:
    """Ask this plugin alone for its backend."""
    with _registered(plugin, f"{BACKENDS}:{name}") as hook:
        backend = hook("surrogate_backend")(name=name)
        if not isinstance(backend, Backend):
            raise TypeError(
                f"its hook surrogate_backend(name={name!r}) returned {backend!r}, not a surrogate.Backend"
            )
        if _named(backend).name != name:
            raise TypeError(
                f"its hook surrogate_backend(name={name!r}) returned the backend {backend.name!r}: the "
                "entry point and the class must have the same name"
            )
    return backend


@contextmanager
def _registered(plugin: Any, key: str) -> Iterator[Callable[[str], Any]]:
    """Register a plugin, for one that had its key before; what is yielded gives a hook of it alone.

    If the block raises, the plugin is no longer registered.

    Raises:
        TypeError: a function is named like a hook and not marked as one.
    """
    for name in ("surrogate_backend", "surrogate_gradients", "surrogate_ops"):
        if hasattr(plugin, name) and manager.parse_hookimpl_opts(plugin, name) is None:
            raise TypeError(f"its function {name} is not marked: write @surrogate.hookimpl above it")
    if manager.get_plugin(key) is not plugin:
        if manager.has_plugin(key):
            manager.unregister(name=key)
        manager.register(plugin, name=key)
    try:
        _refuse_unknown_hooks(plugin)
        manager.check_pending()
        others = [other for other in manager.get_plugins() if other is not plugin]
        yield lambda hook: manager.subset_hook_caller(hook, others)
    except BaseException:
        manager.unregister(name=key)
        raise


def _refuse_unknown_hooks(plugin: Any) -> None:
    """Name the hook that was meant; pluggy only says that there is none of this name.

    Raises:
        TypeError: a function is marked as a hook, and there is no such hook.
    """
    known = [name for name in vars(_hookspecs) if name.startswith("surrogate_")]
    for name in dir(plugin):
        if name not in known and manager.parse_hookimpl_opts(plugin, name) is not None:
            raise TypeError(unknown("hook", name, known))


def _broken(plugin: Found, error: BaseException) -> BrokenBackendError:
    return BrokenBackendError(
        f"the backend {plugin.name!r} (from {plugin.distribution} {plugin.version}) is broken: "
        f"{_told(error)}. Other backends are not affected; "
        f"{_DISABLED}={plugin.name} hides it, and '{plugin.install}' may repair it."
    )


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(".")


def _is_own_module(missing: str | None, plugin: Found) -> bool:
    own = plugin.entry_point.module.partition(".")[0]
    return missing is None or missing.partition(".")[0] in (own, "surrogate")


def load_packs() -> None:
    """Load the packs of gradients and ops. One that fails is left out with a warning that says why."""
    for name, plugin in found(PACKS).items():
        if plugin.disabled:
            continue
        try:
            load_pack(plugin.entry_point.load(), name)
        except Exception as error:
            warnings.warn(
                f"the plugin {name!r} (from {plugin.distribution} {plugin.version}) is broken and left out: "
                f"{_told(error)}. {_DISABLED}={name} hides it.",
                SurrogateWarning,
                stacklevel=2,
            )


def load_pack(plugin: Any, name: str) -> None:
    """Register one pack's ops and gradients: all of them, or nothing if one is wrong."""
    with _registered(plugin, f"{PACKS}:{name}") as hook, registry.all_or_nothing():
        added = [op for ops in hook("surrogate_ops")() for op in _each(ops, Op, "surrogate_ops")]
        for op in added:
            registry.add_op(op)
        for found in hook("surrogate_gradients")():
            for op_name, function, own_name, upstream in _each(found, Definition, "surrogate_gradients"):
                registry.add_formula(op_name, function, name=own_name, upstream=upstream)
        for op in added:
            if op.default is not None:
                registry.gradient(op.name, op.default)  # else use(backend) would fail for everybody


def _each(found: Any, kind: type[T], hook: str) -> list[T]:
    """What a hook returned, refused if it is not a list of these."""
    items = list(found) if isinstance(found, Iterable) else [found]
    wrong = [found] if isinstance(found, kind) else [item for item in items if not isinstance(item, kind)]
    if wrong:
        raise TypeError(f"{hook}() gave {wrong[0]!r} where a list of surrogate.{kind.__name__} is wanted")
    return items


registry.on_first_listing(load_packs)
