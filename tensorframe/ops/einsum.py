"""Einstein summation written in other rows: matrix products, multiplications that broadcast, sums and views.

`recipe` gives the same ops to whoever asks, the planner for nodes or the NumPy engine for arrays. Which views are
free depends on how operands lie in memory, so it is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

from tensorframe.dtypes import NARROW, DType, wide_of
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.shape import Shape, broadcast
from tensorframe.ops.contraction import MATMUL, split
from tensorframe.ops.elementwise import CAST, MULTIPLY
from tensorframe.ops.movement import PERMUTE, RESHAPE, SLICE
from tensorframe.ops.order import contraction_order
from tensorframe.ops.reduction import ANY_TRUE, SUM
from tensorframe.quick_tuples import NamedTuple

# axes in the order of memory, that of the largest stride first
Layout = tuple[int, ...]


class Instruction(NamedTuple):
    """One op; `inputs` count the operands of the contraction first, then the results of the instructions before."""

    op: Op
    inputs: tuple[int, ...]
    attrs: tuple[Any, ...]
    shape: Shape
    dtype: DType


@lru_cache(maxsize=1024)
def recipe(
    subscripts: str, shapes: tuple[Shape, ...], layouts: tuple[Layout, ...], dtype: DType
) -> tuple[Instruction, ...]:
    """Return the instructions whose last result is the contraction of operands of these shapes.

    There are none where the result is the operand. Half precision is rounded once, at the end.
    """
    instructions = _Writer(subscripts, shapes, layouts, dtype).write()
    if dtype in NARROW and sum(_rounds(instruction) for instruction in instructions) > 1:
        return _Writer(subscripts, shapes, layouts, dtype).write(through=wide_of(dtype))
    return instructions


def _rounds(instruction: Instruction) -> bool:
    return instruction.op.kind is not Kind.VIEW


class _Term(NamedTuple):
    """A value with the names of its axes, and these in the order of memory."""

    value: int
    indices: str
    in_memory: str


class _Writer:
    """Writes down instructions, one after the other."""

    def __init__(
        self, subscripts: str, shapes: tuple[Shape, ...], layouts: tuple[Layout, ...], dtype: DType
    ) -> None:
        self.instructions: list[Instruction] = []
        operands, self.output = split(subscripts)
        self.sizes: dict[str, int] = {}
        for indices, shape in zip(operands, shapes, strict=True):
            self.sizes.update(zip(indices, shape, strict=True))
        self._shapes = list(shapes)
        self._dtype = dtype
        self._operands = [
            _Term(index, indices, "".join([indices[axis] for axis in layout]))
            for index, (indices, layout) in enumerate(zip(operands, layouts, strict=True))
        ]

    def write(self, through: DType | None = None) -> tuple[Instruction, ...]:
        """Write everything; `through` is the dtype to compute in where it is not that of the operands."""
        dtype = self._dtype
        terms = list(self._operands)
        if through is not None:
            self._dtype = through
            terms = [
                _Term(self._add(CAST, (t.value,), through), t.indices, t.in_memory) for t in terms
            ]
        terms = [self._diagonal(term) for term in terms]
        terms = [
            self._summed(term, self.output + "".join(o.indices for o in terms if o is not term))
            for term in terms
        ]
        for left, right in contraction_order([t.indices for t in terms], self.output, self.sizes):
            pair = terms.pop(right), terms.pop(left)
            kept = self.output + "".join([term.indices for term in terms])
            terms.append(self._pair(pair[1], pair[0], kept, last=not terms))
        (result,) = terms
        value = self._permuted(result, self.output)
        if through is not None:
            self._dtype = dtype
            self._add(CAST, (value,), dtype)
        return tuple(self.instructions)

    def _add(self, op: Op, inputs: tuple[int, ...], *attrs: Any) -> int:
        """Write an instruction and return the number of its result."""
        shapes = tuple([self._shapes[source] for source in inputs])
        shape = op.shape(shapes, *attrs) if op.shape else broadcast(op.name, *shapes)
        self.instructions.append(Instruction(op, inputs, attrs, shape, self._dtype))
        self._shapes.append(shape)
        return len(self._shapes) - 1

    def _permuted(self, term: _Term, indices: str) -> int:
        """Return the value with its axes in this order."""
        if term.indices == indices:
            return term.value
        return self._add(PERMUTE, (term.value,), tuple([term.indices.index(i) for i in indices]))

    def _shaped(self, value: int, shape: Sequence[int]) -> int:
        """Return the value under another shape."""
        wanted = tuple(shape)
        return value if self._shapes[value] == wanted else self._add(RESHAPE, (value,), wanted)

    def _of(self, indices: str) -> Shape:
        return tuple([self.sizes[index] for index in indices])

    def _diagonal(self, term: _Term) -> _Term:
        """Return the term with each index once: every so many elements of the axes that share one, as one axis."""
        for index in dict.fromkeys(term.indices):
            count = term.indices.count(index)
            if count > 1:
                rest = term.indices.replace(index, "")
                first = term.indices.index(index)
                before, after = rest[:first], rest[first:]
                value = self._side_by_side(term, index, before, after, count)
                in_memory = before + index + after
                term = _Term(value, in_memory, in_memory)
        return term

    def _side_by_side(self, term: _Term, index: str, before: str, after: str, count: int) -> int:
        size = self.sizes[index]
        axes = [axis for axis, name in enumerate(term.indices) if name == index]
        order = [axis for axis, name in enumerate(term.indices) if name != index]
        order[len(before) : len(before)] = axes
        value = term.value
        if order != sorted(order):
            value = self._add(PERMUTE, (value,), tuple(order))
        front, back = self._of(before), self._of(after)
        flat = self._shaped(value, (*front, size**count, *back))
        step = sum(size**power for power in range(count))
        starts = (0,) * (len(front) + 1 + len(back))
        steps = (1,) * len(front) + (step,) + (1,) * len(back)
        return self._add(SLICE, (flat,), starts, (*front, size, *back), steps)

    def _summed(self, term: _Term, kept: str) -> _Term:
        """Return the term summed over the indices that nothing else has."""
        axes = tuple([axis for axis, index in enumerate(term.indices) if index not in kept])
        if not axes:
            return term
        op = ANY_TRUE if self._dtype.kind == "b" else SUM
        value = self._add(op, (term.value,), axes, False)
        return _Term(
            value,
            *["".join([i for i in indices if i in kept]) for indices in (term.indices, term.in_memory)],
        )

    def _pair(self, left: _Term, right: _Term, kept: str, *, last: bool) -> _Term:
        """Return the product of two terms, summed over what nothing else has."""
        inner = [index for index in left.indices if index in right.indices and index not in kept]
        if not inner:
            return self._multiplied(left, right, last=last)
        return _MatrixProduct(self, left, right, kept, last=last).write()

    def _multiplied(self, left: _Term, right: _Term, *, last: bool) -> _Term:
        indices = self.output
        if not last:
            indices = left.indices + "".join([i for i in right.indices if i not in left.indices])
        values = []
        for term in (left, right):
            own = [index for index in indices if index in term.indices]
            shape = [self.sizes[index] if index in own else 1 for index in indices]
            start = indices.index(own[0]) if own else len(indices)
            values.append(self._shaped(self._permuted(term, "".join(own)), shape[start:]))
        return _Term(self._add(MULTIPLY, tuple(values)), indices, indices)


class _MatrixProduct:
    """Two terms with indices to sum over, as a product of stacks of matrices.

    Indices of both that stay are axes of the stack. Those of the left operand alone are too, but for the last one: the
    right operand broadcasts there. So only what is summed, and the columns, have to become single axes.
    """

    def __init__(
        self, writer: _Writer, left: _Term, right: _Term, kept: str, *, last: bool
    ) -> None:
        self._writer = writer
        output = writer.output if last else left.indices + right.indices
        rows, columns = _lacking(left, right), _lacking(right, left)
        if len(rows) > 1 or len(columns) > 1:
            turned = len(rows) <= 1  # of the two, only rows may be several
        else:  # what the result has last are columns
            turned = bool(rows) and bool(columns) and last and output[-1] in rows
        if turned:
            left, right, rows, columns = right, left, columns, rows
        shared = [index for index in left.indices if index in right.indices]
        larger = max((left, right), key=lambda term: prod(writer._of(term.indices)))
        self.left, self.right = left, right
        self.batch = "".join(sorted([i for i in shared if i in kept], key=output.index))
        self.inner = "".join(
            sorted([i for i in shared if i not in kept], key=larger.in_memory.index)
        )
        self.rows = "".join(sorted(rows, key=left.in_memory.index))
        self.columns = "".join(sorted(columns, key=right.in_memory.index))

    def write(self) -> _Term:
        writer, batch, rows, columns = self._writer, self.batch, self.rows, self.columns
        value = writer._add(MATMUL, (self._left(), self._right()))
        indices = batch + rows + columns
        value = writer._shaped(value, writer._of(indices))
        return _Term(value, indices, indices)

    def _left(self) -> int:
        writer = self._writer
        value = writer._permuted(self.left, self.batch + self.rows + self.inner)
        row = (1,) if self.batch and not self.rows else ()
        inner = prod(writer._of(self.inner))
        return writer._shaped(value, (*writer._of(self.batch + self.rows), *row, inner))

    def _right(self) -> int:
        writer = self._writer
        value = writer._permuted(self.right, self.batch + self.inner + self.columns)
        batch = writer._of(self.batch)
        if batch:
            batch += (1,) * (len(self.rows) - 1)
        column = (prod(writer._of(self.columns)),) if self.columns or self.batch else ()
        return writer._shaped(value, (*batch, prod(writer._of(self.inner)), *column))


def _lacking(term: _Term, other: _Term) -> str:
    return "".join([index for index in term.indices if index not in other.indices])
