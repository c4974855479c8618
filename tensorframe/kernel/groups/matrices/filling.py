"""Filling: elements of operands copied to where factorisations find them, and results copied from there."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tensorframe.dtypes import DType
from tensorframe.graph.shape import Shape
from tensorframe.kernel import ir
from tensorframe.kernel.groups.matrices.steps import Step, as_input
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir.formula import equal, where
from tensorframe.kernel.ir.loops import ZERO, digits, smaller
from tensorframe.kernel.nest.assemble import Launch
from tensorframe.kernel.nest.layout import Strides
from tensorframe.quick_dataclasses import dataclass

_AT = ir.index("at")


@dataclass(frozen=True, slots=True)
class Source:
    """An operand of a stack of matrices: `strides` along the stack, rows and columns, 0 where it broadcasts.

    Without a buffer it is the identity. `first` is where the first element is.
    """

    columns: int
    buffer: ir.Buffer | None = None
    strides: Strides = ()
    first: int = 0


class Operands:
    """Operands beside each other, as matrices of the columns of all; `lower` has zeros above the diagonal."""

    def __init__(
        self, dtype: DType, stack: Shape, sources: Sequence[Source], *, lower: bool = False
    ) -> None:
        self._stack, self._sources = _coalesced(stack, sources)
        self._dtype, self._lower = dtype, lower
        self.width = sum([source.columns for source in sources])
        self.numbers: dict[str, int] = {
            f"stack{axis}_": size for axis, size in enumerate(self._stack[1:], start=1)
        }

    def element(self, step: Step, matrix: ir.Expr, row: ir.Expr, column: ir.Expr) -> ir.Expr:
        """Return an element; a launch of the step has `numbers` among its own."""
        sizes = [step.size(f"stack{axis}_") for axis in range(1, len(self._stack))]
        places = digits(matrix, [ZERO, *sizes])
        value: ir.Expr | None = None
        begin = 0
        for number, source in enumerate(self._sources):
            inside = column
            if begin:
                first = self._number(step, f"begin{number}_", begin)
                inside = where(column < first, 0, column - first)
            if number < len(self._sources) - 1:
                # both sides of a choice are read
                last = self._number(step, f"last{number}_", source.columns - 1)
                inside = smaller(inside, last)
            element = self._of(source, step, number, [*places, row, inside])
            value = element if value is None else where(column < first, value, element)
            begin += source.columns
        assert value is not None
        return where(column <= row, value, 0) if self._lower else value

    def _of(self, source: Source, step: Step, number: int, places: Sequence[ir.Expr]) -> ir.Expr:
        """Return an element of a source."""
        if source.buffer is None:
            return where(equal(places[-2], places[-1]), ir.literal(1, self._dtype), 0)
        position: ir.Expr = ZERO
        if source.first:
            position = self._number(step, f"origin{number}_", source.first)
        for axis, (place, stride) in enumerate(zip(places, source.strides, strict=True)):
            position = position + place * self._number(step, f"step{number}_{axis}_", stride)
        return ir.load(as_input(source.buffer), position)

    def _number(self, step: Step, name: str, value: int) -> ir.Expr:
        self.numbers[name] = value
        return step.size(name)


def _coalesced(stack: Shape, sources: Sequence[Source]) -> tuple[Shape, Sequence[Source]]:
    """Return the same stack with as few axes as there can be, but one: kernels of one text are compiled once."""
    sizes: list[int] = [1]
    steps: list[list[int]] = [[0] for _ in sources]
    for axis, size in enumerate(stack):
        if size == 1:
            continue
        own = [source.strides[axis] if source.buffer else 0 for source in sources]
        if sizes[-1] == 1 or all(
            last[-1] == step * size for last, step in zip(steps, own, strict=True)
        ):
            sizes[-1] *= size
            for last, step in zip(steps, own, strict=True):
                last[-1] = step
        else:
            sizes.append(size)
            for last, step in zip(steps, own, strict=True):
                last.append(step)
    placed = [
        Source(source.columns, source.buffer, (*own, *source.strides[-2:]), source.first)
        for source, own in zip(sources, steps, strict=True)
    ]
    return tuple(sizes), placed


def filling_launch(
    target: Target, dtype: DType, goal: ir.Buffer, stack: Shape, rows: int, operands: Operands
) -> Launch:
    """Return the launch that fills a stack of matrices in C order with operands."""
    step = Step(target, f"matrices beside each other: {dtype}")
    line, column = digits(_AT, [ZERO, step.size("width")])
    matrix, row = digits(line, [ZERO, step.size("rows")])
    element = operands.element(step, matrix, row, column)
    step.written_for_each(_AT, [ir.Store(goal, _AT, element)])
    total = prod(stack) * rows * operands.width
    return step.launch(total, {}, rows=rows, width=operands.width, **operands.numbers)
