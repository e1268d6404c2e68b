"""Every 16th operator of PyTorch's test database; all of them in the tox environment ``torch-sweep``."""

import operator_sweep
import pytest


@pytest.mark.filterwarnings(
    "ignore::surrogate.NothingCapturedWarning"
)  # that nothing is captured is the point
def test_only_the_ops_themselves_change():
    found = list(operator_sweep.leaks(operator_sweep.OPS.split(","), every=16))
    assert len(found) > 50
    assert not [leak for leak in found if leak is not None]
