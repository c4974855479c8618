"""Pieces of blocks: lines that lie inside one block of each operand are made of it, and only seams are joined."""

from math import prod

import numpy as np
import pytest

import tensorframe as tfr

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

from tensorframe.backends.dask import pieces as module  # noqa: E402
from tensorframe.backends.dask import windows  # noqa: E402

ROWS, COLUMNS = 60, 7


@pytest.fixture(autouse=True)
def every_block_is_large(monkeypatch):
    monkeypatch.setattr(module, "_LARGE", 0)
    with dask.config.set(scheduler="synchronous"):
        yield


def five_points(x):
    return 4 * x[1:-1, 1:-1] - x[:-2, 1:-1] - x[2:, 1:-1] - x[1:-1, :-2] - x[1:-1, 2:]


CASES = {
    "a stencil": five_points,
    "windows of several lengths": lambda x: x[5:] - x[:-5] + x[2:-3] * tfr.exp(x[4:-1]),
    "two results": lambda x: (x[1:] - x[:-1], x[1:] + x[:-1]),
    "a row of it beside": lambda x: (x[1:] - x[:-1]) * x[10],
    "steps": lambda x: x[1::2] - x[:-1:2],
    "backwards": lambda x: x[::-1] - x,
    "transposed": lambda x: x.T[:, 1:] - x.T[:, :-1],
    "of integers": lambda x: tfr.astype(x, "int32")[1:] - tfr.astype(x, "int32")[:-1],
    "the largest of rows": lambda x: tfr.max(x[1:] - x[:-1], axis=1),
    "one of two operands": lambda x: x[1:] * tfr.arange(COLUMNS, device="dask") - x[:-1],
}


@pytest.mark.parametrize("chunks", [(20, 7), (9, 7), (20, 3), (1, 7), ((2, 57, 1), 7)], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_pieces_are_those_of_the_whole(name, chunks):
    values = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    found = CASES[name](tfr.from_native(da.from_array(values, chunks=chunks)))
    expected = CASES[name](tfr.asarray(values, device="cpu"))
    if type(found) is not tuple:
        found, expected = (found,), (expected,)
    for own, other in zip(found, expected, strict=True):
        assert np.array_equal(own.numpy(), other.numpy())


def apart(values):
    """Blocks in memory of their own."""
    return da.from_array(values, chunks=(20, COLUMNS)).map_blocks(np.copy).persist()


@pytest.fixture
def joined(monkeypatch):
    """How many lines each array has that is joined of several blocks."""
    lines = []
    join = windows.joined

    def noted(blocks, grid):
        array = join(blocks, grid)
        if prod(grid) > 1:
            lines.append(len(array))
        return array

    monkeypatch.setattr(windows, "joined", noted)
    return lines


def test_only_seams_are_joined(joined):
    values = np.random.default_rng(0).standard_normal((ROWS, COLUMNS))
    x = tfr.from_native(apart(values))
    result = five_points(x).compute()
    # one line at a block's end reads it, the one before and the next one; blocks of results end where operands' do
    assert joined
    assert max(joined) <= 4
    assert np.array_equal(result.numpy(), five_points(values))


def test_small_blocks_are_joined_as_they_are(joined, monkeypatch):
    monkeypatch.setattr(module, "_LARGE", 1 << 20)
    x = tfr.from_native(apart(np.ones((ROWS, COLUMNS))))
    (x[1:] - x[:-1]).compute()
    assert max(joined) > 19


def test_nothing_is_joined_of_blocks_that_are_in_one_array(joined):
    values = np.random.default_rng(0).standard_normal((ROWS, COLUMNS))
    x = tfr.from_native(da.from_array(values, chunks=(20, COLUMNS)).persist())
    result = five_points(x).compute()
    assert not joined
    assert result.native().numblocks[0] > 1
    assert np.array_equal(result.numpy(), five_points(values))
