"""Scatters: where index tensors point to, as one number each, and the store of values that stay, or of their sums.

Threads run in no order, so which of several values for one position stays is settled before: the numbers are sorted
with their order kept, and the last of equal ones is the one that writes. Where values are added up, the thread of the
first one takes them all in, in their order: no two threads write to one element, and bits do not depend on threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tensorframe.dtypes import DType, uint32, uint64
from tensorframe.graph.op import Op
from tensorframe.graph.shape import Shape
from tensorframe.kernel import ir
from tensorframe.kernel.groups.algorithms.lines import Lines
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir.formula import either, equal, not_equal, where
from tensorframe.kernel.ir.loops import ZERO, digits, smaller
from tensorframe.kernel.math.accumulate import Accumulation, accumulation
from tensorframe.kernel.math.scalars import converted
from tensorframe.kernel.nest.assemble import Built, Launch, assembled
from tensorframe.kernel.nest.body import Numbers
from tensorframe.kernel.nest.layout import Strides
from tensorframe.kernel.spaces.gather import place_on_axis, with_bounds_checks
from tensorframe.quick_dataclasses import dataclass


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
        equal(here.index, here.last),
        not_equal(here.target(smaller(here.index + 1, here.last)), here.goal),
    )
    store = ir.Store(here.result, here.position, here.value(here.index))
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


# How many values a thread takes in at most where rows are few: with more of them there are threads enough.
_PIECE = 256
_FEW_ROWS = 64


def build_combined(replacing: Replacing, op: Op, target: Target) -> Built:
    """Return the kernels that join elements with the values for them.

    The thread of an element's first value takes in all of them. Where these may be many, threads take in pieces of the
    sorted values before, so that no thread has more than a few hundred, and as many pieces.
    """
    how = accumulation(op, replacing.dtype, target.widest, in_pairs=True)
    assert how is not None
    here = _Here(replacing)
    if here.count < 2 * _PIECE or here.rows > _FEW_ROWS:
        work = ir.Loop(_ALONG, here.index, here.end, (_taken(here, how, _ALONG),))
        return here.built(ir.If(here.is_first, _joined(here, how, (work,))), target)
    sums = ir.Buffer("p0", how.dtype, ir.Role.OUTPUT)
    launch = here.built(_piece_of_sums(here, how, sums), target).launches[0]
    after = _Here(replacing)
    built = after.built(ir.If(after.is_first, _joined(after, how, _pieces(after, how))), target)
    return replace(
        built, launches=(launch, *built.launches), partials=((how.dtype, here.total, 0),)
    )


_ALONG = ir.index("along")


def _taken(here: _Here, how: Accumulation, number: ir.Expr) -> ir.Statement:
    """Return how the accumulator takes in the value of a target."""
    total = ir.variable("total", how.dtype)
    return ir.Set(total, how.join(total, how.take(here.value(number))))


def _joined(
    here: _Here, how: Accumulation, work: tuple[ir.Statement, ...]
) -> tuple[ir.Statement, ...]:
    """Return how an element is read, joined with what `work` takes in, and written."""
    total = ir.variable("total", how.dtype)
    result = converted(how.finish(total), here.result.dtype)
    return (
        ir.Set(total, how.take(ir.load(here.result, here.position))),
        *work,
        ir.Store(here.result, here.position, result),
    )


def _piece_of_sums(here: _Here, how: Accumulation, sums: ir.Buffer) -> ir.Statement:
    """Return how the values of one element in one piece are joined, by the thread of the first of them."""
    total, each = ir.variable("total", how.dtype), here.number(_PIECE, "piece")
    place = ir.apply("remainder", here.index, each)
    stop = smaller(here.end, here.index - place + each)
    begins = either(here.is_first, equal(place, ZERO))
    return ir.If(
        begins,
        (
            ir.Set(total, how.take(here.value(here.index))),
            ir.Loop(_ALONG, here.index + 1, stop, (_taken(here, how, _ALONG),)),
            ir.Store(sums, here.thread, total),
        ),
    )


def _pieces(here: _Here, how: Accumulation) -> tuple[ir.Statement, ...]:
    """Return how an element takes in its joined pieces: the first from its own place, the others from theirs."""
    total, each = ir.variable("total", how.dtype), here.number(_PIECE, "piece")
    sums = ir.Buffer("p0", how.dtype, ir.Role.INPUT)
    first = ir.apply("floor_divide", here.index, each) + 1
    stop = ir.apply("floor_divide", here.end + (each - 1), each)
    later = ir.load(sums, here.thread_of(_ALONG * each))
    return (
        ir.Set(total, how.join(total, ir.load(sums, here.thread))),
        ir.Loop(_ALONG, first, stop, (ir.Set(total, how.join(total, later)),)),
    )


class _Here:
    """What a thread for one of the sorted targets, and one of the elements that share it, reads and writes."""

    def __init__(self, replacing: Replacing) -> None:
        numbers = self._numbers = Numbers()
        self.count, inner = prod(replacing.shape), prod(replacing.behind[0])
        shared, ours, theirs = (
            (*first, *last) for first, last in zip(replacing.before, replacing.behind, strict=True)
        )
        self.rows = prod(shared)
        self.total = self.rows * self.count
        self._what = f"{replacing.dtype} values"
        self._rows = _Flat(shared, (ours, theirs), numbers)
        self._picked = _Flat(replacing.shape, (replacing.strides,), numbers)
        pointed = _Flat(replacing.sizes, (replacing.steps,), numbers)
        self._targets = ir.Buffer("x0", number_dtype(prod(replacing.sizes)), ir.Role.INPUT)
        self._places = ir.Buffer("x1", number_dtype(self.count), ir.Role.INPUT)
        self._values = ir.Buffer("x2", replacing.dtype, ir.Role.INPUT)
        self.result = ir.Buffer("y0", replacing.dtype, ir.Role.OUTPUT)
        self.last, width = numbers.take(self.count - 1, "last"), numbers.take(inner, "inner")
        length = numbers.take(self.count, "count")
        self.thread = ir.index("at")
        self._outer, self.index, self._column = digits(self.thread, [ZERO, length, width])
        self._length, self._width = length, width
        self._row = self._outer * width + self._column
        self.goal = self.target(self.index)
        start = numbers.take(replacing.start, "start") if replacing.start else ZERO
        self.position = _sum(
            start, self._rows.position(1, self._row), pointed.position(0, _as_position(self.goal))
        )

    @property
    def is_first(self) -> ir.Expr:
        """Whether the target is the first of equal ones."""
        before = where(equal(self.index, ZERO), ZERO, self.index - 1)
        return either(equal(self.index, ZERO), not_equal(self.target(before), self.goal))

    @property
    def end(self) -> ir.Expr:
        """The place behind the last of equal targets."""
        return _as_position(
            ir.load(ir.Buffer("x3", number_dtype(self.count), ir.Role.INPUT), self.index)
        )

    def number(self, value: int, name: str) -> ir.Expr:
        """Return a number that the kernel is given."""
        return self._numbers.take(value, name)

    def thread_of(self, position: ir.Expr) -> ir.Expr:
        """Return which thread has another target, and the same of the elements that share it."""
        return (self._outer * self._length + position) * self._width + self._column

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
        return _built(_for_each(statement), self._numbers, self.total, target, self._what)


class _Flat:
    """Positions of elements by their number in C order, in arrays of one shape."""

    def __init__(self, shape: Shape, strides: Sequence[Strides], numbers: Numbers) -> None:
        steps = [(*stride, 0) for stride in strides]
        self._lines = Lines((*shape, 1), len(shape), steps, numbers)

    def position(self, number: int, position: ir.Expr) -> ir.Expr:
        """Return where an element of array `number` is."""
        return self._lines.position(number, position, ZERO)


def _sum(*terms: ir.Expr) -> ir.Expr:
    """Return the sum of positions: zeros alone could not be distinguished from elements."""
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
