"""What a compiler captured once, told each time that what it made runs."""

from __future__ import annotations

from types import FrameType

from surrogate._places import Site
from surrogate._state import State

#: How many places of one op in one function are told one by one.
_PLACES = 64


class Compiled:
    """The ops that one compiled function captured while it was traced.

    A backend keeps one with each, fills it while the function is traced, and calls :meth:`ran` when the
    function is called again: so an override knows that it captured something although no op is seen.
    """

    __slots__ = ("_found", "_is_news")

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], dict[Site, None]] = {}
        self._is_news = False

    def add(self, state: State, op: str, frame: FrameType | Site, *, news: bool = True) -> bool:
        """An op was captured under the rules of ``state``, called from ``frame``.

        Args:
            state: what is in force.
            op: the op's name.
            frame: from where it is called.
            news: whether the next :meth:`ran` is of the call for which it was traced, and so counted.

        Returns:
            Whether no such capture was added before.
        """
        self._is_news = self._is_news or news
        sites = self._found.setdefault((op, state.rules.keyed.get(op, "")), {})
        site = state.site(frame)
        known = site in sites or len(sites) >= _PLACES
        if not known:
            sites[site] = None
        return not known

    def update(self, other: Compiled) -> None:
        """A function was called in this one."""
        for key, sites in other._found.items():
            self._found.setdefault(key, {}).update(sites)

    def ran(self, state: State) -> None:
        """The function runs where ``state`` is in force: each place counts once if the rules are the same."""
        if self._is_news:
            self._is_news = False
            return
        for (op, key), sites in list(self._found.items()):
            if state.rules.keyed.get(op) == key:
                for site in list(sites):
                    state.captured(op, kept=False, frame=site)

    def __bool__(self) -> bool:
        return bool(self._found)
