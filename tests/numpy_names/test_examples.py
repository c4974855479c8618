"""NumPy's documented examples give the same values here, or it is known why not."""

from pathlib import Path

import pytest

from tests.numpy_names.doctests import all_verdicts
from tests.numpy_names.known import BY_CHANCE, examples_table, known

PAGE = Path(__file__).parents[2] / "docs" / "numpy.md"


@pytest.fixture(scope="module")
def found():
    return all_verdicts()


def test_examples_without_a_reason_are_right(found):
    assert [verdict for verdict in found if verdict.difference and not verdict.reason] == []


def test_reasons_are_of_examples_that_differ(found):
    for function, starts in known().items():
        differing = [one.source for one in found if one.function == function and one.difference]
        for start, why in starts:
            still = any(source.startswith(start) for source in differing)
            assert still or function in BY_CHANCE, f"{function}: {start}: {why}"


def test_almost_all_examples_give_the_same_values(found):
    assert len(found) > 1600
    same = [verdict for verdict in found if not verdict.difference]
    assert len(same) >= 0.955 * len(found)


def test_the_page_lists_what_differs():
    assert examples_table() in PAGE.read_text(encoding="utf-8"), "run python -m tests.numpy_names"
