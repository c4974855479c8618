"""One run of a sweep: block after block of rows, each product that goes over these rows, in memory of a thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import prod
from typing import Any

import numpy as np

from tensorframe import config
from tensorframe.backends import host_pool
from tensorframe.backends.base import Program
from tensorframe.backends.numpy.products import blas
from tensorframe.backends.numpy.products.grid import Index
from tensorframe.backends.numpy.products.hidden import Columns, masks_of, part_of
from tensorframe.backends.numpy.products.product import extents, in_batch, multiply, share_products
from tensorframe.backends.numpy.products.weights import Weights
from tensorframe.graph.shape import Shape
from tensorframe.quick_tuples import NamedTuple

Array = Any


class Maker(NamedTuple):
    """A product and what is made of its rows: `result`, of the product and of `others`, some of which are results."""

    factors: tuple[int, int]
    weights: Weights
    others: tuple[int, ...]
    result: int
    whole: Program


class Taker(NamedTuple):
    """A product with what a maker gives: of its rows, or added up over them, the result on the left or the right."""

    result: int
    other: int
    is_left: bool
    adds_up: bool
    output: int
    shape: Shape
    dtype: Any
    permutation: tuple[int, ...] | None
    whole: Program


class Sweep:
    """One run over all blocks."""

    def __init__(
        self,
        makers: Sequence[Maker],
        takers: Sequence[Taker],
        values: dict[int, Array],
        shape: Shape,
        blocks: Sequence[Index],
    ) -> None:
        self._makers, self._takers, self._values, self._shape = makers, takers, values, shape
        batch = shape[:-2]
        read = {value for maker in makers for value in maker.factors}
        read |= {taker.other for taker in takers}
        self._factors = {value: in_batch(blas.ready(values[value]), batch) for value in read}
        self._columns = self._hidden(read)
        self._largest = max([prod(extents(index)) for index in blocks])
        # blocks of the same matrices follow one another, since some products add up over them
        self._jobs = [list(group) for _, group in groupby(blocks, lambda index: index[:-2])]
        self._outputs = {taker.output: _new(taker) for taker in takers}
        self._targets = [_as_product(self._outputs[taker.output], taker) for taker in takers]

    def run(self) -> dict[int, Array]:
        """Return the products that are outputs."""
        inner = sum([self._factors[maker.factors[0]].shape[-1] for maker in self._makers])
        widths = sum([taker.shape[-1 if taker.is_left else -2] for taker in self._takers])
        self._prepare()
        multiplications = prod(self._shape) * (inner + widths)
        share_products(self._jobs, self._work, multiplications, self._makers[0].weights.dtype)
        return self._outputs

    def _work(self, mine: Iterator[list[Index]]) -> None:
        memory = [self._memory(maker) for maker in self._makers]
        with config.override(threads=1):  # the others have blocks of their own
            for job in mine:
                stack = job[0][:-2]
                for taker, target in zip(self._takers, self._targets, strict=True):
                    if taker.adds_up:
                        target[stack] = 0
                for index in job:
                    self._block(index, memory)

    def _memory(self, maker: Maker) -> tuple[Array, Array]:
        """Return memory for a block of a product, and of what is made of it: the same, where that may be."""
        (product,) = host_pool.scratch(self._largest, [self._factors[maker.factors[0]].dtype])
        if maker.weights.writes_over:
            return product, product
        (made,) = host_pool.scratch(self._largest, [maker.weights.dtype])
        return product, made

    def _block(self, index: Index, memory: Sequence[tuple[Array, Array]]) -> None:
        *stack, rows, _ = index
        whole = slice(0, self._shape[-1])
        columns = whole if self._columns is None else self._columns.of(index)
        index = (*stack, rows, columns)
        shape = extents(index)
        made: dict[int, Array] = {}
        for maker, (own, other) in zip(self._makers, memory, strict=True):
            x, y = [self._factors[value] for value in maker.factors]
            product, target = [buffer[: prod(shape)].reshape(shape) for buffer in (own, other)]
            multiply(x[(*stack, rows)], y[(*stack, slice(None), columns)], product)
            program = maker.weights.program(self._shape, shape)
            operands = (product, *self._others(maker, index, made))
            (made[maker.result],) = program(operands, [target])
        for taker, target in zip(self._takers, self._targets, strict=True):
            self._take(taker, made[taker.result], target, index)

    def _take(self, taker: Taker, own: Array, target: Array, index: Index) -> None:
        """Multiply a block on."""
        *stack, rows, columns = index
        other = self._factors[taker.other]
        if not taker.adds_up:
            np.matmul(own, other[(*stack, columns)], out=target[(*stack, rows)])
        elif taker.is_left:
            target[(*stack, columns)] += own.mT @ other[(*stack, rows)]
        else:
            target[(*stack, slice(None), columns)] += other[(*stack, slice(None), rows)] @ own

    def _others(self, maker: Maker, index: Index, made: dict[int, Array]) -> list[Array]:
        return [
            made[value] if value in made else part_of(self._values[value], index)
            for value in maker.others
        ]

    def _hidden(self, read: set[int]) -> Columns | None:
        """Return which columns are needed, if what the first maker hides is 0 in what all of them make."""
        first, *rest = self._makers
        given = [None, *[self._values[value] for value in first.others]]
        columns = first.weights.columns(given, self._shape)
        if not columns.may_be_hidden:
            return None
        zeros = {first.result}
        for maker in rest:
            known = [self._values.get(value) for value in maker.others]
            places = [
                position for position, value in enumerate(maker.others, start=1) if value in zeros
            ]
            if masks_of(maker.weights.region, [None, *known], places) is None:
                return None
            zeros.add(maker.result)
        finite = [np.isfinite(np.add.reduce(self._values[value], axis=None)) for value in read]
        return columns if all(finite) else None

    def _prepare(self) -> None:
        """Have kernels made in this thread, once, before several need them at the same moment."""
        index = self._jobs[0][0]
        shape = extents(index)
        made: dict[int, Array] = {}
        for maker in self._makers:
            program = maker.weights.program(self._shape, shape)
            prepare = getattr(program, "prepare", None)
            product = np.empty(shape, self._factors[maker.factors[0]].dtype)
            if prepare is not None:
                prepare((product, *self._others(maker, index, made)))
            made[maker.result] = np.empty(shape, maker.weights.dtype)


def _new(taker: Taker) -> Array:
    """Return memory for a product, with its axes in the requested order."""
    axes = taker.permutation
    shape = taker.shape if axes is None else tuple([taker.shape[axis] for axis in axes])
    return host_pool.empty(shape, taker.dtype)


def _as_product(out: Array, taker: Taker) -> Array:
    return out if taker.permutation is None else out.transpose(np.argsort(taker.permutation))
