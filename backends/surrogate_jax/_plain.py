"""``jax_disable_jit``: a jnp function is then plain Python, and no jit of its name is ever bound.

What the function calls must not pass as native in silence. ``lax`` calls and ``jax.nn.relu`` are
captured as ever; a jnp function whose op is overridden is refused with a clear error.
"""

from __future__ import annotations

from types import FrameType

import jax

import surrogate
from surrogate_jax._spellings import ops_of_function
from surrogate_jax._whose import origin

#: Primitives that clip, heaviside, ... reach first; those that spell an op themselves are hooked anyway.
WATCHED = ("max_p", "min_p", "lt_p", "ge_p", "gt_p", "select_n_p")


def refuse(state: surrogate.State, frame: FrameType) -> None:
    """Under jax_disable_jit, refuse a jnp function of the user's whose op is overridden.

    Raises:
        UnsupportedOpError: names the function and what to do.
    """
    if not jax.config.jax_disable_jit:
        return
    outermost = origin(frame).outermost
    if outermost is None:
        return
    file, function = outermost
    overridden = [op for op in ops_of_function(file, function) if state.rule(op, frame) is not None]
    if overridden:
        raise surrogate.UnsupportedOpError(
            f"the override of {overridden[0]!r} cannot see jnp.{function} under jax_disable_jit: JAX then "
            "runs its functions as plain Python. Turn jax_disable_jit off around this call."
        )
