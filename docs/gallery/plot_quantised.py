"""
Quantisation-aware training with learned steps
==============================================

A network is trained in floats, rounded to 2 bits, and trained on with the
rounding in place. The steps of the grids are parameters and learn too (LSQ, arXiv
1902.08153). All of it is plain PyTorch: ``round`` and ``clip``.
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
    (images / 8 - 1).astype("float32"), labels, test_size=0.25, random_state=0
)
x, x_test, y, y_test = map(torch.as_tensor, split)

# %%
# The model
# ---------


class Quantiser(nn.Module):
    """Whole multiples of a learned step, from ``lo`` to ``hi``, once it is on."""

    def __init__(self, lo, hi):
        super().__init__()
        self.lo, self.hi, self.on = lo, hi, False
        self.step = nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        if not self.on:
            return x
        return torch.round(torch.clip(x / self.step, self.lo, self.hi)) * self.step

    def start(self, values):
        """Switch on, with a step that suits these values."""
        self.on = True
        self.step.data = 2 * values.detach().abs().mean() / self.hi**0.5


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linears = nn.ModuleList(
            [nn.Linear(64, 32), nn.Linear(32, 32), nn.Linear(32, 10)]
        )
        self.weights = nn.ModuleList(Quantiser(-2, 1) for _ in self.linears)
        self.activations = nn.ModuleList(Quantiser(0, 3) for _ in range(2))

    def forward(self, x):
        for number, (linear, grid) in enumerate(
            zip(self.linears, self.weights, strict=True)
        ):
            x = nn.functional.linear(x, grid(linear.weight), linear.bias)
            if number < 2:
                x = self.activations[number](torch.relu(x))
        return x

    def quantise(self, x):
        """Switch all grids on; ``x`` is data to look at."""
        for number, (linear, grid) in enumerate(
            zip(self.linears, self.weights, strict=True)
        ):
            grid.start(linear.weight)
            x = nn.functional.linear(x, grid(linear.weight), linear.bias)
            if number < 2:
                x = torch.relu(x)
                self.activations[number].start(x)
                x = self.activations[number](x)


def train(model, epochs, rate):
    optimiser = torch.optim.Adam(model.parameters(), rate)
    accuracies, steps = [], []
    for _ in range(epochs):
        for batch in torch.randperm(len(x)).split(64):
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
            optimiser.step()
        accuracies.append(accuracy(model))
        steps.append(
            [grid.step.item() for grid in (*model.weights, *model.activations)]
        )
    return accuracies, steps


def accuracy(model):
    with torch.no_grad():
        return 100 * (model(x_test).argmax(1) == y_test).float().mean().item()


# %%
# Trained in floats, then rounded
# -------------------------------

torch.manual_seed(0)
model = Net()
floats, _ = train(model, 15, 0.005)
model.quantise(x)
rounded = accuracy(model)
print(f"floats {floats[-1]:.1f} %, rounded to 2 bits {rounded:.1f} %")

# %%
# Trained on under the rounding
# -----------------------------
# Natively ``round`` has a gradient of 0: only biases learn, and steps by the factor
# outside of the rounding. ``identity`` for ``round`` and ``open`` for ``clip`` give
# weights, activations and steps the gradients of the paper.

state = {name: value.clone() for name, value in model.state_dict().items()}
native, _ = train(model, 15, 0.003)

model.load_state_dict(state)
with surrogate.override("torch", {"round": "identity", "clip": "open"}) as rules:
    learned, steps = train(model, 15, 0.003)
print(f"natively {native[-1]:.1f} %, under the override {learned[-1]:.1f} %")

# %%
# The notebook shows what was in force and how often it was met:

rules

# %%

figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(11, 3.6), layout="constrained", width_ratios=(3, 2, 2)
)
left.axhline(floats[-1], color="0.55", linestyle=":", label="in floats")
left.plot([rounded, *native], color="0.55", label="2 bits, native gradients")
left.plot(
    [rounded, *learned],
    color="#d1495b",
    label="2 bits, round: identity, clip: open",
)
left.set(
    xlabel="epoch",
    ylabel="test accuracy (%)",
    ylim=(min(rounded, *native) - 3, 100),
)
left.legend()
for number, values in enumerate(zip(*steps, strict=True)):
    kind = "weights" if number < 3 else "activations"
    middle.plot(
        values,
        color="#3a86ff" if number < 3 else "#b07d2b",
        label=kind if number in (0, 3) else None,
    )
middle.set(xlabel="epoch", ylabel="learned step", ylim=(0, None))
middle.legend()
weight, grid = model.linears[0].weight.detach().ravel(), model.weights[0]
right.hist(weight / grid.step.item(), bins=60, range=(-3, 2), color="0.7")
with torch.no_grad():
    levels, counts = torch.unique(
        torch.round(grid(weight) / grid.step), return_counts=True
    )
right.vlines(levels, 0, right.get_ylim()[1], color="#d1495b")
right.set(xlabel="weights of layer 1, in steps", yticks=[])
plt.show()

# %%
# At the end the forward pass knows four numbers per grid:

print(levels.tolist(), counts.tolist())
