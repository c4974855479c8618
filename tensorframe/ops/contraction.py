"""Contractions: products summed over shared axes."""

from __future__ import annotations

from functools import lru_cache

from tensorframe.dtypes import ANY, DType
from tensorframe.errors import ShapeError
from tensorframe.graph.op import LOW, Kind, Op, register, same
from tensorframe.graph.shape import Shape, broadcast
from tensorframe.ops.rules.contraction import product, summation


def _matmul(shapes: tuple[Shape, ...], _dtype: DType | None = None) -> Shape:
    left, right = shapes
    if not left or not right:
        raise ShapeError(
            f"matmul: operands need at least one axis, got shapes {left} and {right}",
            suggestions=("multiply by a scalar with *",),
        )
    inner_left, inner_right = left[-1], right[-2] if len(right) > 1 else right[0]
    if inner_left != inner_right:
        raise ShapeError(
            f"matmul: shapes {left} and {right} do not contract: {inner_left} columns meet {inner_right} rows.",
            suggestions=_transpose_hint(left, right),
        )
    batch, other = left[:-2], right[:-2]
    if batch != other:
        batch = broadcast("matmul", batch, other)
    return batch + left[-2:-1] + (right[-1:] if len(right) > 1 else ())


def _given(dtype: DType, wanted: DType | None = None) -> DType:
    return wanted or dtype


def _transpose_hint(left: Shape, right: Shape) -> tuple[str, ...]:
    if len(right) > 1 and left[-1] == right[-1]:
        return ("x @ y.mT if y's rows are the vectors to multiply with",)
    if len(left) > 1 and left[-2] == right[-2 if len(right) > 1 else 0]:
        return ("x.mT @ y if x's columns are the vectors to multiply with",)
    return ("the last axis of the left operand must match the second-to-last of the right",)


def split(subscripts: str) -> tuple[list[str], str]:
    """Return the indices of each operand and of the result of normalised subscripts: "ab,bc->ac"."""
    left, _, output = subscripts.partition("->")
    return left.split(","), output


@lru_cache(maxsize=256)  # a loop has the same few
def _einsum(shapes: tuple[Shape, ...], subscripts: str) -> Shape:
    operands, output = split(subscripts)
    sizes: dict[str, int] = {}
    for indices, shape in zip(operands, shapes, strict=True):
        sizes.update(zip(indices, shape, strict=True))
    return tuple(sizes[index] for index in output)


# The attribute is there where factors are read as what they are, and the result has a wider dtype, as if they had been
# cast to it: see schedule/small_factors.py. Then factors need not have the same dtype.
MATMUL = register(
    Op("matmul", Kind.CONTRACT, 2, ANY, _given, "Matrix product of the last two axes; other axes broadcast.", shape=_matmul, attributes=("dtype",), operator="matmul", costly=True, precision=LOW, vjp=product)
)
EINSUM = register(
    Op("einsum", Kind.CONTRACT, None, ANY, same, "Products summed over the indices that the result lacks.", shape=_einsum, attributes=("subscripts",), in_standard=False, costly=True, precision=LOW, vjp=summation)
)
