"""Gradients whose numbers, of every order, are exact: the derivative of each op is ``x*x``."""


def square(xp, x):
    """x^2 in place of the derivative, so 2x in place of the second and 2 of the third."""
    return x * x


def upstream_square(xp, g, x):
    """The same, as a rule that sees the upstream gradient: no forward mode."""
    return g * x * x


def gradient_of(f):
    """The gradient of the sum of an elementwise function."""
    import jax

    return jax.grad(lambda x: f(x).sum())
