"""Hidden columns: those of a product that no row of a block needs, since a mask makes weights of 0 of them.

A mask is `where(condition, scores, -inf)`: it says so by its values, whatever the condition is made of. Causal masks,
windows and padding are all found by looking at what they let through.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import inf, isfinite
from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import implementation
from tensorframe.backends.numpy.products.grid import Index
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import Shape
from tensorframe.ops.elementwise import ADD, CAST, DIVIDE, EXP, MULTIPLY, SUBTRACT, WHERE
from tensorframe.ops.reduction import MAX, SUM
from tensorframe.quick_tuples import NamedTuple

Array = Any

# A part of all columns: so many widths of blocks there are at most, each with kernels of its own.
_WIDTHS = 8
_LEAST = 64


class _Mask(NamedTuple):
    """A condition, and what it is where scores stay."""

    condition: int
    shows: bool


class _State(NamedTuple):
    """What a value is in the columns that masks hide: -inf or 0."""

    value: float
    masks: frozenset[_Mask]


# by masks: ranges of columns by block, and those of all blocks
Known = dict[tuple[_Mask, ...], dict[Any, Any]]


class Columns:
    """Which columns the blocks of a product need, of which `region` makes weights; the product is its first input.

    What follows from `lasting` inputs, the same in every call, is kept in `known`.
    """

    def __init__(
        self,
        region: Region,
        inputs: Sequence[Array],
        shape: Shape,
        lasting: Collection[int],
        known: Known,
    ) -> None:
        self._region = region
        self._inputs = inputs
        self._count = shape[-1]
        step = -(-self._count // _WIDTHS)
        self._step = max(-(-step // _LEAST) * _LEAST, _LEAST)
        masks = masks_of(region, inputs) if self._step < self._count else None
        self._masks: list[_Mask] = sorted(masks or ())
        self._needed = _makers(region, [mask.condition for mask in self._masks])
        self._axes = _varying(region, self._needed, len(shape))
        read = {value for value in self._needed if value < len(region.inputs)}
        lasts = read.issubset(lasting)
        self._known = known.setdefault(tuple(self._masks), {}) if lasts else {}
        self._known_ranges: dict[Any, tuple[tuple[int, int], ...]] = self._known.setdefault(
            None, {}
        )

    @property
    def may_be_hidden(self) -> bool:
        """Whether there are masks at all."""
        return bool(self._masks)

    def of(self, index: Index) -> slice:
        """Return a range of columns that has all those that the rows of a block need."""
        if not self._masks:
            return slice(0, self._count)
        key = tuple([(index[axis].start, index[axis].stop) for axis in self._axes])
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._found(index)
        return known

    def of_all(self, indices: Sequence[Index], key: Any) -> tuple[tuple[int, int], ...]:
        """Return where the ranges of all blocks begin and end; `key` identifies these blocks."""
        ranges = self._known_ranges.get(key)
        if ranges is None:
            all_columns = [self.of(index) for index in indices]
            ranges = tuple([(columns.start, columns.stop) for columns in all_columns])
            self._known_ranges[key] = ranges
        return ranges

    def _found(self, index: Index) -> slice:
        shown: Any = True
        values = self._values(index)
        for mask in self._masks:
            condition = values[mask.condition]
            shown = shown & (condition if mask.shows else ~condition)
        rows = tuple(range(np.ndim(shown) - 1))
        places = np.flatnonzero(np.broadcast_to(np.any(shown, axis=rows), (self._count,)))
        if (
            not places.size
        ):  # rows without anything to see: what becomes of them one range of columns shows
            return slice(0, self._step)
        first, last = int(places[0]), int(places[-1])
        start = first // self._step * self._step
        return slice(start, min((last // self._step + 1) * self._step, self._count))

    def _values(self, index: Index) -> dict[int, Array]:
        """Return what the conditions are for a block, and all that they are made of."""
        first = len(self._region.inputs)
        values: dict[int, Array] = {}
        for value in self._needed:
            if value < first:
                values[value] = part_of(self._inputs[value], index)
                continue
            op = self._region.ops[value - first]
            operands = [values[source] for source in op.inputs]
            values[value] = implementation[op.op](*operands, *op.attrs)
        return values


def part_of(operand: Array, index: Index) -> Array:
    """Return what an operand, which may broadcast, gives to a block."""
    shape = np.shape(operand)
    if not shape:
        return operand
    own = index[len(index) - len(shape) :]
    return operand[
        tuple([part if size != 1 else slice(None) for part, size in zip(own, shape, strict=True)])
    ]


def masks_of(
    region: Region, inputs: Sequence[Array], zero: Collection[int] = ()
) -> frozenset[_Mask] | None:
    """Return the masks outside of which the first output is 0, if no row depends on what they hide.

    The first input is a product; those in `zero` are 0 in hidden columns as they come.
    """
    first = len(region.inputs)
    states = dict.fromkeys(zero, _State(0.0, frozenset()))
    made = {0, *zero}
    numbers = {
        value: float(inputs[value])
        for value, (shape, dtype) in enumerate(region.inputs)
        if value not in made and shape == () and dtype.kind in "iuf"
    }
    for value, op in enumerate(region.ops, start=first):
        if made.isdisjoint(op.inputs):
            if op.op.kind is Kind.REDUCE:
                return None
            continue
        made.add(value)
        if op.op.kind is Kind.REDUCE and not _reduces(op, states):
            return None
        state = _next(region, op, states, numbers, made)
        if state is not None:
            states[value] = state
    masks = states.get(region.outputs[0])
    return masks.masks if masks is not None and masks.value == 0 else None


def _reduces(op: RegionOp, states: dict[int, _State]) -> bool:
    """Whether a reduction of rows is the same without the columns that are hidden."""
    state = states.get(op.inputs[0])
    return state is not None and (op.op, state.value) in ((MAX, -inf), (SUM, 0.0))


def _next(
    region: Region,
    op: RegionOp,
    states: dict[int, _State],
    numbers: dict[int, float],
    made: set[int],
) -> _State | None:
    """Return the state of an op's result, if it has one."""
    if op.op is WHERE:
        return _chosen(op, states, numbers, made)
    if op.op is MULTIPLY and op.inputs[0] not in states:
        op = replace(op, inputs=op.inputs[::-1])
    state = states.get(op.inputs[0])
    if state is None or op.op.kind is Kind.REDUCE:
        return None
    if op.op is EXP:
        return state._replace(value=0.0) if state.value == -inf else None
    if op.op is CAST:
        return state if op.dtype.kind == "f" else None
    if len(op.inputs) != 2:
        return None
    other = op.inputs[1]
    number = numbers.get(other)
    if op.op in (SUBTRACT, DIVIDE) and other in made and region.shape_of(other)[-1] == 1:
        return state if (op.op is SUBTRACT) == (state.value == -inf) else None
    if op.op in (ADD, SUBTRACT) and state.value == -inf:
        return state if number is not None and isfinite(number) else None
    if op.op is MULTIPLY and state.value == 0 and other in made:
        return state  # factors of products are finite, or nothing is left out
    if op.op in (MULTIPLY, DIVIDE) and number is not None:
        return state if isfinite(number) and number > 0 else None
    return None


def _chosen(
    op: RegionOp, states: dict[int, _State], numbers: dict[int, float], made: set[int]
) -> _State | None:
    """Return the state of a choice: a mask, or of two values that both have one."""
    condition, *sides = op.inputs
    for shows, (own, other) in ((True, sides), (False, sides[::-1])):
        number, state = numbers.get(other), states.get(own)
        if number == -inf and condition not in made and own in made:
            masks = state.masks if state is not None and state.value == -inf else frozenset()
            return _State(-inf, masks | {_Mask(condition, shows)})
        if number is not None and state is not None and state.value == number:
            return state
    return None


def _makers(region: Region, conditions: Sequence[int]) -> list[int]:
    """Return the values that some are made of, in order, themselves included."""
    first = len(region.inputs)
    needed = set(conditions)
    for value in range(first + len(region.ops) - 1, first - 1, -1):
        if value in needed:
            needed.update(region.ops[value - first].inputs)
    return sorted(needed)


def _varying(region: Region, values: Sequence[int], depth: int) -> list[int]:
    """Return along which axes but the last values differ."""
    axes = set()
    for value in values:
        shape = region.shape_of(value)
        axes |= {depth - len(shape) + axis for axis, size in enumerate(shape) if size != 1}
    return sorted(axes - {depth - 1})
