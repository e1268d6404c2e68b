"""ATen's names of ops, as the audit knows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

from surrogate.auditing import HEAVY
from surrogate_torch._spellings import SPELLINGS

#: ATen's name without the marks of variants -> canonical name; others are named as there.
_NAMES = {
    "_cdist_forward": "cdist",
    "_fused_rms_norm": "rms_norm",
    "_log_softmax": "log_softmax",
    "_native_batch_norm_legit": "batch_norm",
    "_native_batch_norm_legit_functional": "batch_norm",
    "_scaled_dot_product_flash_attention_for_cpu": "sdpa",
    "_softmax": "softmax",
    "_unsafe_view": "view",
    "bernoulli": "bernoulli_p",
    "cudnn_batch_norm": "batch_norm",
    "exponential": "rand_like",
    "index_select": "gather",
    "lift_fresh": "identity",
    "linalg_vector_norm": "norm",
    "mkldnn_rnn_layer": "lstm",
    "native_batch_norm": "batch_norm",
    "native_dropout": "dropout",
    "native_layer_norm": "layer_norm",
    "nll_loss_forward": "nll_loss",
    "normal": "randn_like",
    "random": "rand_like",
    "true_divide": "div",
    "uniform": "rand_like",
    "var_mean": "var",
}

#: Asking these alone, on random operands, is costly or means nothing.
NOT_ASKED = HEAVY | {
    *("_thnn_fused_lstm_cell", "batch_norm", "cdist", "dropout", "embedding", "index", "index_put"),
    *("layer_norm", "max_pool2d_with_indices", "nll_loss", "rms_norm", "scatter", "sdpa"),
}

#: Overload -> how its arguments are read as an op of the catalogue.
_READ = {
    overload: spelling.read
    for spelling in SPELLINGS
    for overload in (spelling.overload, spelling.inplace)
    if overload is not None
}


class Named(NamedTuple):
    """What the audit calls a call of an overload, its numbers, and the bounds of a clip."""

    name: str
    consts: list[float]
    bounds: tuple[float | None, float | None] = (None, None)


def read(overload: Any, args: Sequence[Any], kwargs: Mapping[str, Any], flat: Sequence[Any]) -> Named:
    """Name a call.

    Args:
        overload: of an ATen op, or of somebody's own op.
        args, kwargs: what it was called with.
        flat: these without their nesting.
    """
    numbers = [x for x in flat if isinstance(x, (int, float)) and not isinstance(x, bool)]
    known = _READ[overload](args, kwargs) if overload in _READ else None
    if known is not None:
        _, *rest = known.inputs
        low, high, *_ = [x if isinstance(x, (int, float)) else None for x in rest] + [None, None]
        clips = known.op == "clip"
        return Named(known.op, numbers, (_finite(low), _finite(high)) if clips else (None, None))
    return Named(_canonical(overload, kwargs, flat), numbers)


def _canonical(overload: Any, kwargs: Mapping[str, Any], flat: Sequence[Any]) -> str:
    packet = overload.overloadpacket.__name__
    if packet == "_to_copy":
        first = next((x for x in flat if isinstance(x, torch.Tensor)), None)
        dtype = kwargs.get("dtype")
        return "clone" if first is None or dtype in (None, first.dtype) else "cast"
    if overload is torch.ops.aten.bernoulli.default:
        return "bernoulli"  # of given probabilities; the others only take the shape
    if kwargs.get("rounding_mode") == "trunc":
        return "trunc"
    name = packet.rstrip("_").removesuffix("_copy")
    return _NAMES.get(name, name)


def _finite(bound: float | None) -> float | None:
    return None if bound is None or abs(bound) == float("inf") else float(bound)
