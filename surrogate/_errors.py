"""Everything that can go wrong, in one hierarchy.

::

    SurrogateError
    ├── UnknownNameError (LookupError)      a name nobody registered; says which are known
    │   ├── UnknownOpError
    │   ├── UnknownGradientError
    │   ├── UnknownParameterError
    │   └── UnknownBackendError
    ├── SpecError (ValueError)              a spec that cannot be read, or is of the wrong type
    ├── ParameterError (ValueError)         a parameter outside its range or of the wrong type
    ├── FormulaError (TypeError)            a gradient function of the wrong form
    ├── DuplicateNameError (ValueError)     a name that somebody else has taken
    ├── ForwardModeError (TypeError)        forward mode through a gradient that has none
    ├── ScopeError (RuntimeError)           an override entered or left where it cannot be
    ├── MissingExtraError (ImportError)     a package that an extra installs is missing; says the command
    └── BackendError
        ├── MissingFrameworkError (ImportError)       the framework is not installed; says the command
        ├── BrokenBackendError (RuntimeError)         the plugin itself fails; ``__cause__`` says why
        ├── IncompatibleFrameworkError (RuntimeError) a private hook of the framework is gone
        ├── UnsupportedOpError (NotImplementedError)  the backend cannot capture this op; says why
        └── UnsupportedAuditError (NotImplementedError)  the backend cannot record a program

    SurrogateWarning (UserWarning)
    ├── NothingCapturedWarning              an override ended and no op had passed through it
    └── UnmetPlaceWarning                   an override ended and code that it names was never met
"""

from __future__ import annotations

from typing import TYPE_CHECKING


class SurrogateError(Exception):
    """Base of every error this library raises itself."""

    # a plain one also where a built-in error is a second base: TensorFlow's autograph makes an error
    # of the user's code again from its message only if it can tell that this works
    if not TYPE_CHECKING:
        __init__ = Exception.__init__


class UnknownNameError(SurrogateError, LookupError):
    """A name that nobody registered."""


class UnknownOpError(UnknownNameError):
    """No op has this name."""


class UnknownGradientError(UnknownNameError):
    """The op has no gradient of this name."""


class UnknownParameterError(UnknownNameError):
    """The gradient has no parameter of this name."""


class UnknownBackendError(UnknownNameError):
    """No installed plugin provides this backend."""


class SpecError(SurrogateError, ValueError):
    """A spec that cannot be read, or a value that is no spec at all."""


class ParameterError(SurrogateError, ValueError):
    """A gradient's parameter is of the wrong type or outside its range."""


class FormulaError(SurrogateError, TypeError):
    """A gradient function does not have the registered form."""


class DuplicateNameError(SurrogateError, ValueError):
    """Two different definitions claim one name."""


class ForwardModeError(SurrogateError, TypeError):
    """A gradient that depends on the upstream gradient has no forward mode."""


class ScopeError(SurrogateError, RuntimeError):
    """An override was entered twice, or left where it had not been entered."""


class MissingExtraError(SurrogateError, ImportError):
    """A package that an extra of this library installs is missing."""


class BackendError(SurrogateError):
    """A backend cannot do what was asked."""


class MissingFrameworkError(BackendError, ImportError):
    """The framework of a backend is not installed."""


class BrokenBackendError(BackendError, RuntimeError):
    """A backend plugin fails to load; ``__cause__`` holds its own error."""


class IncompatibleFrameworkError(BackendError, RuntimeError):
    """The installed framework lacks a private hook that the backend stands on."""


class UnsupportedOpError(BackendError, NotImplementedError):
    """The backend cannot capture this op."""


class UnsupportedAuditError(BackendError, NotImplementedError):
    """The backend cannot record a program, so it cannot be audited."""


class SurrogateWarning(UserWarning):
    """Base of every warning this library gives."""


class NothingCapturedWarning(SurrogateWarning):
    """An override ended without having captured a single op."""


class UnmetPlaceWarning(SurrogateWarning):
    """A name in ``within=`` or ``outside=`` is of no code that called one of the ops."""
