"""Products of a matrix with few vectors, which take as long as reading the matrix.

Small elements become float32, or int32, in registers. `dots` is for rows that lie along what is summed: four rows, each
in a part of the matrix of its own, times vectors are registers of partial sums. `columns` is for rows that lie across:
some of them at a time are added to the result, which stays in the nearest cache. Which bits an element has depends on
its row and its vector alone, not on how many there are. `widen` converts a block for products of many vectors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial

from tensorframe.codegen.llvm.builder import Builder
from tensorframe.codegen.llvm.conversions import converted, widened
from tensorframe.codegen.llvm.indirect_product import shape_for
from tensorframe.codegen.llvm.kernel import SELECTED
from tensorframe.codegen.llvm.loops import (
    counted,
    element,
    first_lanes,
    if_below,
    in_streams,
    moved,
    slots_of,
)
from tensorframe.codegen.llvm.target import Target
from tensorframe.codegen.llvm.types import ELEMENT, VALUE, suffix, vector
from tensorframe.dtypes import FLOAT, NARROW, DType, float32, float64, wide_of

# (where it begins, its size): writes what is done to a tile
Tile = Callable[[str, int], None]

DOTS, COLUMNS, WIDEN = "thin_dots", "thin_columns", "widen"

# what calls are given, in 64-bit slots; the first three are addresses
DOTS_SLOTS = (
    "matrix",
    "vectors",  # elements of the result's dtype next to each other, for `columns` zeros up to whole registers
    "result",  # a row for each vector
    "row_step",  # bytes
    "vector_step",
    "result_step",
    "inner",  # elements that are summed
    "count",  # of vectors
)
COLUMNS_SLOTS = DOTS_SLOTS
WIDEN_SLOTS = ("matrix", "unused", "result", "row_step", "result_step", "columns")
_POINTERS = 3

# Rows that `dots` takes at once, one of each part of the matrix, and those that `columns` adds to the result.
STREAMS, _DEEP = 4, 8


def lanes_of(target: Target) -> int:
    """Return how many elements of a result a register has."""
    return shape_for(target, float32).lanes


def print_thin(target: Target, layout: str, matrix: DType, total: DType) -> str:
    """Return the module for matrices of a dtype and results of another one, float32 or int32.

    Of one dtype, float32 or float64, there is nothing to convert.
    """
    functions: list[Function] = [Dots(target, matrix, total), _Columns(target, matrix, total)]
    if matrix != total:
        functions.append(_Widen(target, matrix, total))
    return linked(target, layout, [function.text() for function in functions])


def linked(target: Target, layout: str, texts: Sequence[str]) -> str:
    """Return the module of functions, each with what it declares."""
    declared = dict.fromkeys(
        line for text in texts for line in text.splitlines() if line.startswith("declare")
    )
    bodies = [
        "\n".join(line for line in text.splitlines() if not line.startswith("declare"))
        for text in texts
    ]
    head = f'{SELECTED}target triple = "{target.triple}"\ntarget datalayout = "{layout}"'
    return "\n".join([head, *declared, *bodies]) + "\n"


class Function(ABC):
    """One function of the module."""

    name = ""
    slots: tuple[str, ...] = ()

    def __init__(self, target: Target, matrix: DType, total: DType) -> None:
        self.b = Builder(target)
        self.lanes = shape_for(target, float64 if total == float64 else float32).lanes
        self.matrix, self.total = matrix, total
        self.kind = vector(VALUE[total], self.lanes)
        many = "+avx512f" in target.features or not target.is_x86
        self.vectors = 4 if many else 2
        self.given: dict[str, str] = {}

    def text(self) -> str:
        """Return the function, and what it declares."""
        self.given = slots_of(self.b, self.slots, _POINTERS)
        self.write()
        self.b.do("ret void")
        return self.b.module(
            f"void @{self.name}(i64 %start, i64 %stop, ptr %varying, ptr %fixed) nounwind"
        )

    @abstractmethod
    def write(self) -> None:
        """Write what the function does."""

    def elements(self, address: str, mask: str = "") -> str:
        """Return a register of the matrix's elements as numbers of the result's dtype."""
        b = self.b
        short = self.loaded(ELEMENT[self.matrix], self.matrix.itemsize, address, mask)
        with b.on(self.lanes):
            value = widened(b, short, self.matrix) if self.matrix in NARROW else short
            return converted(b, value, wide_of(self.matrix), self.total)

    def totals(self, address: str, mask: str = "") -> str:
        """Return a register of numbers of the result's dtype."""
        return self.loaded(VALUE[self.total], self.total.itemsize, address, mask)

    def loaded(self, scalar: str, size: int, address: str, mask: str) -> str:
        """Return what memory has next to each other; where a mask says so, zeros."""
        b, kind = self.b, vector(scalar, self.lanes)
        if not mask:
            return b.value(f"load {kind}, ptr {address}, align {size}")
        name, masks = f"@llvm.masked.load.{suffix(scalar, self.lanes)}.p0", vector("i1", self.lanes)
        b.declare(f"{kind} {name}(ptr, i32, {masks}, {kind})")
        given = f"ptr {address}, i32 {size}, {masks} {mask}, {kind} zeroinitializer"
        return b.value(f"call {kind} {name}({given})")

    def store(self, value: str, address: str, mask: str = "") -> None:
        """Write a register of the result, or those lanes of it that a mask has."""
        b, size = self.b, self.total.itemsize
        if not mask:
            b.do(f"store {self.kind} {value}, ptr {address}, align {size}")
            return
        name = f"@llvm.masked.store.{suffix(VALUE[self.total], self.lanes)}.p0"
        masks = vector("i1", self.lanes)
        b.declare(f"void {name}({self.kind}, ptr, i32, {masks})")
        b.do(f"call void {name}({self.kind} {value}, ptr {address}, i32 {size}, {masks} {mask})")

    def taken_in(self, total: str, x: str, y: str) -> str:
        """Return a register with products added."""
        b = self.b
        with b.on(self.lanes):
            if self.total in FLOAT:
                return b.call("llvm.fmuladd", VALUE[self.total], x, y, total)
            product = b.value(f"mul {self.kind} {x}, {y}")
            return b.value(f"add {self.kind} {total}, {product}")

    def zeros(self, count: int) -> list[tuple[str, str]]:
        """Return so many registers of zeros, to begin a loop with."""
        return [(self.kind, "zeroinitializer")] * count


def tiles(b: Builder, start: str, stop: str, size: int, body: Tile) -> None:
    """Write a loop over tiles of a size, and one over what is left, of one each."""
    for step in dict.fromkeys((size, 1)):
        start, _ = counted(b, start, stop, step, (), partial(one_tile, body, step))


def one_tile(body: Tile, size: int, start: str, _carried: list[str]) -> list[str]:
    """Write what is done to a tile in a loop over those of its size."""
    body(start, size)
    return []


class Dots(Function):
    name, slots = DOTS, DOTS_SLOTS

    def write(self) -> None:
        """Rows `start` to `stop` of the matrix, times each vector."""
        b, lanes, inner = self.b, self.lanes, self.given["inner"]
        whole = b.value(f"and i64 {inner}, {-lanes}")
        mask = first_lanes(b, lanes, b.value(f"sub i64 {inner}, {whole}"))

        def some_rows(rows: list[str]) -> None:
            def some_vectors(start: str, vectors: int) -> None:
                self._tile(rows, start, vectors, whole, mask)

            tiles(b, "0", self.given["count"], self.vectors, some_vectors)

        self.together(some_rows)

    def together(self, body: Callable[[list[str]], None]) -> None:
        """Write the loops over rows, of which `body` is given some at once, or one alone."""
        in_streams(self.b, "%start", "%stop", STREAMS, body)

    def _tile(self, rows: list[str], start: str, vectors: int, whole: str, mask: str) -> None:
        """Write some rows' elements of the results of some vectors."""
        b, given = self.b, self.given
        short, kind = ELEMENT[self.matrix], VALUE[self.total]
        here = [moved(b, given["matrix"], given["row_step"], row) for row in rows]
        begin = moved(b, given["vectors"], given["vector_step"], start)
        there = [
            moved(b, begin, given["vector_step"], number) if number else begin
            for number in range(vectors)
        ]

        def block(position: str, sums: list[str], mask: str = "") -> list[str]:
            xs = [self.elements(element(b, line, short, position), mask) for line in here]
            ys = [self.totals(element(b, line, kind, position), mask) for line in there]
            return [
                self.taken_in(sums[number * vectors + other], x, y)
                for number, x in enumerate(xs)
                for other, y in enumerate(ys)
            ]

        zeros = self.zeros(len(rows) * vectors)
        _, sums = counted(b, "0", whole, self.lanes, zeros, block)
        before = [(self.kind, value) for value in sums]
        sums = if_below(b, whole, given["inner"], before, lambda: block(whole, sums, mask))
        result = moved(b, given["result"], given["result_step"], start)
        for other in range(vectors):
            line = moved(b, result, given["result_step"], other) if other else result
            self.write_totals(sums[other::vectors], [element(b, line, kind, row) for row in rows])

    def write_totals(self, sums: list[str], places: list[str]) -> None:
        """Write what is added up in the register of each row."""
        kind = VALUE[self.total]
        for total, place in zip(map(self._added_up, sums), places, strict=True):
            self.b.do(f"store {kind} {total}, ptr {place}, align {self.total.itemsize}")

    def _added_up(self, sums: str) -> str:
        b, kind = self.b, VALUE[self.total]
        name = f"@llvm.vector.reduce.{'f' if self.total in FLOAT else ''}add.{suffix(kind, self.lanes)}"
        if self.total in FLOAT:
            b.declare(f"{kind} {name}({kind}, {self.kind})")
            return b.value(f"call reassoc {kind} {name}({kind} -0.0, {self.kind} {sums})")
        b.declare(f"{kind} {name}({self.kind})")
        return b.value(f"call {kind} {name}({self.kind} {sums})")


class _Columns(Function):
    name, slots = COLUMNS, COLUMNS_SLOTS

    def write(self) -> None:
        """Columns `start` to `stop` of the result, of which nothing else is written."""
        b, lanes = self.b, self.lanes
        width = b.value("sub i64 %stop, %start")
        end = b.value(f"add i64 %start, {b.value(f'and i64 {width}, {-lanes}')}")
        mask = first_lanes(b, lanes, b.value(f"sub i64 %stop, {end}"))
        self._clear(end, mask)

        def some_rows(row: str, rows: int) -> None:
            def some_vectors(start: str, vectors: int) -> None:
                self._add(row, rows, start, vectors, end, mask)

            tiles(self.b, "0", self.given["count"], self.vectors, some_vectors)

        tiles(self.b, "0", self.given["inner"], _DEEP, some_rows)

    def _clear(self, end: str, mask: str) -> None:
        b, given = self.b, self.given

        def some_line(start: str, _: list[str]) -> list[str]:
            line = moved(b, given["result"], given["result_step"], start)

            def block(position: str, mask: str = "") -> list[str]:
                place = element(b, line, VALUE[self.total], position)
                self.store("zeroinitializer", place, mask)
                return []

            counted(b, "%start", end, self.lanes, (), lambda position, _: block(position))
            if_below(b, end, "%stop", (), lambda: block(end, mask))
            return []

        counted(b, "0", given["count"], 1, (), some_line)

    def _add(self, row: str, rows: int, start: str, vectors: int, end: str, mask: str) -> None:
        b, given, kind = self.b, self.given, VALUE[self.total]
        first = moved(b, given["matrix"], given["row_step"], row)
        here = [
            moved(b, first, given["row_step"], number) if number else first
            for number in range(rows)
        ]
        begin = moved(b, given["vectors"], given["vector_step"], start)
        lines, factors = [], []
        for number in range(vectors):
            there = moved(b, begin, given["vector_step"], number) if number else begin
            result = moved(b, given["result"], given["result_step"], start)
            lines.append(moved(b, result, given["result_step"], number) if number else result)
            for offset in range(rows):
                place = element(b, element(b, there, kind, row), kind, offset)
                factor = b.value(f"load {kind}, ptr {place}, align {self.total.itemsize}")
                with b.on(self.lanes):
                    factors.append(b.splat(kind, factor))

        def block(position: str, mask: str = "") -> list[str]:
            places = [element(b, line, kind, position) for line in lines]
            sums = [self.totals(place, mask) for place in places]
            for offset, address in enumerate(here):
                y = self.elements(element(b, address, ELEMENT[self.matrix], position), mask)
                sums = [
                    self.taken_in(total, factors[number * rows + offset], y)
                    for number, total in enumerate(sums)
                ]
            for total, place in zip(sums, places, strict=True):
                self.store(total, place, mask)
            return []

        counted(b, "%start", end, self.lanes, (), lambda position, _: block(position))
        if_below(b, end, "%stop", (), lambda: block(end, mask))


class _Widen(Function):
    name, slots = WIDEN, WIDEN_SLOTS

    def write(self) -> None:
        """Rows `start` to `stop` in the result's dtype, each up to a whole register."""
        b, given, lanes = self.b, self.given, self.lanes
        columns = given["columns"]
        whole = b.value(f"and i64 {columns}, {-lanes}")
        mask = first_lanes(b, lanes, b.value(f"sub i64 {columns}, {whole}"))

        def some_row(row: str, _: list[str]) -> list[str]:
            source = moved(b, given["matrix"], given["row_step"], row)
            target = moved(b, given["result"], given["result_step"], row)

            def block(position: str, mask: str = "") -> list[str]:
                value = self.elements(element(b, source, ELEMENT[self.matrix], position), mask)
                self.store(value, element(b, target, VALUE[self.total], position))
                return []

            counted(b, "0", whole, lanes, (), lambda position, _: block(position))
            if_below(b, whole, columns, (), lambda: block(whole, mask))
            return []

        counted(b, "%start", "%stop", 1, (), some_row)
