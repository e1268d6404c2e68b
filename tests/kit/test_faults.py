"""The kit rejects every planted fault, by the right check and by no other."""

import pytest
from faults import FAULTS, NARROW
from toy.backend import Toy

from surrogate.testing import check_backend

#: Where a fault shows; that the kit looks at every op and dtype is for the honest backend, in test_toy.
OPS, DTYPES = ("sign", "round", "mod", "relu", "clip"), ("float16", "float32")


def kit(cls):
    backend = cls()
    backend.dtypes = DTYPES
    return check_backend(backend, ops=OPS)


@pytest.mark.parametrize(("cls", "right", "also"), FAULTS, ids=[cls.__name__ for cls, *_ in FAULTS])
def test_fault_is_rejected_by_the_right_check(cls, right, also):
    report = kit(cls)
    # every fault of an op is one of its spellings, too: what those checks find is in test_driver
    found = {failure.promise for failure in report.failures} - {"spellings"}
    assert found == {right, *also}, str(report)[:4000]


@pytest.mark.parametrize(("cls", "right"), NARROW, ids=[cls.__name__ for cls, _ in NARROW])
def test_fault_in_one_place_is_rejected_by_the_checks_that_are_there_for_it(cls, right):
    report = kit(cls)
    assert {failure.promise for failure in report.failures} - {"spellings"}
    found = [failure.id for failure in report.failures if failure.promise != "spellings"]
    wrong = [one for one in found if not right.fullmatch(one)]
    assert wrong == [], str(report)[:4000]


def test_honest_backend_is_accepted():
    assert kit(Toy).ok
