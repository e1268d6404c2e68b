"""The backend for TensorFlow and Keras, and TensorFlow 1's ``gradient_override_map`` alive again."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import surrogate
from surrogate_tensorflow import _attach
from surrogate_tensorflow._backend import TensorFlowBackend
from surrogate_tensorflow._override_map import override_map

__all__ = ["TensorFlowBackend", "attach", "gradient_override_map", "surrogate_backend"]


@surrogate.hookimpl
def surrogate_backend(name: str) -> TensorFlowBackend | None:
    """The backend, if it is asked for by its name."""
    return TensorFlowBackend() if name == "tensorflow" else None


def attach(layer: Any, rules: Mapping[str, Any]) -> surrogate.Attachment:
    """Put rules in force inside the ``call`` of a Keras layer or model, and of no other.

    Rules of an inner layer win over those of an outer one, later ones over earlier ones, and all over an
    override around the call. They hold eagerly, in functional models, in ``fit`` and in ``tf.function``, and
    are kept by ``keras.models.clone_model``, ``copy.deepcopy`` and pickling; a ``.keras`` file and a file of
    weights know nothing of them.

    Args:
        layer: a layer, or a model.
        rules: an op mapping for the layer, ``{"sign": "tanh"}``, or a mapping from patterns over the names
            of its layers to op mappings, ``{"encoder.*": {"round": "identity"}, "*.act": {...}}``: the names
            that Keras gave, joined by dots. Where several patterns match, the longest wins.

    Returns:
        A handle: ``undo()`` takes them off again. A copy of the layer keeps its own.

    Raises:
        TypeError: it is no Keras layer.
        UnknownNameError: a pattern matches no layer; with the nearest names.
        What :func:`surrogate.override` raises. Nothing is attached then.
    """
    backend = surrogate.load_backend("tensorflow")
    assert isinstance(backend, TensorFlowBackend)
    return _attach.attach(backend.attachments, layer, rules)


def gradient_override_map(op_type_map: Mapping[str, str]) -> AbstractContextManager[None]:
    """Give ops of these types the gradients registered under these names, inside the block.

    What ``tf.Graph.gradient_override_map`` did in TensorFlow 1, but in eager mode, in ``tf.function``, in
    Keras and under every tape::

        @tf.RegisterGradient("QuantizeGrad")
        def quantize_grad(op, grad):
            return tf.where(tf.abs(op.inputs[0]) <= 1.0, grad, 0.0)

        with gradient_override_map({"Sign": "QuantizeGrad"}):
            model.fit(x, y)

    It is in force in this thread or async task only; blocks nest and the inner one wins; an op type in it
    wins over :func:`surrogate.override`. Only ops with a floating output are affected. Composite functions
    are seen through to the op types they are made of.

    Args:
        op_type_map: op type as in ``tf.raw_ops`` (``"Sign"``) -> name given to ``tf.RegisterGradient``. The
            function takes ``(op, *upstream)`` with ``op.inputs``, ``op.outputs`` and ``op.get_attr`` and
            returns a tensor (or None) for each input.

    Warns:
        NothingCapturedWarning: when a block ends in which no op of these types got its gradient; says which
            ops did run. Not where a compiled function of before may carry the gradients.

    Raises:
        UnknownOpError: TensorFlow has no such op type; says which is meant.
        UnknownGradientError: nothing is registered under such a name.
        SpecError: it is no mapping, or a gradient is not given by its name.
    """
    backend = surrogate.load_backend("tensorflow")
    assert isinstance(backend, TensorFlowBackend)
    return override_map(backend.scope, op_type_map)
