"""Partial aggregates: what tiles leave of reductions over the cut, joined in their order, to the bit as in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from tensorframe.backends.numpy.lanes import lane_sum
from tensorframe.backends.registry import backend_of
from tensorframe.dtypes import FLOATING, DType
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.kernel.forms.block import COLUMN_SAMPLE
from tensorframe.kernel.forms.rows import ROW_SAMPLE
from tensorframe.kernel.ir.order import PIECE
from tensorframe.ops.creation import DATA
from tensorframe.ops.movement import EXPAND
from tensorframe.ops.reduction import ARGMAX, PROD
from tensorframe.runtime.execution.leaves import placed
from tensorframe.schedule.blocks import Block
from tensorframe.schedule.carry import finished, left_by, moments_of, samples_of, total_dtype
from tensorframe.schedule.moments import Chunks, distances_of
from tensorframe.schedule.tiles import How, Join

Array = np.ndarray[Any, Any]


def leaf_of(array: Array, device: Device, like: Node) -> Node:
    """Return a computed node with the values of a host array, that stands where `like` was recorded."""
    return Node(DATA, (), (), array.shape, array.dtype, device, like.site, placed(array, device))


def host_values(node: Node) -> Array:
    """Return the values of a computed node as a host array."""
    storage = node.storage
    if type(storage.handle) is np.ndarray:
        return storage.handle
    return backend_of(node.device).download(storage)


class Total(ABC):
    """What has been carried so far of one reduction."""

    def __init__(self, node: Node, join: Join) -> None:
        self._node, self._join = node, join

    def left(self, tile: Node) -> tuple[Node, ...]:
        """Return what a tile of the operand leaves, to be computed."""
        return left_by(self._node, self._join, tile, None)

    def dry_left(self, tile: Node) -> tuple[Node, ...]:
        """Return what a tile would leave, for a plan that is only made."""
        return self.left(tile)

    @abstractmethod
    def take(self, left: Sequence[Node], block: Block) -> None:
        """Take in what a tile has left, once it is computed; `block` is where the tile is in the operand."""

    def scratch(self, left: Sequence[Node]) -> int:
        """Return the bytes that taking in what a tile leaves takes at most, beside that."""
        return 4 * sum(part.nbytes for part in left)

    def kept(self, _left: Sequence[Node], _tiles: int) -> int:
        """Return the bytes that stay of so many tiles until the result is there."""
        return 2 * max(self._node.nbytes, self._node.size * total_dtype(self._node.dtype).itemsize)

    def followers(self) -> Iterator[tuple[Node, Node]]:
        """Yield other carried values with the nodes of their results, which follow from this one's."""
        yield from ()

    def needs(self) -> Sequence[Node]:
        """Return what has to be computed before the result, when its followers are there."""
        return ()

    @abstractmethod
    def result(self) -> Node:
        """Return the node of the result, once all tiles are taken in."""


class Sampling(Total):
    """A total that depends on a sample of each tile, which is computed before the tile is taken in."""

    @abstractmethod
    def sample(self, tile: Node) -> list[Node]:
        """Return the sample of a tile of the operand."""

    @abstractmethod
    def look(self, samples: Sequence[Node]) -> None:
        """Take note of a sample, once it is computed."""

    def looking(self, samples: Sequence[Node]) -> int:
        """Return the bytes that this takes: the sample in double precision, and its running sums."""
        return sum(3 * 8 * sample.size for sample in samples)


def total_of(node: Node, join: Join, chunks: Chunks | None = None) -> Total:
    """Return what carries a reduction over tiles."""
    if join.how is How.MOMENTS:
        assert chunks is not None
        return _Moments(node, join, chunks)
    return _TOTALS[join.how](node, join)


class _Combined(Total):
    """Partial results that are combined by the reduction's own row, in the kernels of the tiles."""

    def __init__(self, node: Node, join: Join) -> None:
        super().__init__(node, join)
        self._carried: Node | None = None

    def left(self, tile: Node) -> tuple[Node, ...]:
        return left_by(self._node, self._join, tile, self._carried)

    def take(self, left: Sequence[Node], _block: Block) -> None:
        (self._carried,) = left

    def result(self) -> Node:
        assert self._carried is not None
        return self._carried


class _Position(Total):
    """The first place of the largest, or smallest, element, and that element; NaN is beyond all others."""

    def __init__(self, node: Node, join: Join) -> None:
        super().__init__(node, join)
        self._best: tuple[Array, Array] | None = None

    def take(self, left: Sequence[Node], block: Block) -> None:
        places, values = [host_values(part) for part in left]
        shape = self._node.inputs[0].shape
        axes = [axis for axis in sorted(self._node.attrs[0]) if shape[axis] != 1]
        before = block[axes[0]][0] * prod([shape[axis] for axis in axes[1:]])
        places = places + np.int64(before)
        if self._best is None:
            self._best = places, values.copy()
            return
        known, best = self._best
        beyond = values > best if self._node.op is ARGMAX else values < best
        if values.dtype in FLOATING:
            beyond = beyond | (np.isnan(values) & ~np.isnan(best))
        self._best = np.where(beyond, places, known), np.where(beyond, values, best)

    def result(self) -> Node:
        assert self._best is not None
        return leaf_of(np.asarray(self._best[0]), self._node.device, self._node)


class _Pieces(Total):
    """The totals of pieces, joined one after the other."""

    def __init__(self, node: Node, join: Join) -> None:
        super().__init__(node, join)
        self._ufunc = np.multiply if node.op is PROD else np.add
        self._total: Array | None = None

    def scratch(self, left: Sequence[Node]) -> int:
        held = total_dtype(self._node.dtype).itemsize
        return sum(2 * held * _size_of_line(part) for part in left)

    def take(self, left: Sequence[Node], _block: Block) -> None:
        (pieces,) = [host_values(part) for part in left]
        self._total = _in_turn(self._ufunc, self._total, pieces, total_dtype(self._node.dtype))

    def result(self) -> Node:
        assert self._total is not None
        return finished(self._node, leaf_of(self._total, self._node.device, self._node))


class _Moments(Sampling):
    """Squared distances from a mean, as chunks leave them: with pivots of their own, from which the mean moves them.

    See kernel/forms/deviations.py, whose chunks and sums these are.
    """

    def __init__(self, node: Node, join: Join, chunks: Chunks) -> None:
        super().__init__(node, join)
        distances = distances_of(node)
        assert distances is not None
        self._mean = distances.inputs[1]
        while self._mean.op is EXPAND and self._mean.storage is None:
            self._mean = self._mean.inputs[0]
        self._source = distances.inputs[0]
        self._chunks = chunks
        self._pivots = np.empty(0)  # of the chunks of the tile that is taken in
        self._left: list[tuple[Array, Array, Array, Array]] = []  # of each tile's chunks

    def sample(self, tile: Node) -> list[Node]:
        most = ROW_SAMPLE if self._chunks.inside else COLUMN_SAMPLE
        return samples_of(self._node, self._join.length, tile, most)

    def look(self, samples: Sequence[Node]) -> None:
        with np.errstate(all="ignore"):
            self._pivots = np.concatenate(
                [self._pivots_of(host_values(sample)) for sample in samples]
            )

    def _pivots_of(self, elements: Array) -> Array:
        """Return the means of the first elements of chunks, which are along the second axis."""
        wide = elements.astype(np.float64)
        if self._chunks.inside:
            total = lane_sum(wide, (1,))
        else:
            total = _in_turn(np.add, None, np.moveaxis(wide, 1, 0), wide.dtype)
        return np.asarray(total / elements.shape[1]).astype(elements.dtype)

    def left(self, tile: Node) -> tuple[Node, ...]:
        count = prod([tile.shape[axis] for axis in self._node.attrs[0]])
        each = np.repeat(self._pivots, self._join.length // PIECE, axis=0)[: -(-count // PIECE)]
        # reshaped and not indexed: kernels are foreseen for the strides of C order
        pivots = leaf_of(each.reshape((len(each), 1, *each.shape[1:])), tile.device, self._node)
        return moments_of(self._node, tile, pivots)

    def dry_left(self, tile: Node) -> tuple[Node, ...]:
        shape = [size for axis, size in enumerate(tile.shape) if axis not in self._node.attrs[0]]
        count = prod([tile.shape[axis] for axis in self._node.attrs[0]])
        pieces = (-(-count // PIECE), 1, *shape)
        pivots = Node(DATA, (), (), pieces, tile.dtype, tile.device, self._node.site)
        return moments_of(self._node, tile, pivots)

    def scratch(self, left: Sequence[Node]) -> int:
        # running totals of all pieces, those of the last chunk beside, and the totals of chunks
        line = (self._join.length // PIECE + 1) * prod(left[0].shape[1:])
        pieces = _size_of_line(left[0])
        return 8 * pieces + 16 * (min(line, pieces) + self._chunks_of(left))

    def kept(self, left: Sequence[Node], tiles: int) -> int:
        pivots = left[0].size * self._source.dtype.itemsize
        return pivots + 24 * self._chunks_of(left) * (tiles + 1)

    def _chunks_of(self, left: Sequence[Node]) -> int:
        """Return how many totals there are of a tile's chunks."""
        pieces, *across = left[0].shape
        return -(-pieces * PIECE // self._join.length) * prod(across)

    def take(self, left: Sequence[Node], block: Block) -> None:
        shape = self._source.shape
        count = prod(
            [stop - start for start, stop in [block[axis] for axis in self._node.attrs[0]]]
        )
        length = self._join.length
        counts = np.full(len(self._pivots), float(length))
        if count % length:
            counts[-1] = count % length
        distances, squares = [self._by_chunk(host_values(part)) for part in left]
        counts = counts.reshape((-1, *(1,) * (len(shape) - len(self._node.attrs[0]))))
        self._left.append((counts, self._pivots.astype(np.float64), distances, squares))

    def _by_chunk(self, pieces: Array) -> Array:
        """Return the totals of chunks from those of their pieces, joined in order; the last chunk may be shorter."""
        each = self._join.length // PIECE
        count = len(pieces) // each
        full = pieces[: count * each].reshape((count, each, *pieces.shape[1:]))
        with np.errstate(all="ignore"):
            # 0 is what a total begins with: -0 is none
            totals = [np.add.accumulate(full, axis=1, dtype=np.float64)[:, -1] + 0.0]
        if count * each < len(pieces):
            rest = _in_turn(np.add, None, pieces[count * each :], np.dtype(np.float64))
            totals.append(rest[np.newaxis])
        return np.concatenate(totals)

    def followers(self) -> Iterator[tuple[Node, Node]]:
        followed = self._chunks.followed
        if followed is not None:
            total: Array | None = None
            for counts, pivots, distances, _ in self._left:
                total = _in_turn(np.add, total, distances + counts * pivots, distances.dtype)
            assert total is not None
            yield followed, finished(followed, leaf_of(total, followed.device, followed))

    def needs(self) -> Sequence[Node]:
        return (self._mean,)

    def result(self) -> Node:
        mean = self._mean_by_row()
        total: Array | None = None
        with np.errstate(all="ignore"):
            for counts, pivots, distances, squares in self._left:
                away = pivots - mean
                added = squares + away * (2.0 * distances + counts * away)
                total = _in_turn(np.add, total, added, added.dtype)
        assert total is not None
        return finished(self._node, leaf_of(total, self._node.device, self._node))

    def _mean_by_row(self) -> Array:
        """Return what distances are taken from, for each row of the result."""
        shape, axes = self._source.shape, self._node.attrs[0]
        mean = host_values(self._mean).astype(np.float64)
        mean = mean.reshape((*(1,) * (len(shape) - mean.ndim), *mean.shape))
        rows: Array = mean[
            tuple([0 if axis in axes else slice(None) for axis in range(len(shape))])
        ]
        return rows


def _size_of_line(parts: Node) -> int:
    """Return how many elements `_in_turn` joins, each twice: as they are, and as running totals."""
    return (parts.shape[0] + 1) * prod(parts.shape[1:])


def _in_turn(ufunc: np.ufunc, total: Array | None, parts: Array, held: DType) -> Array:
    """Return a total with parts joined to it, one after the other."""
    line = np.empty((len(parts) + 1, *parts.shape[1:]), held)
    line[0] = ufunc.identity if total is None else total
    line[1:] = parts
    with np.errstate(all="ignore"):
        last: Array = ufunc.accumulate(line, axis=0)[-1]
    return last.copy()


_TOTALS: Mapping[How, Callable[[Node, Join], Total]] = {
    How.COMBINE: _Combined,
    How.POSITION: _Position,
    How.PIECES: _Pieces,
}
