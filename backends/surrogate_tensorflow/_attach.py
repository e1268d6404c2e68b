"""Rules per layer: in force inside its ``call``, also of what Keras makes of the layer or model.

Keras copies by building anew: ``clone_model``, and pickling, by which it deep-copies too. What they make has
the layers of the original in the same order, so the rules are put on those.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import surrogate
from surrogate_tensorflow._scope import Scope
from surrogate_tensorflow._swap import Swap

Layer = Any
#: For each layer, by position, the op mappings on it from the first to the last.
Positions = dict[int, list[Mapping[str, Any]]]


class Attachments:
    """Rules on layers: what is traced depends on them, and so does what Keras copies.

    Args:
        scope: what is in force.
        hold: gives what keeps the hooks in for as long as it lives.
    """

    def __init__(self, scope: Scope, hold: Callable[[], object]) -> None:
        self._scope, self._hold = scope, hold
        #: Rules that are on layers which are still there; a layer may go with its rules on.
        self._numbers: WeakKeyDictionary[surrogate.Attached, int] = WeakKeyDictionary()
        #: All that have been on a layer: put on again they have the same, and nothing is traced anew.
        self._known: WeakKeyDictionary[surrogate.Attached, int] = WeakKeyDictionary()
        self._fresh = itertools.count()
        self._token: object = None
        self._swaps: list[Swap] = []

    def add(self, attached: list[surrogate.Attached]) -> None:
        """Rules are on these layers from now on."""
        if self._token is None:
            self._switch(True)
            self._token = self._hold()  # tf.function asks for its key
        for one in attached:
            if one not in self._known:
                self._known[one] = next(self._fresh)
                weakref.finalize(one, self._settle).atexit = False
            self._numbers[one] = self._known[one]
        self._scope.attached = self._key()

    def remove(self, attached: list[surrogate.Attached]) -> None:
        """They are no longer."""
        for one in attached:
            self._numbers.pop(one, None)
        self._settle()

    def _settle(self) -> None:
        self._scope.attached = key = self._key()
        if not key and self._token is not None:
            self._token = None
            self._switch(False)

    def _switch(self, on: bool) -> None:
        """What Keras copies by, and names that it has been imported under."""
        self._swaps = self._swaps or [
            Swap("keras.src.models.cloning", "clone_model", self._clone),
            Swap("keras.src.saving.keras_saveable", "KerasSaveable.__reduce__", self._reduce),
        ]
        for swap in self._swaps:
            swap.switch(on)

    def _clone(self, native: Callable[..., Layer], model: Layer, *args: Any, **kwargs: Any) -> Layer:
        return _attached_again(native(model, *args, **kwargs), _rules_of(model))

    def _reduce(self, native: Callable[..., Any], layer: Layer) -> Any:
        found, rules = native(layer), _rules_of(layer)
        return (_rebuilt, (*found, rules)) if rules else found

    def _key(self) -> str:
        alive = sorted(self._numbers.values())
        return repr(alive) if alive else ""


def attach(attachments: Attachments, layer: Layer, rules: Mapping[str, Any]) -> surrogate.Attachment:
    """:func:`surrogate_tensorflow.attach`."""
    import keras  # only who has a layer needs it

    if not isinstance(layer, keras.Layer):
        raise TypeError(f"attach takes a Keras layer or model, not {type(layer).__name__}.")
    chosen, made = surrogate.attached(_named(layer), rules, method="call", backend="tensorflow")
    attachments.add(made)
    return surrogate.Attachment(chosen, made, attachments.remove)


def _named(layer: Layer, path: str = "") -> dict[str, Layer]:
    """The layers of a model by dotted name, ``""`` the model itself."""
    found = {path: layer}
    for one in layer._layers:
        found |= _named(one, f"{path}.{one.name}" if path else one.name)
    return found


def _rules_of(layer: Layer) -> Positions:
    found: Positions = {}
    for position, one in enumerate(layer._flatten_layers()):
        attached = vars(one).get("call")
        while isinstance(attached, surrogate.Attached):
            if attached.on:
                found.setdefault(position, []).insert(0, attached.rules)
            attached = attached.before
    return found


def _attached_again(layer: Layer, positions: Positions) -> Layer:
    """What Keras has made of a model, with the model's rules."""
    backend: Any = surrogate.load_backend("tensorflow")
    layers = layer._flatten_layers()
    for position, several in positions.items():
        if isinstance(vars(layers[position]).get("call"), surrogate.Attached):
            continue  # a model inside of one has been copied before
        for rules in several:
            attach(backend.attachments, layers[position], rules)
    return layer


def _rebuilt(function: Callable[..., Layer], args: tuple[Any, ...], rules: Positions) -> Layer:
    return _attached_again(function(*args), rules)
