"""Reflections (Householder's) that make a block of columns triangular, down to the last row, by one group.

Each thread owns rows, and reads and writes no others in device memory; sums over rows go through shared memory. The
vectors of reflections are kept apart, with their ones and zeros. Signs are LAPACK's.
"""

from __future__ import annotations

from tensorframe.dtypes import DType
from tensorframe.kernel import ir
from tensorframe.kernel.groups.matrices.steps import (
    BLOCK,
    Matrix,
    Place,
    Statements,
    Step,
    less_product,
    plus_product,
    shared,
)
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir.formula import both, copysign, equal, sqrt, where
from tensorframe.kernel.ir.loops import ZERO
from tensorframe.kernel.nest.assemble import Launch

# Threads that own rows: each has a sum for every column in shared memory.
_THREADS = 64

_GROUP, _ROW, _COLUMN, _OTHER, _LANE, _TURN = [
    ir.index(name) for name in ("group", "row", "column", "other", "lane", "turn")
]


class Reflections:
    """The step that reflects a block of columns; `scales` are twice the inverse squares of vectors' lengths."""

    def __init__(
        self,
        target: Target,
        dtype: DType,
        matrices: ir.Buffer,
        vectors: ir.Buffer,
        scales: ir.Buffer,
    ) -> None:
        step = Step(target, f"reflections of a block of columns: {dtype}", _THREADS)
        self._dtype, self._scales = dtype, scales
        self._elements = Matrix(step, matrices, "a")
        self._vectors = Matrix(step, vectors, "v")
        self._upper = shared("upper", dtype)
        self._parts, self._sums = shared("parts", dtype), shared("sums", dtype)
        self._scale, self._corner, self._divisor = [
            ir.variable(name, dtype) for name in ("scale", "corner", "divisor")
        ]
        self._step = self._written(step)

    def launch(
        self, stack: int, places: dict[str, Place], rows: int, columns: int, **scales: int
    ) -> Launch:
        """Return a launch for blocks of so many rows and columns, `a`, whose vectors `v` gets."""
        return self._step.launch(stack, places, rows=rows, columns=columns, **scales)

    def _written(self, step: Step) -> Step:
        body = (
            *self._chosen(step),
            self._vector(step),
            *self._summed(step),
            *self._reflected(step),
        )
        loop = ir.Loop(_COLUMN, ZERO, step.size("columns"), body)
        memory = {self._upper: 1, self._parts: BLOCK * step.lanes, self._sums: BLOCK}
        return step.written(memory, _GROUP, [loop])

    def _chosen(self, step: Step) -> Statements:
        """Return how all threads learn the scale of a reflection, and what the column and its vector begin with.

        Elements are divided by the largest before they are squared, so that none overflows.
        """
        dtype, rows = self._dtype, step.size("rows")
        largest, total, other = [ir.variable(name, dtype) for name in ("largest", "total", "next")]
        first, unit = ir.variable("first", dtype), ir.variable("unit", dtype)
        element = self._elements.load(_GROUP, _ROW, _COLUMN)
        magnitude, part = ir.variable("magnitude", dtype), ir.variable("part", dtype)
        seen = (
            ir.Set(magnitude, abs(element)),
            ir.If(magnitude > largest, (ir.Set(largest, magnitude),)),
            ir.If(equal(_ROW, _COLUMN), (ir.Store(self._upper, ZERO, element),)),
        )
        added = (ir.Set(part, element / unit), ir.Set(total, plus_product(total, part, part)))
        norm = largest * sqrt(plus_product(total, first / unit, first / unit))
        # nothing below: no reflection
        none = equal(total, 0)
        beta = -copysign(norm, first)
        return (
            ir.Set(largest, ir.literal(0, dtype)),
            step.by_lanes(_ROW, rows, [ir.If(_ROW >= _COLUMN, seen)]),
            ir.Combine(largest, other, where(other > largest, other, largest)),
            ir.Barrier(),
            ir.Set(unit, where(equal(largest, 0), 1, largest)),
            ir.Set(first, ir.load(self._upper, ZERO)),
            ir.Set(total, ir.literal(0, dtype)),
            step.by_lanes(_ROW, rows, [ir.If(_ROW > _COLUMN, added)]),
            ir.Combine(total, other, ir.apply("accumulate_add", total, other)),
            ir.Set(self._corner, where(none, first, beta)),
            ir.Set(self._scale, where(none, 0, (beta - first) / where(equal(beta, 0), 1, beta))),
            ir.Set(self._divisor, where(none, 1, first - beta)),
        )

    def _vector(self, step: Step) -> ir.Statement:
        """Return the loop that writes the vector, and zeros below the diagonal."""
        element = self._elements.load(_GROUP, _ROW, _COLUMN)
        zero, below = ir.literal(0, self._dtype), _ROW > _COLUMN
        value = ir.variable("value", self._dtype)
        on_diagonal = equal(_ROW, _COLUMN)
        body = (
            ir.Set(value, where(on_diagonal, 1, zero)),
            ir.If(below, (ir.Set(value, element / self._divisor),)),
            self._vectors.store(_GROUP, _ROW, _COLUMN, value),
            ir.If(below, (self._elements.store(_GROUP, _ROW, _COLUMN, zero),)),
            ir.If(on_diagonal, (self._elements.store(_GROUP, _ROW, _COLUMN, self._corner),)),
        )
        return step.by_lanes(_ROW, step.size("rows"), body)

    def _summed(self, step: Step) -> Statements:
        """Return how the products of the vector with the columns to the right are added up, and scaled."""
        rows, lanes = step.size("rows"), ir.literal(step.lanes, ir.INDEX)
        total = ir.variable("total", self._dtype)
        row = _TURN * step.lanes + _LANE
        turns = ir.apply("floor_divide", rows + (step.lanes - 1), lanes)
        taken = plus_product(
            total,
            self._vectors.load(_GROUP, row, _COLUMN),
            self._elements.load(_GROUP, row, _OTHER),
        )
        there = both(row < rows, row >= _COLUMN)
        own = ir.Loop(
            _OTHER,
            _COLUMN + 1,
            step.size("columns"),
            (
                ir.Set(total, ir.literal(0, self._dtype)),
                ir.Loop(_TURN, ZERO, turns, (ir.If(there, (ir.Set(total, taken),)),)),
                ir.Store(self._parts, _OTHER * step.lanes + _LANE, total),
            ),
        )
        part = ir.load(self._parts, _OTHER * step.lanes + _LANE)
        joined = (
            ir.Set(total, ir.literal(0, self._dtype)),
            ir.Loop(_LANE, ZERO, lanes, (ir.Set(total, total + part),)),
            ir.Store(self._sums, _OTHER, total * self._scale),
        )
        position = _GROUP * step.size("scale_apart") + step.size("scale_first") + _COLUMN
        noted = ir.If(equal(_LANE, 0), (ir.Store(self._scales, position, self._scale),))
        return (
            step.by_lanes(_LANE, step.lanes, [own, noted]),
            ir.Barrier(),
            step.by_lanes(_OTHER, step.size("columns"), [ir.If(_OTHER > _COLUMN, joined)]),
            ir.Barrier(),
        )

    def _reflected(self, step: Step) -> Statements:
        """Return how each thread reflects its rows of the columns to the right."""
        element = self._elements.load(_GROUP, _ROW, _OTHER)
        factor = ir.variable("factor", self._dtype)
        less = less_product(element, factor, ir.load(self._sums, _OTHER))
        body = (
            ir.Set(factor, self._vectors.load(_GROUP, _ROW, _COLUMN)),
            ir.Loop(
                _OTHER,
                _COLUMN + 1,
                step.size("columns"),
                (self._elements.store(_GROUP, _ROW, _OTHER, less),),
            ),
        )
        loop = step.by_lanes(_ROW, step.size("rows"), [ir.If(_ROW >= _COLUMN, body)])
        return (loop, ir.Barrier())
