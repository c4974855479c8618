"""Tiles: which block of each operand a block of a result needs, and what joins the results of blocks along a cut.

All of it is plain data about one op, so that any executor can use it: streaming on one machine (`schedule/cut.py`,
`runtime/streaming.py`), a cluster with one task for each block. A block is an interval for each axis.

    part = part_of(op, attrs, operand_shapes, shape, block)

says how `block` of the result is made: `part.op` with `part.attrs` on `part.operands`, a block of each operand (None
where nothing of it is needed), gives a tensor of `part.shape`, of which `part.crop` is wanted. `part.op` is None where
the operand's block is the result. `part_of` returns None where a block needs operands along the axes that it leaves
out: the op is *blocking* along these. A part has the bits of the block in the whole, except for ops that
`rounds_by_shape`.

    join = join_of(op, dtype, attrs, shape, axis)

says how a reduction *carries* over blocks of its operand along `axis`: what a block leaves, how these are joined, in
order, and by how many places along the axis blocks have to be cut (`join.grain`) for the bits of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from math import gcd, prod
from typing import Any, NamedTuple

from tensorframe.dtypes import COMPLEX, FLOAT, FLOATING, DType, float64, wide_of
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.shape import Shape
from tensorframe.kernel.ir.order import PIECE, inner_length
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.creation import FULL
from tensorframe.ops.fourier import FFTN, IFFTN, IRFFTN, RFFTN
from tensorframe.ops.indexing import GATHER, SCATTER, SET_SLICE, TAKE_ALONG_AXIS
from tensorframe.ops.linalg import CHOLESKY, DET, EIGVALS, EIGVALSH, INV, SVDVALS
from tensorframe.ops.movement import CONCAT, EXPAND, PAD, PERMUTE, RESHAPE, SLICE, WINDOWS
from tensorframe.ops.reduction import ALL_TRUE, ANY_TRUE, ARGMAX, ARGMIN, MAX, MIN, PROD, SUM
from tensorframe.ops.sorting import ARGPARTITION, ARGSORT, PARTITION, SELECT, SORT

Interval = tuple[int, int]  # from the first place to the one after the last
Block = tuple[Interval, ...]


class Part(NamedTuple):
    """How a block of a result is made of blocks of the operands."""

    op: Op | None  # None: the block of the first operand that is needed is the result
    attrs: tuple[Any, ...]
    operands: tuple[Block | None, ...]
    shape: Shape  # of what the op gives for these blocks
    crop: Block | None = None  # what of it is wanted, where that is not all


Rule = Callable[[tuple[Any, ...], Sequence[Shape], Shape, Block], Part]


def whole(shape: Shape) -> Block:
    """Return the block that is everything."""
    return tuple([(0, size) for size in shape])


def extents(block: Block) -> Shape:
    """Return the shape of a block."""
    return tuple([stop - start for start, stop in block])


def hull(first: Block, second: Block) -> Block:
    """Return the smallest block that holds both."""
    return tuple(
        [
            (min(low, start), max(high, stop))
            for (low, high), (start, stop) in zip(first, second, strict=True)
        ]
    )


def within(block: Block, outer: Block) -> Block:
    """Return where in `outer` a block lies that it holds."""
    return tuple(
        [(start - low, stop - low) for (start, stop), (low, _) in zip(block, outer, strict=True)]
    )


def part_of(
    op: Op, attrs: tuple[Any, ...], operands: Sequence[Shape], shape: Shape, block: Block
) -> Part | None:
    """Return how a block, which is not empty, of a result of `shape` is made; None if nothing is known of blocks."""
    rule = _RULES.get(op) or _RULES_OF_KINDS.get(op.kind)
    if rule is not None and 0 not in shape:
        part = rule(attrs, operands, shape, block)
        return part._replace(op=op) if part.op is _SAME else part
    if block != whole(shape):
        return None
    return Part(op, attrs, tuple(map(whole, operands)), shape)


def rounds_by_shape(op: Op) -> bool:
    """Whether the bits of a block may depend on what is computed beside it: libraries choose their order by shapes."""
    return op.kind is Kind.CONTRACT or (op.kind is Kind.LIBRARY and op not in _LINES)


def followed(
    op: Op, attrs: tuple[Any, ...], operands: Sequence[Shape], shape: Shape, number: int, axis: int
) -> int | None:
    """Return the axis of the result that goes along with `axis` of an operand; None if there is none, or several.

    It is the one of which a place needs the fewest places of the operand's: a window is shorter than what all first
    elements of windows lie in.
    """
    needs = {}
    for place, size in enumerate(shape):
        needed = narrowed(op, attrs, operands, shape, number, place).get(axis) if size > 1 else None
        if needed is not None:
            needs[place] = needed
    fewest = [place for place, needed in needs.items() if needed == min(needs.values())]
    return fewest[0] if len(fewest) == 1 else None


def narrowed(
    op: Op, attrs: tuple[Any, ...], operands: Sequence[Shape], shape: Shape, number: int, axis: int
) -> dict[int, int]:
    """Return the axes of an operand of which one place along `axis` of the result needs less than the whole does.

    With each axis comes how many places are needed at most.
    """
    if 0 in shape:
        return {}
    full = part_of(op, attrs, operands, shape, whole(shape))
    narrow: dict[int, int] = {}
    for place in {0, shape[axis] // 2, shape[axis] - 1}:  # padding and joints hide operands
        block = (*whole(shape[:axis]), (place, place + 1), *whole(shape[axis + 1 :]))
        part = part_of(op, attrs, operands, shape, block)
        if part is None or full is None:
            return {}
        needed, most = part.operands[number], full.operands[number]
        if needed is None or most is None:
            continue
        for index, (few, many) in enumerate(zip(extents(needed), extents(most), strict=True)):
            if few < many:
                narrow[index] = max(few, narrow.get(index, 0))
    return narrow


# --- what is the same op on smaller operands

_SAME = Op("same", Kind.VIEW, None, frozenset(), lambda dtype: dtype, "The op itself.")


def _same(attrs: tuple[Any, ...], blocks: Sequence[Block | None], block: Block) -> Part:
    return Part(_SAME, attrs, tuple(blocks), extents(block))


def _cropped(
    attrs: tuple[Any, ...], blocks: Sequence[Block | None], made: Shape, crop: Block
) -> Part:
    """Return the part that shows `crop` of what the op gives for blocks of operands, which has the shape `made`."""
    return Part(_SAME, attrs, tuple(blocks), made, None if crop == whole(made) else crop)


def _broadcast(operand: Shape, block: Block) -> Block:
    """Return what a block of a result needs of an operand that broadcasts to it."""
    missing = len(block) - len(operand)
    return tuple(
        [(0, 1) if size == 1 else block[axis + missing] for axis, size in enumerate(operand)]
    )


def _map(attrs: tuple[Any, ...], operands: Sequence[Shape], _shape: Shape, block: Block) -> Part:
    return _same(attrs, [_broadcast(operand, block) for operand in operands], block)


def _expand(
    _attrs: tuple[Any, ...], operands: Sequence[Shape], _shape: Shape, block: Block
) -> Part:
    return _same((extents(block),), [_broadcast(operands[0], block)], block)


def _permute(
    attrs: tuple[Any, ...], operands: Sequence[Shape], _shape: Shape, block: Block
) -> Part:
    (axes,) = attrs
    source = list(whole(operands[0]))
    for place, axis in enumerate(axes):
        source[axis] = block[place]
    return _same(attrs, [tuple(source)], block)


def _reduce(attrs: tuple[Any, ...], operands: Sequence[Shape], _shape: Shape, block: Block) -> Part:
    axes, keepdims = attrs
    kept = iter([place for place in range(len(block)) if not (keepdims and place in axes)])
    source = [
        (0, size) if axis in axes else block[next(kept)] for axis, size in enumerate(operands[0])
    ]
    return _same(attrs, [tuple(source)], block)


def _scan(attrs: tuple[Any, ...], _operands: Sequence[Shape], _shape: Shape, block: Block) -> Part:
    """A block needs all that comes before it along the axis, which executors may carry instead."""
    (axis,) = attrs
    source = (*block[:axis], (0, block[axis][1]), *block[axis + 1 :])
    return _cropped(attrs, [source], extents(source), within(block, source))


# --- views


def _slice(attrs: tuple[Any, ...], _operands: Sequence[Shape], _shape: Shape, block: Block) -> Part:
    starts, _, steps = attrs
    source, firsts = [], []
    for (low, high), start, step in zip(block, starts, steps, strict=True):
        ends = start + low * step, start + (high - 1) * step
        source.append((min(ends), max(ends) + 1))
        firsts.append(ends[0] - min(ends))
    if all(step == 1 for step in steps):
        return Part(None, (), (tuple(source),), extents(block))
    return _same((tuple(firsts), extents(block), steps), [tuple(source)], block)


def _windows(
    attrs: tuple[Any, ...], _operands: Sequence[Shape], _shape: Shape, block: Block
) -> Part:
    axis, _, step, dilation = attrs
    (low, high), (first, last) = block[axis], block[-1]
    along = (low * step + first * dilation, (high - 1) * step + (last - 1) * dilation + 1)
    source = (*block[:axis], along, *block[axis + 1 : -1])
    return _same((axis, last - first, step, dilation), [source], block)


def _pad(attrs: tuple[Any, ...], operands: Sequence[Shape], _shape: Shape, block: Block) -> Part:
    before, _, value = attrs
    source, left, right = [], [], []
    for (low, high), margin, size in zip(block, before, operands[0], strict=True):
        start, stop = max(low - margin, 0), min(high - margin, size)
        if start >= stop:  # nothing but padding
            return Part(FULL, (value,), (None,), extents(block))
        source.append((start, stop))
        left.append(start + margin - low)
        right.append(high - margin - stop)
    if not any(left) and not any(right):
        return Part(None, (), (tuple(source),), extents(block))
    return _same((tuple(left), tuple(right), value), [tuple(source)], block)


def _concat(attrs: tuple[Any, ...], operands: Sequence[Shape], _shape: Shape, block: Block) -> Part:
    (axis,) = attrs
    low, high = block[axis]
    blocks: list[Block | None] = []
    begin = 0
    for operand in operands:
        start, stop = max(low - begin, 0), min(high - begin, operand[axis])
        begin += operand[axis]
        blocks.append((*block[:axis], (start, stop), *block[axis + 1 :]) if start < stop else None)
    if sum(needed is not None for needed in blocks) == 1:
        return Part(None, (), tuple(blocks), extents(block))
    return _same(attrs, blocks, block)


def _reshape(
    _attrs: tuple[Any, ...], operands: Sequence[Shape], shape: Shape, block: Block
) -> Part:
    """A block of whole lines of neighbouring axes is one of the axes that these were, or will be."""
    source = list(whole(operands[0]))
    made, begins = [*shape], [0] * len(shape)
    for old, new in _groups(operands[0], shape):
        axis = next(axis for axis in new if shape[axis] > 1)
        lead = next(place for place in old if operands[0][place] > 1)
        inside = prod([operands[0][place] for place in old]) // operands[0][lead]
        line = prod([shape[place] for place in new]) // shape[axis]
        if block[axis] == (0, shape[axis]) or (inside % line and line % inside):
            continue
        low, high = block[axis]
        first, last = low * line // inside, -(-high * line // inside)
        source[lead] = (first, last)
        made[axis] = (last - first) * inside // line
        begins[axis] = first * inside // line
    crop = tuple(
        [(low - begin, high - begin) for (low, high), begin in zip(block, begins, strict=True)]
    )
    return _cropped((tuple(made),), [tuple(source)], tuple(made), crop)


def _groups(source: Shape, target: Shape) -> list[tuple[list[int], list[int]]]:
    """Return the axes of a reshape in the smallest groups that hold the same elements, those of size 1 left out."""
    olds = [axis for axis, size in enumerate(source) if size != 1]
    news = [axis for axis, size in enumerate(target) if size != 1]
    groups: list[tuple[list[int], list[int]]] = []
    while olds or news:
        old, new = [olds.pop(0)], [news.pop(0)]
        first, second = source[old[0]], target[new[0]]
        while first != second:
            if first < second:
                old.append(olds.pop(0))
                first *= source[old[-1]]
            else:
                new.append(news.pop(0))
                second *= target[new[-1]]
        groups.append((old, new))
    return groups


# --- selections


def _gather(attrs: tuple[Any, ...], operands: Sequence[Shape], _shape: Shape, block: Block) -> Part:
    axes, place = attrs
    source = operands[0]
    indexed = len(block) - (len(source) - len(axes))
    kept = iter([*block[:place], *block[place + indexed :]])
    taken = [(0, size) if axis in axes else next(kept) for axis, size in enumerate(source)]
    chosen = block[place : place + indexed]
    return _same(
        attrs, [tuple(taken), *[_broadcast(shape, chosen) for shape in operands[1:]]], block
    )


def _take_along_axis(
    attrs: tuple[Any, ...], operands: Sequence[Shape], _shape: Shape, block: Block
) -> Part:
    (axis,) = attrs
    source, indices = [_broadcast(operand, block) for operand in operands]
    line = (*source[:axis], (0, operands[0][axis]), *source[axis + 1 :])
    return _same(attrs, [line, indices], block)


def _scatter(attrs: tuple[Any, ...], operands: Sequence[Shape], shape: Shape, block: Block) -> Part:
    axes, place = attrs
    source = tuple(
        [(0, shape[axis]) if axis in axes else block[axis] for axis in range(len(shape))]
    )
    kept = [block[axis] for axis in range(len(shape)) if axis not in axes]
    indexed = whole(operands[1])[place : place + len(operands[1]) - len(kept)]
    values = (*kept[:place], *indexed, *kept[place:])
    blocks = [source, values, *map(whole, operands[2:])]
    return _cropped(attrs, blocks, extents(source), within(block, source))


def _set_slice(
    attrs: tuple[Any, ...], _operands: Sequence[Shape], shape: Shape, block: Block
) -> Part:
    source, values, firsts = [], [], []
    for axis, (low, high) in enumerate(block):
        start, size, step = (some[axis] for some in attrs)
        first, last = 0, size
        if step < 0:
            low, high = 0, shape[axis]
        elif (low, high) != (0, shape[axis]):
            first, last = max(-((start - low) // step), 0), min(-((start - high) // step), size)
        if first >= last:  # nothing here is replaced
            return Part(None, (), (block, None), extents(block))
        source.append((low, high))
        values.append((first, last))
        firsts.append(start + first * step - low)
    replaced, outer = tuple(values), tuple(source)
    made = (tuple(firsts), extents(replaced), attrs[2])
    return _cropped(made, [outer, replaced], extents(outer), within(block, outer))


# --- calls of libraries


def _lines(axis_of: Callable[[tuple[Any, ...], Shape], int]) -> Rule:
    """Return the rule of an op that does something to each line along an axis by itself."""

    def rule(attrs: tuple[Any, ...], operands: Sequence[Shape], shape: Shape, block: Block) -> Part:
        axis = axis_of(attrs, shape) % len(shape)
        blocks = [(*block[:axis], (0, operand[axis]), *block[axis + 1 :]) for operand in operands]
        made = (*block[:axis], (0, shape[axis]), *block[axis + 1 :])
        return _cropped(attrs, blocks, extents(made), within(block, made))

    return rule


def _transformed(
    attrs: tuple[Any, ...], operands: Sequence[Shape], shape: Shape, block: Block
) -> Part:
    """Other axes than those that are transformed go along."""
    axes = attrs[1]
    source = [(0, operands[0][axis]) if axis in axes else own for axis, own in enumerate(block)]
    made = tuple([(0, shape[axis]) if axis in axes else own for axis, own in enumerate(block)])
    return _cropped(attrs, [tuple(source)], extents(made), within(block, made))


def _stacked(attrs: tuple[Any, ...], operands: Sequence[Shape], shape: Shape, block: Block) -> Part:
    """Each matrix of a stack gives its own result."""
    count = len(operands[0]) - 2
    made = (*block[:count], *whole(shape[count:]))
    source = (*block[:count], *whole(operands[0][count:]))
    return _cropped(attrs, [source], extents(made), within(block, made))


def _matmul(attrs: tuple[Any, ...], operands: Sequence[Shape], _shape: Shape, block: Block) -> Part:
    """Rows of a product need rows of the left operand, columns of it columns of the right one."""
    left, right = operands
    ends = (len(left) > 1) + (len(right) > 1)
    batch, rest = block[: len(block) - ends], iter(block[len(block) - ends :])
    rows = [next(rest)] if len(left) > 1 else []
    columns = [next(rest)] if len(right) > 1 else []
    inner = (0, left[-1])
    return _same(
        attrs,
        [
            (*_broadcast(left[:-2], batch), *rows, inner),
            (*_broadcast(right[:-2], batch), inner, *columns),
        ],
        block,
    )


_LINES: dict[Op, Rule] = {
    **dict.fromkeys((SORT, ARGSORT), _lines(lambda attrs, _: attrs[0])),
    **dict.fromkeys((PARTITION, ARGPARTITION), _lines(lambda attrs, _: attrs[1])),
    SELECT: _lines(lambda _, shape: len(shape) - 1),
}

_RULES: dict[Op, Rule] = {
    EXPAND: _expand,
    PERMUTE: _permute,
    RESHAPE: _reshape,
    SLICE: _slice,
    WINDOWS: _windows,
    PAD: _pad,
    CONCAT: _concat,
    GATHER: _gather,
    TAKE_ALONG_AXIS: _take_along_axis,
    SCATTER: _scatter,
    SET_SLICE: _set_slice,
    MATMUL: _matmul,
    **dict.fromkeys((FFTN, IFFTN, RFFTN, IRFFTN), _transformed),
    **dict.fromkeys((CHOLESKY, DET, INV, EIGVALS, EIGVALSH, SVDVALS), _stacked),
    **_LINES,
}

_RULES_OF_KINDS: dict[Kind, Rule] = {
    Kind.MAP: _map,
    Kind.TRANSFER: _map,
    Kind.REDUCE: _reduce,
    Kind.SCAN: _scan,
}


# --- what is carried over blocks


class How(Enum):
    """How results of blocks become that of the whole."""

    COMBINE = "combine"  # the results themselves are combined, in any order, by the row that the reduction names
    POSITION = "position"  # an extreme and its position in the block: the first of the largest, or smallest, stays
    PIECES = "pieces"  # totals of pieces, not rounded, are joined one after the other: the order of kernel/ir/order.py
    MOMENTS = "moments"  # squared distances from pivots of chunks: kernel/forms/deviations.py
    FOLLOWED = "followed"  # a sum of elements that follows from such moments


class Join(NamedTuple):
    """How a reduction over a cut is put together from blocks of its operand, taken in order.

    `dtype` is that in which elements of a piece are joined, `held` that of the total, and `length` how many elements
    are taken as one row of pieces, in C order of the last of the reduced axes, or as a chunk with moments.
    """

    how: How
    grain: int = 1  # blocks are multiples of so many places along the axis, but for the last one
    dtype: DType | None = None
    held: DType | None = None
    length: int = 0


def join_of(op: Op, dtype: DType, attrs: tuple[Any, ...], shape: Shape, axis: int) -> Join | str:
    """Return how `op`, a reduction over `axis` and perhaps others of operands of this dtype and shape, is joined.

    Where it cannot be, the reason is returned instead.
    """
    axes, _ = attrs
    if op in (ARGMAX, ARGMIN):
        if axis != min(place for place in axes if shape[place] != 1):
            return "positions are counted along an axis before the cut"
        return Join(How.POSITION)
    if op in (ANY_TRUE, ALL_TRUE, MAX, MIN) or (op in (SUM, PROD) and dtype not in FLOATING):
        return Join(How.COMBINE)
    if op not in (SUM, PROD) or (op is PROD and dtype in COMPLEX):
        return f"{op.name} is not put together from blocks"
    along = [place for place in sorted(axes) if shape[place] != 1]
    if axis != along[0]:
        return "its order of addition begins along an axis before the cut"
    lengths = [shape[place] for place in along]
    length = inner_length(lengths)
    rest = prod(lengths[1:])
    grain = PIECE // gcd(PIECE, rest) if length > rest else 1
    real = dtype if dtype in FLOAT else None
    piece = dtype if real is None else wide_of(real) if op is SUM else float64
    return Join(How.PIECES, grain, piece, float64 if real is not None else None, length)
