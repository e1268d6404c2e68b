"""What is said when an override ends that did not do what it was meant for."""

from __future__ import annotations

import warnings

from surrogate._backend import Backend
from surrogate._errors import NothingCapturedWarning, SurrogateWarning, UnmetPlaceWarning
from surrogate._near_misses import near_misses
from surrogate._places import is_part_of
from surrogate._state import Layer


def warn_if_unused(backend: Backend, layer: Layer, before: int, stacklevel: int) -> None:
    """Warn if a layer has captured nothing since it had ``before`` hits."""
    said = complaint(backend, layer, before)
    if said is not None:
        warnings.warn(*said, stacklevel=stacklevel + 1)


def complaint(backend: Backend, layer: Layer, before: int) -> tuple[str, type[Warning]] | None:
    """What is to be said of a layer that has captured nothing since it had ``before`` hits."""
    if not layer.hits or sum(layer.hits.values()) > before:
        return None
    rules = {op: gradient for op, gradient in layer.rules.items() if gradient is not None}
    cached = "compile" in backend.transforms
    if cached and any((op, gradient.digest) in backend.store.seen for op, gradient in rules.items()):
        return None  # a compiled function that already carries these gradients runs without us
    names = ", ".join(sorted(layer.hits))
    why = _why(layer, names, backend.framework)
    return f"the override of {names} for {backend.name!r} captured nothing: {why}", NothingCapturedWarning


def _why(layer: Layer, names: str, framework: str) -> str:
    for op, (over, hits) in sorted(layer.shadowed.items()):
        gradient = over.rules[op]
        if gradient is None:
            return f"an override over it ({over.where}) leaves {op} native."
        if over.hits[op] > hits:
            return f"{op} ran, but an override over it ({over.where}) won, with {gradient.spec!r}."
    if layer.declined:
        ran = ", ".join(
            f"{op} in {name or 'no code of yours'}" for op, name in sorted(layer.declined.items())
        )
        return f"{ran} ran, which is not {layer.places}."
    return (
        f"no {names} ran while a gradient was recorded. Check the op names (surrogate.ops()), and that "
        f"forward runs inside.{near_misses(layer.hits, framework)}"
    )


def warn_if_unmet(backend: Backend, layer: Layer, stacklevel: int) -> None:
    """Warn, once, of places of a layer in which no op was ever met."""
    places = layer.places
    if places is None:
        return
    met = backend.store.met
    for word, given in (("within", places.within), ("outside", places.outside)):
        for name in given:
            if name not in layer.told and not any(is_part_of(code, name) for code in met):
                layer.told.add(name)
                warnings.warn(
                    f"{word}={name!r} of the override of {', '.join(sorted(layer.hits))} for "
                    f"{backend.name!r} is of no code that was met{_met(name, met)}",
                    UnmetPlaceWarning,
                    stacklevel=stacklevel + 1,
                )


def _met(name: str, met: set[str]) -> str:
    if not met - {""}:
        return ": none of these ops ran in any code of yours."
    parts = sorted(
        {".".join(code.split(".")[:n]) for code in met if code for n in range(1, code.count(".") + 2)}
    )
    import difflib  # needed only when something is wrong: not worth its import time

    near = difflib.get_close_matches(name, parts, n=1, cutoff=0.6)
    hint = f": did you mean {near[0]!r}?" if near else "."
    return f"{hint} These ops were called in {', '.join(sorted(met - {''})[:8])}."


def warn_if_changed(layer: Layer, stacklevel: int) -> None:
    """Warn if a value that a formula reads beside its arguments changed while it was in force."""
    for formula in layer.formulas:
        if found := formula.change():
            warnings.warn(f"{formula.label} {found}", SurrogateWarning, stacklevel=stacklevel + 1)
