"""Scatters: where index tensors point to, as one number each, and the store of those values that stay.

Threads run in no order, so which of several values for one position stays is settled before: the numbers are sorted
with their order kept, and the last of equal ones is the one that writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tensorframe.dtypes import DType, uint32, uint64
from tensorframe.graph.shape import Shape
from tensorframe.kernel.algorithms.lines import Lines
from tensorframe.kernel.assemble import Built, Launch, assembled
from tensorframe.kernel.body import Numbers
from tensorframe.kernel.formula import either, equal, not_equal
from tensorframe.kernel.gather import place_on_axis, with_bounds_checks
from tensorframe.kernel.groups.forms import Target
from tensorframe.kernel.ir import (
    INDEX,
    START,
    STOP,
    Buffer,
    Expr,
    If,
    Loop,
    ParallelAxis,
    Role,
    Statement,
    Store,
    apply,
    index,
    load,
)
from tensorframe.kernel.layout import Strides
from tensorframe.kernel.loops import ZERO, digits, smaller


def number_dtype(count: int) -> DType:
    """Return the dtype of numbers below `count`."""
    return uint32 if count < 2**32 else uint64


@dataclass(frozen=True, slots=True)
class Pointing:
    """Index tensors of these dtypes and strides, broadcast to `shape`, into axes of these sizes; `x1` is the first."""

    sizes: Shape
    shape: Shape
    dtypes: tuple[DType, ...]
    strides: tuple[Strides, ...]


def build_targets(pointing: Pointing, target: Target) -> Built:
    """Return the kernel that numbers the elements pointed to, in C order of the axes, and marks wrong indices."""
    numbers = Numbers()
    lines = _Flat(pointing.shape, pointing.strides, numbers)
    at = index("at")
    total: Expr | None = None
    for number, (dtype, size) in enumerate(zip(pointing.dtypes, pointing.sizes, strict=True)):
        length = numbers.take(size, "size")
        found = load(Buffer(f"x{number + 1}", dtype, Role.INPUT), lines.position(number, at))
        place = place_on_axis(found, length)
        total = place if total is None else total * length + place
    assert total is not None
    dtype = number_dtype(prod(pointing.sizes))
    store = Store(Buffer("y0", dtype, Role.OUTPUT), at, apply("from_index", total, dtype=dtype))
    return _built(
        with_bounds_checks(_for_each(store)), numbers, prod(pointing.shape), target, "targets"
    )


@dataclass(frozen=True, slots=True)
class Replacing:
    """Values of `dtype` that replace elements, in the order of sorted targets: `x0` targets, `x1` values' numbers.

    `sizes` and `steps` are those of the indexed axes of the result, `shape` and `strides` those of the indices' axes of
    the values, `x2`. The axes that both share lie before and behind: their sizes, strides of the values, and of the
    result, which begins at `start`.
    """

    dtype: DType
    sizes: Shape
    steps: Strides
    shape: Shape
    strides: Strides
    before: tuple[Shape, Strides, Strides]
    behind: tuple[Shape, Strides, Strides]
    start: int


def build_stores(replacing: Replacing, target: Target) -> Built:
    """Return the kernel that writes values that stay; a thread for each value."""
    numbers = Numbers()
    count, inner = prod(replacing.shape), prod(replacing.behind[0])
    shared, ours, theirs = (
        (*first, *last) for first, last in zip(replacing.before, replacing.behind, strict=True)
    )
    rows = _Flat(shared, (ours, theirs), numbers)
    picked = _Flat(replacing.shape, (replacing.strides,), numbers)
    pointed = _Flat(replacing.sizes, (replacing.steps,), numbers)
    targets = Buffer("x0", number_dtype(prod(replacing.sizes)), Role.INPUT)
    places = Buffer("x1", number_dtype(count), Role.INPUT)
    values = Buffer("x2", replacing.dtype, Role.INPUT)
    last, width = numbers.take(count - 1, "last"), numbers.take(inner, "inner")
    outer, at, column = digits(index("at"), [ZERO, numbers.take(count, "count"), width])
    row = outer * width + column
    goal = load(targets, at)
    stays = either(equal(at, last), not_equal(load(targets, smaller(at + 1, last)), goal))
    start = numbers.take(replacing.start, "start") if replacing.start else ZERO
    source = _sum(rows.position(0, row), picked.position(0, _as_position(load(places, at))))
    position = _sum(start, rows.position(1, row), pointed.position(0, _as_position(goal)))
    store = Store(Buffer("y0", replacing.dtype, Role.OUTPUT), position, load(values, source))
    statements = _for_each(If(stays, (store,)))
    return _built(statements, numbers, prod(shared) * count, target, f"{replacing.dtype} values")


class _Flat:
    """Positions of elements by their number in C order, in arrays of one shape."""

    def __init__(self, shape: Shape, strides: Sequence[Strides], numbers: Numbers) -> None:
        steps = [(*one, 0) for one in strides]
        self._lines = Lines((*shape, 1), len(shape), steps, numbers)

    def position(self, number: int, at: Expr) -> Expr:
        """Return where an element of array `number` is."""
        return self._lines.position(number, at, ZERO)


def _sum(*terms: Expr) -> Expr:
    """Return the sum of positions: zeros alone are none that could be told from elements."""
    found = [one for one in terms if one is not ZERO]
    return sum(found[1:], found[0]) if found else ZERO


def _as_position(number: Expr) -> Expr:
    return apply("to_index", number, dtype=INDEX)


def _for_each(statement: Statement) -> tuple[Statement, ...]:
    return (Loop(index("at"), START, STOP, (statement,), parallel=True, over=ParallelAxis.GRID),)


def _built(
    statements: tuple[Statement, ...], numbers: Numbers, total: int, target: Target, what: str
) -> Built:
    notes = (f"{what} of a scatter",)
    kernel = assembled(statements, numbers, (), notes, lanes=target.lanes, index=target.index)
    return Built((Launch(kernel, tuple(numbers.values), total, 1),), (), ((0,),))
