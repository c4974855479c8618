"""Rules: what a block of a result needs of each operand, one for each op or kind of op that has any (`tiles.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from tensorframe.graph.op import Kind, Op
from tensorframe.graph.shape import Shape
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.creation import FULL
from tensorframe.ops.fourier import FFTN, IFFTN, IRFFTN, RFFTN
from tensorframe.ops.indexing import GATHER, SCATTER, SET_SLICE, TAKE_ALONG_AXIS
from tensorframe.ops.linalg import CHOLESKY, DET, EIGVALS, EIGVALSH, INV, SVDVALS
from tensorframe.ops.movement import CONCAT, EXPAND, PAD, PERMUTE, RESHAPE, SLICE, WINDOWS
from tensorframe.ops.sorting import ARGPARTITION, ARGSORT, PARTITION, SELECT, SORT
from tensorframe.schedule.blocks import Block, Part, Rule, extents, whole, within

SAME = Op("same", Kind.VIEW, None, frozenset(), lambda dtype: dtype, "The op itself.")


def _same(attrs: tuple[Any, ...], blocks: Sequence[Block | None], block: Block) -> Part:
    return Part(SAME, attrs, tuple(blocks), extents(block))


def _cropped(
    attrs: tuple[Any, ...], blocks: Sequence[Block | None], made: Shape, crop: Block
) -> Part:
    """Return the part that shows `crop` of what the op gives for blocks of operands, which has the shape `made`."""
    return Part(SAME, attrs, tuple(blocks), made, None if crop == whole(made) else crop)


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


LINES: dict[Op, Rule] = {
    **dict.fromkeys((SORT, ARGSORT), _lines(lambda attrs, _: attrs[0])),
    **dict.fromkeys((PARTITION, ARGPARTITION), _lines(lambda attrs, _: attrs[1])),
    SELECT: _lines(lambda _, shape: len(shape) - 1),
}

RULES: dict[Op, Rule] = {
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
    **LINES,
}

RULES_OF_KINDS: dict[Kind, Rule] = {
    Kind.MAP: _map,
    Kind.TRANSFER: _map,
    Kind.REDUCE: _reduce,
    Kind.SCAN: _scan,
}
