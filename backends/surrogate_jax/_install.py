"""Putting the hooks in, once, when the backend loads: they cost little where no rule is in force."""

from __future__ import annotations

from functools import partial

import jax

import surrogate
from surrogate_jax import _deferred, _discrete, _masks, _spellings as spellings
from surrogate_jax._capture import body_hook, jit_hook, nn_class, primitive_hook, runs
from surrogate_jax._entered import LOOKED_AT
from surrogate_jax._hooks import BODIES, Undo, find, primitive, replace_class, replace_each
from surrogate_jax._plain import WATCHED


def install(backend: surrogate.Backend) -> list[Undo]:
    """Put the hooks in front of JAX's primitives and jax.nn functions; returns how to take them away."""
    jit = (find("jax.extend.core.primitives:jit_p"), partial(jit_hook, backend))
    looked_at = {n for n in LOOKED_AT if hasattr(jax.lax, n)} - {*BODIES}  # some are not in every version
    names = sorted({*spellings.LAX, *WATCHED, *_discrete.LAX, *looked_at})  # one hook, whatever it is for
    lax = [(primitive(name), partial(primitive_hook, backend, name)) for name in names]
    bodies = [(find(f"jax.extend.core.primitives:{name}"), partial(body_hook, name)) for name in BODIES]
    binds = replace_each([jit, *lax, *bodies])
    nn = [replace_class(find(f"jax.nn:{name}"), partial(nn_class, backend, name)) for name in spellings.NN]
    return [*binds, *nn, *runs(), *_deferred.install(backend), *_masks.install()]
