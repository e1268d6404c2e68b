"""dm_pix's functions with small samples."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dm_pix
import jax
import jax.numpy as jnp
from library_samples._case import Case, chosen, required

BACKEND, FOLDER = "jax", str(Path(dm_pix.__file__).parent)
VERSION = dm_pix.__version__


def _rand(seed: int, *shape: int) -> Any:
    return 0.1 + 0.8 * jax.random.uniform(jax.random.key(seed), shape)


IMAGE, OTHER = _rand(0, 12, 12, 3), _rand(1, 12, 12, 3)
USUAL: dict[str, Any] = {
    "key": jax.random.key(2),
    "image": IMAGE,
    "images": _rand(3, 2, 12, 12, 3),
    "image_hsv": IMAGE,
    "image_hsl": IMAGE,
    "image_rgb": IMAGE,
    "inputs": _rand(4, 2, 12, 12, 4),
    "a": IMAGE,
    "b": OTHER,
    "delta": jnp.asarray(0.1),
    "factor": jnp.asarray(0.7),
    "gamma": jnp.asarray(0.8),
    "gain": jnp.asarray(1.0),
    "threshold": jnp.asarray(0.5),
    "sigma": 1.0,
    "kernel_size": 3,
    "alpha": jnp.asarray(2.0),
    "matrix": jnp.asarray([[1.1, 0.1, 0.2], [-0.1, 0.9, 0.3], [0.0, 0.0, 1.0]]),
    "angle": 0.3,
    "offset": jnp.zeros(3),
    "volume": IMAGE,
    "coordinates": _rand(5, 3, 9) * 2,
    "max_delta": 0.1,
    "lower": 0.8,
    "upper": 1.2,
    "min_gamma": 0.8,
    "max_gamma": 1.2,
    "crop_sizes": (8, 8, 3),
    "target_height": 8,
    "target_width": 8,
    "sizes": (4, 4),
    "strides": (2, 2),
    "rates": (1, 1),
    "block_size": 2,
    "num_rows": 2,
    "num_cols": 2,
    "height": 8,
    "width": 8,
    "top": 1,
    "left": 1,
    "max_value": 1.0,
}
OWN: dict[str, dict[str, Any]] = {
    "elastic_deformation": {"sigma": jnp.asarray(1.5)},
    "space_to_depth": {"inputs": _rand(4, 2, 12, 12, 4)},
    "affine_transform": {"image": IMAGE},
    "extract_patches": {"sizes": (1, 4, 4, 1), "strides": (1, 2, 2, 1), "rates": (1, 1, 1, 1)},
    "flat_nd_linear_interpolate_constant": {"cval": 0.0},
}
#: Asked for though they have a default, or taken as numbers where tracers do not do.
CONSTANT = ("sigma", "cval", "angle")


def cases() -> Iterator[Case | tuple[str, str]]:
    """Every public function."""
    for name in dir(dm_pix):
        function = getattr(dm_pix, name)
        if inspect.isfunction(function) and not name.startswith("_"):
            yield _case(name, function)


def _case(name: str, function: Any) -> Case | tuple[str, str]:
    try:
        given = {p: chosen(name, p, OWN, USUAL) for p in required(function)}
    except LookupError as error:
        return name, str(error)
    floats = {k: x for k, x in given.items() if hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jnp.floating)}
    return Case(name, function, floats, {k: x for k, x in given.items() if k not in floats})
