"""Systems of linear equations and determinants: blocks of columns are eliminated, then the columns to their right.

Right-hand sides are further columns. Small systems take one launch, in shared memory.
"""

from __future__ import annotations

from math import prod

from tensorframe.dtypes import uint32
from tensorframe.graph.shape import strides_of
from tensorframe.kernel import ir
from tensorframe.kernel.groups.matrices.elimination import Columns, eliminated
from tensorframe.kernel.groups.matrices.filling import Operands, Source, filling_launch
from tensorframe.kernel.groups.matrices.products import Product
from tensorframe.kernel.groups.matrices.small_systems import System, small_launch
from tensorframe.kernel.groups.matrices.steps import (
    BLOCK,
    Matrix,
    Side,
    Step,
    as_input,
)
from tensorframe.kernel.groups.matrices.substitution import Substitution
from tensorframe.kernel.ir.formula import equal, where
from tensorframe.kernel.ir.loops import ZERO, digits
from tensorframe.kernel.nest.assemble import Launch

# Rows up to which a group has few threads: to join more of them takes longer than each has to do.
_FEW_ROWS, _FEW_THREADS = 512, 64

_GROUP, _AT = [ir.index(name) for name in ("group", "at")]


def solving_launches(system: System, result: ir.Buffer) -> list[Launch]:
    """Return the launches that solve for the further columns; a matrix that has a zero for a pivot is marked."""
    if system.is_small:
        return [small_launch(system, result, solves=True)]
    blocked = _Blocked(system)
    return [
        *blocked.eliminated(refuses=True),
        *blocked.substituted_back(),
        blocked.copied(result),
    ]


def pivot_launches(system: System, result: ir.Buffer) -> list[Launch]:
    """Return the launches that give the pivots, each with another sign where two rows were exchanged for it."""
    if system.is_small:
        return [small_launch(system, result, solves=False)]
    blocked = _Blocked(system)
    return [*blocked.eliminated(refuses=False), blocked.pivots(result)]


class _Blocked:
    """Systems in device memory, whose matrices are eliminated in blocks of columns."""

    def __init__(self, system: System) -> None:
        self._system, self._count = system, prod(system.stack)
        self._matrices = ir.Buffer("p0", system.dtype, ir.Role.OUTPUT)
        self._pivots = ir.Buffer("p1", uint32, ir.Role.OUTPUT)
        buffers = (self._matrices, self._matrices, self._matrices)
        self._rest = Product(
            system.target, system.dtype, buffers, (Side.ROW, Side.ROW), subtracts=True
        )

    def eliminated(self, *, refuses: bool) -> list[Launch]:
        """Return the launches after which triangles and solved columns are where the operands were."""
        system = self._system
        launches = [
            filling_launch(
                system.target,
                system.dtype,
                self._matrices,
                system.stack,
                system.size,
                system.operands,
            )
        ]
        columns = self._columns(refuses=refuses)
        right = self._substitution(forward=True)
        for first in range(0, system.size, BLOCK):
            block = system.place.shifted(first, first)
            count, rows = min(BLOCK, system.size - first), system.size - first
            pivots = {"pivot_first": first, "pivot_apart": system.size}
            launches.append(
                columns.launch(self._count, {"a": block}, rows=rows, columns=count, **pivots)
            )
            others = system.width - first - count
            if others:
                beside = block.shifted(0, count)
                launches.append(right.launch(self._count, block, beside, count, others, **pivots))
            if others and rows > count:
                parts = (block.shifted(count, 0), beside, block.shifted(count, count))
                launches.append(self._rest.launch(self._count, parts, rows - count, others, count))
        return launches

    def substituted_back(self) -> list[Launch]:
        """Return the launches that find the unknowns, from the last block to the first, in the further columns."""
        system, launches = self._system, []
        solve = self._substitution(forward=False)
        for first in reversed(range(0, system.size, BLOCK)):
            count = min(BLOCK, system.size - first)
            block, unknowns = (
                system.place.shifted(first, first),
                system.place.shifted(first, system.size),
            )
            launches.append(solve.launch(self._count, block, unknowns, count, system.further))
            if first:
                parts = (
                    system.place.shifted(0, first),
                    unknowns,
                    system.place.shifted(0, system.size),
                )
                launches.append(self._rest.launch(self._count, parts, first, system.further, count))
        return launches

    def copied(self, result: ir.Buffer) -> Launch:
        """Return the launch that copies the unknowns to where they are wanted."""
        system = self._system
        shape = (*system.stack, system.size, system.width)
        solved = Source(system.further, self._matrices, strides_of(shape), first=system.size)
        operands = Operands(system.dtype, system.stack, [solved])
        return filling_launch(
            system.target, system.dtype, result, system.stack, system.size, operands
        )

    def pivots(self, result: ir.Buffer) -> Launch:
        """Return the launch that copies the pivots, with the signs of exchanges."""
        system = self._system
        step = Step(system.target, f"pivots: {system.dtype}")
        matrix, row = digits(_AT, [ZERO, step.size("size")])
        place = matrix * step.size("apart") + row * (step.size("width") + 1)
        inside = ir.apply("remainder", row, ir.literal(BLOCK, ir.INDEX))
        chosen = ir.apply("to_index", ir.load(as_input(self._pivots), _AT), dtype=ir.INDEX)
        pivot = ir.load(as_input(self._matrices), place)
        store = ir.Store(result, _AT, where(equal(chosen, inside), pivot, -pivot))
        step.written_for_each(_AT, [store])
        numbers = {"size": system.size, "width": system.width, "apart": system.place.apart}
        return step.launch(self._count * system.size, {}, **numbers)

    def _columns(self, *, refuses: bool) -> Step:
        """Return the step that eliminates a block of columns."""
        system = self._system
        note = f"elimination in a block of columns: {system.dtype}"
        step = Step(system.target, note, _FEW_THREADS if system.size <= _FEW_ROWS else 0)
        columns = Columns(
            step,
            system.dtype,
            Matrix(step, self._matrices, "a"),
            _GROUP,
            rows=step.size("rows"),
            count=step.size("columns"),
            width=step.size("columns"),
            pivots=self._pivots,
            pivot=_GROUP * step.size("pivot_apart") + step.size("pivot_first"),
            refuses=refuses,
        )
        memory = dict.fromkeys(columns.memory, BLOCK)
        return step.written(memory, _GROUP, [eliminated(columns)])

    def _substitution(self, *, forward: bool) -> Substitution:
        """Return the step that solves for a block of unknowns: forward, by a triangle with ones, after exchanges."""
        system = self._system
        return Substitution(
            system.target,
            system.dtype,
            (self._matrices, self._matrices),
            Side.ROW,
            forward=forward,
            unit=forward,
            exchanges=self._pivots if forward else None,
        )
