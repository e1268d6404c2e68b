"""Who called an op: the user, or JAX itself.

JAX calls ops in its own derivative rules and composites (``floor`` in ``jnp.percentile``, ``sign`` in
the derivative of ``rem``). Those keep their native gradient. The stack tells them apart: between the
op and the nearest code that is not JAX's there is no frame of a JAX function, only of machinery.

The walk is done only where an override of the op is in force, and only while JAX traces. It is
checked when the backend loads, see ``_probe``.
"""

from __future__ import annotations

import os
from types import FrameType
from typing import NamedTuple

from surrogate_jax._hooks import PALLAS, PRIVATE, PUBLIC, is_passing, pallas_is_loaded

#: Sources of JAX functions. A frame of one of them is a composite or a derivative rule.
_FUNCTIONS = tuple(
    PRIVATE + part
    for part in ("numpy", "lax", "nn", "scipy", "random", "image", "ops", "cudnn", "tpu", "third_party")
)
#: JAX functions that lie beside its private sources: solvers, optimisers, rules of their own. Not the layers
#: of ``stax``, whose activations a model chooses.
_BESIDE = tuple(
    PUBLIC + part.replace("/", os.sep)
    for part in (
        "example_libraries/optimizers.py",
        "experimental/jet.py",
        "experimental/ode.py",
        "experimental/sparse/",
    )
)
#: Among them sources that only pass a call on.
_PASSING = tuple(
    part.replace("/", os.sep)
    for part in (
        PRIVATE + "numpy/array_methods",
        PRIVATE + "numpy/vectorize",
        PRIVATE + "numpy/ufunc_api",
        PRIVATE + "lax/control_flow",
        PUBLIC + "experimental/sparse/ad.py",
        PUBLIC + "experimental/sparse/transform.py",
    )
)
#: JAX functions that only pass a call on: an alias, and those that take a function of the user's.
_PASSING_NAMES = frozenset(
    {"mod", "apply_along_axis", "apply_over_axes", "piecewise", "_piecewise", "fromfunction"}
    | {"jet", "jet_fun", "jet_subtrace", "traceable", "JetTrace"}
)


#: What ``x[i]`` is, under its names in several versions.
INDEXING = ("rewriting_take", "_rewriting_take")
#: Derivative rules that stand among the sources that pass a call on: cummax runs max for its derivative.
_OWN_RULES = frozenset({"_cumulative_jvp_rule"})


class Origin(NamedTuple):
    """Where a primitive was bound.

    Attributes:
        file, function: of the frame that bound it.
        outermost: file and name of the outermost JAX function around it, below the nearest code that is
            not JAX's; None if there is none.
        depth: how many JAX functions there are around it.
    """

    file: str
    function: str
    outermost: tuple[str, str] | None
    depth: int


def origin(frame: FrameType) -> Origin:
    """Where the primitive was bound whose binding ``frame`` is the first to see."""
    outermost, depth = None, 0
    here: FrameType | None = frame
    while here is not None and (_is_jax(here) or is_passing(here)):
        if _is_function(here):
            outermost, depth = (here.f_code.co_filename, here.f_code.co_name), depth + 1
        here = here.f_back
    code = frame.f_code
    return Origin(code.co_filename, code.co_name, outermost, depth)


def in_pallas_kernel(frame: FrameType | None) -> bool:
    """Whether a Pallas kernel is being traced: it cannot hold primitives of ours."""
    if not pallas_is_loaded():
        return False
    while frame is not None:
        if frame.f_code.co_filename.startswith(PALLAS):
            return True
        frame = frame.f_back
    return False


def _is_jax(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith((PRIVATE, *_BESIDE))


def _is_function(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    if frame.f_code.co_name in _OWN_RULES:
        return True
    if not file.startswith(_FUNCTIONS + _BESIDE) or file.startswith(_PASSING):
        return False
    return frame.f_code.co_qualname.partition(".")[0] not in _PASSING_NAMES
