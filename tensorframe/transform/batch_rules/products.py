"""Products, convolutions, and systems of equations: many examples become one larger product where that is possible."""

from __future__ import annotations

import string
from math import prod

from tensorframe.graph.node import Node
from tensorframe.graph.shape import Shape
from tensorframe.ops.contraction import EINSUM, MATMUL, split
from tensorframe.ops.convolution import CONVOLUTION
from tensorframe.ops.linalg import SOLVE
from tensorframe.ops.quantization import (
    JOINED_MATMUL,
    JOINED_QUANTIZED_MATMUL,
    QUANTIZED_MATMUL,
    QUANTIZED_MATMUL_WITH_ZEROS,
)
from tensorframe.ops.sparse import (
    ARRANGED_SPARSE_MATMUL,
    SPARSE_MATMUL,
    TRANSPOSED_SPARSE_MATMUL,
)
from tensorframe.transform.batch_rules.table import for_ops
from tensorframe.transform.batching import Call, Value


@for_ops(MATMUL)
def _product(call: Call) -> Node:
    left, right = call.inputs
    if (
        len(left.shape) == 2
        and left not in call.batch
        and right.shape in (left.shape[1:], (left.shape[1], 1))
    ):
        # one product instead of one for each vector
        vectors = call.reshaped(call.batch.of(right), (call.batch.size, left.shape[1]))
        product = call.apply(MATMUL, vectors, call.permuted(left, (1, 0)))
        return call.reshaped(product, (call.batch.size, *call.node.shape))
    rank = max(len(left.shape), len(right.shape), 2)
    first = _matrices(call, left, rank, (1, *left.shape))
    second = _matrices(call, right, rank, (*right.shape, 1))
    if len(left.shape) == 1 and right not in call.batch and len(right.shape) == 2:
        first = call.batch.of(left)
    product = call.apply(MATMUL, first, second)
    return call.reshaped(product, (call.batch.size, *call.node.shape))


@for_ops(SOLVE)
def _solved(call: Call) -> Node:
    matrix, right = call.inputs
    if matrix not in call.batch and len(matrix.shape) == 2 and len(right.shape) <= 2:
        return _solved_at_once(call, matrix, right)
    rank = max(len(matrix.shape), len(right.shape))
    columns = _matrices(call, right, rank, (*right.shape, 1))
    solution = call.apply(SOLVE, call.aligned(matrix, rank), columns)
    return call.reshaped(solution, (call.batch.size, *call.node.shape))


def _solved_at_once(call: Call, matrix: Node, right: Node) -> Node:
    """Return the solutions for one matrix, which is decomposed once: the examples are columns beside each other."""
    size, (rows, *columns) = call.batch.size, right.shape
    beside = call.moved(call.batch.of(right), 0, 1)
    solutions = call.apply(SOLVE, matrix, call.reshaped(beside, (rows, size * prod(columns))))
    return call.moved(call.reshaped(solutions, (rows, size, *columns)), 1, 0)


def _matrices(call: Call, source: Node, rank: int, of_vector: Shape) -> Node:
    """Return an operand as a matrix, or a stack of them; of a vector, one of the given shape."""
    if len(source.shape) > 1:
        return call.aligned(source, rank)
    value = call.batch.of(source)
    if source not in call.batch:
        return call.reshaped(value, of_vector)
    return call.reshaped(value, (call.batch.size, *[1] * (rank - 2), *of_vector))


@for_ops(EINSUM)
def _summed(call: Call) -> Node:
    operands, output = split(call.attrs[0])
    letter = next(candidate for candidate in _letters() if candidate not in call.attrs[0])
    named = [
        letter + indices if source in call.batch else indices
        for source, indices in zip(call.inputs, operands, strict=True)
    ]
    subscripts = f"{','.join(named)}->{letter}{output}"
    return call.apply(EINSUM, *map(call.batch.of, call.inputs), attrs=(subscripts,))


def _letters() -> list[str]:
    # more than there are axes of operands
    return [*string.ascii_letters, *map(chr, range(0x100, 0x200))]


@for_ops(CONVOLUTION)
def _convolved(call: Call) -> Node:
    """Examples are more of the batch; where kernels differ, more groups."""
    x, weight = call.inputs
    *windows, groups = call.attrs
    size, (batch, out, *places) = call.batch.size, call.node.shape
    if weight not in call.batch:
        whole = call.reshaped(call.batch.of(x), (size * batch, *x.shape[1:]))
        result = call.apply(CONVOLUTION, whole, weight, attrs=call.attrs)
        return call.reshaped(result, (size, *call.node.shape))
    kernels = call.reshaped(call.batch.of(weight), (size, groups, out // groups, *weight.shape[1:]))
    if x not in call.batch:  # each group has the kernels of all examples
        beside = call.reshaped(call.moved(kernels, 0, 1), (size * out, *weight.shape[1:]))
        result = call.apply(CONVOLUTION, x, beside, attrs=call.attrs)
        apart = call.reshaped(result, (batch, groups, size, out // groups, *places))
        return call.reshaped(call.moved(apart, 2, 0), (size, *call.node.shape))
    channels = call.moved(call.batch.of(x), 0, 1)
    result = call.apply(
        CONVOLUTION,
        call.reshaped(channels, (batch, size * x.shape[1], *x.shape[2:])),
        call.reshaped(kernels, (size * out, *weight.shape[1:])),
        attrs=(*windows, size * groups),
    )
    return call.moved(call.reshaped(result, (batch, size, out, *places)), 1, 0)


@for_ops(QUANTIZED_MATMUL, QUANTIZED_MATMUL_WITH_ZEROS, JOINED_MATMUL, JOINED_QUANTIZED_MATMUL)
def _of_rows(call: Call) -> Value:
    x, *matrix = call.inputs
    if any(operand in call.batch for operand in matrix):
        return call.one_by_one()
    return call.apply(call.op, call.batch.of(x), *matrix, attrs=call.attrs)


@for_ops(SPARSE_MATMUL, TRANSPOSED_SPARSE_MATMUL, ARRANGED_SPARSE_MATMUL)
def _of_columns(call: Call) -> Value:
    """Dense factors of many examples beside each other are one factor of as many columns."""
    attrs = call.attrs
    if call.op is TRANSPOSED_SPARSE_MATMUL:  # threads share columns that are in no order
        attrs = (attrs[0], False, attrs[2])
    *matrix, x = call.inputs
    if any(operand in call.batch for operand in matrix):
        return call.one_by_one()
    rank, size = len(x.shape), call.batch.size
    axis = max(rank - 1, 1)  # behind that of the rows
    *outer, width = x.shape if rank > 1 else (*x.shape, 1)
    columns = call.reshaped(call.moved(call.batch.of(x), 0, axis), (*outer, size * width))
    made = call.apply(call.op, *matrix, columns, attrs=attrs)
    split = (*made.shape[:-1], size, width)[: rank + 1]
    return call.moved(call.reshaped(made, split), axis, 0)
