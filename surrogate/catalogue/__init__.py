"""Every published gradient, one small function each.

One file per op or family. A gradient is a function with a docstring that gives the maths, the
behaviour at ties and the source; :func:`surrogate.register` turns it into save, vjp and jvp for all
backends.
"""

from surrogate import _ops as _ops  # the ops come first: gradients are registered for them
from surrogate._registry import registry
from surrogate.catalogue import bounded, heaviside, modular, presets, rounding, sign, spiking_windows

__all__ = ["bounded", "heaviside", "modular", "presets", "rounding", "sign", "spiking_windows"]

registry.complete = True
