"""Rules for the modules of a model, by patterns over their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from surrogate._errors import SpecError, UnknownNameError
from surrogate._suggest import unknown

Rules = Mapping[str, Any]


def rules_by_name(rules: Mapping[str, Any], names: Iterable[str]) -> dict[str, Rules]:
    """Which rules each module gets.

    Args:
        rules: an op mapping, ``{"sign": "tanh"}``, for the whole model; or a mapping from name patterns to op
            mappings, ``{"encoder.*": {"round": "identity"}}``. In a pattern ``*`` stands for any text, dots
            included. Where several patterns match a name, the longest wins.
        names: the modules' names, ``""`` for the model itself.

    Returns:
        Name -> op mapping, for the modules that get any.

    Raises:
        SpecError: it is neither of the two.
        UnknownNameError: a pattern matches no module; with the nearest names.
    """
    if not isinstance(rules, Mapping) or not rules:
        raise SpecError(
            f"rules are a mapping such as {{'sign': 'tanh'}} or {{'encoder.*': {{...}}}}, not {rules!r}."
        )
    nested = [isinstance(value, Mapping) for value in rules.values()]
    if not any(nested):
        return {"": rules}
    if not all(nested):
        raise SpecError(
            "rules are an op mapping or a mapping from name patterns to op mappings, not both in one."
        )
    known = list(names)
    for pattern in rules:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise UnknownNameError(unknown("module", pattern, [name for name in known if name]))
    found: dict[str, Rules] = {}
    for name in known:
        matching = [pattern for pattern in rules if fnmatchcase(name, pattern)]
        if matching:
            found[name] = rules[max(matching, key=len)]
    return found
