"""Quantised matrices: small integers in words of 32 bits, of which neighbours along a row share a scale; joined products.

A word holds four integers of 8 bits, with a sign, or eight of 4 bits, without, from its lowest bits on. An element is
`(integer - zero) * scale`. In products the other factor is quantised too, by blocks of 32 neighbours to 8 bits with a
sign, so that integers are multiplied: this is the meaning of these rows, whoever computes them, as it is in llama.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tensorframe.dtypes import FLOAT, NARROW, DType, float32, int32, uint32
from tensorframe.errors import ShapeError
from tensorframe.graph.op import LOW, NONE, Kind, Op, register, same
from tensorframe.graph.shape import Shape
from tensorframe.ops.term import Term, arange, call, matmul, maximum, where

# Neighbours that share the scale of the other factor, and what the largest of them becomes.
BLOCK, LARGEST = 32, 127
# Magnitudes below which a block counts as zeros: the quotient by them would not be finite.
LEAST = 2.0**-100
# Rows of the other factor up to which a product reads words as they are, and not a block of elements made of them.
FEW = 16
# The zero of integers of so many bits where no other is said.
ZERO = {4: 8, 8: 0}


def _int32(*_: Any) -> DType:
    return int32


DOT4 = register(
    Op("dot4", Kind.MAP, 2, frozenset({uint32}), _int32, "Sum of the products of four signed bytes, of words that hold these.", in_standard=False, public=False, cost=7.0, vjp=NONE)
)


def in_word(bits: int) -> int:
    """Return how many integers a word holds."""
    return 32 // bits


def _product_shape(shapes: tuple[Shape, ...], bits: int, group: int) -> Shape:
    x, words, scales, *_ = shapes
    columns = words[1] * in_word(bits)
    if x[-1] != columns:
        raise ShapeError(f"a quantised matrix of shape {(words[0], columns)} takes {columns} features, got {x}")
    assert scales == (words[0], columns // group)
    return (*x[:-1], words[0])


def _matrix_shape(shapes: tuple[Shape, ...], bits: int, _group: int) -> Shape:
    *rows, words = shapes[0]
    return (*rows, words * in_word(bits))


def unpacked(words: Term, bits: int) -> Term:
    """Return the integers of words as int32, along the last axis."""
    each = in_word(bits)
    # to the left first, so that the shift to the right repeats the sign, if there is one
    left = (arange(words, each) * -bits + (32 - bits)).cast(uint32)
    lifted = call("bitwise_left_shift", words.reshaped((*words.shape, 1)), left, attrs=())
    if bits == 8:
        lifted = lifted.cast(int32)
    integers = call("bitwise_right_shift", lifted, lifted.filled(32 - bits, ()), attrs=())
    return integers.cast(int32).reshaped((*words.shape[:-1], words.shape[-1] * each))


def _dequantized(words: Term, scales: Term, *rest: Any) -> Term:
    *zeros, bits, group = rest
    integers = unpacked(words, bits).cast(float32)
    *rows, columns = integers.shape
    groups = (*rows, columns // group, 1)
    grouped = integers.reshaped((*rows, columns // group, group))
    zero = zeros[0].cast(float32).reshaped(groups) if zeros else float(ZERO[bits])
    elements = (grouped - zero) * scales.cast(float32).reshaped(groups)
    return elements.reshaped((*rows, columns))


def _quantized(x: Term) -> tuple[Term, Term]:
    """Return the integers of rows, as float32 in blocks, and the scale of each block."""
    blocks = x.cast(float32).reshaped((*x.shape[:-1], x.shape[-1] // BLOCK, BLOCK))
    largest = abs(blocks).max((len(blocks.shape) - 1,), keepdims=True)
    inverse = where(largest < LEAST, 0.0, LARGEST / maximum(largest, LEAST))
    return call("round", blocks * inverse, attrs=()), largest / LARGEST


def _product(x: Term, words: Term, scales: Term, *rest: Any) -> Term:
    *zeros, bits, group = rest
    *outer, columns = x.shape
    rows = prod(outer)
    integers, by = _quantized(x.reshaped((rows, columns)))
    if rows > FEW or not columns:
        matrix = _dequantized(words, scales, *zeros, bits, group)
        result = matmul((integers * by).reshaped((rows, columns)), matrix.permuted((1, 0)))
    else:
        result = _of_few(integers, by, words, scales, zeros, bits, group)
    return result.reshaped((*outer, words.shape[0])).cast(x.dtype)


def _of_few(
    integers: Term, by: Term, words: Term, scales: Term, zeros: Sequence[Term], bits: int, group: int
) -> Term:
    """Return the sums of products of integers, word by word, each with its scales."""
    rows, blocks, _ = integers.shape
    count = words.shape[0]
    of_row = (rows, 1, blocks * BLOCK // group, group // BLOCK, bits)
    packed = _packed(integers, bits)
    ones = packed.filled(0x01010101, ())
    sums = call("dot4", ones, packed, attrs=()).sum((3,), keepdims=False).reshaped(of_row)
    dots = None
    for number, half in enumerate(_halves(words, bits)):
        side = packed.sliced((0, 0, 0, number), (*packed.shape[:3], 1), (1, 1, 1, 1)).reshaped(of_row)
        dot = call("dot4", half.reshaped((1, count, *of_row[2:])), side, attrs=())
        dots = dot if dots is None else dots + dot
    assert dots is not None
    of_group = (1, count, of_row[2], 1, 1)
    zero = zeros[0].cast(float32).reshaped(of_group) if zeros else float(ZERO[bits])
    exact = dots.cast(float32) if zero == 0.0 else dots.cast(float32) - sums.cast(float32) * zero
    scale = scales.cast(float32).reshaped(of_group) * by.reshaped((*of_row[:-1], 1))
    return (exact * scale).sum((2, 3, 4), keepdims=False)


def _halves(words: Term, bits: int) -> list[Term]:
    """Return words of bytes: of eight integers those in even places, and those in odd ones."""
    if bits == 8:
        return [words]
    low = words.filled(0x0F0F0F0F, ())
    odd = call("bitwise_right_shift", words, words.filled(4, ()), attrs=())
    return [call("bitwise_and", half, low, attrs=()) for half in (words, odd)]


def _packed(integers: Term, bits: int) -> Term:
    """Return the signed bytes that meet those of `_halves`, four in a word: (rows, blocks, words, halves)."""
    rows, blocks, length = integers.shape
    each = in_word(bits)
    # neighbours are in different halves
    shape = (rows, blocks, length // each, 4, each // 4)
    codes = integers.cast(int32).cast(uint32)
    places = call("bitwise_and", codes, codes.filled(0xFF, ()), attrs=())
    shift = (arange(integers, 4) * 8).cast(uint32).reshaped((4, 1))
    lifted = call("bitwise_left_shift", places.reshaped(shape), shift, attrs=())
    return lifted.sum((3,), keepdims=False)


def _of_product(ct: Term, _out: Term, x: Term, words: Term, scales: Term, *rest: Any) -> Sequence[Any]:
    """Rule of a product: as if the other factor had not been rounded; integers do not move."""
    *zeros, bits, group = rest
    matrix = _dequantized(words, scales, *zeros, bits, group)
    return (lambda: matmul(ct.cast(float32), matrix).cast(x.dtype), *[None] * (2 + len(zeros)))


def _rows(name: str, arity: int, doc: str) -> tuple[Op, Op]:
    accepts = NARROW | {float32}
    product = Op(
        f"quantized_matmul{name}", Kind.LIBRARY, arity + 1, accepts, same, f"Rows times a quantised matrix{doc}.", shape=_product_shape, attributes=("bits", "group"), expand=_product, in_standard=False, public=False, costly=True, whole=True, cost=64.0, vjp=_of_product
    )
    matrix = Op(
        f"dequantized{name}", Kind.FORMULA, arity, frozenset({uint32}), lambda *_: float32, f"The elements of a quantised matrix{doc}.", shape=_matrix_shape, attributes=("bits", "group"), expand=_dequantized, in_standard=False, public=False, vjp=NONE
    )
    return register(product), register(matrix)


QUANTIZED_MATMUL, DEQUANTIZED = _rows("", 2, "")
QUANTIZED_MATMUL_WITH_ZEROS, DEQUANTIZED_WITH_ZEROS = _rows("_with_zeros", 3, " whose groups have zeros of their own")


# Products of the same features with several matrices, side by side: queries, keys and values are one call. Weights stay as
# they are, each where it lies; features are read, and quantised, once.


def _joined_shape(shapes: tuple[Shape, ...]) -> Shape:
    x, *matrices = shapes
    for matrix in matrices:
        if len(matrix) != 2 or matrix[1] != x[-1]:
            raise ShapeError(f"a matrix of shape {matrix} takes no features of shape {x}")
    return (*x[:-1], sum(rows for rows, _ in matrices))


def _joined_quantized_shape(shapes: tuple[Shape, ...], bits: int, group: int) -> Shape:
    x, *parts = shapes
    for (rows, words), scales in zip(parts[::2], parts[1::2], strict=True):
        columns = words * in_word(bits)
        if columns != x[-1] or scales != (rows, columns // group):
            raise ShapeError(f"a quantised matrix of shape {(rows, columns)} takes no features {x}")
    return (*x[:-1], sum(rows for rows, _ in parts[::2]))


def _joined(x: Term, *matrices: Term) -> Term:
    if prod(x.shape[:-1]) == 1:  # a sum of products in one kernel, which reads matrices where they are
        return call("matmul", x, _side_by_side(matrices).permuted((1, 0)), attrs=())
    products = [call("matmul", x, matrix.permuted((1, 0)), attrs=()) for matrix in matrices]
    return call("concat", *products, attrs=(len(x.shape) - 1,))


def _side_by_side(matrices: Sequence[Term]) -> Term:
    return call("concat", *matrices, attrs=(0,))


def _joined_quantized(x: Term, *rest: Any) -> Term:
    *parts, bits, group = rest
    if prod(x.shape[:-1]) <= FEW:
        matrix = _side_by_side(parts[::2]), _side_by_side(parts[1::2])
        return call("quantized_matmul", x, *matrix, attrs=(bits, group))
    products = [
        call("quantized_matmul", x, words, scales, attrs=(bits, group))
        for words, scales in zip(parts[::2], parts[1::2], strict=True)
    ]
    return call("concat", *products, attrs=(len(x.shape) - 1,))


JOINED_MATMUL = register(
    Op("joined_matmul", Kind.LIBRARY, None, FLOAT, same, "Rows times transposed matrices, side by side.", shape=_joined_shape, expand=_joined, in_standard=False, public=False, costly=True, whole=True, precision=LOW, cost=64.0)
)
JOINED_QUANTIZED_MATMUL = register(
    Op("joined_quantized_matmul", Kind.LIBRARY, None, NARROW | {float32}, same, "Rows times transposed quantised matrices, side by side.", shape=_joined_quantized_shape, attributes=("bits", "group"), expand=_joined_quantized, in_standard=False, public=False, costly=True, whole=True, cost=64.0)
)
# what backends compute as it is, and has an epilogue as other products have
WHOLE_PRODUCTS = frozenset({JOINED_MATMUL, JOINED_QUANTIZED_MATMUL, QUANTIZED_MATMUL, QUANTIZED_MATMUL_WITH_ZEROS})
