"""The name under which a graph node carries its rule, as ``_gradient_op_type``.

``surrogate/<digest>/<attributes>/<op>:<gradient>``: it says all that another process needs to build the rule
again, so a SavedModel keeps its gradients without anything being registered.
"""

from __future__ import annotations

import ast
import warnings
from typing import Any

import surrogate

PREFIX = "surrogate/"

_rules: dict[str, surrogate.Rule] = {}


def name_of(rule: surrogate.Rule) -> str:
    """The name of a rule; :func:`rule_of` gives the rule back, here and in another process."""
    given = ",".join(f"{name}={value!r}" for name, value in rule.attributes.items())
    name = f"{PREFIX}{rule.digest[:12]}/{given}/{rule.id}"
    _rules.setdefault(name, rule)
    return name


def is_of(name: str, gradient: surrogate.Gradient) -> bool:
    """Whether the name is that of a rule of this gradient."""
    return name.startswith(f"{PREFIX}{gradient.digest[:12]}/") and name.endswith(f"/{gradient.id}")


def rule_of(name: str) -> surrogate.Rule:
    """The rule of a name.

    Raises:
        SpecError: the gradient is not known in this process, for instance a function that was never
            registered.

    Warns:
        SurrogateWarning: the gradient's formula is another one than when the name was written.
    """
    if name not in _rules:
        digest, given, spec = name[len(PREFIX) :].split("/", 2)
        try:
            gradient = surrogate.gradient(*spec.split(":", 1))
        except surrogate.SurrogateError as error:
            raise surrogate.SpecError(  # no LookupError: TensorFlow would hide what it says
                f"a graph was saved with the gradient {spec!r}, which cannot be had here: {error} "
                "Register it (surrogate.register) before the model's gradient is taken."
            ) from error
        if gradient.digest[:12] != digest:
            warnings.warn(
                f"a graph was saved with the gradient {spec!r}, whose formula was another one then; "
                "today's is used.",
                surrogate.SurrogateWarning,
                stacklevel=2,
            )
        _rules[name] = gradient.at(**_attributes(given))
    return _rules[name]


def _attributes(text: str) -> dict[str, Any]:
    """The op's attributes from a name; version 0.1 wrote ``decimals`` as a number alone."""
    if text.lstrip("-").isdigit():
        return {"decimals": int(text)} if int(text) else {}
    call = ast.parse(f"f({text})", mode="eval").body
    assert isinstance(call, ast.Call)
    return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
