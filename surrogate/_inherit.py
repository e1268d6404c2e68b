"""The gradients that an op has from another op: ``greater`` those of ``heaviside``."""

from __future__ import annotations

from typing import Any

from surrogate._derived import BY, Derived, How, as_it_is
from surrogate._formula import Formula, read_formula
from surrogate._op import Op


class Inherited:
    """Formulas made of other ops' formulas, each made once as long as its source is the same."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str, str], tuple[Formula, Formula]] = {}

    def make(self, op: Op, source: Formula, how: How) -> Formula:
        """The formula of ``op`` that is made of ``source``."""
        assert source.name is not None
        key = op.name, source.op.name, source.name
        known = self._made.get(key)
        if known is None or known[0] is not source:
            known = source, _inherit(op, source, how)
            self._made[key] = known
        return known[1]


def _inherit(op: Op, source: Formula, how: How) -> Formula:
    function: Any = source.function
    if how is not as_it_is:
        function = Derived(function, how, op.inputs, source.upstream, tuple(op.defaults.items()))
    return read_formula(op, function, name=source.name, upstream=source.upstream, by=_by(op, source, how))


def _by(op: Op, source: Formula, how: How) -> dict[str, Any]:
    """The derivatives by parameters that a derived formula has."""
    if not op.elementwise or how not in BY:
        return {}
    if how is as_it_is:
        return dict(source.by)
    given = tuple(op.defaults.items())
    return {name: Derived(by, BY[how], op.inputs, False, given) for name, by in source.by.items()}


def of_all_inputs(op: Op, formula: Formula) -> Formula:
    """A formula of one input, of an op that says how to make one of all its inputs of it."""
    if op.of_one is None or formula.takes != 1 or op.arity == 1:
        return formula
    function = Derived(formula.function, op.of_one, op.inputs, formula.upstream)
    by = _by(op, formula, op.of_one)
    return read_formula(op, function, name=formula.name, upstream=formula.upstream, by=by)
