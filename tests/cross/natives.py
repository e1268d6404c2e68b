"""The derivatives of the shipped native formulas, by hand in NumPy, and calls of each in every framework.

Every number is of float64. A case is an op's call by one framework with the cotangents that are right.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

Array = Any
RANDOM = np.random.default_rng(14)


class Case(NamedTuple):
    """A call under a shipped formula.

    Attributes:
        framework, key, spec: the rule.
        f: calls the op once, on the framework's arrays.
        inputs, g: its operands and the upstream gradient.
        right: the cotangent of each operand, None where it is not looked at.
        beside: rules of other ops that the formula needs.
    """

    framework: str
    key: str
    spec: str
    f: Callable[..., Any]
    inputs: Sequence[Array]
    g: Array
    right: Sequence[Array | None]
    beside: Mapping[str, str] = MappingProxyType({})

    @property
    def label(self) -> str:
        return f"{self.framework} {self.key} {self.spec} {'x'.join(map(str, self.inputs[0].shape))}"


# -- by hand -------------------------------------------------------------------------------------------


def windows(
    shape: Sequence[int], out: Sequence[int], size: Any, step: Any, pad: Any, gap: Any
) -> Iterator[Any]:
    """Per window its place in the result, and its elements that lie in the operand."""
    for at in itertools.product(*map(range, out)):
        elements = []
        for offset in itertools.product(*map(range, size)):
            where = tuple(a * s + o * d - p for a, s, o, d, p in zip(at, step, offset, gap, pad, strict=True))
            if all(0 <= w < n for w, n in zip(where, shape, strict=True)):
                elements.append(where)
        yield at, elements


def pooled(x: Array, g: Array, share: Callable[[Array], Array], **geometry: Any) -> Array:
    """The cotangent of pooling one plane: ``share(values)`` of each window's upstream gradient."""
    found = np.zeros_like(x)
    for at, elements in windows(x.shape, g.shape, **geometry):
        values = np.array([x[where] for where in elements])
        for where, part in zip(elements, share(values), strict=True):
            found[where] += part * g[at]
    return found


def equal_share(values: Array) -> Array:
    return np.full(len(values), 1 / len(values))


def softmax_share(temperature: float) -> Callable[[Array], Array]:
    def share(values: Array) -> Array:
        e = np.exp((values - values.max()) / temperature)
        return e / e.sum()

    return share


def softsorted(x: Array, s: Array, g: Array, tau: float) -> Array:
    """The derivative of softmax(-|s - x| / tau) @ x for one row, element by element."""
    n, k = len(x), len(s)
    place = [int(np.flatnonzero(x == value)[0]) for value in s]
    p = np.exp(-np.abs(s[:, None] - x) / tau)
    p /= p.sum(1, keepdims=True)
    found = np.zeros(n)
    for m in range(n):  # d/dx_m
        for i in range(k):
            slope = np.array([-np.sign(s[i] - x[j]) * ((place[i] == m) - (j == m)) / tau for j in range(n)])
            change = p[i] * (slope - (p[i] * slope).sum())
            found[m] += g[i] * (p[i, m] + (change * x).sum())
    return found


def interpolated(
    image: Array, points: Sequence[Array], value: Callable[[Array, tuple[int, ...]], float]
) -> list[Array]:
    """The derivatives of linear interpolation by each coordinate, at points inside of cells."""
    lows = [np.floor(p).astype(int) for p in points]
    found = [np.zeros(len(points[0])) for _ in points]
    for at in range(len(points[0])):
        for corner in itertools.product((0, 1), repeat=len(points)):
            weight = [
                c * (p[at] - lo[at]) + (1 - c) * (1 - p[at] + lo[at])
                for c, p, lo in zip(corner, points, lows, strict=True)
            ]
            here = value(image, tuple(int(lo[at]) + c for c, lo in zip(corner, lows, strict=True)))
            for axis in range(len(points)):
                others = np.prod([w for i, w in enumerate(weight) if i != axis])
                found[axis][at] += (2 * corner[axis] - 1) * others * here
    return found


def inside(image: Array, at: tuple[int, ...]) -> float:
    return float(image[at]) if all(0 <= i < n for i, n in zip(at, image.shape, strict=True)) else 0.0


def looked_up(
    table: Array, at: Sequence[Array], g: Array, where: Callable[[Sequence[Array]], Any]
) -> tuple[Array, list[Array]]:
    """The cotangents of a table and of positions in it, the floors of which are looked up.

    ``where(positions)`` gives, as arrays of one shape, the table's index for each entry of ``g``. Every
    position by itself moves to the next entry; at the end of an axis there is none.
    """
    floors = [np.array(np.floor(p), int) for p in at]
    here = where(floors)
    by_table = np.zeros_like(table)
    np.add.at(by_table, here, g)
    by_positions = []
    for k, p in enumerate(floors):
        found = np.zeros(p.shape)
        for place in np.ndindex(*p.shape):
            moved = [np.array(one) for one in floors]
            moved[k][place] += 1
            there = tuple(np.minimum(i, n - 1) for i, n in zip(where(moved), table.shape, strict=True))
            found[place] = (g * (table[there] - table[here])).sum()
        by_positions.append(found)
    return by_table, by_positions


# -- operands ------------------------------------------------------------------------------------------

PLANE, ROW = RANDOM.normal(size=(5, 6)), RANDOM.normal(size=(3, 5))
VOLUME = RANDOM.normal(size=(3, 4, 4))
#: Positions in PLANE's rows and columns; the last row and the last column have no next.
ROWS, COLUMNS = np.array([0.25, 3.5, 4.75, 1.0]), np.array([4.5, 0.75, 2.0, 5.25])
FLOORED = {"floor": "identity", "astype": "identity"}
X = np.array([-2.0, -0.5, 0.25, 0.5, 2.0])
G = np.array([1.0, -1.0, 3.0, -2.0, 2.0])
ROOTS = np.array([0.0, 4.0, 9.0])
ZERO_ROW = np.array([[3.0, 4.0], [0.0, 0.0]])
NORM_BAR = np.array([[0.6, 0.8], [0.0, 0.0]]) * np.array([[2.0], [5.0]])
#: name -> size, step, padding before, dilation, and the shape of the result for PLANE.
POOLS: dict[str, tuple[dict[str, Any], tuple[int, int]]] = {
    "plain": ({"size": (2, 3), "step": (2, 3), "pad": (0, 0), "gap": (1, 1)}, (2, 2)),
    "overlapping, padded": ({"size": (3, 3), "step": (2, 1), "pad": (1, 1), "gap": (1, 1)}, (3, 6)),
    "dilated": ({"size": (2, 2), "step": (1, 2), "pad": (0, 0), "gap": (2, 2)}, (3, 2)),
    "ceil": ({"size": (2, 2), "step": (2, 2), "pad": (0, 0), "gap": (1, 1)}, (3, 3)),
}


def upstream(shape: Sequence[int]) -> Array:
    return np.random.default_rng(1).normal(size=shape)


def pool_case(framework: str, key: str, name: str, spec: str, share: Any, call: Callable[..., Any]) -> Case:
    """One plane pooled by ``call(x, **geometry)``, which takes and returns a plane."""
    geometry, out = POOLS[name]
    g = upstream(out)
    right = pooled(PLANE, g, share, **geometry)
    return Case(framework, key, spec, lambda x: call(x, name == "ceil", **geometry), [PLANE], g, [right])


def sort_case(framework: str, key: str, tau: float, f: Callable[..., Any], k: int, descending: bool) -> Case:
    """The last axis of ROW, sorted."""
    s = np.sort(ROW, -1)[:, ::-1][:, :k] if descending else np.sort(ROW, -1)[:, :k]
    g = upstream(s.shape)
    right = np.stack([softsorted(x, y, one, tau) for x, y, one in zip(ROW, s, g, strict=True)])
    return Case(framework, key, f"softsort(tau={tau})", f, [ROW], g, [right])


def by_rows(at: Sequence[Array]) -> Any:
    """``table[i]``: rows."""
    return np.broadcast_arrays(at[0][:, None], np.arange(6))


def by_columns(at: Sequence[Array]) -> Any:
    """``table[:, i]``."""
    return np.broadcast_arrays(np.arange(5)[:, None], at[0])


def by_both(at: Sequence[Array]) -> Any:
    """``table[i, j]``."""
    return tuple(at)


def along_columns(at: Sequence[Array]) -> Any:
    """For each row its own columns."""
    return np.broadcast_arrays(np.arange(len(at[0]))[:, None], at[0])


def by_item(at: Sequence[Array]) -> Any:
    """One row, by a number."""
    return np.broadcast_arrays(at[0][None], np.arange(6))


def in_flat(at: Sequence[Array]) -> Any:
    """The flat table's entries."""
    return (at[0],)


#: name -> the positions, and where they look.
LOOKS: dict[str, tuple[Sequence[Array], Callable[[Sequence[Array]], Any]]] = {
    "rows": ([ROWS], by_rows),
    "columns": ([COLUMNS], by_columns),
    "both": ([ROWS, COLUMNS], by_both),
    "along": ([np.stack([COLUMNS, COLUMNS[::-1], ROWS, COLUMNS - 0.5, COLUMNS])], along_columns),
    "item": ([np.array(3.25)], by_item),
    "end": ([np.array(4.25)], by_item),
    "flat": ([np.array([[3.5, 28.25], [29.5, 11.0]])], in_flat),
}


def look_case(framework: str, key: str, name: str, call: Callable[..., Any], **more: str) -> Case:
    """PLANE looked up by ``call(table, *positions)``, which floors them."""
    positions, where = LOOKS[name]
    table = PLANE.ravel() if name == "flat" else PLANE
    g = upstream(np.shape(where([np.array(np.floor(p), int) for p in positions])[0]))
    by_table, by_positions = looked_up(table, positions, g, where)
    right = [by_table, *by_positions]
    return Case(framework, key, "interpolated", call, [table, *positions], g, right, {**FLOORED, **more})


# -- in each framework ---------------------------------------------------------------------------------


def in_torch() -> Iterator[Case]:
    torch = importlib.import_module("torch")
    F = torch.nn.functional  # noqa: N806 -- as everybody writes it
    pool, pool_3d = "aten::max_pool2d_with_indices", "aten::max_pool3d_with_indices"

    def pooling(x: Any, ceil: bool, size: Any, step: Any, pad: Any, gap: Any) -> Any:
        return F.max_pool2d(x[None, None], size, step, pad, gap, ceil)[0, 0]

    for name in ("overlapping, padded", "ceil"):
        yield pool_case("torch", pool, name, "spread", equal_share, pooling)
    for name in ("overlapping, padded", "dilated", "ceil"):
        yield pool_case("torch", pool, name, "soft(temperature=0.5)", softmax_share(0.5), pooling)
    g = upstream((1, 2, 2))
    geometry = {"size": (2, 2, 2), "step": (2, 2, 2), "pad": (0, 0, 0), "gap": (1, 1, 1)}
    right = pooled(VOLUME, g, equal_share, **geometry)
    yield Case("torch", pool_3d, "spread", lambda x: F.max_pool3d(x[None], 2)[0], [VOLUME], g, [right])

    yield sort_case("torch", "aten::sort", 0.5, lambda x: torch.sort(x)[0], 5, False)
    yield sort_case(
        "torch", "aten::sort", 2.0, lambda x: x.T.sort(dim=0, descending=True, stable=True)[0].T, 5, True
    )
    yield sort_case("torch", "aten::topk", 0.5, lambda x: torch.topk(x, 3).values, 3, True)
    yield sort_case("torch", "aten::topk", 0.5, lambda x: x.T.topk(2, 0, largest=False).values.T, 2, False)
    yield Case("torch", "aten::sqrt", "finite", torch.sqrt, [ROOTS], G[:3], [np.array([0, -0.25, 0.5])])
    for f in (
        lambda x: torch.linalg.vector_norm(x, dim=1),
        lambda x: x.norm(dim=-1, keepdim=True)[:, 0],
        lambda x: torch.stack([torch.linalg.norm(x), torch.linalg.norm(x)]) * 0 + torch.norm(x, 2, 1),
    ):
        yield Case(
            "torch", "aten::linalg_vector_norm", "finite", f, [ZERO_ROW], np.array([2.0, 5.0]), [NORM_BAR]
        )

    for align in (False, True):
        yield grid_case(torch, 2, align)
    yield grid_case(torch, 3, False)
    for key, name, look in (
        ("index", "rows", lambda t, i: t[i]),
        ("index", "columns", lambda t, i: t[:, i]),
        ("index", "both", lambda t, i, j: t[i, j]),
        ("index_select", "columns", lambda t, i: t.index_select(1, i)),
        ("gather", "along", lambda t, i: t.gather(1, i)),
        ("gather", "along", lambda t, i: torch.take_along_dim(t, i, 1)),
        ("embedding", "rows", lambda t, i: F.embedding(i, t)),
        ("take", "flat", lambda t, i: t.take(i)),
    ):
        yield look_case("torch", f"aten::{key}", name, floored(look, lambda p: p.floor().long()))
    yield from activations("torch", "aten::relu", torch.relu, X > 0, "aten::tanh", torch.tanh)


def grid_case(torch: Any, axes: int, align: bool) -> Case:
    """A few points of an image, some beyond its edge, by the nearest element."""
    image = VOLUME[0] if axes == 2 else VOLUME
    points = np.random.default_rng(3).uniform(-1.2, 1.2, size=(4, axes))
    sizes = np.array(image.shape)[::-1]  # a grid's coordinates are x, y, z
    scale = (sizes - 1) / 2 if align else sizes / 2
    pixels = (points + 1) * scale - (0 if align else 0.5)
    g = upstream((4,))
    slopes = interpolated(image, [pixels[:, a] for a in reversed(range(axes))], inside)
    by_points = np.stack(slopes[::-1], -1) * scale * g[:, None]
    by_image = np.zeros_like(image)
    for pixel, one in zip(np.rint(pixels).astype(int), g, strict=True):
        if inside(np.ones_like(image), tuple(pixel[::-1])):
            by_image[tuple(pixel[::-1])] += one

    def f(image: Any, points: Any) -> Any:
        grid = points.reshape(1, *(1,) * (axes - 1), 4, axes)
        found = torch.nn.functional.grid_sample(image[None, None], grid, "nearest", align_corners=align)
        return found.reshape(4)

    return Case(
        "torch", f"aten::grid_sampler_{axes}d", "bilinear", f, [image, points], g, [by_image, by_points]
    )


def in_tensorflow() -> Iterator[Case]:
    tf = importlib.import_module("tensorflow")

    def pooling(x: Any, ceil: bool, size: Any, step: Any, pad: Any, gap: Any) -> Any:
        if any(pad):
            padding: Any = [[0, 0], *([p, p] for p in pad), [0, 0]]
        else:
            padding = "SAME" if ceil else "VALID"
        return tf.nn.max_pool2d(x[None, :, :, None], size, step, padding)[0, :, :, 0]

    yield pool_case("tensorflow", "MaxPool", "plain", "spread", equal_share, pooling)
    yield pool_case("tensorflow", "MaxPool", "ceil", "spread", equal_share, pooling)
    yield pool_case("tensorflow", "MaxPool", "overlapping, padded", "spread", equal_share, pooling)
    for name in ("plain", "overlapping, padded", "ceil"):
        yield pool_case("tensorflow", "MaxPool", name, "soft(temperature=0.5)", softmax_share(0.5), pooling)
    yield sort_case("tensorflow", "TopKV2", 0.5, tf.sort, 5, False)
    yield sort_case("tensorflow", "TopKV2", 0.5, lambda x: tf.math.top_k(x, 3).values, 3, True)
    yield Case("tensorflow", "Sqrt", "finite", tf.sqrt, [ROOTS], G[:3], [np.array([0, -0.25, 0.5])])
    yield Case(
        "tensorflow",
        "tensorflow.norm",
        "finite",
        lambda x: tf.norm(x, axis=1),
        [ZERO_ROW],
        np.array([2.0, 5.0]),
        [NORM_BAR],
    )
    for key, name, look in (
        ("GatherV2", "rows", tf.gather),
        ("GatherV2", "columns", lambda t, i: tf.gather(t, i, axis=1)),
        ("GatherV2", "along", lambda t, i: tf.gather(t, i, axis=1, batch_dims=1)),
        ("GatherNd", "rows", lambda t, i: tf.gather_nd(t, i[:, None])),
        ("GatherNd", "both", lambda t, i, j: tf.gather_nd(t, tf.stack([i, j], -1))),
        ("StridedSlice", "item", lambda t, i: t[i]),
        ("StridedSlice", "end", lambda t, i: t[i]),
    ):
        floor = floored(look, lambda p: tf.cast(tf.floor(p), tf.int32))
        yield look_case("tensorflow", key, name, floor)
    yield from activations("tensorflow", "Relu", tf.nn.relu, X > 0, "Tanh", tf.tanh)


def in_jax() -> Iterator[Case]:
    jax, jnp = importlib.import_module("jax"), importlib.import_module("jax.numpy")
    lax, map_coordinates = jax.lax, importlib.import_module("jax.scipy.ndimage").map_coordinates

    def pooling(x: Any, ceil: bool, size: Any, step: Any, pad: Any, gap: Any) -> Any:
        around = [(0, n % s) if ceil else (p, p) for p, n, s in zip(pad, x.shape, step, strict=True)]
        return lax.reduce_window(x, -jnp.inf, lax.max, size, step, around, None, gap)

    for name in ("overlapping, padded", "ceil"):  # of dilated windows JAX has no native derivative
        yield pool_case("jax", "reduce_window_max", name, "spread", equal_share, pooling)
        yield pool_case(
            "jax", "reduce_window_max", name, "soft(temperature=0.5)", softmax_share(0.5), pooling
        )
    yield sort_case("jax", "sort", 0.5, jnp.sort, 5, False)
    yield sort_case("jax", "sort", 2.0, lambda x: jnp.sort(x.T, 0, descending=True).T, 5, True)
    yield sort_case("jax", "top_k", 0.5, lambda x: lax.top_k(x, 3)[0], 3, True)
    yield Case("jax", "sqrt", "finite", jnp.sqrt, [ROOTS], G[:3], [np.array([0, -0.25, 0.5])])
    yield Case(
        "jax",
        "jit:norm",
        "finite",
        lambda x: jnp.linalg.norm(x, axis=1),
        [ZERO_ROW],
        np.array([2.0, 5.0]),
        [NORM_BAR],
    )
    points = np.random.default_rng(3).uniform(-0.8, 3.4, size=(2, 4))
    g, image = upstream((4,)), VOLUME[1]
    by_image = np.zeros_like(image)
    for row, column, one in zip(*np.rint(points).astype(int), g, strict=True):
        if inside(np.ones_like(image), (row, column)):
            by_image[row, column] += one
    right = [by_image, *(slope * g for slope in interpolated(image, list(points), inside))]
    yield Case(
        "jax",
        "jax.scipy.ndimage.map_coordinates",
        "bilinear",
        lambda image, rows, columns: map_coordinates(image, [rows, columns], 0),
        [image, *points],
        g,
        right,
    )
    for key, name, look in (
        ("gather", "rows", lambda t, i: t[i]),
        ("gather", "columns", lambda t, i: jnp.take(t, i, axis=1)),
        ("gather", "both", lambda t, i, j: t[i, j]),
        ("gather", "along", lambda t, i: jnp.take_along_axis(t, i, 1)),
        ("dynamic_slice", "item", lambda t, i: t[i]),
        ("dynamic_slice", "end", lambda t, i: lax.dynamic_index_in_dim(t, i, 0, False)),
    ):
        yield look_case("jax", key, name, floored(look, lambda p: jnp.floor(p).astype(int)))
    yield from activations("jax", "custom_jvp_call:relu", jax.nn.relu, X > 0, "tanh", jnp.tanh)


def floored(look: Callable[..., Any], floor: Callable[[Any], Any]) -> Callable[..., Any]:
    """``look`` at the floors of positions."""
    return lambda table, *positions: look(table, *map(floor, positions))


def activations(framework: str, relu: str, f: Any, open_: Array, tanh: str, smooth: Any) -> Iterator[Case]:
    """Guided and deconvolution, of relu and of an activation that the catalogue does not have."""
    positive, slope = np.maximum(G, 0), 1 - np.tanh(X) ** 2
    yield Case(framework, relu, "guided", f, [X], G, [positive * open_])
    yield Case(framework, tanh, "guided", smooth, [X], G, [positive * slope])
    yield Case(framework, tanh, "deconvnet", smooth, [X], G, [positive])
    yield Case(framework, tanh, "scaled(factor=0.5)", smooth, [X], G, [0.5 * G * slope])
    yield Case(framework, tanh, "reversal(factor=3)", smooth, [X], G, [-3 * G * slope])


CASES = {"torch": in_torch, "tensorflow": in_tensorflow, "jax": in_jax}
