"""Random programs, whose kernels are interpreted: NumPy's results, and nothing read or written out of bounds."""

import pytest

from tensorframe.kernel.forms import builder, reductions
from tensorframe.kernel.forms import tiles as tiling
from tensorframe.machine import HOST
from tensorframe.testing.random_graph import check, program_of
from tests.kernel.interpreted import interpreting

CHUNK = 5


def check_small(seeds):
    """Check the programs of these seeds but for large ones, which would take the interpreter a minute."""
    with interpreting():
        for seed in seeds:
            if "(300, 500)" not in program_of(seed).body():
                check(seed, device="llvm")


@pytest.mark.sweep(6)
@pytest.mark.parametrize("start", range(20_000, 20_200, CHUNK))
def test_kernels_of_random_programs(start):
    check_small(range(start, start + CHUNK))


@pytest.mark.sweep(6)
@pytest.mark.parametrize("start", range(21_000, 21_100, CHUNK))
def test_kernels_of_random_programs_in_small_blocks(start, monkeypatch):
    for name, value in {
        "_CHUNK": 3,
        "_COLUMN_CHUNK": 3,
        "_COLUMNS": 2,
        "HOST": HOST._replace(units=7, columns=2),
    }.items():
        monkeypatch.setattr(reductions, name, value)
    monkeypatch.setattr(builder, "SHARE", 4)
    for name, value in {"_SIDE": 4, "_NARROW": 3, "_AREA": 8}.items():
        monkeypatch.setattr(tiling, name, value)
    check_small(range(start, start + CHUNK))
