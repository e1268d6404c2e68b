"""A third set of programs that the rules were not tuned on: planted faults, and sound ones."""

import math

import torch
from torch.nn import functional as F  # noqa: N812

W = torch.linspace(-1.3, 1.7, 12).reshape(3, 4)


def levels_of_grey(w):
    grey = (w.sigmoid() * 7).round() / 7  #! zero:round
    return (grey - 0.4).abs().mean()


def hinge_by_counting(w):
    wrong = (w < 0.5).sum()  #! cut:lt
    return wrong / w.numel()


def price_of_whole_boxes(w):
    boxes = torch.ceil(w.exp() * 3)  #! zero:ceil
    return boxes.sum() * 2.5


def nearest_neighbour(w):
    points = torch.tensor([[0.0, 1.0, 2.0, 3.0], [1.0, 0.0, 1.0, 0.0]])
    index = torch.cdist(w, points).argmin(1)  #! cut:argmin
    return points[index].pow(2).sum()


def cached_statistics(w):
    centre = w.mean().item()  #! cut:item
    return torch.full((4,), centre).pow(2).sum()


def penalty_that_does_nothing(w):
    used = (w.abs() > 0.3).float().sum()  #! cut:gt
    return w.pow(2).mean() + 0.1 * used


def phase_by_hand(w):
    turns = torch.trunc(w * 10 / math.pi)  #! zero:trunc
    return torch.cos(turns).sum()


def numpy_in_between(w):
    h = w.detach().numpy()  #! cut:detach
    return torch.as_tensor(h * 2).sum() ** 2


def angle_at_its_end(w):
    unit = w / w.abs().max()
    return torch.acos(unit).sum()  #! nonfinite:acos


def entropy_by_hand(w):
    p = w.softmax(1)
    return -(p * torch.log(p)).sum()  #! unstable:log


def silent_layer(w):
    return F.relu(-w.exp() - 2).pow(2).sum()  #! dead:relu


def every_other_row(w):
    with torch.no_grad():
        half = w[::2] * 3  #! cut:mul|slice
    return half.pow(2).sum()


def a_mode_of_a_mixture(w):
    k = torch.multinomial(w.softmax(1), 1)  #! cut:multinomial
    return k.float().mean() * 2


PLANTED = (
    *(levels_of_grey, hinge_by_counting, price_of_whole_boxes, nearest_neighbour, cached_statistics),
    *(penalty_that_does_nothing, phase_by_hand, numpy_in_between, angle_at_its_end, entropy_by_hand),
    *(silent_layer, every_other_row, a_mode_of_a_mixture),
)


def huber_by_where(w):
    small = w.abs() < 1
    return torch.where(small, 0.5 * w**2, w.abs() - 0.5).mean()


def best_of_three(w):
    return w.gather(1, w.argmax(1, keepdim=True)).sum()


def target_network(w):
    target = (w * 0.99).detach()
    return F.smooth_l1_loss(w.tanh(), target)


def running_mean(w):
    mean = torch.zeros(4)
    for row in w:
        mean = 0.9 * mean + 0.1 * row
    return (mean - w).pow(2).sum()


def cosine_with_a_guard(w):
    return F.cosine_similarity(w, w.flip(0), dim=1, eps=1e-6).sum()


def periodic_distance(w):
    d = w - w.roll(1, 0)
    return (d - torch.floor(d + 0.5)).pow(2).sum()


def clipped_surrogate_objective(w):
    ratio = torch.exp(w - w.detach())
    return -torch.minimum(ratio * 0.7, ratio.clamp(0.8, 1.2) * 0.7).mean()


def sorted_quantiles(w):
    return (w.sort(1).values - torch.linspace(-1, 1, 4)).pow(2).mean()


SOUND = (
    *(huber_by_where, best_of_three, target_network, running_mean, cosine_with_a_guard),
    *(periodic_distance, clipped_surrogate_objective, sorted_quantiles),
)
