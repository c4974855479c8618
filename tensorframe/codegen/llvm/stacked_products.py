"""Products of few rows with each matrix of a stack, whose rows lie apart: a step of attention over what a cache holds.

Keys of a head are 256 bytes long, and those of the next position lie pages away, so that a processor foresees none of
them: each row is prefetched while those before it are multiplied. Calls are written down in a table, a line for each
matrix, of which threads take some. Which bits an element has depends on its row and its column alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tensorframe.codegen.llvm.builder import Builder
from tensorframe.codegen.llvm.lines import fetch
from tensorframe.codegen.llvm.loops import counted, element, moved
from tensorframe.codegen.llvm.spelled import spelled
from tensorframe.codegen.llvm.target import Target
from tensorframe.codegen.llvm.thin_products import (
    DOTS_SLOTS,
    STREAMS,
    Dots,
    Function,
    Tile,
    linked,
    one_tile,
    tiles,
)
from tensorframe.codegen.llvm.types import VALUE
from tensorframe.dtypes import DType

# by whether rows lie along what is summed, or across it
ALONG, ACROSS = "stacked_along", "stacked_across"
# words of a line: the columns of the result, and the slots of the call
LINE_WORDS = 1 + len(DOTS_SLOTS)
# Rows between one that is multiplied and the one that is prefetched.
_AHEAD = 12
# Registers of columns, at most, that are summed over all rows at once.
_MOST = 8

_TABLE = """\
define void @`NAME`(i64 %start, i64 %stop, ptr %varying, ptr %fixed) nounwind {
entry:
  br label %line
line:
  %at = phi i64 [%start, %entry], [%after, %line]
  %by = mul i64 %at, `WORDS`
  %here = getelementptr i64, ptr %varying, i64 %by
  %columns = load i64, ptr %here
  %slots = getelementptr i64, ptr %here, i64 1
  call void @`CALLED`(i64 0, i64 %columns, ptr %slots, ptr %fixed)
  %after = add i64 %at, 1
  %more = icmp ult i64 %after, %stop
  br i1 %more, label %line, label %done
done:
  ret void
}"""


def print_stacked(target: Target, layout: str, dtype: DType) -> str:
    """Return the module for stacks of matrices of float32 or float64: lines `start` to `stop` of a table each."""
    pairs: Sequence[tuple[str, Function]] = (
        (ALONG, _Along(target, dtype, dtype)),
        (ACROSS, _Across(target, dtype, dtype)),
    )
    texts = [function.text() for _, function in pairs]
    texts += [
        spelled(_TABLE, {"NAME": name, "WORDS": str(LINE_WORDS), "CALLED": function.name})
        for name, function in pairs
    ]
    return linked(target, layout, texts)


class _Along(Dots):
    """Rows that follow each other, four at a time, which are read once for some vectors."""

    name = "along"

    def together(self, body: Callable[[list[str]], None]) -> None:
        """Write the loops over rows."""
        b = self.b

        def some(first: str, count: int) -> None:
            body([first, *[b.value(f"add i64 {first}, {more}") for more in range(1, count)]])

        tiles(b, "%start", "%stop", STREAMS, some)

    def elements(self, address: str, mask: str = "") -> str:
        """Return a register of the matrix's elements; those some rows on are prefetched."""
        if not mask:
            fetch(self.b, moved(self.b, address, self.given["row_step"], _AHEAD), "1")
        return super().elements(address, mask)

    def write_totals(self, sums: list[str], places: list[str]) -> None:
        """Write what is added up in the register of each row: neighbours first, whatever rows are beside it."""
        count = min(len(sums), self.lanes)  # of totals in a register
        for first in range(0, len(sums), count):
            some, lanes = sums[first : first + count], self.lanes
            while len(some) > 1:
                pairs = zip(some[::2], some[1::2], strict=True)
                some = [self._neighbours(lanes, *pair) for pair in pairs]
            (total,) = some
            while lanes > count:
                total, lanes = self._neighbours(lanes, total), lanes // 2
            kind, size = self._register(count), self.total.itemsize
            self.b.do(f"store {kind} {total}, ptr {places[first]}, align {size}")

    def _neighbours(self, lanes: int, *registers: str) -> str:
        """Return the sums of neighbouring elements of a register, and behind them those of a second one."""
        b, kind = self.b, self._register(lanes)
        second = registers[1] if len(registers) > 1 else "poison"
        halves = []
        for first in range(2):
            chosen = range(first, lanes * len(registers), 2)
            mask = f"<{len(chosen)} x i32> <{', '.join(f'i32 {lane}' for lane in chosen)}>"
            halves.append(b.value(f"shufflevector {kind} {registers[0]}, {kind} {second}, {mask}"))
        result = self._register(lanes * len(registers) // 2)
        return b.value(f"fadd {result} {halves[0]}, {halves[1]}")

    def _register(self, lanes: int) -> str:
        """Return the type of a register, which one of a single element is, too."""
        return f"<{lanes} x {VALUE[self.total]}>"


class _Across(Function):
    """Numbers of some vectors times rows, one row after the other: sums of some columns stay in registers."""

    name, slots = "across", DOTS_SLOTS

    def write(self) -> None:
        """Columns `start` to `stop` of the result, in whole registers."""
        _halving(self.b, self.given["count"], self.vectors, self._some_vectors)

    def _some_vectors(self, start: str, vectors: int) -> None:
        """Write the results of some vectors: as many columns at a time as their sums have registers."""
        b, most = self.b, min(4 * self.vectors // vectors, _MOST)

        def some_columns(first: str, registers: int) -> None:
            self._tile(b.value(f"mul i64 {first}, {self.lanes}"), registers, start, vectors)

        _halving(b, b.value(f"udiv i64 %stop, {self.lanes}"), most, some_columns)

    def _tile(self, column: str, registers: int, start: str, vectors: int) -> None:
        """Write some columns of the results of some vectors."""
        b, given, kind = self.b, self.given, VALUE[self.total]
        begin = moved(b, given["vectors"], given["vector_step"], start)
        lines = [moved(b, begin, given["vector_step"], number) for number in range(vectors)]
        first = element(b, given["matrix"], kind, column)

        def row(number: str, sums: list[str]) -> list[str]:
            here = moved(b, first, given["row_step"], number)
            ahead = moved(b, here, given["row_step"], _AHEAD)
            ys = []
            for register in range(registers):
                fetch(b, element(b, ahead, kind, register * self.lanes), "1")
                ys.append(self.totals(element(b, here, kind, register * self.lanes)))
            factors = [
                b.value(f"load {kind}, ptr {element(b, line, kind, number)}") for line in lines
            ]
            with b.on(self.lanes):
                factors = [b.splat(kind, factor) for factor in factors]
            return [
                self.taken_in(sums[place * registers + register], factor, y)
                for place, factor in enumerate(factors)
                for register, y in enumerate(ys)
            ]

        _, sums = counted(b, "0", given["inner"], 1, self.zeros(vectors * registers), row)
        result = element(b, moved(b, given["result"], given["result_step"], start), kind, column)
        for place, total in enumerate(sums):
            line = moved(b, result, given["result_step"], place // registers)
            self.store(total, element(b, line, kind, place % registers * self.lanes))


def _halving(b: Builder, stop: str, most: int, body: Tile) -> None:
    """Write loops over tiles, each over what the one before has left, whose tiles are twice as large."""
    start = "0"
    while most:
        start, _ = counted(b, start, stop, most, (), partial(one_tile, body, most))
        most //= 2
