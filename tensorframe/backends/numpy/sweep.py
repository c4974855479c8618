"""Sweeps: all products that go over the same rows, made while a block of these is in the cache.

The gradient of attention is one: scores and the cotangents of weights are made block by block of rows, each is a factor
of further products, and those that add up over all rows do so block after block, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from math import prod
from typing import Any

import numpy as np

from tensorframe import config
from tensorframe.backends import host_pool
from tensorframe.backends.base import Program
from tensorframe.backends.foreseeing import StandIns, foresee
from tensorframe.backends.numpy import blas
from tensorframe.backends.numpy.chain import ChainProgram, MakeTiles, links_of
from tensorframe.backends.numpy.epilogue import Compile
from tensorframe.backends.numpy.epilogue_region import with_positions
from tensorframe.backends.numpy.grid import Index, row_blocks
from tensorframe.backends.numpy.hidden import Columns, masks_of, part_of
from tensorframe.backends.numpy.product import (
    IN_BLAS,
    Multiply,
    Product,
    extents,
    in_batch,
    multiply,
    share_products,
)
from tensorframe.backends.numpy.weights import Weights
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.quick_tuples import NamedTuple

Array = Any
Run = Callable[[Program, Sequence[Array]], Array]

# Elements of what is made of rows that stay in the cache as a whole: without blocks, tiles make products of them.
_IN_CACHE = 1 << 18


def chain_program(
    region: Region, compile_: Compile, multiply: Multiply = Product, tiles: MakeTiles | None = None
) -> Program:
    """Return what runs a region of several products, which `multiply` makes where they are not made in blocks.

    `tiles` makes both products of a chain without the interpreter.
    """
    if _is_simple(region):
        return ChainProgram(region, compile_, tiles)
    return SweepProgram(region, compile_, multiply)


def parts_of(region: Region) -> list[Region]:
    """Return the products of such a region that something is made of, each with that."""
    if _is_simple(region):
        return list(links_of(region))
    parts: list[Region] = []

    def note(part: Region) -> Program:
        parts.append(part)
        return lambda inputs, _buffers: inputs

    SweepProgram(region, note)
    return parts


def _is_simple(region: Region) -> bool:
    """Whether there are two products, and rows of the first are the left factor of the second."""
    products = [op for op in region.ops if op.op.kind is Kind.CONTRACT]
    rows = region.ops[0].shape[:-1]
    if len(products) > 2 or len(region.outputs) > 1 or products[1].shape[:-1] != rows:
        return False
    left = products[1].inputs[0] - len(region.inputs)
    return left >= 0 and region.ops[left].op.kind is not Kind.VIEW


class _Maker(NamedTuple):
    """A product and what is made of its rows: `result`, of the product and of `others`, some of which are results."""

    factors: tuple[int, int]
    weights: Weights
    others: tuple[int, ...]
    result: int
    whole: Program


class _Taker(NamedTuple):
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


class SweepProgram:
    """Runs products over the same rows: block by block where BLAS multiplies, else one after the other."""

    quiet = True

    def __init__(self, region: Region, compile_: Compile, multiply: Multiply = Product) -> None:
        self._multiply = multiply
        count = len(region.inputs)
        region, self._positions = with_positions(region)
        self._region = region
        self._lasting = frozenset(range(count, len(region.inputs)))
        self._rows = region.ops[0].shape
        self._makers: list[_Maker] = []
        self._takers: list[_Taker] = []
        self._read(compile_)

    def _read(self, compile_: Compile) -> None:
        """Take the region apart."""
        region, first = self._region, len(self._region.inputs)
        made: set[int] = set()
        turned: dict[int, int] = {}
        ops = list(enumerate(region.ops, start=first))
        while ops:
            value, op = ops.pop(0)
            if op.op.kind is Kind.VIEW:
                turned[value] = op.inputs[0]
                continue
            if made.isdisjoint(op.inputs) and turned.keys().isdisjoint(op.inputs):
                after = []
                while ops and ops[0][1].op.kind in (Kind.MAP, Kind.REDUCE):
                    after.append(ops.pop(0)[0])
                maker = self._maker(value, after, made, compile_)
                self._makers.append(maker)
                made.add(maker.result)
                continue
            permutation = None
            output = value
            if ops and ops[0][1].op.kind is Kind.VIEW and ops[0][1].inputs == (value,):
                output, view = ops.pop(0)
                permutation = view.attrs[0]
            left, right = op.inputs
            is_left = left in made or left in turned
            self._takers.append(
                _Taker(
                    turned.get(left, left) if is_left else right,
                    right if is_left else left,
                    is_left,
                    adds_up=not is_left or left in turned,
                    output=output,
                    shape=op.shape,
                    dtype=op.dtype,
                    permutation=permutation,
                    whole=compile_(
                        region.part(op.inputs, tuple(dict.fromkeys((value, output))), (output,))
                    ),
                )
            )

    def _maker(
        self, product: int, after: Sequence[int], made: set[int], compile_: Compile
    ) -> _Maker:
        region, first = self._region, len(self._region.inputs)
        inside = {product, *after}
        reads = [source for value in after for source in region.ops[value - first].inputs]
        others = tuple(dict.fromkeys([source for source in reads if source not in inside]))
        (result,) = [
            value
            for value in after
            if any(
                value in op.inputs
                for place, op in enumerate(region.ops, start=first)
                if place not in inside
            )
        ]
        lasting = [
            position for position, value in enumerate(others, start=1) if value in self._lasting
        ]
        middle = region.part((product, *others), after, (result,))
        factors = region.ops[product - first].inputs
        whole = region.part((*factors, *others), (product, *after), (result,))
        return _Maker(
            (factors[0], factors[1]),
            Weights(middle, frozenset(lasting), compile_, may_wait=False),
            others,
            result,
            compile_(whole),
        )

    def __call__(self, inputs: Sequence[Array], buffers: Sequence[Array | None]) -> Sequence[Array]:
        """Return the outputs for these inputs."""
        values = dict(enumerate((*inputs, *self._positions)))
        with np.errstate(all="ignore"):
            blocks = self._blocks(values)
            if len(blocks) < 2:
                made = self._whole(values, _first_of)
            else:
                made = _Sweep(self._makers, self._takers, values, self._rows, blocks).run()
        return [made[output] for output in self._region.outputs]

    def _blocks(self, values: dict[int, Array]) -> list[Index]:
        """Return blocks of rows; one where products are small, or not for BLAS."""
        read = [value for maker in self._makers for value in maker.factors]
        read += [taker.other for taker in self._takers]
        if not {values[value].dtype for value in read} <= IN_BLAS or not blas.can_be_limited():
            return []
        if prod(self._rows) <= _IN_CACHE and self._multiply is not Product:
            return []
        *batch, rows, columns = self._rows
        inner = values[self._makers[0].factors[0]].shape[-1]
        return row_blocks(tuple(batch), rows, inner, columns, kept=len(self._makers))

    def foresee(self, operands: Sequence[Array], stand_ins: StandIns) -> Sequence[Array] | None:
        """Have the kernels made of products that are made one after the other."""
        values = dict(enumerate((*operands, *self._positions)))
        if len(self._blocks(values)) > 1:
            return None
        made = self._whole(values, partial(_foreseen, stand_ins))
        return [made[output] for output in self._region.outputs]

    def _whole(self, values: dict[int, Array], run: Run) -> dict[int, Array]:
        """Make one product after the other."""
        for maker in self._makers:
            read = (*maker.factors, *maker.others)
            values[maker.result] = run(maker.whole, [values[value] for value in read])
        for taker in self._takers:
            own, other = values[taker.result], values[taker.other]
            if taker.adds_up and taker.is_left:
                own = own.mT
            factors = (own, other) if taker.is_left else (other, own)
            values[taker.output] = run(taker.whole, factors)
        return values


def _first_of(program: Program, operands: Sequence[Array]) -> Array:
    """Return the output of a program that has one."""
    return program(operands, (None,))[0]


def _foreseen(stand_ins: StandIns, program: Program, operands: Sequence[Array]) -> Array:
    """Return its stand-in; LookupError if that is unknown."""
    outputs = foresee(program, operands, stand_ins)
    if outputs is None:
        raise LookupError
    return outputs[0]


class _Sweep:
    """One run over all blocks."""

    def __init__(
        self,
        makers: Sequence[_Maker],
        takers: Sequence[_Taker],
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

    def _memory(self, maker: _Maker) -> tuple[Array, Array]:
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

    def _take(self, taker: _Taker, own: Array, target: Array, index: Index) -> None:
        """Multiply a block on."""
        *stack, rows, columns = index
        other = self._factors[taker.other]
        if not taker.adds_up:
            np.matmul(own, other[(*stack, columns)], out=target[(*stack, rows)])
        elif taker.is_left:
            target[(*stack, columns)] += own.mT @ other[(*stack, rows)]
        else:
            target[(*stack, slice(None), columns)] += other[(*stack, slice(None), rows)] @ own

    def _others(self, maker: _Maker, index: Index, made: dict[int, Array]) -> list[Array]:
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


def _new(taker: _Taker) -> Array:
    """Return memory for a product, with its axes in the requested order."""
    axes = taker.permutation
    shape = taker.shape if axes is None else tuple([taker.shape[axis] for axis in axes])
    return host_pool.empty(shape, taker.dtype)


def _as_product(out: Array, taker: _Taker) -> Array:
    return out if taker.permutation is None else out.transpose(np.argsort(taker.permutation))
