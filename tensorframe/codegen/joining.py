"""Joining: the values of a group's threads become one, in memory that they share and, where there are, by shuffles.

What is joined to what is the same in both ways: `ir.levels`. Threads of a subgroup (a warp) read each other's values
from registers and wait for nobody; what is left goes through memory, with barriers around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from tensorframe.codegen.printer import Braces, indented
from tensorframe.dtypes import DType
from tensorframe.kernel import ir
from tensorframe.kernel.nest.passes.hoist import name_values
from tensorframe.quick_tuples import NamedTuple

# Values that every thread of a group joins by itself; of more of them, one thread does it for all.
_FEW = 8


class Join(NamedTuple):
    """The names of a value and the one that is joined to it, the type of both, and the lines that do it."""

    name: str
    other: str
    dtype: DType
    lines: list[str]


class Joining(Braces):
    """Prints `Combine`."""

    # how two floats become a pair, and what each of them is called in it
    paired: ClassVar[str] = "two_floats_of({}, {})"
    parts: ClassVar[tuple[str, str]] = ("high", "low")
    # counts what a thread joins
    counting: ClassVar[str] = "for (unsigned int {name} = {first}u; {name} < {stop}; ++{name}) {{"

    def subgroup(self, _dtype: DType) -> int:
        """Return how many neighbouring threads can read each other's values of a dtype by shuffles; 0 if none can."""
        return 0

    def rolled(self, count: int) -> str:
        """Return the bound of a loop that one thread runs while all others wait, and that is best left a loop."""
        return f"{count}u"

    def shuffled(self, name: str, lane: str, width: int) -> str:
        """Return the value that a name has in one of the `width` neighbours that a thread is among."""
        raise TypeError(f"{type(self).__module__} has no shuffle of {name} from {lane} of {width}")

    def combine(self, combination: ir.Combine) -> list[str]:
        """Return the lines that join the values of a group's threads: see `kernel/groups/order.py`."""
        name, other = self.name(combination.variable.name), self.name(combination.other.name)
        dtype = combination.variable.dtype
        self.declared[name] = self.declared[other] = self.type(dtype)
        join = Join(name, other, dtype, self.block(_named(combination)))
        sizes, reach, whole = (
            ir.levels(combination.width or self.kernel.lanes),
            self.subgroup(dtype),
            1,
        )
        lines: list[str] = []
        while sizes and whole * sizes[0] <= reach:
            lines += self._by_shuffles(join, sizes[0], whole)
            whole *= sizes.pop(0)
        return lines + (self._in_memory(join, whole, sizes) if sizes else [])

    def _by_shuffles(self, join: Join, size: int, whole: int) -> list[str]:
        """Return the lines that join the values of so many neighbours, each of which `whole` threads have."""
        own, width = f"{join.name}_own", size * whole
        self.declared[own] = self.declared[join.name]
        place = f"slot * {whole}u" if whole > 1 else "slot"
        return [
            f"{own} = {join.name};",
            f"{join.name} = {self._shuffled(join, own, '0u', width)};",
            self.counting.format(name="slot", first=1, stop=f"{size}u"),
            f"    {join.other} = {self._shuffled(join, own, place, width)};",
            *indented(join.lines),
            "}",
        ]

    def _shuffled(self, join: Join, own: str, lane: str, width: int) -> str:
        if join.dtype != ir.PAIR:
            return self.shuffled(own, lane, width)
        parts = [self.shuffled(f"{own}.{part}", lane, width) for part in self.parts]
        return self.paired.format(*parts)

    def _in_memory(self, join: Join, whole: int, sizes: list[int]) -> list[str]:
        """Return the lines that join values, each of which `whole` threads have, by levels of these sizes."""
        lane, width = self.lane, whole * prod(sizes)
        size, alone = sizes[0], whole == 1
        # a gap after each class: threads that read in one of their own each find their values in different banks
        pitch = size + alone
        classes, rows = self.kernel.lanes // whole // size, self.kernel.lanes // width
        apart = classes // rows * pitch
        memory = f"lanes_{join.dtype.name}"
        self.share(ir.Buffer(memory, join.dtype, ir.Role.SHARED), classes * pitch)
        first = f"{lane} / {width}u * {apart}u"
        if alone:
            lines = [f"{memory}[{lane} + {lane} / {size}u] = {join.name};", self.barrier]
            lines += self._by_first(join, memory, classes, pitch, sizes[:1], 1)
            if sizes[1:]:
                lines += self._by_first(join, memory, rows, apart, sizes[1:], pitch)
        else:
            store = f"{memory}[{lane} / {whole}u] = {join.name};"
            lines = [f"if ({lane} % {whole}u == 0u) {{", f"    {store}", "}", self.barrier]
            if width <= _FEW * whole:
                return [*lines, *self._in_order(join, memory, first, sizes, 1), self.barrier]
            lines += self._by_first(join, memory, rows, apart, sizes, 1)
        return [*lines, f"{join.name} = {memory}[{first}];", self.barrier]

    def _by_first(
        self, join: Join, memory: str, threads: int, apart: int, sizes: Sequence[int], step: int
    ) -> list[str]:
        """Have each of the first threads join values, the first of which are `apart`, and leave the result there."""
        first = f"{self.lane} * {apart}u"
        return [
            f"if ({self.lane} < {threads}u) {{",
            *indented(self._in_order(join, memory, first, sizes, step)),
            f"    {memory}[{first}] = {join.name};",
            "}",
            self.barrier,
        ]

    def _in_order(
        self, join: Join, memory: str, first: str, sizes: Sequence[int], step: int
    ) -> list[str]:
        """Return lines by which a thread joins values in memory, `step` apart, level by level."""
        *inner, count = sizes
        if not inner:
            return [
                f"{join.name} = {memory}[{first}];",
                self.counting.format(name="slot", first=1, stop=f"{count}u"),
                f"    {join.other} = {memory}[{first} + slot * {step}u];",
                *indented(join.lines),
                "}",
            ]
        before = f"{join.name}_before"  # what the parts so far have given
        self.declared[before] = self.declared[join.name]
        place = f"{first} + part * {prod(inner) * step}u"
        return [
            self.counting.format(name="part", first=0, stop=self.rolled(count)),
            *indented(self._in_order(join, memory, place, inner, step)),
            "    if (part > 0u) {",
            f"        {join.other} = {join.name};",
            f"        {join.name} = {before};",
            *indented(indented(join.lines)),
            "    }",
            f"    {before} = {join.name};",
            "}",
        ]


def _named(combination: ir.Combine) -> Sequence[ir.Statement]:
    """Return the statements that join two values, with names for what is used twice, or its text might have no end."""
    variable, other = combination.variable, combination.other
    known = (ir.Set(variable, variable), ir.Set(other, other))
    return name_values((*known, ir.Set(variable, combination.joined)))[len(known) :]
