"""Sound models of libraries, with random weights and small inputs: an audit has nothing to say of them.

    python benchmarks/audit_clean_models.py [NAME ...]     # writes audit_clean_models.json

A finding at warning or above is recorded, with the line that it names. The models that the test environments
can build without other libraries are in tests/*/test_audit_models.py and run in every CI.
"""

from __future__ import annotations

import functools
import json
import os
import runpy
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import surrogate

RESULTS = Path(__file__).with_suffix(".json")

Model = Callable[[], Any]
MODELS: dict[str, Model] = {}


def model(name: str) -> Callable[[Model], Model]:
    """The function audits the model of this name."""

    def registered(f: Model) -> Model:
        MODELS[name] = f
        return f

    return registered


# -- image models of torchvision and timm -----------------------------------------------------------


def _classifier(net: Any, size: int) -> Any:
    import torch

    torch.manual_seed(0)
    x, y = torch.randn(4, 3, size, size), torch.tensor([0, 1, 2, 3])

    def loss(out: Any) -> Any:
        return torch.nn.functional.cross_entropy(getattr(out, "logits", out), y)

    return surrogate.audit("torch", net.train(), x, loss=loss)


@functools.cache
def _declare_operators() -> Any:
    """The operators of torchvision may be built for another PyTorch; its models need none of them."""
    import torch

    declared = torch.library.Library("torchvision", "FRAGMENT")
    for op in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, op):
            declared.define(f"{op}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return declared


def _torchvision(name: str, size: int, **options: Any) -> Model:
    def run() -> Any:
        _declare_operators()
        import torch
        from torchvision import models

        torch.manual_seed(0)
        return _classifier(getattr(models, name)(weights=None, num_classes=10, **options), size)

    return run


def _timm(name: str, size: int, **options: Any) -> Model:
    def run() -> Any:
        _declare_operators()  # timm imports torchvision
        import timm
        import torch

        torch.manual_seed(0)
        return _classifier(timm.create_model(name, pretrained=False, num_classes=10, **options), size)

    return run


for _name, _size in (
    ("resnet18", 64),
    ("mobilenet_v3_small", 64),
    ("shufflenet_v2_x0_5", 64),
    ("squeezenet1_1", 64),
    ("googlenet", 64),
):
    _options = {"init_weights": False, "aux_logits": False} if _name == "googlenet" else {}
    MODELS[f"torchvision {_name}"] = _torchvision(_name, _size, **_options)
for _name, _size, _options in (
    ("vit_tiny_patch16_224", 64, {"img_size": 64, "depth": 4}),
    ("convnext_atto", 64, {}),
    ("efficientnet_lite0", 64, {}),
    ("mixer_s32_224", 64, {"img_size": 64}),
    ("swin_tiny_patch4_window7_224", 56, {"img_size": 56, "depths": (1, 1, 2, 1)}),
    ("regnetx_002", 64, {}),
    ("ghostnet_050", 64, {}),
):
    MODELS[f"timm {_name}"] = _timm(_name, _size, **_options)


# -- text models of transformers ---------------------------------------------------------------------


def _language(config: str, net: str, **options: Any) -> Model:
    def run() -> Any:
        import torch
        import transformers

        torch.manual_seed(0)
        made = getattr(transformers, net)(getattr(transformers, config)(vocab_size=64, **options))
        tokens = torch.randint(2, 64, (2, 12), generator=torch.Generator().manual_seed(1))

        def loss(net: Any, tokens: Any) -> Any:
            return net(input_ids=tokens, labels=tokens).loss

        return surrogate.audit("torch", loss, made.train(), tokens, wrt=dict(made.named_parameters()))

    return run


_SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
_GQA = {**_SMALL, "num_key_value_heads": 2, "pad_token_id": 0}
MODELS |= {
    "transformers BERT": _language("BertConfig", "BertForMaskedLM", **_SMALL),
    "transformers RoBERTa": _language("RobertaConfig", "RobertaForMaskedLM", **_SMALL),
    "transformers GPT-2": _language("GPT2Config", "GPT2LMHeadModel", n_embd=32, n_layer=2, n_head=4),
    "transformers Llama": _language("LlamaConfig", "LlamaForCausalLM", **_GQA),
    "transformers Qwen2": _language("Qwen2Config", "Qwen2ForCausalLM", **_GQA),
    "transformers Mixtral": _language(
        "MixtralConfig", "MixtralForCausalLM", **_GQA, num_local_experts=4, output_router_logits=True
    ),
    "transformers T5": _language(
        "T5Config",
        "T5ForConditionalGeneration",
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
    ),
    "transformers Mamba": _language("MambaConfig", "MambaForCausalLM", hidden_size=32, num_hidden_layers=2),
}


# -- Kornia ------------------------------------------------------------------------------------------


@model("kornia HardNet")
def _hard_net() -> Any:
    import torch
    from kornia.feature import HardNet

    torch.manual_seed(0)
    net, patches = HardNet(pretrained=False).train(), torch.rand(8, 1, 32, 32)

    def loss(a: Any) -> Any:
        return torch.nn.functional.triplet_margin_loss(a[:3], a[3:6], a[2:5])

    return surrogate.audit("torch", net, patches, loss=loss)


@model("kornia registration by a homography")
def _registration() -> Any:
    import torch
    from kornia.geometry import HomographyWarper

    image = torch.rand(1, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    turned = torch.tensor([[[0.9, 0.1, 0.05], [-0.1, 0.9, 0.02], [0.01, 0.02, 1.0]]], requires_grad=True)

    def loss(h: Any) -> Any:
        return (HomographyWarper(16, 16)(image, h) - image.flip(-1)).abs().mean()

    return surrogate.audit("torch", loss, turned)


@model("kornia augmentation before a network")
def _augmented() -> Any:
    import torch
    from kornia import augmentation as made

    torch.manual_seed(0)
    before = made.AugmentationSequential(
        made.ColorJiggle(0.2, 0.2, 0.2, 0.1),
        made.RandomAffine(10.0),
        made.RandomGaussianBlur((3, 3), (0.5, 1.0)),
    )
    net = torch.nn.Sequential(before, torch.nn.Conv2d(3, 8, 3), torch.nn.Flatten(), torch.nn.LazyLinear(10))
    net(torch.rand(4, 3, 16, 16))
    return surrogate.audit(
        "torch", net, torch.rand(4, 3, 16, 16), loss=lambda y: y.logsumexp(1).mean() - y[:, 0].mean()
    )


# -- keras.applications --------------------------------------------------------------------------------


def _keras(name: str, **options: Any) -> Model:
    def run() -> Any:
        import keras
        import numpy as np
        import tensorflow as tf

        keras.utils.set_random_seed(0)
        made = getattr(keras.applications, name)(weights=None, input_shape=(32, 32, 3), classes=10, **options)
        x = tf.constant(np.random.RandomState(0).standard_normal((4, 32, 32, 3)).astype("float32"))

        def loss(x: Any) -> Any:
            found = keras.losses.sparse_categorical_crossentropy(
                tf.range(4), made(x, training=True), from_logits=True
            )
            return tf.reduce_mean(found)

        return surrogate.audit("tensorflow", loss, x)

    return run


for _name in ("MobileNetV2", "EfficientNetB0"):
    MODELS[f"keras.applications {_name}"] = _keras(_name, classifier_activation=None)
MODELS["keras.applications MobileNet"] = _keras("MobileNet", classifier_activation=None, alpha=0.25)


# -- flax and equinox, as the tests build them -----------------------------------------------------------


def _jax(name: str) -> Model:
    def run() -> Any:
        tests = Path(__file__).parents[1] / "tests" / "backend_jax_libs" / "test_audit_models.py"
        loss, args = runpy.run_path(str(tests))[name]()
        return surrogate.audit("jax", loss, *args)

    return run


for _name in ("flax_convolutional", "flax_transformer", "flax_nnx", "equinox_mixture", "recurrent"):
    MODELS[f"JAX {_name}"] = _jax(_name)


# -- diffusion and recurrence ---------------------------------------------------------------------------


@model("PyTorch diffusion by a small U-net")
def _diffusion() -> Any:
    import torch
    from torch import nn

    class UNet(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.time = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 16))
            self.down, self.deep = nn.Conv2d(1, 16, 3, 2, 1), nn.Conv2d(16, 16, 3, 1, 1)
            self.norm, self.up = nn.GroupNorm(4, 16), nn.ConvTranspose2d(32, 1, 4, 2, 1)

        def forward(self, x: Any, t: Any) -> Any:
            angle = t[:, None] * torch.exp(torch.linspace(0, -6, 8))
            h = self.down(x)
            at = self.time(torch.cat([angle.sin(), angle.cos()], 1))[:, :, None, None]
            deep = nn.functional.silu(self.norm(self.deep(h) + at))
            return self.up(torch.cat([h, deep], 1))

    torch.manual_seed(0)
    net, x, noise = UNet(), torch.rand(4, 1, 16, 16), torch.randn(4, 1, 16, 16)
    t = torch.randint(0, 100, (4,))
    kept = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 100), 0)[t][:, None, None, None]
    noisy = kept.sqrt() * x + (1 - kept).sqrt() * noise
    return surrogate.audit("torch", net, noisy, t.float(), loss=lambda y: (y - noise).pow(2).mean())


@model("PyTorch packed LSTM with attention")
def _lstm() -> Any:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, lstm, out = (
        nn.Embedding(20, 16),
        nn.LSTM(16, 16, 2, batch_first=True, bidirectional=True),
        nn.Linear(32, 20),
    )
    attend = nn.MultiheadAttention(32, 4, batch_first=True)
    tokens, lengths = torch.randint(1, 20, (3, 9)), torch.tensor([9, 7, 4])

    def loss(tokens: Any) -> Any:
        packed = nn.utils.rnn.pack_padded_sequence(embed(tokens), lengths, batch_first=True)
        h, _ = nn.utils.rnn.pad_packed_sequence(lstm(packed)[0], batch_first=True)
        padded = torch.arange(9)[None] >= lengths[:, None]
        h = h + attend(h, h, h, key_padding_mask=padded)[0]
        wanted = tokens.roll(-1, 1).masked_fill(padded, -100)
        return nn.functional.cross_entropy(out(h).transpose(1, 2), wanted)

    return surrogate.audit("torch", loss, tokens)


def told(report: Any) -> dict[str, Any]:
    """What is recorded of one model."""
    return {
        "sources": report.sources,
        "reached": report.reached,
        "ops": report.ops,
        "findings": [
            [f.severity, f.kind, f.op, f"{Path(f.where.file).name}:{f.where.line}", f.detail]
            for f in report.findings
            if f.at_least("warning")
        ],
    }


if __name__ == "__main__":
    found = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    for _name, run in MODELS.items():
        if sys.argv[1:] and not any(part in _name for part in sys.argv[1:]):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found[_name] = told(run())
            except Exception as error:
                found[_name] = {"error": f"{type(error).__name__}: {error}".split("\n")[0][:160]}
        print(_name, found[_name], flush=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
