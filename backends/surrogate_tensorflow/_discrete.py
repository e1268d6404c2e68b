"""Ops that turn floats into booleans and integers leave an origin; ops that use those carry it on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from surrogate_tensorflow import _cuts, _hooks, _natives, _origins
from surrogate_tensorflow._again import Call
from surrogate_tensorflow._capture import Capture
from surrogate_tensorflow._carrier import carry
from surrogate_tensorflow._classes import moved_classes
from surrogate_tensorflow._consumers import EXPRESSIONS, goes_on
from surrogate_tensorflow._graft import graft, led
from surrogate_tensorflow._learned import inputs_of
from surrogate_tensorflow._moves import MOVES, MOVES_ONE
from surrogate_tensorflow._operands import Operands, operands_of
from surrogate_tensorflow._origins import Origin
from surrogate_tensorflow._recording import record, unrecorded, wanted
from surrogate_tensorflow._scope import Situation
from surrogate_tensorflow._spellings import DISCRETE_TYPES
from surrogate_tensorflow._whose import NOT_FLOATING, NOT_RECORDED, TENSORFLOWS_OWN, is_users

if TYPE_CHECKING:
    from surrogate_tensorflow._backend import TensorFlowBackend

Tensor = Any
Attribute = Callable[[str], Any]

#: Op types that may meet a boolean or an integer with an origin: all others pass untouched.
CONSUMERS = {*EXPRESSIONS, *_cuts.TYPES}
#: Those among them that are looked at only since they have had a formula.
OF_FORMULAS: set[str] = set()


def look_at(op_type: str) -> None:
    """Look at the ops of a type that has a formula."""
    if op_type not in CONSUMERS:
        OF_FORMULAS.add(op_type)
        CONSUMERS.add(op_type)


class Discrete:
    """Leaves origins and carries them on, in eager mode and in graphs."""

    def __init__(self, backend: TensorFlowBackend) -> None:
        self._backend = backend

    # -- where an origin begins ------------------------------------------------------------------

    def begin(
        self, here: Situation, op_type: str, inputs: Sequence[Tensor], attribute: Attribute, output: Tensor
    ) -> None:
        """Leave an origin with the output of an op that has a rule here."""
        op = DISCRETE_TYPES.get(op_type)
        if op is None or op not in here.state.rules or output.dtype.is_floating:
            return
        found = self._backend.scope.suspended(operands_of, op_type, inputs, attribute, output)
        if found is None:
            here.state.missed(op, NOT_FLOATING)
        elif not is_users(self._backend, op):
            here.state.missed(op, TENSORFLOWS_OWN)
        else:
            self.leave(here, op, found, output)

    def leave(self, here: Situation, op: str, found: Operands, output: Tensor) -> None:
        """Leave an origin with what ``op`` made of these operands."""
        gradient = here.state.rule(op)
        if gradient is None:
            return
        rule = gradient.at(**found.attributes) if found.attributes else gradient.rule
        if rule.learned:
            found = found._replace(inputs=tuple(inputs_of(rule, found.inputs)))
        if not any(needs := self._needs(found)):
            here.state.missed(op, NOT_RECORDED)
            return
        first = found.inputs[0]

        def attach(value: Tensor) -> Tensor:
            return self._attach(value, found.inputs, op, rule, here, needs)

        def twin(tensor: Tensor) -> Tensor:
            return self._backend.scope.suspended(lambda: attach(unrecorded(tf.cast, tensor, first.dtype)))

        def classes(tensor: Tensor) -> Tensor:
            return self._backend.scope.suspended(_classes, tensor, first, found.attributes["axis"], attach)

        def index(tensor: Tensor) -> Tensor:
            vectors = origin.classes(tensor)
            known = tf.range(tf.shape(vectors)[-1])
            return tf.reduce_sum(vectors * tf.cast(known, vectors.dtype), -1)

        of_classes = op in ("argmax", "argmin")
        origin = Origin(
            index if of_classes else twin,
            dtype=first.dtype,
            boolean=output.dtype == tf.bool,
            classes=classes if of_classes else None,
            token=self._backend.alive.hold(),
        )
        _origins.leave(output, origin)
        if isinstance(
            output, _hooks.eager_tensor.native
        ):  # the use may come after the block; a graph counts nodes
            here.state.captured(op, kept=False)

    def _needs(self, found: Operands) -> tuple[bool, ...]:
        if isinstance(found.inputs[0], _hooks.eager_tensor.native):
            return tuple(map(bool, wanted(found.inputs)))
        return tuple(x.dtype.is_floating and x.op.type != "Const" for x in found.inputs)

    def _attach(
        self,
        value: Tensor,
        inputs: Sequence[Tensor],
        op: str,
        rule: Any,
        here: Situation,
        needs: tuple[bool, ...],
    ) -> Tensor:
        """A float twin's value, with the rule from the op's inputs to it."""
        if not isinstance(value, _hooks.eager_tensor.native):
            return carry(self._backend, value, inputs, op, rule, here, needs)
        capture = Capture(rule, inputs, needs, self._backend.scope.suspension)
        record("Cast", [value], inputs, capture.backward, lambda *t: capture.forward(t))
        return value

    # -- where it goes on ------------------------------------------------------------------------

    def go_on(
        self, op_type: str, inputs: Sequence[Tensor], node: Any, outputs: Sequence[Tensor]
    ) -> list[Tensor] | None:
        """Carry the origins of an op's inputs on to its outputs.

        Returns:
            What is to be used in place of the outputs; None for the outputs themselves.
        """
        if self._backend.scope.is_suspended:
            return None
        found = [(x, o) for x in inputs if _may_have_one(x) and (o := _origins.find(x)) is not None]
        if not found or (_may_have_one(outputs[0]) and _origins.find(outputs[0]) is not None):
            return None
        origins = [origin for _, (_, origin) in found]
        call = Call(op_type, inputs, outputs, node.get_attr, origins[0].dtype)
        if op_type not in EXPRESSIONS or not goes_on(call):
            carried = self._by_formula(call, node)
            if carried is None and op_type not in OF_FORMULAS:
                _cuts.warn(self._backend, op_type)
            return carried
        if outputs[0].dtype.is_floating:
            return self._backend.scope.suspended(self._as_floats, call, origins)
        boolean = (
            op_type in MOVES | {"Cast"}
            and len(found) == len(_data(call))
            and all(origin.boolean for origin in origins)
        )
        unfinished = call._replace(outputs=())  # an origin must not hold the tensor that it belongs to
        for position, output in enumerate(outputs):
            _origins.leave(output, self._carried(unfinished, position, output, boolean))
        return None

    def _as_floats(self, call: Call, origins: Sequence[Origin]) -> list[Tensor]:
        expressions = EXPRESSIONS[call.type](call)
        if call.type == "Cast" and origins[0].boolean:  # its values are the twin's, exactly
            return [tf.cast(expressions[0], call.output.dtype)]
        return [graft(self._backend, y, e) for y, e in zip(call.outputs, expressions, strict=True)]

    def _by_formula(self, call: Call, node: Any) -> list[Tensor] | None:
        """The outputs of an op under a formula for it, which may take the gradient on from its integers."""
        here = self._backend.scope.here()
        gradient: Any = here.state.rule(call.type) if call.type in here.state.rules else None
        if gradient is None or len(call.outputs) != 1 or not call.output.dtype.is_floating:
            return None
        if isinstance(call.output, _hooks.eager_tensor.native) and not any(wanted(call.inputs)):
            here.state.captured(call.type, kept=False)  # else it was counted for the floats among the inputs
        at = [i for i, x in enumerate(call.inputs) if _may_have_one(x) and _origins.find(x) is not None]
        asked = _natives.OfIntegers(gradient, node, call.inputs, call.outputs, at)
        run = self._backend.scope.suspended

        def carried() -> list[Tensor]:
            twins = [_origins.twin(call.inputs[i], call.output.dtype) for i in at]
            pull, push = partial(run, asked.pull), partial(run, asked.push)
            return [graft(self._backend, call.output, led(call.output, twins, pull, push))]

        return run(carried)

    def _carried(self, call: Call, position: int, output: Tensor, boolean: bool) -> Origin:
        run = self._backend.scope.suspended

        def twin(tensor: Tensor) -> Tensor:
            return run(EXPRESSIONS[call.type], call._replace(outputs=(tensor,)))[position]

        def classes(tensor: Tensor) -> Tensor:
            return run(moved_classes, call._replace(outputs=(tensor,)))

        index = _origins.find(call.inputs[0]) if _may_have_one(call.inputs[0]) else None
        moved = index is not None and index[1].of_classes
        moved = moved and call.type in MOVES_ONE and output.dtype != tf.bool
        token = self._backend.alive.hold()
        return Origin(
            twin,
            dtype=call.dtype,
            boolean=boolean or output.dtype == tf.bool,
            classes=classes if moved else None,
            token=token,
        )


def _may_have_one(tensor: Tensor) -> bool:
    dtype = tensor.dtype
    return bool(dtype == tf.bool or dtype.is_integer)


def _data(call: Call) -> list[Tensor]:
    """The inputs that elements of the output come from."""
    if call.type in ("Pack", "ConcatV2", "AddN"):
        return [x for x in call.inputs if x.dtype == call.output.dtype]
    return list(call.inputs[:1])


def _classes(index: Tensor, x: Tensor, axis: int, attach: Callable[[Tensor], Tensor]) -> Tensor:
    """The one-hot vectors of an index along an axis of ``x``, under the rule, classes along the last axis."""
    rank = x.shape.rank
    axis %= rank
    others = [a for a in range(rank) if a != axis]
    vectors = attach(unrecorded(_one_hot, index, x, axis, others))
    last = tf.transpose(vectors, [*others, axis])
    return tf.reshape(last, tf.concat([tf.shape(index), tf.shape(last)[-1:]], 0))  # keepdims


def _one_hot(index: Tensor, x: Tensor, axis: int, others: list[int]) -> Tensor:
    index = tf.reshape(index, tf.gather(tf.shape(x), tf.constant(others, tf.int32)))
    return tf.ensure_shape(tf.one_hot(index, tf.shape(x)[axis], axis=axis, dtype=x.dtype), x.shape)
