"""Chained products: what is made of whole rows of a product is multiplied on while it is in the cache.

Attention is one step then: a block of rows of scores, what is done to it, and its product with the values. Scores are
never there as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, Protocol

import numpy as np

from tensorframe import config
from tensorframe.backends import host_pool
from tensorframe.backends.base import Program
from tensorframe.backends.bound import Bound, bound
from tensorframe.backends.numpy.epilogue_region import (
    epilogue_of,
    others_of,
    with_positions,
)
from tensorframe.backends.numpy.products import blas
from tensorframe.backends.numpy.products.epilogue import Compile, Epilogue
from tensorframe.backends.numpy.products.grid import Index, row_blocks
from tensorframe.backends.numpy.products.hidden import Columns, part_of
from tensorframe.backends.numpy.products.product import (
    IN_BLAS,
    Store,
    extents,
    in_batch,
    multiply,
    share_products,
)
from tensorframe.backends.numpy.products.weights import Weights
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.quick_tuples import NamedTuple

Array = Any


class Tiles(Protocol):
    """Makes both products of a chain without the interpreter."""

    def __call__(
        self,
        factors: Sequence[Array],
        scores: Shape,
        others: Sequence[Array],
        columns: Columns | None,
        out: Array,
    ) -> bool:
        """Write the second product to `out`; return False, and do nothing, if that is not possible."""


class Links(NamedTuple):
    """The parts of a region with two products, each with all inputs of the whole.

    `head` makes the left factor of the second product, which `tail`, that product and its epilogue, has as last input.
    """

    head: Region
    tail: Region


def links_of(region: Region) -> Links:
    """Return the parts of a region with two products."""
    first = len(region.inputs)
    inputs, end = range(first), first + len(region.ops)
    places = [place for place, op in enumerate(region.ops) if op.op.kind is Kind.CONTRACT]
    second = first + places[1]
    left = region.ops[places[1]].inputs[0]
    return Links(
        region.part(inputs, range(first, second), (left,)),
        region.part((*inputs, left), range(second, end), region.outputs),
    )


class ChainProgram:
    """Runs two products and what is between them and after them: block by block where BLAS multiplies."""

    quiet = True

    def __init__(self, region: Region, compile_: Compile, tiles: MakeTiles | None = None) -> None:
        """`tiles` makes the products of a chain without the interpreter, where that is possible."""
        self._links = links_of(region)
        head, self._positions = with_positions(self._links.head)
        self._first, self._second = head.ops[0], self._links.tail.ops[0]
        middle = epilogue_of(head)
        assert middle is not None
        self._others = others_of(head)
        lasting = [
            position
            for position, value in enumerate(self._others, start=1)
            if value >= len(region.inputs)
        ]
        self._weights = Weights(middle, frozenset(lasting), compile_)
        self._tiles = None if tiles is None else tiles(self._weights)
        self._compile = compile_
        tail, self._last_positions = with_positions(self._links.tail)
        self._last = Epilogue(tail, compile_)
        self._apart: list[Program] = []

    def __call__(self, inputs: Sequence[Array], buffers: Sequence[Array | None]) -> Sequence[Array]:
        """Return the outputs for these inputs."""
        with np.errstate(all="ignore"):
            chained = self._chained(inputs)
            if chained is None:
                return self._one_after_the_other(inputs, buffers)
            out = self._tiled(chained)
            if out is not None:
                return (out,)
            # the left factor of the second product, which blocks are made of, is never there
            return self._last.of(chained, (*inputs, None, *self._last_positions), buffers)

    def bind(self, inputs: Sequence[Array], buffers: Sequence[Array | None]) -> Bound | None:
        """Return the calls of both products and of what is made of the first, where these are made as a whole."""
        if self._chained(inputs) is not None:
            return None
        head, tail = self._parts()
        first = bound(head, inputs, (None,))
        second = first and bound(tail, (*inputs, *first.outputs), buffers)
        return first and second and Bound(second.outputs, [*first.calls, *second.calls])

    def _parts(self) -> list[Program]:
        """Return the programs of the two products."""
        if not self._apart:
            self._apart = [self._compile(link) for link in self._links]
        return self._apart

    def _chained(self, inputs: Sequence[Array]) -> Chained | None:
        """Return the second product in blocks, unless the first is small, or not for BLAS."""
        x, y = [inputs[value] for value in self._first.inputs]
        z = inputs[self._second.inputs[1]]
        if not {x.dtype, y.dtype, z.dtype} <= IN_BLAS or not blas.can_be_limited():
            return None
        chained = Chained(x, y, z, self._first.shape, self._weights)
        if len(chained.blocks) < 2:
            return None
        chained.read([(*inputs, *self._positions)[value] for value in self._others])
        return chained

    def _tiled(self, chained: Chained) -> Array | None:
        """Return the second product if tiles make both."""
        if self._tiles is None or self._last.region is not None:
            return None
        out = self._last.new(chained.dtype)
        return out if chained.by(self._tiles, self._last.as_product(out)) else None

    def _one_after_the_other(
        self, inputs: Sequence[Array], buffers: Sequence[Array | None]
    ) -> Sequence[Array]:
        head, tail = self._parts()
        return tail((*inputs, *head(inputs, (None,))), buffers)


MakeTiles = Callable[[Weights], Tiles | None]


class Chained:
    """The product of weights and `z`, in blocks: weights are made of rows of the product of `x` and `y`."""

    def __init__(self, x: Array, y: Array, z: Array, shape: Shape, weights: Weights) -> None:
        batch = shape[:-2]
        self._given = x, y, z
        x, y, z = blas.ready(x), blas.ready(y), blas.ready(z)
        self._x, self._y, self._z = [in_batch(factor, batch) for factor in (x, y, z)]
        self._scores = shape
        self._weights = weights
        self.dtype = z.dtype
        self.shape: Shape = (*shape[:-1], z.shape[-1])
        self._rows = row_blocks(batch, shape[-2], x.shape[-1], shape[-1])
        self.blocks: list[Index] = [(*index[:-1], slice(0, self.shape[-1])) for index in self._rows]
        self._others: Sequence[Array] = ()
        self._columns: Columns | None = None

    def read(self, others: Sequence[Array]) -> None:
        """Take what weights are made of besides."""
        self._others = others
        columns = self._weights.columns((None, *others), self._scores)
        # what is not a number in values that are hidden would be in the result: 0 * inf
        if columns.may_be_hidden and np.isfinite(np.add.reduce(self._given[-1], axis=None)):
            self._columns = columns

    def by(self, tiles: Tiles, out: Array) -> bool:
        """Have tiles write the product to `out`, if they can."""
        return tiles(self._given, self._scores, self._others, self._columns, out)

    def array(self, out: Array | None = None) -> Array:
        """Return the product, in `out` if it is given."""
        result = host_pool.empty(self.shape, self.dtype) if out is None else out
        self._share_out(None, result)
        return result

    def each(self, store: Store) -> None:
        """Call `store` with the index and the elements of each block, in the thread that made it."""
        self._share_out(store, None)

    def _share_out(self, store: Store | None, out: Array | None) -> None:
        """Make all blocks: in `out`, or in memory of each thread, from which `store` takes them."""
        largest = max([prod(extents(index)) for index in self._rows])
        multiplications = prod(self._scores) * (self._x.shape[-1] + self.shape[-1])

        def work(mine: Iterator[Index]) -> None:
            memory = _Scratch(largest, self)
            with config.override(threads=1):  # the others have blocks of their own
                for index in mine:
                    place = (*index[:-1], slice(0, self.shape[-1]))
                    target = memory.result(extents(place)) if out is None else out[place]
                    self._block(index, memory, target)
                    if store is not None:
                        store(place, target)

        self._prepare()
        share_products(self._rows, work, multiplications, self.dtype)

    def _block(self, index: Index, memory: _Scratch, target: Array) -> None:
        """Write some rows of the result to `target`."""
        *stack, rows, _ = index
        columns = slice(0, self._scores[-1]) if self._columns is None else self._columns.of(index)
        index = (*stack, rows, columns)
        shape = extents(index)
        scores = memory.scores(shape)
        multiply(self._x[(*stack, rows)], self._y[(*stack, slice(None), columns)], scores)
        weights, *divisor = self._made(index, scores, memory)
        np.matmul(weights, self._z[(*stack, columns)], out=target)
        if divisor:
            target /= divisor[0]

    def _made(self, index: Index, scores: Array, memory: _Scratch) -> Sequence[Array]:
        others = [part_of(other, index) for other in self._others]
        program = self._weights.program(self._scores, scores.shape)
        target = memory.weights(scores)
        buffers = [target, None] if self._weights.is_divided else [target]
        return program((scores, *others), buffers)

    def _prepare(self) -> None:
        """Have kernels made in this thread, once, before several need them at the same moment."""
        shape = extents(self._rows[0])
        program = self._weights.program(self._scores, shape)
        prepare = getattr(program, "prepare", None)
        if prepare is not None:
            others = [part_of(other, self._rows[0]) for other in self._others]
            prepare((np.empty(shape, self._x.dtype), *others))


class _Scratch:
    """Memory of a thread for a block of scores, of weights, if these are not written over it, and of the result."""

    def __init__(self, largest: int, chained: Chained) -> None:
        (self._scores,) = host_pool.scratch(largest, [chained._x.dtype])
        columns = chained._scores[-1]
        (self._result,) = host_pool.scratch(
            largest // max(columns, 1) * chained.shape[-1], [chained.dtype]
        )
        self._weights = None
        if not chained._weights.writes_over:
            (self._weights,) = host_pool.scratch(largest, [chained._weights.dtype])

    def scores(self, shape: Shape) -> Array:
        return self._scores[: prod(shape)].reshape(shape)

    def weights(self, scores: Array) -> Array:
        if self._weights is None:
            return scores
        return self._weights[: scores.size].reshape(scores.shape)

    def result(self, shape: Shape) -> Array:
        return self._result[: prod(shape)].reshape(shape)
