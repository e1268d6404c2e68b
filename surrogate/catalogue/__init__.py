"""Every published gradient, one small function each.

One file per op or family. A gradient is a function with a docstring that gives the maths, the
behaviour at ties and the source; :func:`surrogate.register` turns it into save, vjp and jvp for all
backends.

Parameters are Python numbers and part of a gradient's identity. Parameters that are arrays (a learnable
slope, a width per channel, a learned step) and schedules over training steps will come as further inputs
of a rule, after the op's own. A formula uses arithmetic on its parameters and does not see the difference;
only what is computed from them in Python (``require_ordered``, ``max`` in ``ede``, ``math.tanh`` in
``soft_round``) then has to move to ``xp``.
"""

from surrogate import _ops as _ops  # the ops come first: gradients are registered for them
from surrogate._registry import registry
from surrogate.catalogue import (
    bounded,
    choosing,
    comparing,
    heaviside,
    modular,
    presets,
    rounding,
    sign,
    spiking_windows,
)

__all__ = [
    "bounded",
    "choosing",
    "comparing",
    "heaviside",
    "modular",
    "presets",
    "rounding",
    "sign",
    "spiking_windows",
]

registry.complete = True
