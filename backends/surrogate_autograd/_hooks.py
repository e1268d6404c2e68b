"""Every private name of autograd that this backend stands on, in one place.

The rest of the backend uses ``autograd.numpy`` and ``autograd.extend``, which are public.

=============================================  ====================================  =============
name                                           what for                              checked on
=============================================  ====================================  =============
``autograd.tracer.primitive``: the function    to catch an op whatever name it was   1.8.0, 1.9.1
that it makes, its ``fun``, its code object    imported under; to tell autograd's
                                               own recursion from a user's call
``autograd.tracer``: ``isbox``, ``getval``     to see that an operand is being       1.8.0, 1.9.1
                                               differentiated
``autograd.numpy.numpy_boxes.ArrayBox``        the operators ``//`` and ``divmod``,  1.8.0, 1.9.1
                                               which it lacks
``autograd.tracer``: ``trace_stack``,          to differentiate by several inputs    1.8.0, 1.9.1
``new_box``; ``autograd.core``:                at once, for the conformance kit
``add_outgrads``; ``autograd.util.toposort``;
the slots of ``Box``, ``VJPNode``, ``JVPNode``
``fixed_point``, ``odeint``: that they are     to run the user's function under the  1.8.0, 1.9.1
primitives, and take it first                  rules of the forward pass
``autograd.tracer``: ``new_box`` replaced,       to record a program for the audit     1.8.0, 1.9.1
``notrace_primitives``, ``trace_stack.top``;
``autograd.core.primitive_vjps``
the keyword ``called_by_autograd_dispatcher``  to let objects like xarray's have     1.9.1
                                               their turn (1.8 has no such dispatch)
=============================================  ====================================  =============
"""

from __future__ import annotations

import importlib
from types import CodeType, FunctionType, ModuleType
from typing import Any

import autograd
import autograd.misc.fixed_points
import autograd.numpy as anp
import numpy as np
from autograd.extend import Box, JVPNode, VJPNode

from surrogate import IncompatibleFrameworkError

TESTED = "1.8.0 to 1.9.1"

_NEEDED = {
    "autograd.tracer": ("primitive", "isbox", "getval", "trace_stack", "new_box", "notrace_primitives"),
    "autograd.core": ("add_outgrads", "primitive_vjps"),
    "autograd.util": ("toposort",),
    "autograd.numpy.numpy_boxes": ("ArrayBox",),
}

_SLOTS = {Box: ("_value", "_trace", "_node"), VJPNode: ("parents", "vjp"), JVPNode: ("g",)}

#: How a box calls an op when NumPy asked it to handle a ufunc.
HANDLED = "called_by_autograd_dispatcher"

#: The module of the boxes.
BOXES = "autograd.numpy.numpy_boxes"

#: Modules whose functions hand a call on: it is a call of whoever called them. These are the operators
#: of boxes, and the functions of NumPy that call a method or a ufunc of their argument.
HANDING_ON = frozenset(
    {
        BOXES,
        "numpy._core.fromnumeric",
        "numpy.core.fromnumeric",
        "numpy.lib._ufunclike_impl",
        "numpy.lib.ufunclike",
    }
)

#: Composites of NumPy's that are there to call the user's function: a call by them is the user's.
CALLING = frozenset(
    code
    for function in vars(np.vectorize).values()
    if isinstance(function, FunctionType)
    for code in (function.__code__, *function.__code__.co_consts)
    if isinstance(code, CodeType)
)

#: Functions that call the user's function again in the backward pass, by module.
RECOMPUTING = (("autograd.misc.fixed_points", "fixed_point"), ("autograd.scipy.integrate", "odeint"))

#: Where autograd's own derivative rules live, and NumPy's composites: an op called there is not the user's.
OWN = ("autograd.numpy.", "autograd.scipy.", "autograd.core", "numpy.")


def probe() -> None:
    """Check every hook, when the backend loads.

    Raises:
        IncompatibleFrameworkError: one is missing; names it and the tested versions.
    """
    for module, names in _NEEDED.items():
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError:
            raise _missing(f"the module {module}") from None
        for name in names:
            if not hasattr(found, name):
                raise _missing(f"{module}.{name}")
    for owner, slots in _SLOTS.items():
        for slot in slots:
            if not hasattr(owner, slot):
                raise _missing(f"{owner.__module__}.{owner.__name__}.{slot}")
    wrapped = anp.sign
    if not isinstance(wrapped, FunctionType) or not hasattr(wrapped, "fun"):
        raise _missing("the Python function, with the attribute 'fun', behind autograd.numpy.sign")
    if anp.mod.__code__ is not wrapped.__code__:
        raise _missing("the one code object shared by all that autograd.tracer.primitive made")


def _missing(what: str) -> IncompatibleFrameworkError:
    version = getattr(autograd, "__version__", "of unknown version")
    return IncompatibleFrameworkError(
        f"autograd {version} has no {what}, which the backend 'autograd' stands on. Tested: {TESTED}."
    )


def _module(name: str) -> ModuleType:
    return importlib.import_module(name)


probe()

_tracer = _module("autograd.tracer")

#: Where every primitive finds ``new_box``.
TRACER: ModuleType = _tracer

notrace_primitives = _tracer.notrace_primitives
primitive_vjps = _module("autograd.core").primitive_vjps
isbox = _tracer.isbox
getval = _tracer.getval
new_box = _tracer.new_box
trace_stack = _tracer.trace_stack
toposort = _module("autograd.util").toposort
add_outgrads = _module("autograd.core").add_outgrads
ArrayBox = _module(BOXES).ArrayBox


def opened(box: Any) -> tuple[Any, int, Any]:
    """A box's value, the level of its trace, and its node."""
    return box._value, box._trace, box._node


#: The code that every primitive of autograd shares.
PRIMITIVE: CodeType = anp.sign.__code__


def raw(function: Any) -> Any:
    """The NumPy function that a primitive of autograd wraps."""
    return function.fun
