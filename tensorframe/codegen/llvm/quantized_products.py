"""Products of few rows with a quantised matrix: words are multiplied as the bytes that they hold.

Some words are taken in at a time: their bytes times those of each row are summed into integers, four bytes to each
that are scaled by what their group and the row's block have, and added to float32 sums. Integers without a sign are
more than those that they stand for, by 8 where they have four bits, and by 128 where x86 adds up four products of bytes
without a sign and bytes with one: what that is too much is what sums of integers begin with. Rows of the other factor
have to stay in the nearest cache, while rows of words pass through it. So what sums begin with is made in registers
where that takes two or three instructions for each tile, instead of being read.
"""

from __future__ import annotations

from itertools import chain

from tensorframe.codegen.llvm.builder import Builder
from tensorframe.codegen.llvm.byte_products import add_signed, add_small, add_unsigned
from tensorframe.codegen.llvm.conversions import widened
from tensorframe.codegen.llvm.kernel import SELECTED
from tensorframe.codegen.llvm.lines import fetch_beyond
from tensorframe.codegen.llvm.loops import (
    counted,
    element,
    first_lanes,
    if_below,
    in_streams,
    moved,
    slots_of,
)
from tensorframe.codegen.llvm.quantized_rows import (
    PreparedRows,
    is_lifted,
    reads_begins,
    words_at_once,
)
from tensorframe.codegen.llvm.target import Target
from tensorframe.codegen.llvm.thin_products import tiles
from tensorframe.codegen.llvm.types import ELEMENT, real, suffix, vector
from tensorframe.dtypes import NARROW, DType
from tensorframe.machine import HOST
from tensorframe.ops.quantization import BLOCK, ZERO

QUANTIZED = "quantized_dots"

# what a call is given, in 64-bit slots; the first seven are addresses
SLOTS = (
    "words",
    "scales",
    "zeros",  # only where groups have them
    "bytes",  # of the rows: a line of words for each half
    # where they are read: what sums of four bytes begin with, int32, or those sums as float32 where groups have zeros
    "begins",
    "factors",  # the scale of each block
    "result",  # a row for each row
    "word_step",  # bytes from row to row
    "scale_step",
    "zero_step",
    "byte_step",
    "half_step",  # bytes from one half to the next
    "begin_step",
    "factor_step",
    "result_step",
    "count",  # of words in a row
    "rows",
)
_POINTERS = 7
# Rows of words side by side, one of each part of the matrix: with four, lines of rows of 4 KiB and more, which have the
# same places in the nearest cache, push what they meet out of it.
STREAMS = 3
# What bytes with a sign are lifted by, to have none.
_LIFT = 128
# Bytes between the words that are taken in and those that are prefetched, into the second level of cache: into the
# nearest one, where the row that they meet lies, it costs 7 percent of 4 bits and 17 of 8 on an AMD Zen 4, instead of
# saving 4 to 6 and 0 to 3.
_AHEAD = 1024


def print_quantized(
    target: Target, layout: str, scale: DType, bits: int, group: int, *, zeros: bool
) -> str:
    """Return the module for words of integers of so many bits, groups and scales."""
    product = _Quantized(target, scale, bits, group, zeros=zeros).text()
    rows = PreparedRows(target, bits, zeros=zeros).text()
    head = f'{SELECTED}target triple = "{target.triple}"\ntarget datalayout = "{layout}"'
    lines = [*product.splitlines(), *rows.splitlines()]
    declared = dict.fromkeys(line for line in lines if line.startswith("declare"))
    return "\n".join([head, *declared, *[line for line in lines if line not in declared]]) + "\n"


class _Quantized:
    """The function that makes rows `start` to `stop` of a matrix, times each row."""

    def __init__(self, target: Target, scale: DType, bits: int, group: int, *, zeros: bool) -> None:
        self.b = Builder(target)
        self.lanes, self.scale, self.bits, self.has_zeros = (
            words_at_once(target),
            scale,
            bits,
            zeros,
        )
        self.floats, self.ints = vector("float", self.lanes), vector("i32", self.lanes)
        self.is_lifted = is_lifted(target)
        # words that share a scale of the matrix, and those that meet one of the rows
        self.shared, self.block = group * bits // 32, BLOCK * bits // 32
        self.reads_begins = reads_begins(target, bits, zeros=zeros)
        many = "+avx512f" in target.features or not target.is_x86
        # rows of the other factor that a tile has beside those of words
        self.together = 4 if many else 1
        self.given: dict[str, str] = {}

    def text(self) -> str:
        b = self.b
        given = self.given = slots_of(b, SLOTS, _POINTERS)
        whole = b.value(f"and i64 {given['count']}, {-self.lanes}")
        left = b.value(f"sub i64 {given['count']}, {whole}")
        mask = first_lanes(b, self.lanes, left)

        def some_rows(rows: list[str]) -> None:
            def some(start: str, count: int) -> None:
                self._tile(rows, start, count, whole, left, mask)

            tiles(b, "0", given["rows"], self.together, some)

        in_streams(b, "%start", "%stop", STREAMS, some_rows)
        b.do("ret void")
        return b.module(
            f"void @{QUANTIZED}(i64 %start, i64 %stop, ptr %varying, ptr %fixed) nounwind"
        )

    def _tile(
        self, rows: list[str], start: str, count: int, whole: str, left: str, mask: str
    ) -> None:
        b, given = self.b, self.given

        def lines(name: str, step: str, first: str, number: int) -> list[str]:
            begin = moved(b, given[name], given[step], first)
            return [moved(b, begin, given[step], n) if n else begin for n in range(number)]

        words, scales = [
            [moved(b, given[name], given[step], row) for row in rows]
            for name, step in (("words", "word_step"), ("scales", "scale_step"))
        ]
        zeros = [
            moved(b, given["zeros"], given["zero_step"], row) for row in rows if self.has_zeros
        ]
        bytes_ = lines("bytes", "byte_step", start, count)
        begins = lines("begins", "begin_step", start, count) if self.reads_begins else [""] * count
        factors = lines("factors", "factor_step", start, count)

        def block(position: str, sums: list[str], masked: bool = False) -> list[str]:
            sides = [
                self._side(*line, position) for line in zip(bytes_, begins, factors, strict=True)
            ]
            results = list(sums)
            for number in range(len(rows)):
                halves = self._halves(words[number], position, mask if masked else "")
                scale = self._of_groups(scales[number], position, left if masked else "")
                zero = self._zero(zeros[number], position, left if masked else "") if zeros else ""
                for other, side in enumerate(sides):
                    place = number * count + other
                    results[place] = self._taken_in(sums[place], halves, side, scale, zero)
            return results

        sums = [(self.floats, "zeroinitializer")] * (len(rows) * count)
        _, totals = counted(b, "0", whole, self.lanes, sums, block)
        before = [(self.floats, value) for value in totals]
        totals = if_below(
            b, whole, given["count"], before, lambda: block(whole, totals, masked=True)
        )
        for other, line in enumerate(lines("result", "result_step", start, count)):
            for number, row in enumerate(rows):
                total = self._added_up(totals[number * count + other])
                place = element(b, line, "float", row)
                b.do(f"store float {total}, ptr {place}, align 4")

    def _side(
        self, bytes_: str, begins: str, factors: str, position: str
    ) -> tuple[list[str], str, str]:
        """Return the bytes of a row that meet a register of words, what sums begin with, and the scales."""
        b = self.b
        halves = []
        for half in range(8 // self.bits):
            line = moved(b, bytes_, self.given["half_step"]) if half else bytes_
            halves.append(self._loaded(self.ints, element(b, line, "i32", position)))
        if self.reads_begins:
            kind = self.floats if self.has_zeros else self.ints
            begin = self._loaded(kind, element(b, begins, "i32", position))
        else:
            begin = self._begin(halves)
        first = b.value(f"udiv i64 {position}, {self.block}")
        kind = vector("float", self._parts(self.block))
        factor = self._loaded(kind, element(b, factors, "float", first))
        return halves, begin, factor

    def _begin(self, halves: list[str]) -> str:
        """Return what sums of products with these bytes of a row begin with."""
        b = self.b
        with b.on(self.lanes):
            total = b.constant("i32", 0)
            if not self.is_lifted:
                return total
            excess = b.constant("i32", _in_each_byte(ZERO[4] if self.bits == 4 else _LIFT))
            for half in halves:
                total = add_unsigned(b, total, excess, half)
            return b.value(f"sub {self.ints} zeroinitializer, {total}")

    def _loaded(self, kind: str, address: str) -> str:
        return self.b.value(f"load {kind}, ptr {address}, align 4")

    def _halves(self, line: str, position: str, mask: str) -> list[str]:
        """Return a register of words as words of bytes; those some lines on are prefetched."""
        b, address = self.b, element(self.b, line, "i32", position)
        if not mask and 4 * self.lanes == HOST.line:
            fetch_beyond(b, element(b, address, "i8", _AHEAD))
        words = (
            self._masked(self.ints, "i32", 4, address, mask, self.lanes)
            if mask
            else self._loaded(self.ints, address)
        )
        with b.on(self.lanes):
            if self.bits == 8:
                lift = b.constant("i32", _in_each_byte(_LIFT))
                return [b.value(f"xor {self.ints} {words}, {lift}") if self.is_lifted else words]
            low = b.constant("i32", _in_each_byte(15))
            odd = b.value(f"lshr {self.ints} {words}, {b.constant('i32', 4)}")
            return [b.value(f"and {self.ints} {half}, {low}") for half in (words, odd)]

    def _masked(self, kind: str, of: str, size: int, address: str, mask: str, lanes: int) -> str:
        b = self.b
        name, masks = f"@llvm.masked.load.{suffix(of, lanes)}.p0", vector("i1", lanes)
        b.declare(f"{kind} {name}(ptr, i32, {masks}, {kind})")
        return b.value(
            f"call {kind} {name}(ptr {address}, i32 {size}, {masks} {mask}, {kind} zeroinitializer)"
        )

    def _of_groups(self, line: str, position: str, left: str) -> str:
        """Return what the groups of a register have, as float32; `left` is how many words there are, if not as many."""
        b, short = self.b, ELEMENT[self.scale]
        first = b.value(f"udiv i64 {position}, {self.shared}")
        address = element(b, line, short, first)
        size, count = self.scale.itemsize, self._parts(self.shared)
        kind = vector(short, count)
        if left and count > 1:
            more = b.value(f"add i64 {left}, {self.shared - 1}")
            groups = b.value(f"udiv i64 {more}, {self.shared}")
            loaded = self._masked(kind, short, size, address, first_lanes(b, count, groups), count)
        else:
            loaded = b.value(f"load {kind}, ptr {address}, align {size}")
        with b.on(count):
            return widened(b, loaded, self.scale) if self.scale in NARROW else loaded

    def _parts(self, words: int) -> int:
        """Return how many parts of so many words a register has; those are the same in all of a smaller one."""
        return max(self.lanes // words, 1)

    def _spread(self, value: str, count: int, lanes: int) -> str:
        """Return a register of which each of `count` numbers has an equal part."""
        b = self.b
        if count == lanes:
            return value
        with b.on(lanes):
            if count == 1:
                return b.splat("float", value)
            places = ", ".join(f"i32 {lane * count // lanes}" for lane in range(lanes))
            wide = vector("float", count)
            return b.value(
                f"shufflevector {wide} {value}, {wide} poison, <{lanes} x i32> <{places}>"
            )

    def _zero(self, line: str, position: str, left: str) -> str:
        """Return what is taken off each integer of a word's group, the lift of bytes included."""
        b, groups = self.b, self._of_groups(line, position, left)
        zero = self._spread(groups, self._parts(self.shared), self.lanes)
        if self.bits == 4 or not self.is_lifted:
            return zero
        with b.on(self.lanes):
            return b.value(f"fadd {self.floats} {zero}, {b.constant('float', real(float(_LIFT)))}")

    def _taken_in(
        self, total: str, halves: list[str], side: tuple[list[str], str, str], scale: str, zero: str
    ) -> str:
        bytes_, begin, factor = side
        b = self.b
        with b.on(self.lanes):
            running = b.constant("i32", 0) if zero else begin
            if self.bits == 4:
                factors = chain.from_iterable(zip(halves, bytes_, strict=True))
                running = add_small(b, running, *factors)
            else:
                add = add_unsigned if self.is_lifted else add_signed
                running = add(b, running, halves[0], bytes_[0])
            exact = b.value(f"sitofp {self.ints} {running} to {self.floats}")
            if zero:
                product = b.value(f"fmul {self.floats} {zero}, {begin}")
                exact = b.value(f"fsub {self.floats} {exact}, {product}")
        by = self._scales(scale, factor)
        with b.on(self.lanes):
            return b.call("llvm.fmuladd", "float", exact, by, total)

    def _scales(self, of_groups: str, of_blocks: str) -> str:
        """Return what each word's products are multiplied with: by groups of the matrix and blocks of the row."""
        b, blocks = self.b, self._parts(self.block)
        scale = self._spread(of_groups, self._parts(self.shared), blocks)
        by = b.value(f"fmul {vector('float', blocks)} {scale}, {of_blocks}")
        return self._spread(by, blocks, self.lanes)

    def _added_up(self, sums: str) -> str:
        name = f"@llvm.vector.reduce.fadd.{suffix('float', self.lanes)}"
        self.b.declare(f"float {name}(float, {self.floats})")
        return self.b.value(f"call reassoc float {name}(float -0.0, {self.floats} {sums})")


def _in_each_byte(value: int) -> int:
    """Return the word, with a sign, whose four bytes are a number."""
    return int.from_bytes(bytes([value] * 4), "little", signed=True)
