"""Scatters: where index tensors point to, as one number each, and the store of values that stay, or of their sums.

Threads run in no order, so which of several values for one position stays is settled before: the numbers are sorted
with their order kept, and the last of equal ones is the one that writes. Where values are added up, the thread of the
first one takes them all in, in their order: no two threads write to one element, and bits do not depend on threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tensorframe.dtypes import DType, uint32, uint64
from tensorframe.graph.op import Op
from tensorframe.graph.shape import Shape
from tensorframe.kernel import ir
from tensorframe.kernel.groups.algorithms.lines import Lines
from tensorframe.kernel.groups.forms import Target
from tensorframe.kernel.ir.formula import either, equal, not_equal, where
from tensorframe.kernel.ir.loops import ZERO, digits, smaller
from tensorframe.kernel.math.accumulate import accumulation
from tensorframe.kernel.math.scalars import converted
from tensorframe.kernel.nest.assemble import Built, Launch, assembled
from tensorframe.kernel.nest.body import Numbers
from tensorframe.kernel.nest.layout import Strides
from tensorframe.kernel.spaces.gather import place_on_axis, with_bounds_checks


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
    position = ir.index("at")
    total: ir.Expr | None = None
    for number, (dtype, size) in enumerate(zip(pointing.dtypes, pointing.sizes, strict=True)):
        length = numbers.take(size, "size")
        pointed = ir.load(
            ir.Buffer(f"x{number + 1}", dtype, ir.Role.INPUT), lines.position(number, position)
        )
        place = place_on_axis(pointed, length)
        total = place if total is None else total * length + place
    assert total is not None
    dtype = number_dtype(prod(pointing.sizes))
    store = ir.Store(
        ir.Buffer("y0", dtype, ir.Role.OUTPUT), position, ir.apply("from_index", total, dtype=dtype)
    )
    return _built(
        with_bounds_checks(_for_each(store)), numbers, prod(pointing.shape), target, "targets"
    )


@dataclass(frozen=True, slots=True)
class Replacing:
    """Values of `dtype` that replace elements, or join them, in the order of sorted targets.

    `x0` are the targets, `x1` the values' numbers, and where values join elements, `x3` the ends of equal targets.

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
    here = _Here(replacing)
    stays = either(
        equal(here.at, here.last),
        not_equal(here.target(smaller(here.at + 1, here.last)), here.goal),
    )
    store = ir.Store(here.result, here.position, here.value(here.at))
    return here.built(ir.If(stays, (store,)), target)


def build_ends(count: int, dtype: DType, target: Target) -> Built:
    """Return the kernel that finds, for each of `count` sorted targets, `x0`, where those equal to it end."""
    numbers = Numbers()
    position, search = ir.index("at"), ir.index("search")
    halvings = (count - 1).bit_length()
    most, length = numbers.take(1 << halvings, "most"), numbers.take(count, "count")
    steps = numbers.take(halvings + 1, "steps")
    targets, end = ir.Buffer("x0", dtype, ir.Role.INPUT), ir.variable("end", ir.INDEX)
    upto = smaller(end + ir.apply("bitwise_right_shift", most, search), length)
    passed = ir.load(targets, upto - 1) <= ir.load(targets, position)
    number = ir.apply("from_index", end, dtype=number_dtype(count))
    body = (
        ir.Set(end, ir.apply("to_index", ir.literal(0, uint32), dtype=ir.INDEX)),
        ir.Loop(search, ZERO, steps, (ir.Set(end, where(passed, upto, end)),)),
        ir.Store(ir.Buffer("y0", number_dtype(count), ir.Role.OUTPUT), position, number),
    )
    return _built(_for_each(*body), numbers, count, target, "ends of targets")


def build_combined(replacing: Replacing, op: Op, target: Target) -> Built:
    """Return the kernel that joins elements with the values for them; a thread for all values of one element."""
    here = _Here(replacing)
    how = accumulation(op, replacing.dtype, target.widest)
    assert how is not None
    total, along = ir.variable("total", how.dtype), ir.index("along")
    first = either(equal(here.at, ZERO), not_equal(here.target(here.before), here.goal))
    end = _as_position(ir.load(ir.Buffer("x3", number_dtype(here.count), ir.Role.INPUT), here.at))
    body = (
        ir.Set(total, how.take(ir.load(here.result, here.position))),
        ir.Loop(
            along, here.at, end, (ir.Set(total, how.join(total, how.take(here.value(along)))),)
        ),
        ir.Store(here.result, here.position, converted(how.finish(total), replacing.dtype)),
    )
    return here.built(ir.If(first, body), target)


class _Here:
    """What a thread for one of the sorted targets, and one of the elements that share it, reads and writes."""

    def __init__(self, replacing: Replacing) -> None:
        numbers = self._numbers = Numbers()
        self.count, inner = prod(replacing.shape), prod(replacing.behind[0])
        shared, ours, theirs = (
            (*first, *last) for first, last in zip(replacing.before, replacing.behind, strict=True)
        )
        self._total = prod(shared) * self.count
        self._what = f"{replacing.dtype} values"
        self._rows = _Flat(shared, (ours, theirs), numbers)
        self._picked = _Flat(replacing.shape, (replacing.strides,), numbers)
        pointed = _Flat(replacing.sizes, (replacing.steps,), numbers)
        self._targets = ir.Buffer("x0", number_dtype(prod(replacing.sizes)), ir.Role.INPUT)
        self._places = ir.Buffer("x1", number_dtype(self.count), ir.Role.INPUT)
        self._values = ir.Buffer("x2", replacing.dtype, ir.Role.INPUT)
        self.result = ir.Buffer("y0", replacing.dtype, ir.Role.OUTPUT)
        self.last, width = numbers.take(self.count - 1, "last"), numbers.take(inner, "inner")
        outer, self.at, column = digits(
            ir.index("at"), [ZERO, numbers.take(self.count, "count"), width]
        )
        self._row = outer * width + column
        self.goal = self.target(self.at)
        start = numbers.take(replacing.start, "start") if replacing.start else ZERO
        self.position = _sum(
            start, self._rows.position(1, self._row), pointed.position(0, _as_position(self.goal))
        )

    @property
    def before(self) -> ir.Expr:
        """The place before this one; that of the first is itself."""
        return where(equal(self.at, ZERO), ZERO, self.at - 1)

    def target(self, position: ir.Expr) -> ir.Expr:
        """Return a target by its place among the sorted ones."""
        return ir.load(self._targets, position)

    def value(self, position: ir.Expr) -> ir.Expr:
        """Return the value for a target."""
        place = _as_position(ir.load(self._places, position))
        return ir.load(
            self._values, _sum(self._rows.position(0, self._row), self._picked.position(0, place))
        )

    def built(self, statement: ir.Statement, target: Target) -> Built:
        """Return the kernel that runs a statement in every thread."""
        return _built(_for_each(statement), self._numbers, self._total, target, self._what)


class _Flat:
    """Positions of elements by their number in C order, in arrays of one shape."""

    def __init__(self, shape: Shape, strides: Sequence[Strides], numbers: Numbers) -> None:
        steps = [(*stride, 0) for stride in strides]
        self._lines = Lines((*shape, 1), len(shape), steps, numbers)

    def position(self, number: int, position: ir.Expr) -> ir.Expr:
        """Return where an element of array `number` is."""
        return self._lines.position(number, position, ZERO)


def _sum(*terms: ir.Expr) -> ir.Expr:
    """Return the sum of positions: zeros alone are none that could be told from elements."""
    summands = [term for term in terms if term is not ZERO]
    return sum(summands[1:], summands[0]) if summands else ZERO


def _as_position(number: ir.Expr) -> ir.Expr:
    return ir.apply("to_index", number, dtype=ir.INDEX)


def _for_each(*statements: ir.Statement) -> tuple[ir.Statement, ...]:
    return (
        ir.Loop(
            ir.index("at"), ir.START, ir.STOP, statements, parallel=True, over=ir.ParallelAxis.GRID
        ),
    )


def _built(
    statements: tuple[ir.Statement, ...], numbers: Numbers, total: int, target: Target, what: str
) -> Built:
    notes = (f"{what} of a scatter",)
    kernel = assembled(statements, numbers, (), notes, lanes=target.lanes, index=target.index)
    return Built((Launch(kernel, tuple(numbers.values), total, 1),), (), ((0,),))
