"""``surrogate.audit``: which op at which line costs a gradient, and what mends it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from surrogate._backend import Backend

if TYPE_CHECKING:
    from surrogate.auditing import Report


def audit(
    backend: str | Backend,
    fn: Callable[..., Any],
    *args: Any,
    loss: Callable[..., Any] | None = None,
    wrt: Any = None,
    argnums: int | Sequence[int] = 0,
    kinds: Iterable[str] = (),
    level: str = "warning",
    ignore: Iterable[tuple[str, str]] = (),
    probes: Iterable[str] = (),
    keep: str = "all",
) -> Report:
    """Run a program once, unmodified, and name every op that cuts, zeroes, explodes or NaNs a gradient.

    The program is left as it was: random state, buffers, variables, gradients. It runs once more for every
    line where a value left for Python (does it come back?), and once more where an override would mend what
    was found: what is suggested was tried.

    Args:
        backend: ``"torch"``, ``"tensorflow"``, ``"jax"``, ``"autograd"`` or a plugin's name.
        fn: a function or model. What it returns is the loss if it is one number, else it is reduced by a
            fixed random projection. In PyTorch and TensorFlow one that returns no array (``fit``, a training
            step) is audited at the first gradient that it asks for.
        *args: its arguments.
        loss: makes the loss of what ``fn`` returns.
        wrt: what to differentiate by: arrays, a mapping of names to arrays, or names that the report uses.
            By default what the framework would train: parameters and inputs that require a gradient
            (PyTorch), trainable variables (TensorFlow), the argument ``argnums`` (JAX, autograd).
        argnums: position of the arguments to differentiate by, as in ``jax.grad``.
        kinds: kinds of findings to look for; all by default.
        level: severity from which on findings are printed: ``"error"``, ``"warning"``, ``"info"``.
        ignore: findings that are sound, as ``(kind, "file.py:line")``. The comment ``# surrogate: sound`` on
            the line says the same.
        probes: ``"float16"``, ``"bfloat16"``: what would not survive that dtype; ``"scale"``: inputs times
            0 and 100.
        keep: ``"light"``: keep no array alive that the program would let go; large ops are then not
            asked whether their derivative is zero.

    Raises:
        UnknownBackendError, MissingFrameworkError, BrokenBackendError, IncompatibleFrameworkError:
            the backend cannot be had; says what to do.
        UnsupportedAuditError: the backend cannot record a program.
        SpecError: an argument that is not one of these.

    Any other error is the program's own; its attribute ``report`` is what was found until then.
    """
    from surrogate.auditing._ask import ask  # only a program that is audited pays for it

    return ask(backend, fn, args, loss, wrt, argnums, kinds, level, ignore, probes, keep)
