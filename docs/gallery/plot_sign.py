"""
Surrogates of sign
==================

Each gradient of ``sign`` as a curve: what the derivative is taken to be.
"""

import matplotlib.pyplot as plt
import numpy as np

import surrogate

x = np.linspace(-3, 3, 601)
figure, axes = plt.subplots(figsize=(7, 4))
for name in surrogate.gradients("sign"):
    [derivative] = surrogate.reference.vjp("sign", name, x)
    axes.plot(x, derivative, label=surrogate.gradient("sign", name).spec)
axes.set(xlabel="x", ylabel="gradient of sign")
axes.legend(fontsize="small")
plt.show()
