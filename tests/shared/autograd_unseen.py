"""Programs written from the README and the wish list alone, before their author read a rule of the audit.

Ten have one planted fault each, at the line that says so; five are sound.
"""

import itertools

import autograd.numpy as np
import numpy as onp
from autograd.numpy.linalg import norm
from autograd.scipy.special import logsumexp
from autograd.tracer import getval

RNG = onp.random.default_rng(5)


def _layer(n, m, scale=1.0):
    return RNG.normal(size=(n, m)) * scale / onp.sqrt(n), onp.zeros(m)


def binned_before_the_loss():
    """A histogram layer: the bins are counted from floored values."""

    def loss(weights):
        feature = RNG.normal(size=(20, 4)) @ weights
        cell = np.floor(feature * 4.0)  # plant: zero
        return np.mean((cell / 4.0 - 0.3) ** 2)

    return loss, (RNG.normal(size=4),), {}


def value_taken_out_of_the_trace():
    """A logging helper returns the bare array, and the caller goes on with it."""

    def peek(h, log):
        bare = getval(h)  # plant: cut
        log.append(bare.mean())
        return bare

    def loss(w):
        log = []
        h = peek(np.tanh(onp.linspace(-1, 1, 12).reshape(3, 4) @ w), log)
        return np.sum(h**2) + 0.0 * len(log)

    return loss, (RNG.normal(size=(4, 2)),), {}


def winner_takes_all():
    """A self-organising map: the distance to the winner's fixed grid place, the winner by argmin."""
    places = onp.arange(6.0)

    def energy(codebook):
        total = 0.0
        for sample in onp.linspace(-1, 1, 10).reshape(5, 2):
            distances = np.sum((codebook - sample) ** 2, axis=1)
            winner = np.argmin(distances)  # plant: cut|zero
            total = total + places[winner] ** 2
        return total

    return energy, (RNG.normal(size=(6, 2)),), {}


def perceptron():
    """The number of mistakes as a loss."""
    x, y = RNG.normal(size=(30, 3)), onp.sign(RNG.normal(size=30))

    def mistakes(params):
        w, b = params
        guess = np.sign(np.dot(x, w) + b)  # plant: zero
        return np.mean((1.0 - y * guess) / 2.0)

    return mistakes, ((RNG.normal(size=3), 0.1),), {}


def distance_to_itself():
    """Springs between particles, two of which start at one place."""

    def energy(positions):
        total = 0.0
        for i in range(3):
            for j in range(i):
                total = total + (norm(positions[i] - positions[j]) - 1.0) ** 2  # plant: nonfinite
        return total

    return energy, (onp.array([[0.0, 0.0], [1.0, 0.5], [1.0, 0.5]]),), {}


def cross_entropy_by_hand():
    """log of a softmax written as the book writes it."""
    x, labels = RNG.normal(size=(9, 4)), onp.arange(9) % 3

    def softmax(scores):
        e = np.exp(scores)
        return e / np.sum(e, axis=1, keepdims=True)

    def loss(params):
        w, b = params
        p = softmax(np.dot(x, w) + b)
        return -np.mean(np.log(p)[onp.arange(9), labels])  # plant: unstable

    return loss, (_layer(4, 3),), {}


def chaotic_map():
    """The logistic map's rate, fitted through eighty steps."""

    def miss(rate):
        x = 0.2
        for _ in range(80):
            x = rate * x * (1.0 - x)  # plant: exploding
        return (x - 0.5) ** 2

    return miss, (3.93,), {}


def gated_by_a_comparison():
    """The threshold of a mask is what should be learned."""
    signal = RNG.normal(size=40)

    def loss(threshold):
        keep = (signal > threshold) * 1.0  # plant: cut|zero
        return np.sum((signal * keep - signal) ** 2)

    return loss, (0.4,), {}


def logistic_by_hand():
    """1 / (1 + exp(-z)) of inputs that were never scaled."""
    x = onp.array([[-900.0, 3.0], [4.0, -1.0], [700.0, 2.0]])

    def loss(w):
        z = np.dot(x, w)
        p = 1.0 / (1.0 + np.exp(-z))  # plant: nonfinite
        return np.mean((p - onp.array([0.0, 1.0, 1.0])) ** 2)

    return loss, (onp.array([1.0, 0.5]),), {}


def deep_and_small():
    """Thirty tanh layers that start ten times too small."""

    def loss(weights):
        h = onp.ones((4, 5))
        for w in weights:
            h = np.tanh(np.dot(h, w))  # plant: vanishing
        return np.mean((h - 1.0) ** 2)

    return loss, ([RNG.normal(size=(5, 5)) * 0.04 for _ in range(30)],), {}


def clean_logistic_regression():
    """Labels in {-1, 1}, logaddexp, an L2 penalty."""
    x, y = RNG.normal(size=(25, 3)), onp.sign(RNG.normal(size=25))

    def loss(params):
        margin = y * (np.dot(x, params["w"]) + params["b"])
        return np.mean(np.logaddexp(0.0, -margin)) + 0.01 * np.sum(params["w"] ** 2)

    return loss, ({"w": RNG.normal(size=3), "b": 0.0},), {}


def clean_gaussian_process():
    """A marginal likelihood, the lengthscale and the noise in logs."""
    x = onp.sort(RNG.uniform(-2, 2, 12))
    y = onp.sin(2 * x)

    def nll(logs):
        scale, noise = np.exp(logs[0]), np.exp(logs[1])
        k = np.exp(-0.5 * (x[:, None] - x[None]) ** 2 / scale**2) + (noise + 1e-6) * np.eye(12)
        return 0.5 * np.dot(y, np.linalg.solve(k, y)) + 0.5 * np.linalg.slogdet(k)[1]

    return nll, (onp.array([-0.3, -2.0]),), {}


def clean_mixture():
    """A mixture of Gaussians by logsumexp."""
    data = RNG.normal(size=(30, 2))

    def nll(params):
        weights, means, spread = params
        gap = (data[:, None, :] - means[None]) / np.exp(spread)
        each = -0.5 * np.sum(gap**2, axis=2) - np.sum(spread) + weights - logsumexp(weights)
        return -np.mean(logsumexp(each, axis=1))

    return nll, ((onp.zeros(3), RNG.normal(size=(3, 2)), onp.zeros(2)),), {}


def clean_neural_ode():
    """Runge and Kutta's fourth order through a tanh field."""

    def field(params, h):
        (w1, b1), (w2, b2) = params
        return np.dot(np.tanh(np.dot(h, w1) + b1), w2) + b2

    def loss(params):
        h, dt = onp.array([[1.0, 0.0], [0.2, -0.5]]), 0.1
        for _ in range(12):
            k1 = field(params, h)
            k2 = field(params, h + dt / 2 * k1)
            k3 = field(params, h + dt / 2 * k2)
            k4 = field(params, h + dt * k3)
            h = h + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return np.mean((h - onp.array([0.0, 1.0])) ** 2)

    return loss, ([_layer(2, 8), _layer(8, 2)],), {}


def clean_recurrent():
    """A gated recurrent cell over a sine, one step ahead."""
    xs = onp.sin(onp.linspace(0, 6, 15))

    def sigmoid(z):
        return 0.5 * (np.tanh(z / 2.0) + 1.0)

    def loss(p):
        h, total = onp.zeros(5), 0.0
        for now, after in itertools.pairwise(xs):
            both = np.concatenate((h, onp.array([now])))
            gate = sigmoid(np.dot(both, p["wz"]))
            h = (1 - gate) * h + gate * np.tanh(np.dot(both, p["wh"]))
            total = total + (np.dot(h, p["out"]) - after) ** 2
        return total / 14

    start = {"wz": _layer(6, 5)[0], "wh": _layer(6, 5)[0], "out": RNG.normal(size=5)}
    return loss, (start,), {}


PLANTED = [
    binned_before_the_loss, value_taken_out_of_the_trace, winner_takes_all, perceptron, distance_to_itself,
    cross_entropy_by_hand, chaotic_map, gated_by_a_comparison, logistic_by_hand, deep_and_small,
]  # fmt: skip
CLEAN = [clean_logistic_regression, clean_gaussian_process, clean_mixture, clean_neural_ode, clean_recurrent]
