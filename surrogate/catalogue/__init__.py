"""Every published gradient, one small function each.

One file per op or family. A gradient is a function with a docstring that gives the maths, the
behaviour at ties and the source; :func:`surrogate.register` turns it into save, vjp and jvp for all
backends.

Parameters are Python numbers, arrays or variables, and part of a gradient's identity. A formula uses
arithmetic on them and does not see the difference; what would need a number (``math.tanh``, ``max``) is in
``_stable``.
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
