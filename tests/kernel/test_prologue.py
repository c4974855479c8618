"""Kernels that begin with a prologue, interpreted: groups of few threads, and rows of a layout of their own."""

import numpy as np
import pytest

from tensorframe.graph.region import Region, RegionOp
from tensorframe.kernel.groups.prologue import build_with_prologue
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.spaces.prologue import made_first, parts_of
from tensorframe.ops.elementwise import DIVIDE, MULTIPLY
from tensorframe.ops.movement import RESHAPE
from tensorframe.ops.reduction import MAX, SUM
from tests.kernel.interpreted import run_built

DTYPE = np.dtype(np.float32)
ROWS, BLOCKS, BLOCK = 6, 5, 8
LENGTH = BLOCKS * BLOCK


def region() -> Region:
    """Rows of a matrix times a vector whose blocks are divided by their largest element, all of it by its sum."""
    ops = [
        RegionOp(SUM, ((0, 1), True), (0,), (1, 1), DTYPE),
        RegionOp(DIVIDE, (), (0, 2), (BLOCKS, BLOCK), DTYPE),
        RegionOp(MAX, ((1,), True), (3,), (BLOCKS, 1), DTYPE),
        RegionOp(DIVIDE, (), (3, 4), (BLOCKS, BLOCK), DTYPE),
        RegionOp(RESHAPE, ((1, LENGTH),), (5,), (1, LENGTH), DTYPE),
        RegionOp(MULTIPLY, (), (1, 6), (ROWS, LENGTH), DTYPE),
        RegionOp(SUM, ((1,), False), (7,), (ROWS,), DTYPE),
    ]
    return Region((((BLOCKS, BLOCK), DTYPE), ((ROWS, LENGTH), DTYPE)), tuple(ops), (8,))


def test_a_region_is_cut_at_reductions_that_others_need() -> None:
    made = region()
    assert made_first(made) == [2, 4]
    parts = parts_of(made)
    assert not isinstance(parts, str)
    assert [(part.takes, part.gives) for part in parts] == [
        ((0,), (2,)),
        ((0, 2), (4,)),
        ((0, 1, 2, 4), (8,)),
    ]


def test_a_region_without_such_parts_says_why() -> None:
    scaled = RegionOp(DIVIDE, (), (0, 0), (BLOCKS, BLOCK), DTYPE)
    assert (
        parts_of(Region((((BLOCKS, BLOCK), DTYPE),), (scaled,), (1,))) == "a part has no reduction"
    )


@pytest.mark.parametrize("lanes", [4, 16])
@pytest.mark.parametrize("access", [0, 16])
@pytest.mark.parametrize("steps", [(LENGTH, 1), (1, ROWS)], ids=["rows", "columns"])
def test_groups_make_what_their_rows_have_in_common(
    lanes: int, access: int, steps: tuple[int, int]
) -> None:
    made = region()
    parts = parts_of(made)
    assert not isinstance(parts, str)
    target = Target(lanes, np.dtype(np.float64), np.dtype(np.uint32), access)
    built = build_with_prologue(made, parts, [(BLOCK, 1), steps], [(0, None)], target)
    assert len(built.launches) == 1
    generator = np.random.default_rng(0)
    vector = generator.random((BLOCKS, BLOCK)).astype(DTYPE)
    matrix = generator.random((ROWS, LENGTH)).astype(DTYPE)
    stored = matrix if steps[1] == 1 else matrix.T.copy()
    found = np.zeros(ROWS, DTYPE)
    run_built(built, {"x0": vector.ravel(), "x1": stored.ravel(), "y0": found})
    scaled = vector / vector.sum()
    scaled /= scaled.max(axis=1, keepdims=True)
    np.testing.assert_allclose(found, matrix @ scaled.ravel(), rtol=1e-5)
