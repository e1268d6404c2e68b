"""What is known of a gradient beside its docstring, as lines of a name and a text."""

from __future__ import annotations

from collections.abc import Iterator

from surrogate._gradient import Gradient
from surrogate._measure import measure
from surrogate._partial import Kind
from surrogate._registry import registry
from surrogate._spec import parse

_KEPT = {
    Kind.CONSTANT: "nothing",
    Kind.MASK: "one boolean byte per element",
    Kind.INPUTS: "the inputs",
}


def facts(gradient: Gradient) -> Iterator[tuple[str, str]]:
    """Parameters with their ranges, what is kept for the backward, measures, modes and presets."""
    for name, parameter in gradient.formula.parameters.items():
        default = "required" if parameter.default is None else f"default {parameter.default:g}"
        yield name, f"{gradient.params[name]:g}  ({default}, {parameter.range})"
    if gradient.formula.by:
        yield "may be learned", ", ".join(gradient.formula.by)
    yield "kept for the backward", _KEPT[gradient.rule.kept()]
    found = measure(gradient)
    yield "mass", f"{found.mass:.6g}"
    place = f"at {gradient.op.inputs[0]} = {found.peak_at:.6g}"
    limit = {0: "", 1: ", from above", -1: ", from below"}[found.peak_side]
    yield "peak", f"{found.peak:.6g}, the limit {place}{limit}" if limit else f"{found.peak:.6g} {place}"
    yield "half-width", f"{found.half_width:.6g}"
    yield "even", "yes" if found.even else "no"
    if not gradient.rule.forward_mode:
        yield "modes", "reverse only: it depends on the upstream gradient"
    for preset in registry.presets(gradient.op.name).values():
        if parse(preset.spec)[0] == gradient.name:
            yield f"preset {preset.name}", f"{preset.spec}. {preset.note}" if preset.note else preset.spec
