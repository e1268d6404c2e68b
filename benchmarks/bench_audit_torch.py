"""What an audit costs in PyTorch, as a ratio to one forward and backward pass of the same program.

    python benchmarks/bench_audit_torch.py

Processor time on one thread, the better of two. Models of the size and shape of ResNet-50 and GPT-2 small.
"""

from __future__ import annotations

import time

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

import surrogate


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        shapes = (inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)
        self.convs = nn.ModuleList(nn.Conv2d(n, m, k, s, k // 2, bias=False) for n, m, k, s in shapes)
        self.norms = nn.ModuleList(nn.BatchNorm2d(m) for _, m, _, _ in shapes)
        skip = nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
        self.skip = nn.Sequential(*skip) if inputs != outputs else nn.Identity()

    def forward(self, x):
        h = x
        for number, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            h = norm(conv(h))
            h = F.relu(h, inplace=True) if number < 2 else h
        return F.relu(h + self.skip(x), inplace=True)


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU())
        blocks, inputs = [], 64
        for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for number in range(count):
                blocks.append(Bottleneck(inputs, width, 1 if number else stride))
                inputs = 4 * width
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(2048, 10)

    def forward(self, x, y):
        h = self.blocks(F.max_pool2d(self.stem(x), 3, 2, 1))
        return F.cross_entropy(self.head(h.mean((2, 3))), y)


class Block(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads, self.norms = heads, nn.ModuleList(nn.LayerNorm(size) for _ in range(2))
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, x):
        q, k, v = self.qkv(self.norms[0](x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        h = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + F.dropout(self.out(h), 0.1)
        return x + F.dropout(self.down(F.gelu(self.up(self.norms[1](x)), approximate="tanh")), 0.1)


class GPT2(nn.Module):
    def __init__(self, layers=12, size=768, heads=12, words=5000):
        super().__init__()
        self.words, self.places = nn.Embedding(words, size), nn.Embedding(128, size)
        self.blocks, self.norm = (
            nn.Sequential(*(Block(size, heads) for _ in range(layers))),
            nn.LayerNorm(size),
        )

    def forward(self, ids):
        h = self.norm(self.blocks(self.words(ids) + self.places(torch.arange(ids.shape[1]))))
        logits = h @ self.words.weight.T
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


def seconds(run):
    run()
    taken = []
    for _ in range(2):
        before = time.process_time()
        run()
        taken.append(time.process_time() - before)
    return min(taken)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    programs = {
        "ResNet-50, 4 x 3 x 128 x 128": (ResNet50(), (torch.randn(4, 3, 128, 128), torch.arange(4))),
        "GPT-2 small, 2 x 64": (GPT2(), (torch.randint(0, 5000, (2, 64)),)),
    }
    for name, (model, args) in programs.items():
        native = seconds(lambda: model(*args).backward())  # noqa: B023
        model.zero_grad()
        ratios = [
            seconds(lambda: surrogate.audit("torch", model, *args, keep=keep)) / native  # noqa: B023
            for keep in ("all", "light")
        ]
        print(f"{name}: {native:.2f} s forward and backward; audit {ratios[0]:.1f}, light {ratios[1]:.1f}")


if __name__ == "__main__":
    main()
