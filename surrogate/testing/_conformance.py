"""The class a plugin author derives from: two lines, and pytest runs every check."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from surrogate._backend import Backend
from surrogate._errors import MissingFrameworkError
from surrogate._plugins import load_backend
from surrogate.testing._expected import declared, match
from surrogate.testing._failure import Inapplicable
from surrogate.testing._plan import CLAIMS, Check, not_claimed, plan
from surrogate.testing._target import Target

if TYPE_CHECKING:
    import pytest

PROMISES = (
    "contract",
    "namespace",
    "value",
    "dtype",
    "vjp",
    "select",
    "jvp",
    "no_forward_mode",
    "second",
    "product",
    "shapes",
    "closed_over",
    "decimals",
    "integers",
    "parameters",
    "spellings",
    "origins",
    "residuals",
    "composites",
    "scope",
    "compiled",
    "unsupported",
)


class Conformance:
    """Every promise of a backend, as tests.

    ::

        class TestMine(surrogate.testing.Conformance):
            backend = "mine"

    One test method per promise, one test per op, gradient, dtype and mode that the backend claims.

    Attributes:
        backend: the backend's name, or the :class:`surrogate.Backend` itself.
        expected_failures: check id (``vjp[sign:hardtanh-float32-jit]``) or glob (``vjp[mod:*]``) -> why.
            The check must then fail. Beside those that the backend itself declares, which
            ``surrogate check`` knows too. Nothing else may be changed: a subclass that overrides a check
            is refused.
        optional: report a framework that is not installed as such, in place of failing; a name in the
            environment variable ``SURROGATE_REQUIRE`` (``torch,jax``) must be installed all the same.
    """

    backend: ClassVar[str | Backend]
    expected_failures: ClassVar[Mapping[str, str]] = {}
    optional: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        refuse_overridden(cls)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Give each test method its checks."""
        import pytest

        cls = type(self)
        refuse_overridden(cls)
        promise = metafunc.function.__name__.removeprefix("test_")
        missing = _missing(cls)
        if missing is not None:
            name = "claim" if promise == "not_claimed" else "check"
            skipped = pytest.param(
                None, id="not_installed", marks=pytest.mark.skip(f"not installed: {missing}")
            )
            metafunc.parametrize(name, [skipped])
            return
        if promise == "not_claimed":
            claims = not_claimed(load_backend(cls.backend))
            metafunc.parametrize("claim", claims or ["nothing"])
        elif "check" in metafunc.fixturenames:
            reasons = expected(cls)
            found = [
                _parameter(check, reasons.get(check.id))
                for check in _planned(cls)
                if check.promise == promise
            ]
            nothing = pytest.param(None, id="nothing", marks=pytest.mark.skip("nothing of it is claimed"))
            metafunc.parametrize("check", found or [nothing])

    def test_not_claimed(self, claim: str) -> None:
        """What the backend does not claim is not checked: it is reported here, and never as passed."""
        import pytest

        if claim != "nothing":
            pytest.skip(f"not claimed: {claim} ({CLAIMS[claim]})")


def _parameter(check: Check, reason: str | None) -> Any:
    import pytest

    marks = [] if reason is None else [pytest.mark.xfail(reason=reason, strict=True)]
    return pytest.param(check, id=check.name, marks=marks)


def _method(promise: str) -> Any:
    def test(self: Conformance, check: Check) -> None:
        __tracebackhide__ = True
        try:
            check(_target(type(self)))
        except Inapplicable as nothing:
            import pytest

            pytest.skip(str(nothing))

    test.__name__ = f"test_{promise}"
    test.__qualname__ = f"Conformance.test_{promise}"
    test.__doc__ = f"The checks of the promise {promise!r}."
    return test


for _promise in PROMISES:
    setattr(Conformance, f"test_{_promise}", _method(_promise))

_OWN = tuple(name for name in vars(Conformance) if name.startswith(("test_", "pytest_")))
_KEPT = {name: vars(Conformance)[name] for name in _OWN}


def _missing(cls: type[Conformance]) -> str | None:
    """Why the backend cannot be run here, where that is allowed.

    Raises:
        MissingFrameworkError: it is not allowed.
        TypeError: the class names no backend.
    """
    if not hasattr(cls, "backend"):
        raise TypeError(f"{cls.__name__} names no backend: write backend = 'name' in its body.")
    try:
        load_backend(cls.backend)
    except MissingFrameworkError as error:
        required = os.environ.get("SURROGATE_REQUIRE", "").replace(",", " ").split()
        if not cls.optional or cls.backend in required:
            raise
        return str(error)
    return None


def refuse_overridden(cls: type[Conformance]) -> None:
    """Raise if a subclass, or a mixin before it, changes a check.

    Raises:
        TypeError: it does; says which.
    """
    changed = sorted(name for name, kept in _KEPT.items() if getattr(cls, name, None) is not kept)
    if changed:
        raise TypeError(
            f"{cls.__name__} overrides {', '.join(changed)} of surrogate.testing.Conformance. A check may "
            "not be changed: say what is known to fail, and why, in expected_failures: {'vjp[mod:*]': 'why'}."
        )


def expected(cls: type[Conformance]) -> dict[str, str]:
    """Check id -> reason, for the checks that a class expects to fail.

    Raises:
        TypeError: an entry has no reason.
    """
    reasons = cls.__dict__.get("_expected")
    if reasons is None:
        backend, planned, _ = _plan_of(cls)
        reasons = match(declared(backend, cls.expected_failures), planned, cls.__name__)
        cls._expected = reasons  # type: ignore[attr-defined]
    return dict(reasons)


_plans: dict[int, tuple[Backend, list[Check], Target]] = {}


def _plan_of(cls: type[Conformance]) -> tuple[Backend, list[Check], Target]:
    backend = load_backend(cls.backend)
    if id(backend) not in _plans:
        _plans[id(backend)] = backend, plan(backend), Target(backend)
    return _plans[id(backend)]


def _planned(cls: type[Conformance]) -> list[Check]:
    return _plan_of(cls)[1]


def _target(cls: type[Conformance]) -> Target:
    return _plan_of(cls)[2]


def targets() -> dict[str, Target]:
    """The backends that have been checked in this process, with their numbers."""
    return {backend.name: target for backend, _, target in _plans.values()}
