"""
A spiking network
=================

Leaky integrate-and-fire neurons as most people write them: a membrane that leaks,
a comparison, a cast, a reset. The comparison has no gradient in any framework; a
rule for ``compare`` gives it one.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

import surrogate

torch.set_num_threads(1)
images, labels = load_digits(return_X_y=True)
split = train_test_split(
    (images / 16).astype("float32"), labels, test_size=0.25, random_state=0
)
x, x_test, y, y_test = map(torch.as_tensor, split)

# %%
# The network
# -----------

STEPS = 10


class Neurons(nn.Module):
    """Leaky neurons that fire at 1 and then lose 1."""

    def forward(self, current, v):
        v = 0.8 * v + current
        spikes = (v > 1).float()
        return v - spikes, spikes


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(64, 64), nn.Linear(64, 10)
        self.neurons = Neurons()

    def forward(self, x):
        v = torch.zeros(len(x), 64)
        readout, raster = torch.zeros(len(x), 10), []
        current = self.first(x)
        for _ in range(STEPS):
            v, spikes = self.neurons(current, v)
            readout = 0.9 * readout + self.second(spikes)
            raster.append(spikes)
        return readout, torch.stack(raster, 1)


def train(epochs=10):
    torch.manual_seed(0)
    model = Net()
    optimiser = torch.optim.Adam(model.parameters(), 0.005)
    curve = []
    for _ in range(epochs):
        for batch in torch.randperm(len(x)).split(64):
            optimiser.zero_grad()
            readout, spikes = model(x[batch])
            loss = (
                nn.functional.cross_entropy(readout, y[batch])
                + 0.05 * spikes.mean()
            )  # spikes cost energy
            loss.backward()
            optimiser.step()
        with torch.no_grad():
            curve.append(
                100 * (model(x_test)[0].argmax(1) == y_test).float().mean().item()
            )
    return model, curve


# %%
# Natively only the last layer learns: spikes are constants to PyTorch.

_, native = train()

# %%
# Two choices that differ in how far they reach on both sides of the threshold:

curves, models = {"native": native}, {}
for spec in ("arctan", "fast_sigmoid"):
    with surrogate.override("torch", {"compare": spec}) as rules:
        models[spec], curves[spec] = train()
    print(f"{rules.rules['greater']}: {curves[spec][-1]:.1f} % ({native[-1]:.1f})")

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for (name, curve), colour in zip(
    curves.items(), ("0.55", "#d1495b", "#3a86ff"), strict=True
):
    left.plot(range(1, 11), curve, color=colour, label=name)
left.set(xlabel="epoch", ylabel="test accuracy (%)")
left.legend()
with torch.no_grad():
    raster = models["arctan"](x_test[:1])[1][0]
time, neuron = raster.nonzero(as_tuple=True)
right.scatter(time, neuron, s=6, color="#d1495b")
right.set(
    xlabel="time step",
    ylabel="hidden neuron",
    title=f"spikes for a {y_test[0].item()}",
    xlim=(-0.5, STEPS - 0.5),
)
plt.show()

# %%
# The surrogates themselves, over the step that they stand in for:

figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
for one, spec in zip(axes, ("arctan", "fast_sigmoid"), strict=True):
    surrogate.plot.gradient("heaviside", spec, ax=one)
plt.show()
