"""Surrogate gradients by name, for unmodified TensorFlow, PyTorch, JAX and autograd code.

>>> import surrogate
>>> surrogate.gradient("sign", "hardtanh(width=2)")
Gradient('sign:hardtanh(width=2.0)')
"""

from __future__ import annotations

from os import environ as _environ
from typing import Any

from surrogate import reference as reference
from surrogate._arrival import when_imported as when_imported
from surrogate._attached import Attached as Attached, Attachment as Attachment, attached as attached
from surrogate._audit import audit as audit
from surrogate._backend import Backend as Backend
from surrogate._by_name import rules_by_name as rules_by_name
from surrogate._captures import Captured as Captured, Captures as Captures
from surrogate._compiled import Compiled as Compiled
from surrogate._decorate import Inside as Inside
from surrogate._driver import Driver as Driver, Spelling as Spelling
from surrogate._errors import (
    BackendError as BackendError,
    BrokenBackendError as BrokenBackendError,
    DuplicateNameError as DuplicateNameError,
    FormulaError as FormulaError,
    ForwardModeError as ForwardModeError,
    IncompatibleFrameworkError as IncompatibleFrameworkError,
    MissingExtraError as MissingExtraError,
    MissingFrameworkError as MissingFrameworkError,
    NothingCapturedWarning as NothingCapturedWarning,
    ParameterError as ParameterError,
    ScopeError as ScopeError,
    SpecError as SpecError,
    SurrogateError as SurrogateError,
    SurrogateWarning as SurrogateWarning,
    UnknownBackendError as UnknownBackendError,
    UnknownGradientError as UnknownGradientError,
    UnknownNameError as UnknownNameError,
    UnknownOpError as UnknownOpError,
    UnknownParameterError as UnknownParameterError,
    UnmetPlaceWarning as UnmetPlaceWarning,
    UnsupportedAuditError as UnsupportedAuditError,
    UnsupportedOpError as UnsupportedOpError,
)
from surrogate._function import FunctionGradient as FunctionGradient, Of as Of, of as of
from surrogate._function_call import FunctionKit as FunctionKit, FunctionPull as FunctionPull
from surrogate._gradient import Gradient as Gradient
from surrogate._hook import Hook as Hook, check_hooks as check_hooks
from surrogate._hookspecs import Definition as Definition, hookimpl as hookimpl, hookspec as hookspec
from surrogate._learned_rule import LearnedRule as LearnedRule
from surrogate._listing import gradients as gradients, op as op, ops as ops, presets as presets
from surrogate._names import (
    BackendName as BackendName,
    GradientName as GradientName,
    NamedRules as NamedRules,
    OpName as OpName,
)
from surrogate._native import (
    NativeCall as NativeCall,
    NativeFormula as NativeFormula,
    Values as Values,
)
from surrogate._native_kit import (
    NativeGradient as NativeGradient,
    NativeKit as NativeKit,
    register_native as register_native,
)
from surrogate._op import Op as Op
from surrogate._override import (
    Override as Override,
    ProcessOverride as ProcessOverride,
    ScopedOverride as ScopedOverride,
    active as active,
    defaults as defaults,
    override as override,
    use as use,
)
from surrogate._parameters import (
    AboveOne as AboveOne,
    NonNegative as NonNegative,
    Positive as Positive,
    Range as Range,
)
from surrogate._partial import Kind as Kind, Window as Window, window as window
from surrogate._places import Site as Site
from surrogate._plugins import (
    backends as backends,
    load_backend as load_backend,
    register_backend as register_backend,
)
from surrogate._registry import gradient as gradient, register as register
from surrogate._rule import Rule as Rule
from surrogate._ruleset import RuleSet as RuleSet
from surrogate._samples import Samples as Samples
from surrogate._standing import InForce as InForce, in_force as in_force, reset as reset
from surrogate._state import State as State
from surrogate._sum import broadcast_axes as broadcast_axes
from surrogate._target import FunctionTarget as FunctionTarget
from surrogate._variable import ParameterValue as ParameterValue, Variable as Variable

__all__ = sorted(
    name
    for name in globals()
    if name[0].isalpha() and name not in ("annotations", "Any")  # pytest adds names like @pytest_ar
)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__", "plot", "testing"])


def __getattr__(name: str) -> Any:
    if name == "__version__":  # read from the installed metadata, and only when asked for
        from importlib.metadata import version

        return version("surrogate-gradients")
    if name in ("plot", "testing"):
        from importlib import import_module

        return import_module(f"surrogate.{name}")
    raise AttributeError(f"module 'surrogate' has no attribute {name!r}")


if _environ.get("SURROGATE_RULES"):
    from surrogate import _environment

    _environment.obey()
