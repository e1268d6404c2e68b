"""Every private name of autograd that this backend stands on, in one place.

The rest of the backend uses ``autograd.numpy`` and ``autograd.extend``, which are public.
"""

from __future__ import annotations

import importlib
from types import CodeType, FunctionType, ModuleType
from typing import Any

import autograd
import autograd.misc.fixed_points
import autograd.numpy as anp
import numpy as np

from surrogate import Hook, IncompatibleFrameworkError, check_hooks

TESTED = "1.8.0 to 1.9.1"

_DIFFERENTIATED = "to see that an operand is being differentiated"
_SEVERAL = "to differentiate by several inputs at once, for the conformance kit"
_AUDIT = "to record a program for the audit"

HOOKS = (
    Hook("autograd.tracer:primitive", "to catch an op whatever name it was imported under"),
    Hook("autograd.numpy:sign.fun", "to call what a primitive wraps"),
    Hook("autograd.numpy:sign.__code__", "to tell autograd's own recursion from a user's call"),
    Hook("autograd.tracer:isbox", _DIFFERENTIATED),
    Hook("autograd.tracer:getval", _DIFFERENTIATED),
    Hook("autograd.numpy.numpy_boxes:ArrayBox", "the operators // and divmod, which it lacks"),
    Hook("autograd.tracer:trace_stack", _SEVERAL),
    Hook("autograd.tracer:new_box", f"{_SEVERAL}; {_AUDIT}"),
    Hook("autograd.core:add_outgrads", _SEVERAL),
    Hook("autograd.util:toposort", _SEVERAL),
    Hook("autograd.extend:Box._value", f"{_SEVERAL}; {_AUDIT}"),
    Hook("autograd.extend:Box._trace", _SEVERAL),
    Hook("autograd.extend:Box._node", _SEVERAL),
    Hook("autograd.extend:VJPNode.parents", _SEVERAL),
    Hook("autograd.extend:VJPNode.vjp", _SEVERAL),
    Hook("autograd.extend:JVPNode.g", _SEVERAL),
    Hook("autograd.tracer:notrace_primitives", _AUDIT),
    Hook("autograd.core:primitive_vjps", _AUDIT),
    Hook(
        "autograd.misc.fixed_points:fixed_point",
        "to run the user's function under the rules of the forward pass",
    ),
)

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
    check_hooks("autograd", HOOKS, TESTED)
    wrapped = anp.sign
    if not isinstance(wrapped, FunctionType):
        raise _other("a Python function behind autograd.numpy.sign")
    if anp.mod.__code__ is not wrapped.__code__:
        raise _other("the one code object shared by all that autograd.tracer.primitive made")


def _other(what: str) -> IncompatibleFrameworkError:
    version = getattr(autograd, "__version__", "of unknown version")
    return IncompatibleFrameworkError(
        f"autograd {version} has no {what}, which the backend for it stands on. Tested with {TESTED}."
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
