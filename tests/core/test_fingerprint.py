"""Two formulas are taken for one only when the same behaviour is written in their code."""

import functools

import numpy as np
import pytest

import surrogate


class Window:
    def __init__(self, width):
        self.width = width

    def __call__(self, xp, x):
        return xp.abs(x) <= self.width

    def method(self, xp, x):
        return xp.abs(x) <= self.width


def window(xp, x):
    return xp.abs(x) <= 1.0


def widened(by):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(xp, x):
            return function(xp, x / by)

        return wrapper

    return decorate


def positional(width, xp, x):
    return xp.abs(x) <= width


def written(source):
    """A factory of functions from source text that has the width in it."""

    def make(width):
        names = {"__name__": f"written_{width}"}
        exec(source.format(width=width), names)
        return names["formula"]

    return make


MAKERS = {
    "an object": Window,
    "a method": lambda width: Window(width).method,
    "a wrapper": lambda width: widened(width)(window),
    "a partial function": lambda width: functools.partial(positional, width),
    "a global": written("W = {width}\ndef formula(xp, x):\n    return xp.abs(x) <= W"),
    "a global dict": written("W = dict(w={width})\ndef formula(xp, x):\n    return xp.abs(x) <= W['w']"),
    "a global object": written(
        "import types\nW = types.SimpleNamespace(w={width})\ndef formula(xp, x):\n    return xp.abs(x) <= W.w"
    ),
    "a NumPy number": written(
        "import numpy\nW = numpy.float64({width})\ndef formula(xp, x):\n    return xp.abs(x) <= W"
    ),
    "a helper's default": written(
        "def h(xp, x, w={width}):\n    return xp.abs(x) <= w\ndef formula(xp, x):\n    return h(xp, x)"
    ),
    "a helper's closure": written(
        "def make(w):\n    return lambda xp, x: xp.abs(x) <= w\n"
        "h = make({width})\ndef formula(xp, x):\n    return h(xp, x)"
    ),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_replaced_formula_is_not_taken_for_the_earlier_one(make):
    register = surrogate.register("sign", name="replaced", replace=True)
    register(make(1.0))
    before = surrogate.gradient("sign", "replaced")
    register(make(2.0))
    after = surrogate.gradient("sign", "replaced")
    assert before.digest != after.digest
    points = [1.0, 2.0, 3.0]
    assert surrogate.reference.vjp("sign", before, points)[0].tolist() == [1, 0, 0]
    assert surrogate.reference.vjp("sign", after, points)[0].tolist() == [1, 1, 0]


@pytest.mark.parametrize("kind", ["an object", "a method", "a wrapper", "a partial function"])
def test_a_name_is_not_taken_over_silently(kind):
    surrogate.register("sign", name="taken_over")(MAKERS[kind](1.0))
    with pytest.raises(surrogate.DuplicateNameError, match="replace=True"):
        surrogate.register("sign", name="taken_over")(MAKERS[kind](2.0))
    assert surrogate.reference.vjp("sign", "taken_over", 2.0)[0] == 0.0


def test_the_same_function_with_and_without_upstream_are_two():
    def cotangent(xp, x):
        return 0.5 * x

    surrogate.register("sign", name="both")(cotangent)
    before = surrogate.gradient("sign", "both")
    surrogate.register("sign", name="both", upstream=True, replace=True)(cotangent)
    after = surrogate.gradient("sign", "both")
    assert (before.upstream, after.upstream) == (False, True)


def test_code_that_says_all_has_one_digest_wherever_it_is_compiled():
    make = written(
        "import numpy\nT = (1, 'a', numpy.float32({width}))\n"
        "def h(xp, x, *, w=2.0):\n    return xp.abs(x) <= w * T[0]\n"
        "def formula(xp, x):\n    return h(xp, x) & (x != numpy.pi) & (len(T) in {{3, 4}})"
    )
    digests = set()
    for _ in range(2):
        surrogate.register("sign", name="compiled", replace=True)(make(1.0))
        digests.add(surrogate.gradient("sign", "compiled").digest)
    assert len(digests) == 1


def test_every_formula_of_the_catalogue_has_a_digest_that_outlives_the_process():
    formulas = [f for op in surrogate.ops() for f in surrogate._registry.registry.formulas(op).values()]
    ours = [f for f in formulas if f.function.__module__.startswith("surrogate.catalogue")]
    assert len(ours) > 50
    assert [f.label for f in ours if surrogate._fingerprint.fingerprint(f.function) is None] == []


def test_numpys_functions_count_by_name():
    assert surrogate._fingerprint.fingerprint(np.abs) is not None
