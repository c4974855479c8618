"""Rows that meet quantised matrices: blocks of neighbours become bytes with a sign, each block with a scale.

Beside them is what sums of products begin with, where that is read: integers without a sign are more than those that
they stand for, and the sums of a row's own integers say by how much a product is too much.
"""

from __future__ import annotations

from tensorframe.codegen.llvm.builder import Builder
from tensorframe.codegen.llvm.byte_products import adds_four
from tensorframe.codegen.llvm.loops import counted, element, moved, slots_of
from tensorframe.codegen.llvm.target import Target
from tensorframe.codegen.llvm.thin_products import lanes_of
from tensorframe.codegen.llvm.types import real, suffix, vector
from tensorframe.ops.quantization import BLOCK, LARGEST, LEAST, ZERO

PREPARE = "quantized_rows"

# what a call that quantises rows is given; the first four are addresses
PREPARE_SLOTS = (
    "rows",  # float32, each in one piece
    "bytes",
    "begins",
    "factors",
    "row_step",
    "byte_step",
    "half_step",
    "begin_step",
    "factor_step",
    "blocks",  # of a row
)
_PREPARED_POINTERS = 4
# Words that are taken in at once: two registers of AVX2, since scales are loaded half as often then.
_LINE = 16


def words_at_once(target: Target) -> int:
    """Return how many words of a row are taken in at once."""
    return _LINE if target.is_x86 else lanes_of(target)


def is_lifted(target: Target) -> bool:
    """Whether bytes with a sign are lifted by 128."""
    return adds_four(target, words_at_once(target))


def reads_begins(target: Target, bits: int, *, zeros: bool) -> bool:
    """Whether what sums begin with is prepared: integers of eight bits with signs begin with nothing."""
    return zeros or (bits == 4 and not is_lifted(target))


class PreparedRows:
    """The function that quantises rows `start` to `stop` of the other factor, block by block."""

    def __init__(self, target: Target, bits: int, *, zeros: bool) -> None:
        self.b, self.bits, self.has_zeros = Builder(target), bits, zeros
        self.writes_begins = reads_begins(target, bits, zeros=zeros)

    def text(self) -> str:
        """Return the function, and what it declares."""
        b = self.b
        given = slots_of(b, PREPARE_SLOTS, _PREPARED_POINTERS)

        def some_row(row: str, _: list[str]) -> list[str]:
            source = moved(b, given["rows"], given["row_step"], row)
            bytes_ = moved(b, given["bytes"], given["byte_step"], row)
            halves = [bytes_] if self.bits == 8 else [bytes_, moved(b, bytes_, given["half_step"])]
            begins = moved(b, given["begins"], given["begin_step"], row)
            factors = moved(b, given["factors"], given["factor_step"], row)

            def block(number: str, _: list[str]) -> list[str]:
                self._block(number, source, halves, begins, factors)
                return []

            counted(b, "0", given["blocks"], 1, (), block)
            return []

        counted(b, "%start", "%stop", 1, (), some_row)
        b.do("ret void")
        return b.module(
            f"void @{PREPARE}(i64 %start, i64 %stop, ptr %varying, ptr %fixed) nounwind"
        )

    def _block(
        self, number: str, source: str, halves: list[str], begins: str, factors: str
    ) -> None:
        b, floats, ints = self.b, vector("float", BLOCK), vector("i32", BLOCK)
        address = element(b, source, floats, number)
        values = b.value(f"load {floats}, ptr {address}, align 4")
        with b.on(BLOCK):
            sizes = b.call("llvm.fabs", "float", values)
        name = f"@llvm.vector.reduce.fmaximum.{suffix('float', BLOCK)}"
        b.declare(f"float {name}({floats})")
        largest = b.value(f"call float {name}({floats} {sizes})")
        quotient = b.value(f"fdiv float {real(float(LARGEST))}, {largest}")
        is_least = b.value(f"fcmp olt float {largest}, {real(LEAST)}")
        inverse = b.value(f"select i1 {is_least}, float 0.0, float {quotient}")
        with b.on(BLOCK):
            scaled = b.value(f"fmul {floats} {values}, {b.splat('float', inverse)}")
            rounded = b.call("llvm.rint", "float", scaled)
        # what is not a number becomes some integer
        whole = b.value(f"fptosi {floats} {rounded} to {ints}")
        integers = b.value(f"freeze {ints} {whole}")
        self._store_bytes(number, integers, halves)
        if self.writes_begins:
            self._store_begins(number, integers, begins)
        scale = b.value(f"fdiv float {largest}, {real(float(LARGEST))}")
        b.do(f"store float {scale}, ptr {element(b, factors, 'float', number)}, align 4")

    def _store_bytes(self, number: str, integers: str, halves: list[str]) -> None:
        b, count = self.b, BLOCK // len(halves)
        ints, some = vector("i32", BLOCK), vector("i32", count)
        for half, line in enumerate(halves):
            places = ", ".join(f"i32 {place}" for place in range(half, BLOCK, len(halves)))
            chosen = b.value(
                f"shufflevector {ints} {integers}, {ints} poison, <{count} x i32> <{places}>"
            )
            short = b.value(f"trunc {some} {chosen} to {vector('i8', count)}")
            address = element(b, line, vector("i8", count), number)
            b.do(f"store {vector('i8', count)} {short}, ptr {address}, align 1")

    def _store_begins(self, number: str, integers: str, begins: str) -> None:
        """Write what the sums of each word begin with, or the sums of a row's integers where groups have zeros."""
        b, words = self.b, BLOCK * self.bits // 32
        each, ints, some = BLOCK // words, vector("i32", BLOCK), vector("i32", words)
        total = ""
        for place in range(each):
            places = ", ".join(f"i32 {word * each + place}" for word in range(words))
            part = b.value(
                f"shufflevector {ints} {integers}, {ints} poison, <{words} x i32> <{places}>"
            )
            total = b.value(f"add {some} {total}, {part}") if total else part
        if self.has_zeros:
            kind = vector("float", words)
            value = b.value(f"sitofp {some} {total} to {kind}")
        else:
            kind = some
            with b.on(words):
                value = b.value(f"mul {some} {total}, {b.constant('i32', -ZERO[self.bits])}")
        b.do(f"store {kind} {value}, ptr {element(b, begins, kind, number)}, align 4")
