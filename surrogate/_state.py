"""What one override asks for, and what many of them come to at one place."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Mapping
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from surrogate._captures import Captured, Captures
from surrogate._digest import digest
from surrogate._gradient import Gradient
from surrogate._places import Places, Site
from surrogate._ruleset import RuleSet

if TYPE_CHECKING:
    from surrogate._active import Store

#: How many captured gradients are remembered: a new function in every step must not fill the memory.
_REMEMBERED = 4096

#: Where an op is called from: a frame (its own, or one that it called), or what a compiler says of it.
Where = FrameType | Site | None


class Layer:
    """What one override asks for, and what came of it.

    Args:
        rules: a gradient or None (native) by op.
        places: the code in which they hold; None for all.
        trace: whether to record where ops are captured.

    Attributes:
        hits: op -> how often it was captured.
        formulas: those of its gradients that read more than their arguments.
        declined: op -> code that called it and is not among the places.
        shadowed: op -> the layer that was put over this one, and its hits then.
        where: ``file:line`` of the call that made it.
        key: what makes it the same one when a notebook's cell is run again; empty for none.
        first: op -> where it was captured first; None where nobody asks.
        told: places of which a warning was given that no code was met there.
    """

    __slots__ = (
        "_identity",
        "_sites",
        "declined",
        "first",
        "formulas",
        "hits",
        "key",
        "places",
        "rules",
        "shadowed",
        "told",
        "trace",
        "where",
    )

    def __init__(
        self, rules: Mapping[str, Gradient | None], places: Places | None = None, trace: bool = False
    ) -> None:
        self.rules = rules
        self.places = places
        self.trace = trace
        found = (getattr(gradient, "formula", None) for gradient in rules.values())
        self.formulas: tuple[Any, ...] = tuple(one for one in found if getattr(one, "outside", None))
        self.hits = {op: 0 for op, gradient in rules.items() if gradient is not None}
        self.declined: dict[str, str] = {}
        self.told: set[str] = set()
        self.shadowed: dict[str, tuple[Layer, int]] = {}
        self.first: dict[str, Site] | None = None
        self.where = "?:0"
        self.key = ""
        self._identity = ""
        self._sites: dict[tuple[str, Site, str], int] = {}

    @property
    def identity(self) -> str:
        """Text that is the same for layers that ask for the same."""
        if not self._identity:
            rules = [(op, gradient.digest if gradient else "") for op, gradient in self.rules.items()]
            self._identity = digest(repr((sorted(rules), self.places)))
        return self._identity

    def note(self, op: str, site: Site, why: str = "") -> None:
        """Record what happened to an op at a place."""
        key = op, site, why
        self._sites[key] = self._sites.get(key, 0) + 1

    def captures(self) -> Captures:
        """All that was recorded."""
        return Captures(self._captured(*key, count) for key, count in list(self._sites.items()))

    def _captured(self, op: str, site: Site, why: str, count: int) -> Captured:
        if why:
            return Captured(op, "", *site, count=count, why=why)
        from surrogate._cancels import beside  # reads source, which only who traces asks for

        spec = self._spec(op)
        found = beside(op, spec, site.file, site.line)
        told = f"{found.what} at {site.file}:{found.line}" if found else ""
        return Captured(op, spec, *site, count=count, beside=told)

    def _spec(self, op: str) -> str:
        gradient = self.rules[op]
        return "" if gradient is None else gradient.spec


#: Decides about code that is not the user's: whoever called it does.
_PASSED_OVER = Layer({})


class State:
    """The rules in force at one place, and which layer each came from. Immutable.

    Attributes:
        rules: the rules in force.
        traced: whether an override wants to know where ops are captured.
    """

    __slots__ = (
        "__weakref__",
        "_above",
        "_decided",
        "_first",
        "_layers",
        "_on_top",
        "_placed",
        "_store",
        "rules",
        "traced",
    )

    def __init__(self, store: Store, layers: Mapping[str, tuple[Layer, ...]]) -> None:
        """``layers``: for each op those that may decide about it, from the top down; the last has no place,
        if there is one without.
        """
        self._store = store
        self._above: weakref.WeakValueDictionary[tuple[int, ...], State] = weakref.WeakValueDictionary()
        self._on_top: tuple[Layer, ...] = ()
        self._layers = dict(layers)
        self._placed = {op for op, found in layers.items() if found[0].places is not None}
        first = {
            op: next(filter(None, (layer.rules[op] for layer in found)), None) for op, found in layers.items()
        }
        rules = {op: gradient for op, gradient in first.items() if gradient is not None}
        choices = {
            op: tuple((layer.places, layer.rules[op]) for layer in layers[op])
            for op in self._placed & rules.keys()
        }
        self.rules = RuleSet(rules, choices)
        self._first = rules.get
        self.traced = any(layer.trace for found in layers.values() for layer in found)
        self._decided: dict[str, dict[int, tuple[CodeType, Layer | None]]] = {op: {} for op in self._placed}

    def rule(self, op: str, frame: Where = None) -> Gradient | None:
        """The gradient of a call of ``op``; None leaves it native.

        Args:
            op: the op's name.
            frame: from where it is called; by default from the caller's frame. The nearest code that is
                neither the framework's nor ours decides, where an override has places.
        """
        gradient = self._first(op)
        if gradient is None or op not in self._placed:
            return gradient
        layer = self._deciding(op, frame or sys._getframe(1))
        return None if layer is None else layer.rules[op]

    def captured(self, op: str, *, kept: bool = True, frame: Where = None) -> None:
        """Count one capture of ``op`` under these rules.

        Args:
            op: the op's name.
            kept: whether what was captured may run again without being seen, as what a compiler traces.
                An override of the same gradient then never warns that it captured nothing.
            frame: as for :meth:`rule`.
        """
        layer = self._layers[op][0]
        if op in self._placed:
            layer = self._deciding(op, frame or sys._getframe(1)) or layer
        if layer.trace:
            layer.note(op, self._store.site(frame or sys._getframe(1)))
        elif layer.first is not None and op not in layer.first:
            layer.first[op] = self._store.site(frame or sys._getframe(1))
        with self._store.lock:
            layer.hits[op] += 1
            gradient = layer.rules[op]
            if not kept or gradient is None:
                return
            if len(self._store.seen) >= _REMEMBERED:
                self._store.seen.clear()
            self._store.seen.add((op, gradient.digest))

    def missed(self, op: str, why: str, frame: Where = None) -> None:
        """Tell that a call of ``op`` stays native although a rule of it may be in force.

        Costs nothing where no override was made with ``trace=True``.

        Args:
            op: the op's name.
            why: the reason, as in "no gradient is recorded".
            frame: as for :meth:`rule`.
        """
        if not self.traced or op not in self._layers:
            return
        frame = frame or sys._getframe(1)
        layer = self._deciding(op, frame) if op in self._placed else self._layers[op][0]
        if layer is not None and layer.trace and layer.rules[op] is not None:
            layer.note(op, self._store.site(frame), why)

    def site(self, frame: FrameType | Site) -> Site:
        """The place in the user's code that a frame was called from."""
        return self._store.site(frame)

    def _deciding(self, op: str, frame: FrameType | Site) -> Layer | None:
        """The layer that decides about a call from this place; None if no layer is about it."""
        if isinstance(frame, Site):
            return self._decide(op, frame, frame.name)
        decided, here = self._decided[op], frame
        while here is not None:  # a small op's time is spent here: one look-up for each frame
            code = here.f_code
            found = decided.get(id(code))
            if found is not None and found[0] is code:
                if found[1] is not _PASSED_OVER:
                    return found[1]
            else:
                ends = self._store.callers.ends_at(here)
                layer = self._decide(op, frame, self._store.callers.name(here)) if ends else _PASSED_OVER
                if not self.traced and len(decided) < _REMEMBERED:
                    decided[id(code)] = code, layer
                if ends:
                    return layer
            here = here.f_back  # type: ignore[assignment]
        return self._decide(op, frame, "")

    def _decide(self, op: str, frame: FrameType | Site, name: str) -> Layer | None:
        self._store.met.add(name)
        for layer in self._layers[op]:
            places = layer.places
            if places is None or places.hold(name):
                return layer
            if op not in layer.declined:
                layer.declined[op] = name
            if layer.trace and layer.rules[op] is not None:
                layer.note(op, self._store.site(frame), f"not {places}")
        return None

    def under(self, layers: tuple[Layer, ...], *, again: bool = False) -> State:
        """This state with layers put on top, in order; what is still there, or ``again`` a new one."""
        key = tuple(map(id, layers))
        made = self._above.get(key)
        if made is not None and not again:  # it keeps its layers, so that an id names one of them
            return made
        found, hides = dict(self._layers), False
        for layer in layers:
            below = found if layer.places is not None else {}
            for op in layer.rules:
                for hidden in found.get(op, ()) if layer.places is None else ():
                    hidden.shadowed.setdefault(op, (layer, layer.hits.get(op, 0)))
                    hides = True
            found.update({op: (layer, *below.get(op, ())) for op in layer.rules})
        made = State(self._store, found)
        made._on_top = layers
        if not hides:  # what hides another is told each time
            self._above[key] = made
        return made


class Entry:
    """One entering of a layer, in a thread; ``alive`` until left. ``hits`` is how many it had before."""

    __slots__ = ("alive", "hits", "layer", "thread")

    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        self.thread = threading.get_ident()
        self.alive = True
        self.hits = sum(layer.hits.values())
