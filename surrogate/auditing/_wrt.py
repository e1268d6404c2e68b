"""What ``wrt=`` of an audit names, the same in every framework."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from surrogate._errors import SpecError


class Wanted:
    """Arrays, a mapping of names to arrays, or names that the report uses; everything if None."""

    def __init__(self, wrt: Any) -> None:
        self.all = wrt is None
        given = {} if self.all else _several(wrt)
        #: Name in the report -> the array; of arrays without a name ``wrt[0]``, ...
        self.arrays = {name: x for name, x in given.items() if not isinstance(x, str)}
        #: Names of the report's.
        self.names = {x for x in given.values() if isinstance(x, str)}
        self._named = isinstance(wrt, Mapping)
        self._by_id = {id(x): name for name, x in self.arrays.items()}

    def name(self, own: str, x: Any) -> str | None:
        """The name in the report of an array that the recorder calls ``own``; None if it is not wanted."""
        if self.all or own in self.names:
            return own
        mine = self._by_id.get(id(x))
        return mine if mine is None or self._named else own

    def picked(self, known: Mapping[str, Any], key: Any = lambda x: x) -> dict[str, Any]:
        """The wanted ones of ``known``, under their names in the report, and arrays that it does not have.

        Args:
            known: what the program is differentiated by, by the recorder's names.
            key: what an array of ``wrt=`` is known as.

        Raises:
            SpecError: a name that nothing has.
        """
        self.must_have(known)
        found: dict[str, Any] = {}
        names = {id(x): name for name, x in known.items()}
        for name, x in self.arrays.items():
            array = key(x)
            found[name if self._named else names.get(id(array), name)] = array
        return found | {name: known[name] for name in known if name in self.names}

    def must_have(self, known: Iterable[str]) -> None:
        """Refuse names that nothing has."""
        known = list(known)
        if missing := sorted(self.names.difference(known)):
            raise SpecError(f"wrt: the program has no {missing[0]!r}; it has {', '.join(known)}.")


def _several(wrt: Any) -> dict[str, Any]:
    if isinstance(wrt, Mapping):
        return dict(wrt)
    given = list(wrt) if isinstance(wrt, (list, tuple, set, frozenset)) else [wrt]
    return {f"wrt[{k}]" if len(given) > 1 else "wrt": x for k, x in enumerate(given)}
