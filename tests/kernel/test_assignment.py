"""Kernels that assign what they make, interpreted, which refuses whatever is out of an array's bounds."""

import numpy as np
import pytest

from tensorframe.graph.region import Region, RegionOp
from tensorframe.kernel.groups.algorithms.assignment import Assigned, build_assignment
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.nest.nest import Access
from tensorframe.kernel.spaces.analyse import space_of
from tensorframe.ops.elementwise import MULTIPLY
from tests.kernel.interpreted import run_built

TARGET = Target(4, np.dtype(np.float64), np.dtype(np.uint32))
DTYPE, INDEX = np.dtype(np.float32), np.dtype(np.int32)


def assigned(indices: list[int], *, is_kept: bool) -> tuple[np.ndarray, np.ndarray, bool]:
    """A tensor (5, 2) with columns 1 and 2 of squares assigned to rows, the squares, and whether an index was wrong."""
    shape = (len(indices), 4)
    known = (shape, DTYPE)
    square = RegionOp(MULTIPLY, (), (0, 0), *known)
    region = Region((known, ((len(indices),), INDEX)), (square,), (2,))
    pointing = (1, INDEX, (1,))
    what = Assigned(
        output=0,
        lows=(0, 1),
        sizes=(len(indices), 2),
        shape=(5, 2),
        axes=(0,),
        position=0,
        chosen=(len(indices),),
        indices=(pointing,),
        into=Access(1, (2, 1)),
        is_kept=is_kept,
    )
    places = [(0, None)]
    built = build_assignment(region, space_of(region), [(4, 1), (1,)], places, TARGET, what)
    x = np.arange(float(4 * len(indices)), dtype=DTYPE).reshape(shape)
    # the tensor begins behind the first element of its memory
    memory, squares = np.full(11, -1.0, DTYPE), np.zeros(shape, DTYPE)
    outputs = {"y0": squares, "y1": memory} if is_kept else {"y0": memory}
    missed = run_built(built, {"x0": x, "x1": np.array(indices, INDEX)} | outputs)
    assert len(built.launches) == 1
    assert memory[0] == -1.0
    return memory[1:].reshape(5, 2), squares, missed


@pytest.mark.parametrize("indices", [[3], [4, 0, -4], [2, 2, 1, 2]], ids=str)
@pytest.mark.parametrize("is_kept", [True, False])
def test_the_last_value_for_a_position_stays(indices: list[int], is_kept: bool) -> None:
    found, squares, missed = assigned(indices, is_kept=is_kept)
    assert not missed
    wanted = np.arange(4.0 * len(indices)).reshape(-1, 4) ** 2
    expected = np.full((5, 2), -1.0)
    expected[indices] = wanted[:, 1:3]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(squares, wanted if is_kept else 0 * wanted)


@pytest.mark.parametrize("wrong", [5, -6])
def test_an_index_out_of_bounds_is_marked(wrong: int) -> None:
    assert assigned([1, wrong], is_kept=True)[2]
