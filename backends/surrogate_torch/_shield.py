"""Ops that PyTorch uses for itself: inside a composite, or inside a native op's forward derivative.

They stay native (a rule for ``sign`` must not change the second derivative of ``abs``, nor one for ``clip``
that of ``triplet_margin_loss``). A native backward node is told apart by the frame that calls it, see
:mod:`_scope`, and so is a composite that PyTorch writes in Python. An operator that runs others in C++ is
called from where the user's own call is, so each such operator is wrapped.

Found by running every operator of PyTorch's own test database under rules for all ops.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Set
from functools import partial
from types import FrameType
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 -- as everybody writes it

from surrogate_torch._layers import AUTOGRAD, FRONT, Layer, Rank
from surrogate_torch._scope import suspended
from surrogate_torch._spellings import DISCRETE

aten = torch.ops.aten


class Composite(NamedTuple):
    """An operator that runs ops of ours for itself.

    Attributes:
        packet: its overloads.
        uses: the ops.
    """

    packet: Any
    uses: frozenset[str]


def _table(**uses: tuple[str, ...]) -> tuple[Composite, ...]:
    return tuple(Composite(getattr(aten, name), frozenset(ops)) for name, ops in uses.items())


#: Operators with a derivative of their own, whose formula for forward mode runs ops of ours.
FORMULAS = _table(
    dist=("abs", "sign"),
    linalg_vector_norm=("abs", "sign"),
    nan_to_num=("abs",),
    norm=("abs", "sign"),
    renorm=("abs", "sign", "clip"),
    special_i0e=("abs", "sign"),
    special_i1=("abs", "sign"),
    special_i1e=("abs", "sign"),
)

#: Operators that PyTorch composes of others, without a derivative of their own.
COMPOSITES = _table(
    binary_cross_entropy_with_logits=("clip",),  # under torch.func only; eagerly it has its own derivative
    corrcoef=("clip",),
    cosine_embedding_loss=("clip",),
    cosine_similarity=("clip", "abs", "sign"),
    hinge_embedding_loss=("clip",),
    l1_loss=("abs",),
    linalg_norm=("abs", "sign"),
    margin_ranking_loss=("clip",),
    nanquantile=("ceil", "floor"),
    quantile=("ceil", "floor"),
    rnn_relu=("relu",),
    rnn_relu_cell=("relu",),
    triplet_margin_loss=("clip", "minimum"),
)

#: What an op of ours runs in its own native derivative.
OWN = {"abs": frozenset({"sign"}), "mod": frozenset({"floor_divide"}), "fmod": frozenset({"floor_divide"})}


#: Functions that PyTorch writes in Python over ops of ours. torch.compile has each as one call in its graph,
#: but for the last one, which it traces into.
_FUNCTIONS = {
    F.gaussian_nll_loss: ("clip",),
    F.lp_pool1d: ("abs", "relu", "sign"),
    F.lp_pool2d: ("abs", "relu", "sign"),
    F.lp_pool3d: ("abs", "relu", "sign"),
    F.normalize: ("clip",),
    F.softsign: ("abs",),
    F.triplet_margin_with_distance_loss: ("clip", "minimum"),
}
#: Packages whose Python code uses ops of ours for itself, all of it. torch.compile traces into them.
_LIBRARIES = frozenset({"torch.distributions", "torch.masked", "torch.optim", "torch.nn.utils"})
#: What torch.compile takes an operator without a derivative apart with.
_DECOMPOSITIONS = frozenset({"torch._decomp", "torch._refs", "torch._refs.nn.functional"})
#: Where PyTorch's own Python compares numbers to check arguments, and to choose.
_MODULES = (
    "torch.ao.",
    "torch.distributions.",
    "torch.functional",
    "torch.linalg",
    "torch.masked",
    "torch.nn.",
    "torch.optim.",
    "torch.signal",
    "torch.special",
)
_PACKAGES = _LIBRARIES | _DECOMPOSITIONS
_FOLDERS = tuple("/{}/".format(name.replace(".", "/")) for name in sorted(_LIBRARIES))
_RELU = F.relu.__code__
_CODES = {
    op: frozenset(function.__code__ for function, uses in _FUNCTIONS.items() if op in uses)
    for op in ("abs", "clip", "minimum", "relu", "sign")
}


def inside_a_function(op: str, frame: FrameType | None) -> bool:
    """Whether a call of ``op``, seen from a kernel's frame, was made by a composite in Python."""
    while frame is not None and (package := frame.f_globals.get("__package__")) == __package__:
        frame = frame.f_back  # our own kernel of another level of torch.func
    if frame is None:
        return False
    if package in _PACKAGES:
        return True
    if op in DISCRETE:
        return frame.f_globals.get("__name__", "").startswith(_MODULES)
    codes = _CODES.get(op)
    if codes is None:
        return False
    if frame.f_code is _RELU:
        frame = frame.f_back
    return frame is not None and frame.f_code in codes


def is_function_of(op: str, filename: str, name: str) -> bool:
    """Whether the function of this name and file is a composite in Python that uses ``op``."""
    if any(folder in filename.replace(os.sep, "/") for folder in _FOLDERS):
        return True
    return any((code.co_filename, code.co_name) == (filename, name) for code in _CODES.get(op, ()))


def _kernel(uses: frozenset[str], native: Any) -> Callable[..., Any]:
    """The operator's own kernel, with the ops it uses native."""

    def shielded(keys: Any, *args: Any, **kwargs: Any) -> Any:
        return suspended(uses, native.call_boxed, keys, *args, **kwargs)

    return shielded


#: The alias "Autograd" does not reach operators without a derivative of their own: each device by name.
_COMPOSITE_KEYS = (
    "AutogradCPU",
    "AutogradCUDA",
    "AutogradMPS",
    "AutogradXPU",
    "AutogradMeta",
    FRONT,
)


def layers(ops: Set[str]) -> Iterator[Layer]:
    """What is wrapped because it uses one of these ops."""
    formulas, composites = ((c, (AUTOGRAD,)) for c in FORMULAS), ((c, _COMPOSITE_KEYS) for c in COMPOSITES)
    for composite, keys in (*formulas, *composites):
        if composite.uses.isdisjoint(ops):
            continue
        for name in composite.packet.overloads():
            overload = getattr(composite.packet, name)
            if any(argument.is_out for argument in overload._schema.arguments):
                continue
            for key in keys:
                yield Layer(overload, key, Rank.SHIELD, partial(_kernel, composite.uses))
