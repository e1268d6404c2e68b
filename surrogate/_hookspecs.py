"""The hooks a plugin may implement."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import pluggy

if TYPE_CHECKING:
    from surrogate._backend import Backend
    from surrogate._op import Op

PROJECT = "surrogate"


class Definition(NamedTuple):
    """A gradient as a plugin pack hands it over: the arguments of :func:`surrogate.register`."""

    op: str
    function: Callable[..., Any]
    name: str | None = None
    upstream: bool = False


#: Marks a hook's specification.
hookspec = pluggy.HookspecMarker(PROJECT)

#: Marks a plugin's implementation of a hook: ``@surrogate.hookimpl``.
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec(firstresult=True)
def surrogate_backend(name: str) -> Backend | None:
    """Return the backend of this name, or None if it is not yours.

    Implemented by plugins in the entry-point group ``surrogate.backends``. The plugin is loaded when
    its name is first asked for, so it may import its framework at the top.
    """


@hookspec
def surrogate_gradients() -> Iterable[Definition] | None:
    """Return the gradients of a pack. Implemented by plugins in the group ``surrogate.plugins``.

    The group is loaded together, on the first look-up that needs it: be light.
    """


@hookspec
def surrogate_ops() -> Iterable[Op] | None:
    """Return ops to add. Implemented by plugins in the group ``surrogate.plugins``."""
