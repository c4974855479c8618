"""Dot products of four bytes, by the instructions that a processor has for them.

| processor | multiplies | in |
|---|---|---|
| x86 with VNNI | bytes without a sign by bytes with one | `vpdpbusd`, which adds up four products |
| other x86 with AVX2, or SSSE3 | the same | `vpmaddubsw`, which adds up two in 16 bits, and `vpmaddwd`, two of these |
| ARM with its dot product | bytes with a sign | `sdot`, which adds up four products |

Two products may be more than 16 bits hold, and `vpmaddubsw` says nothing then: it is for bytes of which that is known.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

from tensorframe.codegen.llvm.builder import Builder
from tensorframe.codegen.llvm.target import Target
from tensorframe.codegen.llvm.types import vector

# how `vpmaddubsw`, `vpmaddwd` and `vpsignb` are called for registers of so many words
_PAIRS_OF_BYTES = {4: "ssse3.pmadd.ub.sw.128", 8: "avx2.pmadd.ub.sw", 16: "avx512.pmaddubs.w.512"}
_PAIRS = {4: "sse2.pmadd.wd", 8: "avx2.pmadd.wd", 16: "avx512.pmaddw.d.512"}
_SIGN = {4: "ssse3.psign.b.128", 8: "avx2.psign.b"}


class Way(Enum):
    """Which instructions multiply bytes."""

    ADDS_FOUR = auto()
    ADDS_PAIRS = auto()
    SIGNED = auto()
    NONE = auto()


# ways of x86, the best first: words at once, and what one of the sets of features has to be there of
_X86 = (
    (Way.ADDS_FOUR, 16, ({"+avx512vnni", "+avx512f"},)),
    (Way.ADDS_FOUR, 8, ({"+avxvnni"}, {"+avx512vnni", "+avx512vl"})),
    (Way.ADDS_FOUR, 4, ({"+avxvnni"}, {"+avx512vnni", "+avx512vl"})),
    (Way.ADDS_PAIRS, 16, ({"+avx512bw"},)),
    (Way.ADDS_PAIRS, 8, ({"+avx2"},)),
    (Way.ADDS_PAIRS, 4, ({"+ssse3"},)),
)


def way_of(target: Target, lanes: int) -> tuple[Way, int]:
    """Return how so many words are multiplied, and how many of them an instruction takes."""
    if target.is_x86:
        for way, words, needs in _X86:
            if lanes % words == 0 and any(some <= target.features for some in needs):
                return way, words
    elif target.is_arm and lanes % 4 == 0 and "+dotprod" in target.features:
        return Way.SIGNED, 4
    return Way.NONE, lanes


def adds_four(target: Target, lanes: int) -> bool:
    """Whether x86 adds up four products of bytes without a sign and bytes with one in one instruction."""
    return way_of(target, lanes)[0] is Way.ADDS_FOUR


def dot4(b: Builder, x: str, y: str) -> str:
    """Return the sums of the products of four bytes with signs, whatever they are."""
    way, words = way_of(b.target, b.lanes)
    if words < b.lanes:
        return _by_halves(b, dot4, x, y)
    zero = b.constant("i32", 0)
    if way is Way.SIGNED:
        return _signed(b, zero, x, y)
    if way is Way.ADDS_FOUR:
        # the former are lifted by 128, and what that is too much is taken off
        shift = b.constant("i32", -0x7F7F7F80)
        lifted = b.value(f"xor {b.vector('i32')} {x}, {shift}")
        product, over = _four(b, zero, lifted, y), _four(b, zero, shift, y)
        return b.value(f"sub {b.vector('i32')} {product}, {over}")
    return _by_pairs_of_shorts(b, x, y) if way is Way.ADDS_PAIRS else _byte_by_byte(b, x, y)


def add_unsigned(b: Builder, total: str, x: str, y: str) -> str:
    """Add the products of the unsigned bytes of `x` with the signed ones of `y`, where an instruction adds up four."""
    _, words = way_of(b.target, b.lanes)
    if words < b.lanes:
        return _by_halves(b, add_unsigned, total, x, y)
    return _four(b, total, x, y)


def add_small(b: Builder, total: str, *factors: str) -> str:
    """Add the products of unsigned bytes of at most 15 with signed ones: `factors` alternate."""
    way, words = way_of(b.target, b.lanes)
    if words < b.lanes:
        return _by_halves(b, add_small, total, *factors)
    pairs = list(zip(factors[::2], factors[1::2], strict=True))
    if way is not Way.ADDS_PAIRS:
        for x, y in pairs:
            total = _one_added(b, way, total, x, y)
        return total
    # four products of 15 and 128 are less than 16 bits hold
    shorts, kind = "", vector("i16", 2 * b.lanes)
    for x, y in pairs:
        more = _pairs_of_bytes(b, _as_bytes(b, x), _as_bytes(b, y))
        shorts = b.value(f"add {kind} {shorts}, {more}") if shorts else more
    return _added(b, total, _pairs(b, shorts, "splat (i16 1)"))


def add_signed(b: Builder, total: str, x: str, y: str) -> str:
    """Add the products of bytes with signs, those of `y` from -127 on, where no instruction of x86 adds up four."""
    way, words = way_of(b.target, b.lanes)
    if words < b.lanes:
        return _by_halves(b, add_signed, total, x, y)
    if way is not Way.ADDS_PAIRS:
        return _one_added(b, way, total, x, y)
    # the magnitudes of one, with their signs given to the other: two products of 128 and 127 are below 2**15
    first, second = _as_bytes(b, x), _as_bytes(b, y)
    pairs = _pairs_of_bytes(b, _magnitudes(b, first), _with_sign_of(b, second, first))
    return _added(b, total, _pairs(b, pairs, "splat (i16 1)"))


def _by_halves(b: Builder, function: Callable[..., str], *operands: str) -> str:
    """Call a function of registers for the halves of registers."""
    lanes = b.lanes
    half = lanes // 2

    def of_half(first: int) -> str:
        parts = [b.part("i32", operand, lanes, first, half) for operand in operands]
        with b.on(half):
            return function(b, *parts)

    return b.together("i32", of_half(0), of_half(half), half)


def _one_added(b: Builder, way: Way, total: str, x: str, y: str) -> str:
    if way is Way.ADDS_FOUR:
        return _four(b, total, x, y)
    return (
        _signed(b, total, x, y) if way is Way.SIGNED else _added(b, total, _byte_by_byte(b, x, y))
    )


def _added(b: Builder, total: str, more: str) -> str:
    return b.value(f"add {b.vector('i32')} {total}, {more}")


# --- one instruction each ---


def _four(b: Builder, total: str, x: str, y: str) -> str:
    kind = b.vector("i32")
    name = f"@llvm.x86.avx512.vpdpbusd.{32 * b.lanes}"
    b.declare(f"{kind} {name}({kind}, {kind}, {kind})")
    return b.value(f"call {kind} {name}({kind} {total}, {kind} {x}, {kind} {y})")


def _signed(b: Builder, total: str, x: str, y: str) -> str:
    kind, bytes_ = b.vector("i32"), vector("i8", 4 * b.lanes)
    name = "@llvm.aarch64.neon.sdot.v4i32.v16i8"
    b.declare(f"{kind} {name}({kind}, {bytes_}, {bytes_})")
    operands = f"{kind} {total}, {bytes_} {_as_bytes(b, x)}, {bytes_} {_as_bytes(b, y)}"
    return b.value(f"call {kind} {name}({operands})")


def _pairs_of_bytes(b: Builder, unsigned: str, signed: str) -> str:
    return _of_x86(b, _PAIRS_OF_BYTES[b.lanes], ("i16", 2), "i8", unsigned, signed)


def _pairs(b: Builder, x: str, y: str) -> str:
    return _of_x86(b, _PAIRS[b.lanes], ("i32", 1), "i16", x, y)


def _of_x86(b: Builder, name: str, result: tuple[str, int], of: str, x: str, y: str) -> str:
    kind = vector(result[0], result[1] * b.lanes)
    operand = vector(of, {"i8": 4, "i16": 2}[of] * b.lanes)
    b.declare(f"{kind} @llvm.x86.{name}({operand}, {operand})")
    return b.value(f"call {kind} @llvm.x86.{name}({operand} {x}, {operand} {y})")


def _as_bytes(b: Builder, words: str) -> str:
    return b.value(f"bitcast {b.vector('i32')} {words} to {vector('i8', 4 * b.lanes)}")


def _magnitudes(b: Builder, bytes_: str) -> str:
    """Return the bytes without their signs; that of -128 is 128, to whom takes it for unsigned."""
    kind = vector("i8", 4 * b.lanes)
    name = f"@llvm.abs.v{4 * b.lanes}i8"
    b.declare(f"{kind} {name}({kind}, i1)")
    return b.value(f"call {kind} {name}({kind} {bytes_}, i1 false)")


def _with_sign_of(b: Builder, bytes_: str, other: str) -> str:
    """Return bytes with their signs changed where others are negative; where those are 0, any."""
    kind = vector("i8", 4 * b.lanes)
    name = _SIGN.get(b.lanes)
    if name is not None:
        b.declare(f"{kind} @llvm.x86.{name}({kind}, {kind})")
        return b.value(f"call {kind} @llvm.x86.{name}({kind} {bytes_}, {kind} {other})")
    masks = vector("i1", 4 * b.lanes)
    negative = b.value(f"icmp slt {kind} {other}, zeroinitializer")
    changed = b.value(f"sub {kind} zeroinitializer, {bytes_}")
    return b.value(f"select {masks} {negative}, {kind} {changed}, {kind} {bytes_}")


# --- without an instruction for bytes ---


def _by_pairs_of_shorts(b: Builder, x: str, y: str) -> str:
    """Even bytes and odd ones become 16 bits each: no product of these is too large."""
    kind = vector("i16", 2 * b.lanes)
    eight, total = "splat (i16 8)", ""
    shorts = [b.value(f"bitcast {b.vector('i32')} {words} to {kind}") for words in (x, y)]
    for is_even in (True, False):
        of = [b.value(f"shl {kind} {words}, {eight}") if is_even else words for words in shorts]
        pairs = _pairs(b, *[b.value(f"ashr {kind} {words}, {eight}") for words in of])
        total = _added(b, total, pairs) if total else pairs
    return total


def _byte_by_byte(b: Builder, x: str, y: str) -> str:
    kind, products = b.vector("i32"), []
    for left in (24, 16, 8, 0):
        first, second = (
            b.value(f"ashr {kind} {_shifted_left(b, word, left)}, {b.constant('i32', 24)}")
            for word in (x, y)
        )
        products.append(b.value(f"mul {kind} {first}, {second}"))
    low, high = (b.value(f"add {kind} {products[n]}, {products[n + 1]}") for n in (0, 2))
    return b.value(f"add {kind} {low}, {high}")


def _shifted_left(b: Builder, word: str, bits: int) -> str:
    return b.value(f"shl {b.vector('i32')} {word}, {b.constant('i32', bits)}") if bits else word
