"""Strength reduction of loops on vectors: what advances evenly begins at an origin, to which iterations add an index.

Origins are written once, before the loop, so an array has one address there, and an iteration finds all of its elements
at that address plus the index plus a constant, which processors add as they load. LLVM would find a form as good, and
spend up to half of its time on the kernel for that; it is told nothing that addresses have in common.
"""

from __future__ import annotations

from collections.abc import Mapping

from tensorframe.codegen.llvm.builder import Builder
from tensorframe.codegen.llvm.expressions import evaluated
from tensorframe.codegen.llvm.memory import Memory
from tensorframe.codegen.llvm.steps import Steps
from tensorframe.kernel import ir
from tensorframe.kernel.ir.walk import in_order


class Origins:
    """What stays in a loop, or advances evenly, as it is where the index is zero."""

    def __init__(
        self, b: Builder, memory: Memory, loop: ir.Loop, steps: Steps, names: Mapping[ir.Expr, str]
    ) -> None:
        """Write the values and addresses that the loop needs."""
        self._b = b
        self._memory = memory
        self._scalars = {**names, loop.index: "0"}
        self._places: dict[tuple[ir.Buffer, ir.Expr], str] = {}
        self.even: dict[ir.Expr, str] = {}
        """What is needed as a vector, and is one of equal numbers or of neighbours: the value of its first lane."""
        self.varying: dict[ir.Statement, list[ir.Expr]] = {}
        """The expressions that a statement computes on vectors, operands first."""
        known = {expr for expr, step in steps.of.items() if step is not None} | set(steps.joins)
        for statement in loop.body:
            if isinstance(statement, ir.Let) and steps.of[statement.variable] is not None:
                self._scalars[statement.variable] = self._value(statement.value)
                continue
            assert isinstance(statement, ir.Let | ir.Set | ir.Store)
            order = self.varying[statement] = in_order((statement.value,), known)
            self._add(statement, order, steps)
            if not isinstance(statement, ir.Store):
                known.add(statement.variable)

    def _add(
        self, statement: ir.Let | ir.Set | ir.Store, order: list[ir.Expr], steps: Steps
    ) -> None:
        """Write what a statement needs."""
        needed = [statement.value]
        for expr in order:
            if isinstance(expr, ir.Load):
                self._add_place(expr.buffer, expr.position)
            else:
                needed += expr.operands
        for expr in needed:
            if steps.of[expr] is not None and expr not in self.even:
                self.even[expr] = self._value(expr)
        if isinstance(statement, ir.Store):
            self._add_place(statement.buffer, statement.position)

    def _add_place(self, buffer: ir.Buffer, position: ir.Expr) -> None:
        if (buffer, position) not in self._places:
            place = self._memory.origin(buffer, self._value(position))
            self._places[buffer, position] = place

    def _value(self, expr: ir.Expr) -> str:
        return evaluated(self._b, self._memory, expr, self._scalars)

    def place(self, buffer: ir.Buffer, position: ir.Expr) -> str:
        """Return the address of the element of a buffer that iteration zero would use."""
        return self._places[buffer, position]
