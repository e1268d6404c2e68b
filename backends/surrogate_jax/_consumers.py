"""What a primitive does to the twins of its operands, where one of them has an origin.

Each rule gives the origin of a result that is a boolean or an integer, or what carries the gradient of one
that is a float. The value is the native one always.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from surrogate_jax._origins import Index, Lazy, Origin, origin_of
from surrogate_jax._scope import suspended
from surrogate_jax._steer import steer
from surrogate_jax._twins import of_index

Array = Any
Twins = Sequence[Array]


@dataclass(frozen=True)
class Step:
    """One binding of a primitive.

    Attributes:
        bind: the native one.
        args, params: what is bound.
        origins: of each operand, where it has one.
    """

    bind: Callable[..., Any]
    args: Sequence[Any]
    params: Mapping[str, Any]
    origins: Sequence[Origin | None]

    def twins(self) -> list[Array]:
        """The operands as floats: the twin of one with an origin, the cast of another."""
        made = [None if o is None else o.twin() for o in self.origins]
        dtype = jnp.result_type(*(t for t in made if t is not None))
        return [_as(x if t is None else t, dtype) for x, t in zip(self.args, made, strict=True)]


#: A rule: the twins of the results, from a step.
Rule = Callable[[Step], Any]


def origins_of(args: Sequence[Any]) -> list[Origin | None]:
    """The origins of operands."""
    return [origin_of(x) for x in args]


def result(name: str, step: Step) -> list[Origin | None]:
    """The origins of the results of a primitive; None where the origin ends here."""
    index = _of_index(name, step)
    if index is not None:
        return [of_index(index)]
    rule = RULES.get(name)
    if rule is None or not _applies(name, step):
        return [None]
    needs = [o.twin for o in step.origins if o is not None] + [x for x in step.args if _is_float(x)]

    def make() -> Any:
        with suspended(*step.args):
            return rule(step)

    if name not in SEVERAL:
        return [Origin(Lazy(make, needs), among=_among(name, step))]
    if name == "device_put_p":  # each for itself
        return [o and Origin(Lazy(functools.partial(_put, step, o), needs)) for o in step.origins]
    every = Lazy(make, needs)
    split = step.params.get("sizes")
    count = step.args[0].shape[step.params["axis"]] if split is None else len(split)
    return [Origin(Lazy(functools.partial(_nth, every, i), needs)) for i in range(count)]


def _applies(name: str, step: Step) -> bool:
    """Whether the rule of a primitive holds for these operands; if not, the origin ends here."""
    first, origins = step.args[0], step.origins
    if name in ("not_p", "and_p", "or_p", "xor_p", "select_n_p"):
        return bool(first.dtype == bool)
    if name in ("eq_p", "ne_p"):
        known = [o for o in origins if o is not None]
        return bool(first.dtype == bool) or (len(known) == 1 and known[0].index is not None)
    if name in ("gather_p", "dynamic_slice_p"):
        if origins[0] is not None:
            return True
        place = next(i for i, o in enumerate(origins) if o is not None)
        origin = origins[place]
        assert origin is not None
        alone = name == "dynamic_slice_p" or step.args[place].shape[-1] == 1
        return (alone and origin.index is not None) or origin.among is not None
    if name == "scatter_p":
        return origins[1] is None
    return not (name in ("div_p", "rem_p") and origins[1] is not None)


def _nth(every: Lazy, i: int) -> Array:
    return every.make()[i]


def _put(step: Step, origin: Origin) -> Array:
    twin = origin.twin()
    with suspended(twin):
        several = {name: value[:1] for name, value in step.params.items() if isinstance(value, list | tuple)}
        one = {**step.params, **several}
        return step.bind(twin, **one)[0]


def _among(name: str, step: Step) -> tuple[int, Index] | None:
    """Of indices that are put side by side, ``x[rows, i]``: which of them is that of a largest entry."""
    known = [(at, o) for at, o in enumerate(step.origins) if o is not None]
    if name != "concatenate_p" or len(known) != 1 or known[0][1].index is None:
        return None
    at, origin = known[0]
    sizes = [jnp.shape(x)[-1] for x in step.args]
    last = step.params["dimension"] == jnp.ndim(step.args[0]) - 1
    return (sum(sizes[:at]), origin.index) if last and sizes[at] == 1 and origin.index else None


# -- functions of a class ---------------------------------------------------------------------------


def _of_index(name: str, step: Step) -> Index | None:
    """The result as a function of the same class as the operands; None where it is none."""
    found = [o.index for o in step.origins if o is not None]
    if not found or any(index is None for index in found):
        return None
    first = found[0]
    assert first is not None
    if name in STRUCTURAL and len(step.args) == 1:
        return Index(Lazy(functools.partial(_each_plane, step, first), [first.one_hot]), first.values)
    if name not in POINTWISE or any(i is not None and i.one_hot is not first.one_hot for i in found):
        return None
    if any(jnp.size(x) != 1 for x, o in zip(step.args, step.origins, strict=True) if o is None):
        return None
    with suspended():
        size = len(first.values)
        columns = [
            jnp.broadcast_to(jnp.asarray(x, jnp.result_type(x)).reshape(()), (size,)) if o is None
            else jnp.asarray(o.index.values)  # type: ignore[union-attr]
            for x, o in zip(step.args, step.origins, strict=True)
        ]  # fmt: skip
        return Index(first.one_hot, step.bind(*columns, **step.params))


def _each_plane(step: Step, index: Index) -> Array:
    """A structural primitive on every class's plane of the one-hot vector."""
    one_hot = index.one_hot()
    with suspended(one_hot):
        return jax.vmap(lambda plane: step.bind(plane, **step.params), -1, -1)(one_hot)


# -- rules ------------------------------------------------------------------------------------------


def _as_it_is(step: Step) -> Any:
    """The same primitive on floats."""
    return step.bind(*step.twins(), **step.params)


def _first_only(step: Step) -> Array:
    """The primitive on the twin of its first operand; the others are places, and stay."""
    first = step.origins[0]
    if first is None:
        return _chosen(step)
    return step.bind(first.twin(), *step.args[1:], **step.params)


def _converted(step: Step) -> Array:
    (twin,) = step.twins()
    wanted = step.params["new_dtype"]
    return _as(twin, wanted) if jnp.issubdtype(wanted, jnp.floating) else twin


def _not(step: Step) -> Array:
    return 1 - step.twins()[0]


def _and(step: Step) -> Array:
    a, b = step.twins()
    return a * b


def _or(step: Step) -> Array:
    a, b = step.twins()
    return a + b - a * b


def _xor(step: Step) -> Array:
    a, b = step.twins()
    return a + b - 2 * a * b


def _all(step: Step) -> Array:
    return jnp.prod(step.twins()[0], axis=tuple(step.params["axes"]))


def _any(step: Step) -> Array:
    return 1 - jnp.prod(1 - step.twins()[0], axis=tuple(step.params["axes"]))


def _equal(step: Step) -> Array:
    """Of booleans the multilinear extension; of an index and other values the entries of equal ones."""
    if step.args[0].dtype == bool:
        return 1 - _xor(step)
    place = next(i for i, o in enumerate(step.origins) if o is not None)
    index, other = step.origins[place].index, step.args[1 - place]  # type: ignore[union-attr]
    assert index is not None
    one_hot = index.one_hot()
    hit = jnp.asarray(index.values) == jnp.asarray(other)[..., None]
    if one_hot.ndim > 1 and one_hot.shape[-2] == 1 and hit.size == hit.shape[-2] * hit.shape[-1]:
        columns = hit.reshape(hit.shape[-2:]).astype(one_hot.dtype)  # one_hot(i): no n x n for each i
        return jnp.matmul(one_hot[..., 0, :], columns.T)
    return jnp.sum(jnp.where(hit, one_hot, 0), axis=-1)


def _unequal(step: Step) -> Array:
    return _xor(step) if step.args[0].dtype == bool else 1 - _equal(step)


def _quotient(step: Step) -> Array:
    a, b = step.twins()
    return a / b


def _dot(step: Step) -> Array:
    return step.bind(*step.twins(), **{**step.params, "preferred_element_type": None})


def _written(step: Step) -> Any:
    """``x.at[0].set(b)``: the places stay."""
    known = [o for o in (step.origins[0], step.origins[2]) if o is not None]
    dtype = known[0].twin().dtype
    twins = [x if o is None else o.twin() for x, o in zip(step.args, step.origins, strict=True)]
    x, values = _as(twins[0], dtype), _as(twins[2], dtype)
    return step.bind(x, step.args[1], values, **step.params)


def _summed(step: Step) -> Array:
    return jnp.sum(step.twins()[0], axis=tuple(step.params["axes"]))


def _selected(step: Step) -> Array:
    """``where(b, u, v)``: the twin of b gets ``g * (u - v)``, u and v their own."""
    which = step.args[0]
    twins = [x if o is None else o.twin() for x, o in zip(step.args, step.origins, strict=True)]
    dtype = jnp.result_type(*(t for t in twins if _is_float(t)))
    floats = [_as(t, dtype) for t in twins[1:]]
    native = step.bind(which, *floats)
    if step.origins[0] is None:
        return native
    shape = jnp.shape(native)
    twin = jnp.broadcast_to(_as(twins[0], dtype), shape)
    return native + steer(lax.mul, [floats[1] - floats[0]], twin)


def _chosen(step: Step) -> Array:
    """What is looked up by an index: the one-hot vector gets ``<g, table[j]>`` for class j."""
    place = next(i for i, o in enumerate(step.origins) if o is not None)
    origin = step.origins[place]
    assert origin is not None
    column, index = origin.among or (None, origin.index)
    assert index is not None
    one_hot, table = index.one_hot(), step.args[0]
    native = step.bind(*step.args, **step.params)
    if not _is_float(table):
        table, native = _as(table, one_hot.dtype), _as(native, one_hot.dtype)
    by = _LookUp(step.bind, step.params, place, column)
    others = [x for i, x in enumerate(step.args) if i not in (0, place)]
    known = [table, jnp.asarray(index.values), jnp.asarray(step.args[place]), *others]
    return native + steer(by, known, _as(one_hot, table.dtype))


class _LookUp:
    """``sum_j one_hot[..., j] * table[j]``, as the primitive looks up."""

    def __init__(
        self, bind: Callable[..., Any], params: Mapping[str, Any], place: int, column: int | None
    ) -> None:
        self.bind, self.place, self.column = bind, place, column
        self.params = {**params, "mode": lax.GatherScatterMode.CLIP} if "mode" in params else params

    def __call__(self, table: Array, values: Array, places: Array, *rest: Array) -> Array:
        *others, one_hot = rest
        rows = jax.vmap(lambda value: self._row(table, value, places, others))(values)
        weights = jnp.moveaxis(one_hot, -1, 0)
        numbers = self.params.get("dimension_numbers")
        if numbers is None:
            weights = weights.reshape(weights.shape + (1,) * (rows.ndim - 1))
            return jnp.sum(weights * rows, axis=0)
        weights = weights[..., 0]  # one entry of the index vector
        kept = [axis for axis in range(rows.ndim - 1) if axis not in numbers.offset_dims]
        full = lax.broadcast_in_dim(weights, rows.shape, [0, *(axis + 1 for axis in kept)])
        return jnp.sum(full * rows, axis=0)

    def _row(self, table: Array, value: Array, places: Array, others: Sequence[Array]) -> Array:
        """What is looked up if every index is this value; beside other indices, if that one is."""
        args = [table, *others]
        same = jnp.full_like(places, value) if self.column is None else places.at[..., self.column].set(value)
        args.insert(self.place, same)
        return self.bind(*args, **self.params)


def _is_float(x: Any) -> bool:
    return bool(jnp.issubdtype(jnp.result_type(x), jnp.floating))


def _as(x: Any, dtype: Any) -> Array:
    if not isinstance(x, jax.Array):  # a literal of a jaxpr, whose own dtype would be kept
        return jnp.asarray(np.asarray(x).astype(dtype))
    return x if x.dtype == dtype else lax.convert_element_type(x, dtype)


#: Primitives that move elements about: the twin's are moved alike.
STRUCTURAL = frozenset(
    ("reshape_p", "transpose_p", "slice_p", "broadcast_in_dim_p", "squeeze_p", "rev_p", "copy_p")
)
#: Primitives that work element by element.
POINTWISE = frozenset(
    (
        *("add_p", "sub_p", "mul_p", "neg_p", "div_p", "rem_p", "max_p", "min_p", "clamp_p", "sign_p"),
        *("eq_p", "ne_p", "lt_p", "le_p", "gt_p", "ge_p", "and_p", "or_p", "not_p", "xor_p", "select_n_p"),
        *("abs_p", "convert_element_type_p"),
    )
)
#: Primitives with several results.
SEVERAL = frozenset({"split_p", "unstack_p", "device_put_p"})

RULES: Mapping[str, Rule] = {
    **dict.fromkeys(STRUCTURAL, _as_it_is),
    **dict.fromkeys(("add_p", "sub_p", "mul_p", "neg_p", "max_p", "min_p", "rem_p"), _as_it_is),
    **dict.fromkeys(
        ("concatenate_p", "stack_p", "pad_p", "split_p", "unstack_p", "tile_p", "cumsum_p"), _as_it_is
    ),
    **dict.fromkeys(("device_put_p", "reduce_max_p", "reduce_min_p", "reduce_prod_p"), _as_it_is),
    "scatter_p": _written,
    "convert_element_type_p": _converted,
    "dynamic_slice_p": _first_only,
    "gather_p": _first_only,
    "not_p": _not,
    "and_p": _and,
    "or_p": _or,
    "xor_p": _xor,
    "eq_p": _equal,
    "ne_p": _unequal,
    "reduce_and_p": _all,
    "reduce_or_p": _any,
    "reduce_sum_p": _summed,
    "dot_general_p": _dot,
    "div_p": _quotient,
    "select_n_p": _selected,
}
