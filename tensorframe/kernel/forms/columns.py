"""Columns (strip mining): operands are contiguous along a kept axis, and neighbouring columns advance together.

The reduce loop is outside, so that rows are read as they are in memory: on 2048 rows of 1024, that is 91 times faster
than one column after the other. Where there are few columns, they are cut into chunks that give partial results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tensorframe.dtypes import DType, float32, float64
from tensorframe.kernel.accumulate import Accumulation
from tensorframe.kernel.forms.form import Form, reductions_in
from tensorframe.kernel.forms.parts import sample
from tensorframe.kernel.ir import (
    INDEX,
    START,
    STOP,
    Allocate,
    Buffer,
    Expr,
    Index,
    Loop,
    Role,
    Set,
    Statement,
    Store,
    apply,
    index,
    literal,
    load,
    variable,
)
from tensorframe.kernel.loops import ZERO, digits, flat, named, nested, smaller
from tensorframe.kernel.scalars import converted

# Elements of a column that are taken in while its accumulator is in a register; the compiler writes them out.
_GROUP = 8
# Operations for an element up to which that pays.
_LIGHT = 12.0
# Elements whose mean is the pivot of a chunk of a column: see kernel/forms/deviations.py.
_COLUMN_SAMPLE = 8


@dataclass(slots=True)
class _Total:
    """A reduction in a block of columns: one accumulator for each column, in scratch memory."""

    memory: Buffer
    how: Accumulation
    element: Expr  # of the operand
    short: bool  # whether a few elements are summed in float32


@dataclass(slots=True)
class _Columns:
    """The loops of a block of columns: `lane` runs from `base` to `end`, `slot` is its place in scratch memory."""

    form: Form
    lane: Index
    base: Expr
    end: Expr
    width: Expr
    along: list[Index]
    memory: list[Buffer] = field(default_factory=list)

    @property
    def slot(self) -> Expr:
        return self.lane - self.base

    def across(self, work: Sequence[Statement]) -> Statement:
        return Loop(self.lane, self.base, self.end, tuple(work))

    def scratch(self, name: str, dtype: DType) -> Buffer:
        buffer = Buffer(name, dtype, Role.SCRATCH)
        if buffer not in self.memory:  # a scan may run in several passes
            self.memory.append(buffer)
        return buffer

    def total(self, value: int) -> _Total:
        """Return the accumulators of a reduction."""
        how = self.form.accumulation(value)
        memory = self.scratch(f"r{value}", how.dtype)
        element = self.form.body.operand(value, 0)
        return _Total(memory, how, element, self.form.is_short_sum(value))

    def distances(self, value: int) -> tuple[_Total, _Total]:
        """Return the accumulators of distances from a pivot, and of their squares."""
        how, short = self.form.accumulation(value), self.form.is_short_sum(value)
        away = self.form.distance(value, load(self.pivot(value), self.slot))
        distances, squares = [self.scratch(f"r{value}{mark}", how.dtype) for mark in "dq"]
        return _Total(distances, how, away, short), _Total(squares, how, away * away, short)

    def pivot(self, value: int) -> Buffer:
        """Return the memory of the columns' pivots."""
        return self.scratch(f"pivot{value}", self.form.operand_dtype(value))

    def pivots(self, value: int, first: Expr, last: Expr) -> tuple[Statement, ...]:
        """Return the loops that give each column its pivot: the mean of some elements, which float64 adds up."""
        total = self.scratch(f"r{value}d", float64)
        body = self.form.body
        element = converted(body.operand(self.form.deviations[value].centred, 0), float64)
        take = self.across([Store(total, self.slot, load(total, self.slot) + element)])
        loops, count = sample(body, self.along, first, last, (take,), _COLUMN_SAMPLE)
        mean = converted(load(total, self.slot) / count, self.form.operand_dtype(value))
        empty = self.across([Store(total, self.slot, literal(0, float64))])
        return (empty, *loops, self.across([Store(self.pivot(value), self.slot, mean)]))

    def begin(self, totals: Sequence[_Total]) -> tuple[Statement, ...]:
        """Return the loop that empties accumulators."""
        work = [Store(one.memory, self.slot, one.how.start()) for one in totals]
        return (self.across(work),) if work else ()

    def down(
        self, totals: Sequence[_Total], stores: list[Statement], first: Expr, last: Expr
    ) -> tuple[Statement, ...]:
        """Return the loops that take in all elements, along the outermost reduced axis from `first` to `last`."""
        body = self.form.body
        if not totals and not stores:
            return ()
        sizes = body.sizes[len(body.nest.kept) :]
        if len(self.along) == 1:
            return self._in_groups(totals, stores, first, last)
        inner = self._in_groups(totals, stores, ZERO, sizes[-1])
        middle = nested(self.along[1:-1], sizes[1:-1], inner)
        return (Loop(self.along[0], first, last, middle),)

    def _take_one(self) -> bool:
        """Whether loading and storing accumulators for each element does not matter, or groups would be cut up."""
        divided = any(one.steps[-1] for one in self.form.body.nest.pieces.values())
        return divided or self.form.cost > _LIGHT

    def _in_groups(
        self, totals: Sequence[_Total], stores: list[Statement], first: Expr, last: Expr
    ) -> tuple[Statement, ...]:
        """Take in several elements of each column while its accumulator is in a register."""
        single = [self._added(one, one.element) for one in totals]
        if not totals or self._take_one() or any(self.form.stages.scans):
            return (Loop(self.along[-1], first, last, (self.across([*single, *stores]),)),)
        group, along = index("group"), self.along[-1]
        groups = apply("floor_divide", last - first, literal(_GROUP, INDEX))
        few = [self._few(one) for one in totals]
        start = first + group * _GROUP
        several: tuple[Statement, ...] = (
            *[one.begin for one in few],
            Loop(along, start, start + _GROUP, (*[one.take for one in few], *stores)),
            *[one.end for one in few],
        )
        return (
            Loop(group, ZERO, groups, (self.across(several),)),
            Loop(along, first + groups * _GROUP, last, (self.across([*single, *stores]),)),
        )

    def _added(self, one: _Total, element: Expr) -> Store:
        """Return the statement that takes one element into its column's accumulator."""
        total = load(one.memory, self.slot)
        return Store(one.memory, self.slot, one.how.join(total, one.how.take(element)))

    def _few(self, one: _Total) -> _Few:
        """Return the statements around and in a loop over a few elements of a column."""
        name = one.memory.name.replace("r", "a")
        if one.short:
            few = variable(name, float32)
            take = Set(few, one.how.join(few, converted(one.element, float32)))
            return _Few(Set(few, literal(0, float32)), take, self._added(one, few))
        few = variable(name, one.how.dtype)
        return _Few(
            Set(few, load(one.memory, self.slot)),
            Set(few, one.how.join(few, one.how.take(one.element))),
            Store(one.memory, self.slot, few),
        )


@dataclass(frozen=True, slots=True)
class _Few:
    """What is done with a few elements of a column: before, with each, and afterwards."""

    begin: Set
    take: Set
    end: Store


def columns(form: Form, width: int) -> tuple[Statement, ...]:
    """Blocks of `width` neighbouring columns, each in as many passes as the reductions need."""
    body = form.body
    block = index("block")
    blocks = body.numbers.take(-(-body.nest.kept[-1] // width), "blocks")
    step = body.numbers.take(width, "width")
    lanes = body.sizes[len(body.nest.kept) - 1]
    *places, at = digits(block, [*body.sizes[: len(body.nest.kept) - 1], blocks])
    lane, along = index("lane"), named("k", len(body.nest.reduced))
    base = at * step
    body.indices = [*places, lane, *along]
    parts = _Columns(form, lane, base, smaller(base + step, lanes), step, along)
    statements: list[Statement] = []
    for number in range(form.stages.passes + 1):
        body.begin_pass()
        statements += _column_pass(parts, number)
    body.begin_pass()
    stores = form.row_stores()
    if stores:
        statements.append(parts.across(stores))
    memory = [Allocate(buffer, step) for buffer in parts.memory]
    return (*memory, Loop(block, START, STOP, tuple(statements), parallel=True))


def _column_pass(parts: _Columns, number: int) -> list[Statement]:
    """Return one pass over a block of columns, and what of its results is kept for the next."""
    form, body = parts.form, parts.form.body
    reductions = reductions_in(form, number)
    scans = [_scanned(parts, value) for value in form.stages.scans[number]]
    totals = [parts.total(value) for value in reductions]
    stores: list[Statement] = [form.store(value) for value in form.stages.stores[number]]
    length = body.sizes[len(body.nest.kept)]
    down = parts.down([*scans, *totals], stores, ZERO, length)
    statements = [*parts.begin([*scans, *totals]), *down]
    for value, one in zip(reductions, totals, strict=True):
        body.known[value] = form.finished(value, load(one.memory, parts.slot))
    body.begin_pass()
    kept = {
        value: parts.scratch(f"v{value}", form.region.dtype_of(value))
        for value in _used_by_rows(form, number + 1)
    }
    if kept:
        work = [Store(buffer, parts.slot, body.element(value)) for value, buffer in kept.items()]
        statements.append(parts.across(work))
        body.known.update((value, load(buffer, parts.slot)) for value, buffer in kept.items())
    return statements


def _scanned(parts: _Columns, value: int) -> _Total:
    """Return the accumulators of a scan: after each element they hold its result."""
    found = parts.total(value)
    parts.form.body.define_element(
        value, parts.form.finished(value, load(found.memory, parts.slot))
    )
    return found


def _used_by_rows(form: Form, level: int) -> list[int]:
    """Return the values of one element per column, known after `level` passes, that elements down the columns need."""
    region, stages = form.region, form.stages
    first = len(region.inputs)
    used = {
        source
        for at, one in enumerate(region.ops)
        if stages.full[first + at]
        for source in one.inputs
    }
    return [
        value
        for value in sorted(used)
        if value >= first
        and not stages.full[value]
        and stages.level[value] == level
        and stages.inside[value]
        and value not in form.body.known
    ]


def column_parts(form: Form, width: int, chunk: int) -> tuple[Statement, ...]:
    """Partial results of blocks of columns: each iteration takes `chunk` indices of the outermost reduced loop."""
    body = form.body
    count = len(body.nest.kept)
    part, lane, along = index("part"), index("lane"), named("k", len(body.nest.reduced))
    blocks = body.numbers.take(-(-body.nest.kept[-1] // width), "blocks")
    step, rise = body.numbers.take(width, "width"), body.numbers.take(chunk, "chunk")
    height = body.numbers.take(body.nest.rows, "rows")
    kept = body.sizes[:count]
    at, *places, block = digits(part, [ZERO, *kept[:-1], blocks])
    base = block * step
    body.indices = [*places, lane, *along]
    parts = _Columns(form, lane, base, smaller(base + step, kept[-1]), step, along)
    totals = [parts.total(value) for value in form.partials]
    stores: list[Statement] = [form.store(value) for value in form.stages.stores[0]]
    top = at * rise
    bottom = smaller(top + rise, body.sizes[count])
    place = at * height + flat([*places, lane], kept)
    left = list(zip(form.partials.values(), [one.memory for one in totals], strict=True))
    pivots: list[Statement] = []
    for value, deviation in form.deviations.items():
        pivots += parts.pivots(value, top, bottom)
        distances, squares = parts.distances(value)
        totals += [distances, squares]
        kept_there = (parts.pivot(value), distances.memory, squares.memory)
        left += zip(deviation.buffers, kept_there, strict=True)
    last = [Store(buffer, place, load(memory, parts.slot)) for buffer, memory in left]
    statements = (
        *pivots,
        *parts.begin(totals),
        *parts.down(totals, stores, top, bottom),
        parts.across(last),
    )
    allocated = [Allocate(buffer, step) for buffer in parts.memory]
    return (*allocated, Loop(part, START, STOP, statements, parallel=True))
