"""
Guided backprop on a model that was not written here
====================================================

Which pixels speak for a class? Guided backprop lets through only what is
positive, at every ``relu``. PyTorch's own ``nn.TransformerEncoder`` calls
``relu`` as a function, deep inside its layers, where no hook on modules sees it.
A rule for ``relu`` does.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from torch import nn

import surrogate

torch.set_num_threads(1)
images, labels = load_digits(return_X_y=True)
x = torch.as_tensor((images / 16).astype("float32")).reshape(
    -1, 8, 8
)  # a digit is a sentence of eight rows
y = torch.as_tensor(labels)

# %%
# Somebody else's model
# ---------------------
# Nothing but layers of PyTorch, trained as usual.

torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(
    32, nhead=2, dim_feedforward=64, dropout=0.0, batch_first=True
)
model = nn.Sequential(
    nn.Linear(8, 32),
    nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
    nn.Flatten(),
    nn.Linear(8 * 32, 10),
)
optimiser = torch.optim.Adam(model.parameters(), 0.003)
for _ in range(6):
    for batch in torch.randperm(1500).split(64):
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
        optimiser.step()
model.eval()
print(f"{100 * (model(x[1500:]).argmax(1) == y[1500:]).float().mean():.1f} % right")
print(
    [
        type(module).__name__
        for module in model.modules()
        if "ReLU" in type(module).__name__
    ]
)  # no module to hook

# %%
# Three saliency maps
# -------------------


def saliency(digits, rules):
    leaf = digits.clone().requires_grad_()
    with surrogate.override("torch", rules, trace=True) as override:
        scores = model(leaf)
        scores.gather(1, scores.argmax(1, keepdim=True)).sum().backward()
    return leaf.grad, override


digits = x[1500:1506]
maps = {
    "native": saliency(digits, {"relu": "native"})[0],
    "deconvnet": saliency(digits, {"relu": "deconvnet"})[0],
}
maps["guided"], override = saliency(digits, {"relu": "guided"})

# %%
# Where it acted: twice, in a file of PyTorch, reached through modules that we did
# not write.

override

# %%

figure, axes = plt.subplots(4, 6, figsize=(8, 5.6), layout="constrained")
for column, digit in enumerate(digits):
    axes[0, column].imshow(digit, cmap="gray_r")
    for row, (name, found) in enumerate(maps.items(), start=1):
        limit = found[column].abs().max()
        axes[row, column].imshow(
            found[column], cmap="RdBu_r", vmin=-limit, vmax=limit
        )
        axes[row, 0].set_ylabel(name)
axes[0, 0].set_ylabel("digit")
for one in axes.flat:
    one.set(xticks=[], yticks=[])
plt.show()

# %%
# The model is untouched: outside of the block its gradients are the native ones
# again.

print(torch.equal(saliency(digits, {"relu": "native"})[0], maps["native"]))
