"""The functions that the benchmark measures give what NumPy's give, so that it compares like with like."""

import numpy as np
import pytest

import tensorframe as tfr
from tests.benchmarks.functions.calls import call_of
from tests.benchmarks.functions.cases import CASES, operands

SIZE = 12
# whose elements are not said, or come in an order that is not; random ones are not either
UNSAID = {"empty", "empty_like", "partition", "argpartition", "nextafter"}


def as_arrays(value):
    parts = value if isinstance(value, tuple | list) else (value,)
    return [np.asarray(part) for part in parts]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.text)
@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")
def test_both_do_the_same(case):
    given = operands(SIZE)
    tensors = {
        name: tfr.asarray(value) if isinstance(value, np.ndarray) else value
        for name, value in given.items()
    }
    with np.errstate(all="ignore"):
        theirs = as_arrays(call_of(case, np, given)())
        ours = as_arrays(call_of(case, tfr, tensors)())
    assert len(ours) == len(theirs)
    assert [part.shape for part in ours] == [part.shape for part in theirs]
    if case.name not in UNSAID and "random" not in case.text:
        for actual, desired in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(actual, desired, rtol=2e-3, atol=1e-4)


def test_every_case_has_a_name_of_its_own():
    assert len({case.name for case in CASES}) == len(CASES)
