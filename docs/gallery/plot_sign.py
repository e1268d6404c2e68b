"""
Surrogates of sign
==================

All gradients of ``sign`` over the op itself, as ``surrogate plot sign`` draws
them.
"""

import matplotlib.pyplot as plt

import surrogate

figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
surrogate.plot.op("sign", ax=axes)
plt.show()

# %%
# One of them, with a parameter of its own.

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
surrogate.plot.gradient("sign", "tanh(slope=2)", ax=axes)
plt.show()
