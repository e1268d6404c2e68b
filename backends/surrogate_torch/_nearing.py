"""A warning before rules that keep changing use up the compilations that torch.compile allows."""

from __future__ import annotations

import warnings
from types import CodeType
from weakref import WeakKeyDictionary

from torch._C._dynamo.eval_frame import _get_total_cache_entry_count as _compiled

from surrogate import SurrogateWarning

#: So many compilations before the limit it is said: two more are good, then the code stays eager or fails.
_BEFORE = 2

#: Code -> op -> gradients that it was compiled for, by what the rules have for it.
_seen: WeakKeyDictionary[CodeType, dict[str, dict[str, str]]] = WeakKeyDictionary()


def note(code: CodeType, op: str, key: str, spec: str) -> None:
    """Count a compilation of ``code`` for this gradient, and warn where only the rules make it so many."""
    from torch._dynamo import config

    found = _seen.setdefault(code, {}).setdefault(op, {})
    made = _compiled(code) + 1  # with this one, whose guards are being made
    if made == 1:
        found.clear()  # the compiler was reset
    found[key] = spec
    if made == len(found) == max(config.recompile_limit - _BEFORE, 2):
        warnings.warn(
            f"{code.co_name} ({code.co_filename}:{code.co_firstlineno}) was compiled for {made} gradients of "
            f"{op}, lately {spec!r}. After {config.recompile_limit} torch.compile leaves it eager, or raises "
            "FailOnRecompileLimitHit in a full graph. For a parameter that changes while training give a "
            "surrogate.Variable, which is compiled once: "
            f"surrogate.gradient({op!r}, {spec.partition('(')[0]!r}, parameter=variable). "
            "Else raise torch._dynamo.config.recompile_limit.",
            SurrogateWarning,
            stacklevel=2,
        )
