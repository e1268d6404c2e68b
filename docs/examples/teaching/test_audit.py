import inspect

import numpy as np
import pytest
from tinytape_audit import Recording

import surrogate
import tinytape


def rounded(w):
    h = tinytape.round(w * 4) * 0.25  # this line
    return h * h


def test_the_line_that_loses_the_gradient_and_what_gives_it_back():
    w = tinytape.Tensor(np.linspace(-1.0, 1.2, 5))
    report = surrogate.audit("tinytape", rounded, w)
    (finding,) = report.findings
    lines, start = inspect.getsourcelines(rounded)
    line = start + next(k for k, text in enumerate(lines) if "this line" in text)
    assert (finding.kind, finding.op, finding.where.line) == ("zero", "round", line)
    assert (finding.rule, finding.verified) == (("round", "identity"), ("arg0",))
    assert not isinstance(tinytape.call, Recording)
    weights = np.random.RandomState(0).standard_normal(5)
    expected = weights * 2 * np.round(w.data * 4) / 4  # identity: 4 * 1/4 through the rounding
    assert report.verify().gradients["arg0"] == pytest.approx(np.linalg.norm(expected), rel=1e-12)


def test_an_error_takes_along_what_was_found():
    def fails(w):
        tinytape.sign(w)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        surrogate.audit("tinytape", fails, tinytape.Tensor(np.ones(3)))
    assert caught.value.report.ops == 1
    assert not isinstance(tinytape.call, Recording)
