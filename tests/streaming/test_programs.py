"""Random programs under a quarter of the memory that they take; `nox -s streaming` runs 1,000 of them."""

import pytest

from tests.streaming.programs import run

SEEDS = range(30)


@pytest.mark.parametrize("seed", SEEDS)
def test_bits_and_memory_of_a_random_program(seed, tmp_path):
    outcome = run(seed, tmp_path)
    assert not outcome.failed, outcome


def test_many_of_them_stream(tmp_path):
    outcomes = [run(seed, tmp_path) for seed in range(30, 42)]
    assert sum(outcome.tiles > 1 for outcome in outcomes) >= 4
    assert not [outcome for outcome in outcomes if outcome.failed]
