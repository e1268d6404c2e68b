"""The twelve promises of every backend, and the checks of the kit that test each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Promise:
    """One guarantee that a user may rely on in every backend.

    Attributes:
        number: as docstrings and the documentation cite it.
        title: the promise in a few words.
        text: the promise in full.
        checks: names of the kit's checks that test it, ``"vjp"``, or one of them, ``"scope[restores]"``.
    """

    number: int
    title: str
    text: str
    checks: tuple[str, ...]


TWELVE = (
    Promise(
        1,
        "The forward value is bit-identical to native",
        "For every input: both zeros, infinities, NaN, subnormals, every float dtype. No arithmetic such as "
        "`x + stop_gradient(f(x) - x)`, which returns 0 for `sign(300)` in bfloat16.",
        ("value", "origins"),
    ),
    Promise(
        2,
        "Decided at forward time",
        "The rule in force when the op runs (or is traced) is the one that its backward uses, wherever and "
        "whenever that runs: after the block, in another thread, in a checkpoint's recomputation.",
        ("scope[decided-forward]",),
    ),
    Promise(
        3,
        "Compiled code is never stale",
        "The active rules are part of the compiler's cache key, in memory and on disk. The same compiled "
        "object called outside, inside and outside an override gives native, surrogate, native.",
        ("compiled",),
    ),
    Promise(
        4,
        "Only the user's ops",
        "An op that the framework calls inside its own derivative rules or composites keeps its native "
        "gradient. A rule's own body, and the forward that it calls, never see overrides.",
        ("composites",),
    ),
    Promise(
        5,
        "Scope",
        "`override` is visible in the current thread or task only, restores on any exception, and nests. "
        "`use` is visible in all threads. Handles undo in any order.",
        ("scope",),
    ),
    Promise(
        6,
        "Modes agree",
        "Reverse mode, forward mode, vmap, compilation and their compositions give the same numbers. A "
        "gradient with `upstream=True` has no forward mode: asking for it raises an error that says so.",
        ("jvp", "no_forward_mode", "closed_over", "parameters", "origins"),
    ),
    Promise(
        7,
        "Higher derivatives are those of the formula",
        "0 for a window, in every backend.",
        ("vjp", "second", "product"),
    ),
    Promise(
        8,
        "Shape and dtype are kept",
        "The cotangent of a broadcast operand is summed to the operand's shape. Integer inputs are left "
        "alone.",
        ("dtype", "shapes", "integers", "decimals"),
    ),
    Promise(
        9,
        "Memory is the minimum",
        "A constant gradient keeps nothing, a window one byte per element, any other its inputs and nothing "
        "else.",
        ("residuals",),
    ),
    Promise(
        10,
        "Select, not multiply",
        "An infinite upstream gradient times a closed window is 0, not NaN.",
        ("select",),
    ),
    Promise(
        11,
        "The library owns every formula",
        "Ties and edges included: no backward is delegated to a framework op whose convention at ties "
        "differs between frameworks and versions.",
        ("vjp", "namespace"),
    ),
    Promise(
        12,
        "Nothing is silent",
        "An unknown op, gradient, parameter or backend is an error with the nearest name. A backend that "
        "cannot do an op raises when it is asked, and never returns zeros. A framework whose private hooks "
        "are missing is refused when the backend loads. An override that captured nothing warns when it "
        "ends.",
        ("contract", "unsupported", "spellings"),
    ),
)


def promises_of(check: str, name: str = "") -> tuple[Promise, ...]:
    """The promises that a check tests: by its own name, or by ``check[name]``."""
    named = {check, f"{check}[{name}]"}
    return tuple(promise for promise in TWELVE if named & set(promise.checks))
