"""Sparse matrices in compressed rows, as kernels read them: pointers, places and elements, checked where they are read.

A pointer that falls or lies outside, and a column that is none, is marked as an index out of bounds: what is read
instead lies within the operands. Where the integers were checked before, they are read as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tensorframe.dtypes import COMPLEX, DType, real_of
from tensorframe.graph.region import Region
from tensorframe.kernel import ir
from tensorframe.kernel.ir.formula import bitcast, both, equal, not_equal, where
from tensorframe.kernel.ir.loops import ZERO, smaller
from tensorframe.kernel.nest.axes import step_of, summed, times
from tensorframe.kernel.nest.body import Numbers
from tensorframe.kernel.nest.layout import Strides
from tensorframe.kernel.spaces.gather import place_of
from tensorframe.ops.sparse import (
    ROW_NUMBERS,
    SAMPLED_MATMUL,
    TRANSPOSED_SPARSE_MATMUL,
    as_stack,
)

Statements = tuple[ir.Statement, ...]
# an element: a number, or the two parts of a complex one
Value = tuple[ir.Expr, ...]

# where the elements of a row begin and end, and the one that is looked at
BEGIN, END = [ir.variable(name, ir.INDEX) for name in ("begin", "end")]
ENTRY = ir.index("entry")


class Matrix:
    """A dense operand, or any other array, by positions in real elements."""

    def __init__(
        self,
        name: str,
        dtype: DType,
        strides: Strides,
        role: ir.Role,
        numbers: Numbers,
        start: ir.Expr = ZERO,
    ) -> None:
        self._parts, self._start = 2 if dtype in COMPLEX else 1, start
        self.buffer = ir.Buffer(name, real_of(dtype) if dtype in COMPLEX else dtype, role)
        self._steps = [step_of(step, numbers) for step in strides]

    def position(self, *indices: ir.Expr) -> ir.Expr:
        """Return where an element is, or its real part."""
        steps = [times(index, step) for index, step in zip(indices, self._steps, strict=True)]
        return summed(self._start, *steps)

    def element(self, *indices: ir.Expr) -> Value:
        """Return an element."""
        start = self.position(*indices)
        return tuple(
            [ir.load(self.buffer, start + part if part else start) for part in range(self._parts)]
        )

    def store(self, value: Value, *indices: ir.Expr) -> Statements:
        """Return how an element is written."""
        start = self.position(*indices)
        return tuple(
            [
                ir.Store(self.buffer, start + part if part else start, own)
                for part, own in enumerate(value)
            ]
        )


class SparseRows:
    """The operands of one of the products, and its result, whose elements lie in C order.

    `strides` are those of the inputs, in real elements. `numbers` takes the sizes.
    """

    def __init__(self, region: Region, strides: Sequence[Strides], numbers: Numbers) -> None:
        (op,) = region.ops
        self.op, self._region, self._strides, self._numbers = op.op, region, strides, numbers
        self._sources = op.inputs
        entries = op.inputs[1:3] if op.op is not SAMPLED_MATMUL else op.inputs[2:]
        (pointers,) = op.inputs[:1] if op.op is ROW_NUMBERS else entries[1:]
        self._indptr = self.operand(pointers)
        self.checked = False
        self.row_count = region.shape_of(pointers)[0] - 1
        count = op.attrs[0] if op.op is ROW_NUMBERS else region.shape_of(entries[0])[0]
        self.entry_count = count
        self.rows, self.entries = (
            numbers.take(self.row_count, "rows"),
            numbers.take(count, "entries"),
        )
        if op.op is ROW_NUMBERS:
            return
        self._indices = self.operand(entries[0])
        dense = op.inputs[:2] if op.op is SAMPLED_MATMUL else op.inputs[3:]
        self.dense = [self._factor(source) for source in dense]
        shapes = [as_stack(region.shape_of(source)) for source in dense]
        self.stack, _, self.width = shapes[0]
        # that which columns name has as many rows
        own = op.attrs[0] if op.op is TRANSPOSED_SPARSE_MATMUL else shapes[-1][1]
        self.checked = op.attrs[-1]
        self.columns = numbers.take(own, "columns")
        self._rows_of_one = numbers.take(max(self.row_count // max(self.stack, 1), 1), "height")

    def operand(self, source: int) -> Matrix:
        """Return an input of the region."""
        return self._matrix(source, self._steps_of(source))

    def _factor(self, source: int) -> Matrix:
        """Return a dense factor as a stack of matrices."""
        return self._matrix(source, in_stack(self._steps_of(source)))

    def _steps_of(self, source: int) -> Strides:
        return self._strides[source][: len(self._region.shape_of(source))]

    def _matrix(self, source: int, steps: Strides) -> Matrix:
        dtype = self._region.dtype_of(source)
        return Matrix(f"x{source}", dtype, steps, ir.Role.INPUT, self._numbers)

    def data(self, entry: ir.Expr = ENTRY) -> Value:
        """Return a stored element, that which is looked at."""
        return self.operand(self._sources[0]).element(entry)

    def pointer(self, row: ir.Expr) -> ir.Expr:
        """Return where a row's elements begin, or what else pointers say at a position."""
        (pointer,) = self._indptr.element(row)
        return ir.apply("to_index", pointer, dtype=ir.INDEX)

    def bounds(self, row: ir.Expr) -> Statements:
        """Return how `BEGIN` and `END` of a row are set: rows follow each other, from the first element to the last."""
        begin, end = self.pointer(row), self.pointer(row + 1)
        if self.checked:
            return (ir.Set(END, end), ir.Set(BEGIN, begin))
        short = both(equal(row + 1, self.rows), not_equal(end, self.entries))
        upto = _checked(where(short, self.entries + 1, end), self.entries + 1)
        most = where(equal(row, ZERO), ZERO, END)
        return (ir.Set(END, upto), ir.Set(BEGIN, _checked(begin, most + 1)))

    def row_of(self, entry: ir.Expr, upto: ir.Expr) -> ir.Expr:
        """Return the row of an element, which the one before `upto` is, checked."""
        row = upto - 1
        if self.checked:
            return row
        begin, end = self.pointer(row), self.pointer(upto)
        return row + _checked(entry - begin, end - begin) * 0

    def place(self, entry: ir.Expr = ENTRY) -> ir.Expr:
        """Return the column of an element, that which is looked at, checked."""
        (index,) = self._indices.element(entry)
        if self.checked:
            return ir.apply("to_index", index, dtype=ir.INDEX)
        return place_of(index, self.columns)

    def column(self) -> ir.Expr:
        """Return the column of the element that is looked at, unchecked; a negative one is a large number."""
        (index,) = self._indices.element(ENTRY)
        return ir.apply("to_index", index, dtype=ir.INDEX)

    def index_word(self) -> ir.Expr:
        """Return the column of the element that is looked at without a sign: a negative one is large."""
        (index,) = self._indices.element(ENTRY)
        return bitcast(index, np.dtype(f"u{index.dtype.itemsize}"))

    def index_limit(self) -> ir.Expr:
        """Return what is larger than any column, as `index_word` has them."""
        bits = 8 * self._indices.buffer.dtype.itemsize
        return smaller(self.columns, ir.literal(1 << (bits - 1), ir.INDEX))

    def matrix_and_row(self, row: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
        """Return which matrix of the stack a row is of, and its number there."""
        if self.stack == 1:
            return ZERO, row
        height = self._rows_of_one
        return ir.apply("floor_divide", row, height), ir.apply("remainder", row, height)

    def for_each_entry(self, *body: ir.Statement, packed: bool = False) -> ir.Loop:
        """Return the loop over the elements of a row."""
        return ir.Loop(ENTRY, BEGIN, END, body, packed=packed)


def in_stack(steps: Strides) -> Strides:
    """Return the steps of a stack, a matrix or a vector along the axes of a stack."""
    return steps if len(steps) == 3 else (0, steps[0], steps[1] if len(steps) == 2 else 0)


def _checked(place: ir.Expr, size: ir.Expr) -> ir.Expr:
    return ir.apply("checked_index", place, size, dtype=ir.INDEX)


def size_of(region: Region) -> int:
    """Return how many elements the result has."""
    return prod(region.ops[0].shape)
