"""NumPy's documented examples give the same values here, or it is known why not."""

import pytest

from tests.numpy_names.doctests import all_verdicts


@pytest.fixture(scope="module")
def found():
    return all_verdicts()


def test_examples_without_a_reason_are_right(found):
    assert [verdict for verdict in found if verdict.difference and not verdict.reason] == []


def test_almost_all_examples_give_the_same_values(found):
    assert len(found) > 1500
    of_numbers = [one for one in found if one.reason[:4] not in ("text", "no m")]
    same = [one for one in of_numbers if not one.difference]
    assert len(same) >= 0.95 * len(of_numbers)
    assert len(same) >= 0.90 * len(found)
