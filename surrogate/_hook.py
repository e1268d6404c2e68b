"""Names of a framework that a backend stands on: where each is, what for, and whether all are there."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from typing import Any

from surrogate._errors import IncompatibleFrameworkError


class Hook:
    """A name of a framework, mostly a private one, that a backend relies on.

    Args:
        where: ``"module:name"``, or ``"module:Class.name"``.
        why: what it is for, in a few words.
    """

    def __init__(self, where: str, why: str) -> None:
        self.where, self.why = where, why

    @property
    def name(self) -> str:
        """The dotted name."""
        return self.where.replace(":", ".")

    @property
    def attribute(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]

    def owner(self) -> Any:
        """What holds the name: a module, a class or an object.

        Raises:
            ImportError: there is no such module.
            AttributeError: it has no such thing.
        """
        module, _, path = self.where.partition(":")
        found: Any = importlib.import_module(module)
        for part in path.split(".")[:-1]:
            found = getattr(found, part)
        return found

    def find(self) -> Any:
        """What has the name now.

        Raises:
            ImportError: there is no such module.
            AttributeError: it has no such thing.
        """
        return getattr(self.owner(), self.attribute)

    def __repr__(self) -> str:
        return f"Hook({self.where!r}, {self.why!r})"


def check_hooks(framework: str, hooks: Iterable[Hook], tested: str) -> None:
    """Look for every hook, before a backend changes anything.

    Args:
        framework: the import name of the framework.
        hooks: what is looked for.
        tested: the versions that have them.

    Raises:
        IncompatibleFrameworkError: one is missing; says which, what it is for and what was tested.
    """
    for hook in hooks:
        try:
            hook.find()
        except (ImportError, AttributeError) as error:
            if isinstance(error, ModuleNotFoundError) and error.name == framework:
                raise  # it is not installed at all, which who loads the backend says
            version = getattr(sys.modules.get(framework), "__version__", "of unknown version")
            raise IncompatibleFrameworkError(
                f"{framework} {version} has no {hook.name} ({hook.why}), which the backend for it stands on. "
                f"Tested with {tested}."
            ) from error
