"""
A network of signs learns
=========================

Two layers of weights that are 1 or -1, written in plain autograd. Natively
nothing comes through ``sign``; under an override the same functions learn.
"""

import warnings

import autograd.numpy as np
import matplotlib.pyplot as plt
from autograd import grad

import surrogate

warnings.filterwarnings(
    "ignore", "Output seems independent"
)  # what autograd says of the native network

random = np.random.RandomState(0)
x = random.randn(200, 2)
y = np.sign(
    x[:, 0] * x[:, 1]
)  # like or unlike signs: no straight line tells them apart


def output(weights, x):
    first, bias, second = weights
    return np.sign(x @ np.sign(first) + bias) @ np.sign(second) / 16


def loss(weights):
    return np.mean((output(weights, x) - y) ** 2)


def train(steps=150):
    random = np.random.RandomState(1)
    weights = [random.randn(2, 32) * 0.5, random.randn(32), random.randn(32) * 0.5]
    losses = []
    for _ in range(steps):
        losses.append(loss(weights))
        weights = [
            w - 0.2 * g for w, g in zip(weights, grad(loss)(weights), strict=True)
        ]
    return losses


# %%
# Once as it is, and once with a straight-through window on each ``sign``.

native = train()
with surrogate.override("autograd", {"sign": "hardtanh(width=1.5)"}) as o:
    learned = train()

print(f"native: {native[0]:.3f} to {native[-1]:.3f}")
print(f"under {o.rules['sign']}: {learned[0]:.3f} to {learned[-1]:.3f}")
print(f"{o.hits['sign']} signs caught")

# %%

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(native, color="0.5", label="native")
axes.plot(learned, color="C3", label="sign: hardtanh(width=1.5)")
axes.set(xlabel="step", ylabel="mean squared error", ylim=(0, None))
axes.legend()
plt.show()
