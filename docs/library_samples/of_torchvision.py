"""The image kernels of torchvision's transforms, with a small float image.

A torchvision whose operators were built for another PyTorch imports all the same where the two operators are
declared that it registers shapes for; its transforms need none of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

_declared = torch.library.Library("torchvision", "FRAGMENT")
for _name in ("nms", "qnms"):
    if not hasattr(torch.ops.torchvision, _name):
        _declared.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

import torchvision  # noqa: E402
from library_samples._case import Case, chosen, required  # noqa: E402
from torchvision.transforms.v2 import functional  # noqa: E402

BACKEND, FOLDER = "torch", str(Path(torchvision.__file__).parent)
VERSION = torchvision.__version__

IMAGE = 0.1 + 0.8 * torch.rand(3, 24, 24, generator=torch.Generator().manual_seed(0))
USUAL: dict[str, Any] = {
    "image": IMAGE,
    **{f"{name}_factor": 0.7 for name in ("brightness", "contrast", "saturation", "sharpness")},
    "hue_factor": 0.1,
    "gamma": 0.8,
    "angle": 20.0,
    "translate": [1, 2],
    "scale": 1.1,
    "shear": [3.0, 2.0],
    "output_size": [16, 16],
    "size": [16, 16],
    "top": 2,
    "left": 3,
    "height": 16,
    "width": 14,
    "displacement": 0.1 * torch.rand(1, 24, 24, 2, generator=torch.Generator().manual_seed(1)),
    "i": 2,
    "j": 3,
    "h": 4,
    "w": 5,
    "v": torch.full((3, 4, 5), 0.5),
    "kernel_size": [3, 3],
    "mean": [0.4, 0.5, 0.6],
    "std": [0.2, 0.3, 0.4],
    "padding": [1, 2],
    "permutation": [2, 0, 1],
    "startpoints": [[0, 0], [23, 0], [23, 23], [0, 23]],
    "endpoints": [[1, 2], [21, 1], [22, 20], [2, 22]],
    "bits": 3,
    "threshold": 0.5,
}
OWN: dict[str, dict[str, Any]] = {"grayscale_to_rgb_image": {"image": IMAGE[:1]}}
LEFT_OUT = {
    "jpeg_image": "takes bytes only",
    **dict.fromkeys(
        ("get_size_image", "get_num_channels_image", "get_dimensions_image"), "takes the shape only"
    ),
}


def cases() -> Iterator[Case | tuple[str, str]]:
    """Every image kernel."""
    for name in dir(functional):
        function = getattr(functional, name)
        if not (name.endswith("_image") and inspect.isfunction(function)) or name in (
            "to_pil_image",
            "to_image",
        ):
            continue
        if name in LEFT_OUT:
            yield name, LEFT_OUT[name]
            continue
        given = {p: chosen(name, p, OWN, USUAL) for p in required(function)}
        floats = {k: x for k, x in given.items() if isinstance(x, torch.Tensor)}
        yield Case(name, function, floats, {k: x for k, x in given.items() if k not in floats})
    yield Case("to_dtype_image to uint8 and back", _bytes, {"image": IMAGE})


def _bytes(image: torch.Tensor) -> torch.Tensor:
    return functional.to_dtype_image(
        functional.to_dtype_image(image, torch.uint8, scale=True), torch.float32, scale=True
    )
