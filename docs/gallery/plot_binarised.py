"""
A binarised network, from "nothing learns" to a trained model
=============================================================

Weights and activations of 1 and -1, in plain PyTorch, on scikit-learn's
handwritten digits. The model never mentions surrogate gradients. We train it
natively, ask why nothing happens, and train it again.
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


class BinaryLinear(nn.Linear):
    """A linear layer that computes with the signs of its weights."""

    def forward(self, x):
        return nn.functional.linear(x, self.weight.sign()) / self.in_features**0.5


class Sign(nn.Module):
    def forward(self, x):
        return torch.sign(x)


def make_model():
    torch.manual_seed(0)
    return nn.Sequential(
        BinaryLinear(64, 128),
        nn.BatchNorm1d(128),
        Sign(),
        BinaryLinear(128, 64),
        nn.BatchNorm1d(64),
        Sign(),
        BinaryLinear(64, 10),
    )


def train(model, epochs=12):
    optimiser = torch.optim.Adam(model.parameters(), 0.01)
    curve = []
    for _ in range(epochs):
        model.train()
        for batch in torch.randperm(len(x)).split(64):
            optimiser.zero_grad()
            nn.functional.cross_entropy(3 * model(x[batch]), y[batch]).backward()
            optimiser.step()
            for layer in model:
                if isinstance(layer, BinaryLinear):
                    layer.weight.data.clamp_(-1, 1)
        curve.append(accuracy(model))
    return curve


def accuracy(model):
    model.eval()
    with torch.no_grad():
        return 100 * (model(x_test).argmax(1) == y_test).float().mean().item()


# %%
# As it is
# --------

native = train(make_model())
print(f"{native[-1]:.1f} % after {len(native)} epochs")

# %%
# Why? The audit runs the program once, unmodified, and names the lines that let
# no gradient through.

model = make_model()
report = surrogate.audit(
    "torch",
    model,
    x[:64],
    loss=lambda out: nn.functional.cross_entropy(out, y[:64]),
)
report

# %%
# What it suggests was tried before it was offered:

report.suggest()

# %%
# With a surrogate
# ----------------
# The audit's suggestion reaches every weight. For signs the usual choice is a
# window: weights that went beyond 1 stop moving. Around the training, one line:

model = make_model()
with surrogate.override("torch", {"sign": "hardtanh"}) as rules:
    learned = train(model)
print(
    f"{learned[-1]:.1f} % after {len(learned)} epochs, {rules.hits['sign']} signs"
)

# %%

figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 3.6), layout="constrained", width_ratios=(3, 2)
)
left.plot(range(1, 13), native, color="0.55", label="native")
left.plot(range(1, 13), learned, color="#d1495b", label="sign: hardtanh(width=1)")
left.set(xlabel="epoch", ylabel="test accuracy (%)", ylim=(0, 100))
left.legend()
right.hist(model[0].weight.detach().ravel(), bins=41, color="#d1495b")
right.set(xlabel="weight behind the sign, first layer", yticks=[])
plt.show()

# %%
# The trained model needs nothing of this library: its forward is what it always
# was, and so is its ``state_dict``.

print(f"{accuracy(model):.1f} % outside of the override")
