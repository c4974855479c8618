"""Sweeps: all products that go over the same rows, made while a block of these is in the cache.

The gradient of attention is one: scores and the cotangents of weights are made block by block of rows, each is a factor
of further products, and those that add up over all rows do so block after block, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from tensorframe.backends.base import Program
from tensorframe.backends.foreseeing import StandIns, foresee
from tensorframe.backends.numpy.epilogue_region import with_positions
from tensorframe.backends.numpy.products import blas
from tensorframe.backends.numpy.products.chain import ChainProgram, MakeTiles, links_of
from tensorframe.backends.numpy.products.epilogue import Compile
from tensorframe.backends.numpy.products.grid import Index, row_blocks
from tensorframe.backends.numpy.products.product import IN_BLAS, Multiply, Product
from tensorframe.backends.numpy.products.sweep_run import Maker, Sweep, Taker
from tensorframe.backends.numpy.products.weights import Weights
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region

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
        self._makers: list[Maker] = []
        self._takers: list[Taker] = []
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
                Taker(
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
    ) -> Maker:
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
        return Maker(
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
                made = Sweep(self._makers, self._takers, values, self._rows, blocks).run()
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
