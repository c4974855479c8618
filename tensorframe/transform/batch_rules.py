"""The rules of batching: what each kind of op becomes when its operands have one more axis in front."""

from __future__ import annotations

import string
from collections.abc import Callable
from math import prod

from tensorframe.dtypes import int64
from tensorframe.graph.holding import default_on
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.shape import Shape, broadcast
from tensorframe.ops.contraction import EINSUM, MATMUL, split
from tensorframe.ops.convolution import CONVOLUTION
from tensorframe.ops.creation import ARANGE
from tensorframe.ops.custom import CUSTOM_CALL, CUSTOM_PART
from tensorframe.ops.expand import expand
from tensorframe.ops.formulas import INTERP
from tensorframe.ops.indexing import GATHER, SET_SLICE, TAKE_ALONG_AXIS
from tensorframe.ops.library import CONVOLVE
from tensorframe.ops.linalg import LSTSQ, SOLVE
from tensorframe.ops.movement import (
    ALIAS,
    CONCAT,
    DEPENDS,
    EXPAND,
    PAD,
    PART,
    PERMUTE,
    RESHAPE,
    SLICE,
    STOP_GRADIENT,
    WINDOWS,
)
from tensorframe.ops.quantization import (
    JOINED_MATMUL,
    JOINED_QUANTIZED_MATMUL,
    QUANTIZED_MATMUL,
    QUANTIZED_MATMUL_WITH_ZEROS,
)
from tensorframe.ops.random import DRAW, RANDOM_WORD
from tensorframe.ops.sorting import HISTOGRAM, SEARCHSORTED, SELECT
from tensorframe.ops.sparse import (
    ARRANGED_SPARSE_MATMUL,
    ROW_NUMBERS,
    SAMPLED_MATMUL,
    SPARSE_MATMUL,
    TRANSPOSED_SPARSE_MATMUL,
)
from tensorframe.transform.batched_calls import BatchedCall
from tensorframe.transform.batching import Call, Rule, Value

# of ops that differ from others of their kind, and of kinds
_OF_OPS: dict[Op, Rule] = {}
_OF_KINDS: dict[Kind, Rule] = {}


def rule_of(op: Op) -> Rule:
    """Return the rule of an op: its own, or that of its kind."""
    if op.raw is not None:
        return _raw
    own = _OF_OPS.get(op)
    return _OF_KINDS[op.kind] if own is None else own


def _for_kind(kind: Kind) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        _OF_KINDS[kind] = rule
        return rule

    return register


def _for_ops(*ops: Op) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        _OF_OPS.update(dict.fromkeys(ops, rule))
        return rule

    return register


# --- elementwise


@_for_kind(Kind.MAP)
def _map(call: Call) -> Node:
    node = call.node
    inputs = tuple([call.aligned(source, len(node.shape)) for source in call.inputs])
    if call.op is RANDOM_WORD:  # whose words are those of its positions
        inputs = (call.batch.whole(call.inputs[0]), *inputs[1:])
    shape = (call.batch.size, *node.shape)
    return Node(call.op, inputs, call.attrs, shape, node.dtype, node.device, node.site)


# --- along axes


@_for_kind(Kind.REDUCE)
@_for_kind(Kind.SCAN)
@_for_kind(Kind.FORMULA)
@_for_kind(Kind.LIBRARY)
def _along_axes(call: Call) -> Node:
    """Axes count from the second one; what works on stacks of matrices has none among its attributes."""
    attrs = [
        _further(value) if name in ("axis", "axes") else value
        for name, value in zip(call.op.attributes, call.attrs, strict=True)
    ]
    return call.apply(call.op, *map(call.batch.whole, call.inputs), attrs=tuple(attrs))


def _further(axes: int | tuple[int, ...]) -> int | tuple[int, ...]:
    return axes + 1 if isinstance(axes, int) else tuple([axis + 1 for axis in axes])


@_for_ops(SELECT)
def _of_lines(call: Call) -> Node:
    return call.apply(call.op, *map(call.batch.whole, call.inputs), attrs=call.attrs)


@_for_ops(LSTSQ, CONVOLVE, HISTOGRAM, DRAW, SAMPLED_MATMUL, ROW_NUMBERS)
def _one_by_one(call: Call) -> Value:
    return call.one_by_one()


@_for_ops(QUANTIZED_MATMUL, QUANTIZED_MATMUL_WITH_ZEROS, JOINED_MATMUL, JOINED_QUANTIZED_MATMUL)
def _of_rows(call: Call) -> Value:
    x, *matrix = call.inputs
    if any(operand in call.batch for operand in matrix):
        return call.one_by_one()
    return call.apply(call.op, call.batch.of(x), *matrix, attrs=call.attrs)


@_for_ops(SPARSE_MATMUL, TRANSPOSED_SPARSE_MATMUL, ARRANGED_SPARSE_MATMUL)
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


@_for_ops(SEARCHSORTED)
def _searched(call: Call) -> Value:
    vector, values, *sorter = call.inputs
    if vector in call.batch or any(operand in call.batch for operand in sorter):
        return call.one_by_one()
    return call.apply(call.op, vector, call.batch.of(values), *sorter, attrs=call.attrs)


# --- views


@_for_kind(Kind.TRANSFER)
@_for_ops(ALIAS, STOP_GRADIENT)
def _same(call: Call) -> Node:
    return call.apply(call.op, call.batch.of(call.inputs[0]), attrs=call.attrs)


@_for_kind(Kind.VIEW)
@_for_ops(INTERP)
def _expansion(call: Call) -> Value:
    """What has no rule of its own is what its row is written out as."""
    meaning = expand(call.node)
    call.batch.extend([meaning])
    return call.batch.value(meaning)


@_for_ops(DEPENDS)
def _depending(call: Call) -> Node:
    return call.apply(DEPENDS, *map(call.batch.whole, call.inputs))


@_for_ops(RESHAPE)
def _reshaped(call: Call) -> Node:
    shape = (call.batch.size, *call.node.shape)
    return call.apply(RESHAPE, call.batch.of(call.inputs[0]), attrs=(shape,))


@_for_ops(EXPAND)
def _expanded(call: Call) -> Node:
    shape = (call.batch.size, *call.node.shape)
    return call.apply(EXPAND, call.aligned(call.inputs[0], len(call.node.shape)), attrs=(shape,))


@_for_ops(PERMUTE)
def _permuted(call: Call) -> Node:
    (axes,) = call.attrs
    order = (0, *[axis + 1 for axis in axes])
    return call.apply(PERMUTE, call.batch.of(call.inputs[0]), attrs=(order,))


@_for_ops(WINDOWS)
def _windowed(call: Call) -> Node:
    axis, *rest = call.attrs
    return call.apply(WINDOWS, call.batch.of(call.inputs[0]), attrs=(axis + 1, *rest))


@_for_ops(SLICE)
def _sliced(call: Call) -> Node:
    return call.apply(SLICE, call.batch.of(call.inputs[0]), attrs=_window(call, *call.attrs))


@_for_ops(SET_SLICE)
def _set(call: Call) -> Node:
    return call.apply(
        SET_SLICE, *map(call.batch.whole, call.inputs), attrs=_window(call, *call.attrs)
    )


def _window(call: Call, starts: Shape, sizes: Shape, steps: Shape) -> tuple[Shape, Shape, Shape]:
    return (0, *starts), (call.batch.size, *sizes), (1, *steps)


@_for_ops(PAD)
def _padded(call: Call) -> Node:
    before, after, value = call.attrs
    return call.apply(PAD, call.batch.of(call.inputs[0]), attrs=((0, *before), (0, *after), value))


@_for_ops(CONCAT)
def _joined(call: Call) -> Node:
    (axis,) = call.attrs
    return call.apply(CONCAT, *map(call.batch.whole, call.inputs), attrs=(axis + 1,))


def _raw(call: Call) -> Value:
    """A user's kernel is what its reference records, and is launched for one example after the other without one."""
    return call.one_by_one() if call.op.raw.reference is None else _meant(call, call.node, 0)


def _meant(call: Call, whole: Node, place: int) -> Node:
    """Return one of the results of what a user's kernel means, for all examples."""

    def recorded(known: Node, inputs: tuple[Node, ...]) -> Node:
        return Node(
            known.op, inputs, known.attrs, known.shape, known.dtype, known.device, call.node.site
        )

    raw = whole.op.raw
    result = raw.reference(raw, whole.device).replay(whole.inputs, recorded)[place]
    call.batch.extend([result])
    return call.batch.whole(result)


@_for_ops(PART)
def _part(call: Call) -> Node:
    source = call.inputs[0]
    if source.op.raw is not None and source.op.raw.reference is not None:
        return _meant(call, source, call.attrs[0])
    whole = call.batch.value(source)
    if isinstance(whole, list):
        return call.stacked([call.apply(PART, example, attrs=call.attrs) for example in whole])
    index, shape, dtype = call.attrs
    return call.apply(PART, whole, attrs=(index, (call.batch.size, *shape), dtype))


# --- calls with a rule of their own


@_for_ops(CUSTOM_CALL)
def _called(call: Call) -> Node:
    """Results are those of all examples, so that they have cotangents of all."""
    (called,) = call.attrs
    if (
        called.is_segment
    ):  # the examples are one call: what is computed again for one is not for all
        return call.batch.whole(call.inputs[0])
    results = call.inputs[: called.results]
    others = call.inputs[called.results :]
    operands = [*map(call.batch.whole, results), *map(call.batch.of, others)]
    differs = (*[True] * len(results), *[operand in call.batch for operand in others])
    batched = BatchedCall(called, call.batch.size, differs, rule_of)
    return call.apply(CUSTOM_CALL, *operands, attrs=(batched,))


@_for_ops(CUSTOM_PART)
def _part_of_call(call: Call) -> Node:
    result, whole = call.inputs
    if whole.attrs[0].is_segment:
        return call.batch.whole(result)
    return call.apply(CUSTOM_PART, call.batch.whole(result), call.batch.of(whole), attrs=call.attrs)


# --- products, and systems of equations


@_for_ops(MATMUL)
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


@_for_ops(SOLVE)
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


@_for_ops(EINSUM)
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


@_for_ops(CONVOLUTION)
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


# --- index tensors


@_for_ops(GATHER)
def _gathered(call: Call) -> Node:
    source, *indices = call.inputs
    axes, place = call.attrs
    if not any(index in call.batch for index in indices):
        further = tuple([axis + 1 for axis in axes])
        return call.apply(GATHER, call.batch.of(source), *indices, attrs=(further, place + 1))
    places = _places(call, indices)
    if source in call.batch:
        axes = (0, *[axis + 1 for axis in axes])
        places = [_example_number(call, indices), *places]
    values = call.apply(GATHER, call.batch.of(source), *places, attrs=(axes, place))
    return call.moved(values, place, 0)


@_for_kind(Kind.SCATTER)
def _scattered(call: Call) -> Node:
    source, values, *indices = call.inputs
    axes, place = call.attrs
    target, given = call.batch.whole(source), call.batch.whole(values)
    further = tuple([axis + 1 for axis in axes])
    if not any(index in call.batch for index in indices):
        return call.apply(call.op, target, given, *indices, attrs=(further, place + 1))
    places = [_example_number(call, indices), *_places(call, indices)]
    return call.apply(
        call.op, target, call.moved(given, 0, place), *places, attrs=((0, *further), place)
    )


@_for_ops(TAKE_ALONG_AXIS)
def _taken_along(call: Call) -> Node:
    (axis,) = call.attrs
    rank = len(call.node.shape)
    operands = [
        call.aligned(source, rank)
        if source in call.batch
        else call.reshaped(source, (1, *source.shape))
        for source in call.inputs
    ]
    return call.apply(TAKE_ALONG_AXIS, *operands, attrs=(axis + 1,))


def _places(call: Call, indices: list[Node]) -> list[Node]:
    """Return index tensors that broadcast to those of all examples."""
    rank = max([len(index.shape) for index in indices])
    return [call.aligned(index, rank) for index in indices]


def _example_number(call: Call, indices: list[Node]) -> Node:
    """Return the index tensor of each example's own number."""
    size = call.batch.size
    like = indices[0]
    dtype = default_on(like.device, int64)
    count = Node(ARANGE, (), (0, 1, 0, 1), (size,), dtype, like.device, call.node.site)
    rank = len(broadcast("gather", *[index.shape for index in indices]))
    return call.reshaped(count, (size, *[1] * rank))
