"""Which backends can be run here."""

from __future__ import annotations

from surrogate._errors import MissingFrameworkError
from surrogate._plugins import backends, load_backend


def installed_backends() -> list[str]:
    """Names of the backends whose framework is installed, sorted; loads each of them.

    A backend that is broken or incompatible raises here: that its framework is installed is why it
    must be looked at.

    Raises:
        BrokenBackendError, IncompatibleFrameworkError: as :func:`surrogate.use`.
    """
    found = []
    for name in backends():
        try:
            load_backend(name)
        except MissingFrameworkError:
            continue
        found.append(name)
    return found
