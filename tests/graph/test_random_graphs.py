"""Thousands of random programs give NumPy's results, fused and not, in one block and in many."""

import pytest

from tensorframe.testing.generate import generate
from tensorframe.testing.random_graph import check, main, program_of
from tensorframe.testing.shrink import failure

CHUNK = 50
PLANNED = range(0, 3000, CHUNK)
ALONE = range(3000, 4500, CHUNK)
VERIFIED = range(4500, 5000, CHUNK)


@pytest.mark.sweep(8)
@pytest.mark.parametrize("start", PLANNED)
def test_fused_programs_agree_with_numpy(start):
    for seed in range(start, start + CHUNK):
        check(seed)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("start", ALONE)
def test_programs_run_op_by_op_agree_with_numpy(start):
    for seed in range(start, start + CHUNK):
        check(seed, fuse=False)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("start", VERIFIED)
def test_every_pass_keeps_graphs_legal_and_every_region_its_meaning(start):
    for seed in range(start, start + CHUNK):
        check(seed, verify=True, validate=True)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("start", range(6000, 6400, CHUNK))
def test_programs_agree_without_rewriting(start):
    for seed in range(start, start + CHUNK):
        check(seed, rewrite=False)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("start", range(7000, 7600, CHUNK))
def test_programs_agree_on_the_path_of_small_graphs(start):
    for seed in range(start, start + CHUNK):
        problem = failure(generate(seed))
        assert problem is None, f"seed {seed}: {problem}\n{generate(seed).source()}"


@pytest.mark.sweep(3)
@pytest.mark.parametrize("start", range(8000, 8100, 10))
def test_long_programs_agree(start):
    for seed in range(start, start + 10):
        check(seed, moves=60)


def test_some_programs_are_large_and_have_many_blocks():
    large = [seed for seed in range(1000) if "(300, 500)" in program_of(seed).body()]
    assert large
    for seed in large:
        check(seed, block_bytes=4096)


def test_a_seed_is_a_program():
    assert generate(17) == generate(17)
    assert generate(17) != generate(18)
    assert len(program_of(17, moves=60).steps) > len(program_of(17, moves=3).steps)


def test_the_command_line_runs_seeds(capsys):
    assert main(["--seed", "17", "--count", "2", "--show"]) == 0
    printed = capsys.readouterr().out
    assert "def program(xp):" in printed
    assert printed.endswith("2 of 2 seeds agree with NumPy\n")
