"""Records a JAX program for the audit: traced once, run once as one compiled function."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from surrogate import SpecError
from surrogate.auditing import Place, Size, Trace, Wanted
from surrogate_jax import _audit_numbers, _audit_places
from surrogate_jax._audit_program import Body, inexact, read
from surrogate_jax._audit_questions import ask_all
from surrogate_jax._audit_taint import follow
from surrogate_jax._audit_trace import Builder
from surrogate_jax._scope import suspended

Function = Callable[..., Any]

#: What JAX raises where a value would leave for Python -> the op that it leaves by. The first that fits.
_LEAVES: tuple[tuple[type[Exception], str], ...] = (
    (jax.errors.TracerBoolConversionError, "bool"),
    (jax.errors.TracerArrayConversionError, "numpy"),
    (jax.errors.TracerIntegerConversionError, "item"),
    (jax.errors.ConcretizationTypeError, "item"),
)


class Sources(NamedTuple):
    """What the loss is differentiated by.

    Attributes:
        names: by source.
        arrays: their values.
        call: calls the program with other arrays in their place.
    """

    names: list[str]
    arrays: list[Any]
    call: Function


def record(
    fn: Function, args: Sequence[Any], *, loss: Function | None, wrt: Any, argnums: int | Sequence[int]
) -> Trace:
    """See :meth:`surrogate.Backend.record`; ``wrt`` are argument numbers, leaves, or names of leaves."""
    sources = _sources(fn, args, wrt, argnums)

    def scalar(*arrays: Any) -> Any:
        out = sources.call(*arrays)
        return _one_number(out if loss is None else loss(out))

    try:
        with jax.disable_jit(False):  # else JAX's own jits are inlined and lose their names
            closed = jax.make_jaxpr(scalar)(*sources.arrays)
    except tuple(kind for kind, _ in _LEAVES) as error:
        return _left(error, sources)
    program = read(closed)
    follow(program, [True] * len(sources.arrays))
    with suspended(), jax.disable_jit(False):
        ask_all(program)
        seen, back, sizes = jax.device_get(compiled(program)(sources.arrays))
    builder = Builder()
    ids = [builder.constant(x) for x in sources.arrays]
    (end,) = builder.body(program, ids, seen, back)
    grads: dict[str, Size | None] = dict(zip(sources.names, map(_plain, sizes), strict=True))
    named = dict(zip(ids, sources.names, strict=True))
    return Trace("jax", builder.calls, builder.values, named, end, grads)


def compiled(program: Body) -> Function:
    """A function of the sources: numbers of all values and all cotangents, sizes of sources and gradients."""

    def forward(arrays: Sequence[Any], slots: Any) -> tuple[Any, Any]:
        (out,), seen = _audit_numbers.run(program, arrays, slots)
        return out, seen

    def step(arrays: Sequence[Any], slots: Any) -> Any:
        (_, seen), (gradients, back) = jax.value_and_grad(forward, (0, 1), has_aux=True)(arrays, slots)
        return seen, back, [_size(g, x) for g, x in zip(gradients, arrays, strict=True)]

    return functools.partial(jax.jit(step), slots=_audit_numbers.slots(program))


def _size(gradient: Any, value: Any) -> Any:
    wide = jnp.zeros(()).dtype
    norms = (jnp.sqrt(jnp.sum(jnp.abs(x).astype(wide) ** 2)) for x in (gradient, value))
    return (*norms, ~jnp.any(gradient != 0), jnp.all(jnp.isfinite(gradient)))


def _plain(size: Any) -> Size:
    gradient, value, zero, finite = size
    return Size(float(gradient), float(value), bool(zero), bool(finite))


# -- arguments and loss ----------------------------------------------------------------------------


def _sources(fn: Function, args: Sequence[Any], wrt: Any, argnums: int | Sequence[int]) -> Sources:
    """The float leaves of the arguments that are differentiated; everything else stays as it is."""
    numbers = argnums
    if isinstance(wrt, int) or (isinstance(wrt, (list, tuple)) and all(isinstance(n, int) for n in wrt)):
        numbers, wrt = wrt, None
    wanted = Wanted(wrt)
    arrays = {id(x) for x in wanted.arrays.values()}
    if arrays:
        numbers = [n for n, arg in enumerate(args) if any(id(x) in arrays for x in jax.tree.leaves(arg))]
        if not numbers:
            raise SpecError("wrt= names arrays among the arguments of the function, and these are none.")
    chosen = [n % len(args) for n in ([numbers] if isinstance(numbers, int) else numbers)]
    leaves, tree = jax.tree_util.tree_flatten_with_path(tuple(args[n] for n in chosen))
    plain = [leaf for _, leaf in leaves]
    own = [_name(path, chosen) for path, _ in leaves]
    wanted.must_have(own)
    names = [wanted.name(name, leaf) for name, leaf in zip(own, plain, strict=True)]
    moving = {k: name for k, name in enumerate(names) if name is not None and _is_float(plain[k])}

    def call(*arrays: Any) -> Any:
        full = list(plain)
        for k, x in zip(moving, arrays, strict=True):
            full[k] = x
        given = list(args)
        for n, argument in zip(chosen, jax.tree.unflatten(tree, full), strict=True):
            given[n] = argument
        return fn(*given)

    return Sources([*moving.values()], [jnp.asarray(plain[k]) for k in moving], call)


def _is_float(leaf: Any) -> bool:
    return isinstance(leaf, float) or inexact(leaf)


def _name(path: Sequence[Any], chosen: Sequence[int]) -> str:
    """``enc.weight`` for a leaf of the only argument; ``arg1.enc.weight`` if there are several."""
    root = f"arg{chosen[path[0].idx]}"
    inner = jax.tree_util.keystr(tuple(path[1:]), simple=True, separator=".")
    return ".".join(part for part in (root if len(chosen) > 1 or not inner else "", inner) if part)


def _one_number(out: Any) -> Any:
    """The output itself if it is one float, else a fixed random projection of its floats."""
    leaves = [x for x in jax.tree.leaves(out) if hasattr(x, "dtype") or isinstance(x, (int, float))]
    leaves = [jnp.asarray(x) for x in leaves]
    if not leaves:
        raise SpecError("the program returns no array: there is nothing to audit.")
    floats = [x for x in leaves if inexact(x)] or [x.astype(float) for x in leaves]
    if len(floats) == 1 and floats[0].size == 1:
        return jnp.real(floats[0]).reshape(())
    draws = np.random.RandomState(0)
    reals = [jnp.real(x) for x in floats]
    return sum(jnp.sum(x * jnp.asarray(draws.standard_normal(x.shape), x.dtype)) for x in reals)


def _left(error: BaseException, sources: Sources) -> Trace:
    """A program that asks for a value while it is traced: it can be neither traced nor differentiated."""
    op = next(op for kind, op in _LEAVES if isinstance(error, kind))
    frames = traceback.extract_tb(error.__traceback__)
    users = [frame for frame in frames if _audit_places.is_of_a_user(frame.filename)] or frames
    place = Place(users[-1].filename, users[-1].lineno or 0, users[-1].name)
    why = f"the value leaves JAX here: {type(error).__name__} where the program is traced"
    return Trace("jax", [], {}, dict(enumerate(sources.names)), None, raised=(place, op, why))
