"""Programs of equal regions count together what NumPy has done of exact ops: one kernel will do for all of them."""

from __future__ import annotations

import gc

import pytest

from tensorframe.backends.cpu import choice
from tensorframe.backends.cpu.choice import CountingProgram
from tensorframe.dtypes import float32
from tensorframe.graph.region import Region, RegionOp
from tensorframe.ops.elementwise import ADD

_OF_A_CALL = 1 << 12


def program(size):
    operand = ((size,), float32)
    region = Region((operand, operand), (RegionOp(ADD, (), (0, 1), (size,), float32),), (2,))
    return CountingProgram(
        region, lambda *_: ["numpy"], lambda: lambda *_: ["kernel"], scratch=lambda: 0
    )


@pytest.fixture
def engines(monkeypatch):
    """Run programs one after the other, and return which engine each of them took, where three calls are enough."""
    gc.collect()
    monkeypatch.setattr(choice, "ENOUGH", 3 * (32 + _OF_A_CALL))
    return lambda *programs: [program((), ())[0] for program in programs]


def test_equal_regions_count_together(engines):
    first, second = program(32), program(32)
    assert engines(first, second, first) == ["numpy"] * 3
    assert engines(second, first) == ["kernel"] * 2


def test_other_regions_count_by_themselves(engines):
    first, other = program(32), program(31)
    assert engines(first, first, first, other) == ["numpy"] * 4
    assert engines(first, other, other, other) == ["kernel", "numpy", "numpy", "kernel"]


def test_what_is_gone_counts_no_more(engines):
    first = program(32)
    assert engines(first, first, first) == ["numpy"] * 3
    del first
    gc.collect()
    assert engines(program(32)) == ["numpy"]
