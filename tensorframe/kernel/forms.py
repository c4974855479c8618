"""Forms: how the passes over a region become loops.

    map       no reduction: the loops, the innermost one along memory
    rows      operands are contiguous along the reduced axes: one row after the other, all passes while it is in cache
    columns   operands are contiguous along a kept axis: a block of neighbouring columns advances together, since the
              reduce loop outside and the rows inside is 91 times faster than the other way round (4.2 in the facts)
    parts     few results of many elements: chunks of fixed size give partial results, and `joined` joins them

Chunks and blocks depend on sizes alone, never on the number of threads: the same bits for any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isqrt, prod

from tensorframe.dtypes import HALF, DType, float32, float64
from tensorframe.graph.op import Op
from tensorframe.graph.region import Region
from tensorframe.kernel.accumulate import Accumulation, accumulation
from tensorframe.kernel.body import Body
from tensorframe.kernel.deviations import Deviation, Left
from tensorframe.kernel.formula import negation
from tensorframe.kernel.ir import (
    INDEX,
    START,
    STOP,
    Allocate,
    Buffer,
    Expr,
    Fetch,
    If,
    Index,
    Loop,
    Role,
    Set,
    Statement,
    Store,
    Stream,
    Variable,
    apply,
    index,
    literal,
    load,
    variable,
)
from tensorframe.kernel.loops import ZERO, digits, flat, named, nested, smaller
from tensorframe.kernel.scalars import converted
from tensorframe.kernel.stages import Stages
from tensorframe.kernel.walk import substituted
from tensorframe.ops.reduction import ALL_TRUE, ANY_TRUE, SUM

# Elements of a column that are taken in while its accumulator is in a register; the compiler writes them out.
_GROUP = 8
# Operations for an element up to which that pays.
_LIGHT = 12.0
# Operations for an element, and iterations, from which a loop is `long`: those of a polynomial, which wait for each
# other, and not so few iterations that many of them are what remains after several vectors.
_CHAIN, _LONG = 10.0, 512
# Elements between two looks whether `any` or `all` is known.
_LOOK = 4096
# Elements that are summed in float32: each of 32 or 64 lanes takes in 32 of them at most, which costs two digits of the
# last place at worst, as NumPy's blocks of 128 with 8 accumulators do.
_SHORT = 1024
# Elements whose mean is the pivot of a chunk, of a row and of each column: see kernel/deviations.py.
_SAMPLE, _COLUMN_SAMPLE = 1024, 8
# Elements of a row that is asked for before its turn: worth it, and beside the one before in the nearest cache; and
# operands of which that is done.
_SOON, _MOST_FETCHED = (128, 4096), 2


@dataclass(slots=True)
class Form:
    """What the forms share: the body with its expressions, the stages, and the buffers that are written."""

    body: Body
    stages: Stages
    outputs: dict[int, Buffer]  # value -> where it goes
    partials: dict[int, Buffer] = field(default_factory=dict)  # reduction -> its partial results
    deviations: dict[int, Deviation] = field(default_factory=dict)
    # sum of the elements whose distances a sum of squares takes -> this one
    followed: dict[int, int] = field(default_factory=dict)

    @property
    def region(self) -> Region:
        """The region that the kernel computes."""
        return self.body.region

    @property
    def cost(self) -> float:
        """Operations for an element."""
        return sum(one.op.cost for one in self.region.ops)

    def store(self, value: int) -> Store:
        """Return the statement that writes an element of an output."""
        position = self.body.position(("out", value))
        return Store(self.outputs[value], position, self.body.element(value))

    def accumulation(self, value: int) -> Accumulation:
        """Return how a reduction of the region accumulates."""
        one = self.region.ops[value - len(self.region.inputs)]
        found = accumulation(one.op, self.region.dtype_of(one.inputs[0]), self.body.widest)
        assert found is not None
        return found

    def operation(self, value: int) -> Op:
        """Return the op that computes a value."""
        return self.region.ops[value - len(self.region.inputs)].op

    def operand_dtype(self, value: int) -> DType:
        """Return the dtype of what a reduction takes in."""
        return self.region.dtype_of(self.region.ops[value - len(self.region.inputs)].inputs[0])

    def is_short_sum(self, value: int) -> bool:
        """Whether a reduction adds up so few digits that float32 holds the sum of several elements."""
        return self.operation(value) is SUM and self.operand_dtype(value) in (*HALF, float32)

    def distance(self, value: int, pivot: Expr) -> Expr:
        """Return the distance of an element from a pivot, for a sum of squared distances."""
        return self.body.operand(self.deviations[value].centred, 0) - pivot

    def finished(self, value: int, accumulator: Expr) -> Expr:
        """Return the result of a reduction from its accumulator."""
        return converted(accumulator, self.region.dtype_of(value))

    def row_stores(self) -> list[Statement]:
        """Return the statements that write the outputs with one element per row."""
        full = self.stages.full
        return [self.store(value) for value in self.outputs if not full[value]]


def map_loops(form: Form, block: int, streamed: Sequence[int] = ()) -> tuple[Statement, ...]:
    """Loops without reductions; along the innermost one, `block` elements at a time if it is not 0.

    Outputs that are `streamed` are made in scratch memory, a block at a time, and go to memory from there.
    """
    body = form.body
    *outer, inner = body.sizes or (ZERO,)
    along = index("i")
    long = form.cost >= _CHAIN and prod(body.nest.kept[-1:]) >= _LONG
    if not outer and not block:
        body.indices = [along] if body.sizes else []
        every = tuple([form.store(value) for value in form.outputs])
        return (Loop(along, START, STOP, every, parallel=True, long=long),)
    row = index("row")
    step: Expr = body.numbers.take(block, "block") if block else ZERO
    if block:
        blocks = body.numbers.take(-(-body.nest.kept[-1] // block), "blocks")
        *places, at = digits(row, [*outer, blocks])
        first, last = at * step, smaller(at * step + step, inner)
    else:
        places = digits(row, outer)
        first, last = ZERO, inner
    body.indices = [*places, along]
    stores = [form.store(value) for value in form.outputs if value not in streamed]
    memory: list[Statement] = []
    streams: list[Statement] = []
    for number, value in enumerate(streamed):
        one = form.store(value)
        scratch = Buffer(f"w{number}", one.buffer.dtype, Role.SCRATCH)
        memory.append(Allocate(scratch, step))
        stores.append(Store(scratch, along - first, one.value))
        at_first = substituted(one.position, {along: first})
        streams.append(Stream(one.buffer, at_first, scratch, last - first))
    inside = Loop(along, first, last, tuple(stores), long=long)
    return (*memory, Loop(row, START, STOP, (inside, *streams), parallel=True))


def rows(form: Form, streamed: Sequence[int] = ()) -> tuple[Statement, ...]:
    """One row after the other, in as many passes as the reductions need.

    Rows of outputs that are `streamed` are made in scratch memory, and go to memory from there.
    """
    body, stages = form.body, form.stages
    count = len(body.nest.kept)
    row, along = index("row"), named("k", len(body.nest.reduced))
    lengths = body.sizes[count:]
    body.indices = [*digits(row, body.sizes[:count]), *along]
    scratch = {
        value: Buffer(f"v{value}", form.region.dtype_of(value), Role.SCRATCH)
        for value in stages.kept
    }
    made = {
        value: Buffer(f"w{number}", form.region.dtype_of(value), Role.SCRATCH)
        for number, value in enumerate(streamed)
    }
    memory = [*scratch.values(), *made.values()]
    length = body.numbers.take(body.nest.row_length, "length") if memory else ZERO
    in_row = flat(along, lengths)
    statements: list[Statement] = []
    for number in range(stages.passes + 1):
        body.forget()
        one = _pass(form, number, streamed)
        for value in [value for value in streamed if value in stages.stores[number]]:
            one.work.append(Store(made[value], in_row, body.element(value)))
            at_first = body.position(("out", value))
            place = substituted(at_first, dict.fromkeys(along, ZERO))
            one.after.append(Stream(form.outputs[value], place, made[value], length))
        now = [value for value, begins in stages.kept.items() if begins == number]
        one.work += [Store(scratch[value], in_row, body.element(value)) for value in now]
        if one.work:
            if number == 1:
                statements += _next_row(form, row, along)
            inner = one.over(along[-1], ZERO, lengths[-1])
            loops = nested(along[:-1], lengths[:-1], inner)
            statements += [*one.before, *loops, *one.after]
        finish_pass(form, number)
        body.known.update((value, load(scratch[value], in_row)) for value in now)
    body.forget()
    statements += form.row_stores()
    allocated = [Allocate(buffer, length) for buffer in memory]
    return (*allocated, Loop(row, START, STOP, tuple(statements), parallel=True))


def _next_row(form: Form, row: Index, along: Sequence[Index]) -> list[Statement]:
    """Return what asks for the elements of the next row while this one is gone over again in the nearest cache.

    The first pass over a row would wait for memory, and the others leave memory idle.
    """
    body = form.body
    if len(along) != 1 or not _SOON[0] <= body.nest.row_length <= _SOON[1]:
        return []
    there: dict[Expr, Expr] = {row: row + 1, along[0]: ZERO}
    found = body.contiguous()
    if len(found) > _MOST_FETCHED:
        return []
    return [Fetch(buffer, substituted(at, there), body.sizes[-1]) for at, buffer in found.items()]


@dataclass(slots=True)
class _Pass:
    """One pass over a row: what comes before it, what it does with each element, and what comes after it.

    `begin` and `end` are for pieces of a row: sums of float32 run in float32, on twice as many lanes, for as many
    elements as do not lose digits, and are added up in float64. `open` is the condition that a pass for `any` or `all`
    alone may still find its answer: a vector loop cannot stop, but it need not begin.
    """

    before: list[Statement] = field(default_factory=list)
    work: list[Statement] = field(default_factory=list)
    after: list[Statement] = field(default_factory=list)
    begin: list[Statement] = field(default_factory=list)
    end: list[Statement] = field(default_factory=list)
    open: Expr | None = None

    def over(self, along: Index, first: Expr, last: Expr) -> tuple[Statement, ...]:
        """Return the loops over the innermost axis from `first` to `last`."""
        if not self.begin and self.open is None:
            return (Loop(along, first, last, tuple(self.work)),)
        length = _SHORT if self.begin else _LOOK
        piece = index("piece")
        pieces = apply("floor_divide", last - first + (length - 1), literal(length, INDEX))
        start = first + piece * length
        inner = Loop(along, start, smaller(start + length, last), tuple(self.work))
        body: tuple[Statement, ...] = (*self.begin, inner, *self.end)
        return (Loop(piece, ZERO, pieces, body if self.open is None else (If(self.open, body),)),)


def _pass(form: Form, number: int, elsewhere: Sequence[int] = ()) -> _Pass:
    """Return one pass over a row, with the scans, reductions and stores that run in it; stores `elsewhere` do not."""
    found = _Pass()
    for value in form.stages.scans[number]:
        total = _accumulate(form, value, found)
        form.body.meet(value, form.finished(value, total))
    reductions = reductions_in(form, number)
    for value in reductions:
        if value in form.followed:
            continue
        if value in form.deviations:
            _deviate(form, value, found)
        else:
            _accumulate(form, value, found, pieces=form.is_short_sum(value))
    if len(reductions) == len(found.work) == 1:
        total = accumulator(form, reductions[0])
        closed = {ANY_TRUE: total, ALL_TRUE: negation(total)}.get(form.operation(reductions[0]))
        found.open = None if closed is None else negation(closed)
    stored = [value for value in form.stages.stores[number] if value not in elsewhere]
    found.work += [form.store(value) for value in stored]
    if form.stages.stores[number]:
        found.open = None
    return found


def _accumulate(form: Form, value: int, one: _Pass, *, pieces: bool = False) -> Variable:
    element = form.body.operand(value, 0)
    return _take_in(form, value, str(value), element, one, pieces=pieces)


def _take_in(
    form: Form, value: int, name: str, element: Expr, one: _Pass, *, pieces: bool
) -> Variable:
    """Take elements into the accumulator of this name, as a reduction does; in `pieces`, those of float32."""
    how = form.accumulation(value)
    total = variable(f"r{name}", how.dtype)
    one.before.append(Set(total, how.start()))
    if pieces:
        short = variable(f"a{name}", float32)
        one.begin.append(Set(short, literal(0, float32)))
        one.work.append(Set(short, how.join(short, converted(element, float32))))
        one.end.append(Set(total, how.join(total, how.take(short))))
    else:
        one.work.append(Set(total, how.join(total, how.take(element))))
    return total


def _deviate(form: Form, value: int, one: _Pass) -> None:
    """Take in distances from the pivot, and their squares."""
    away, pieces = form.distance(value, pivot_of(form, value)), form.is_short_sum(value)
    _take_in(form, value, f"{value}d", away, one, pieces=pieces)
    _take_in(form, value, f"{value}q", away * away, one, pieces=pieces)


def pivot_of(form: Form, value: int) -> Variable:
    """Return the variable that holds the pivot of a chunk."""
    return variable(f"pivot{value}", form.operand_dtype(value))


def finish_pass(form: Form, number: int) -> None:
    """Make the results of a pass known to the following ones."""
    for value in reductions_in(form, number):
        total = accumulator(form, value)
        form.body.known[value] = form.finished(value, total)


def accumulator(form: Form, value: int) -> Variable:
    """Return the variable that a reduction accumulates in."""
    return variable(f"r{value}", form.accumulation(value).dtype)


def reductions_in(form: Form, number: int) -> list[int]:
    """Return the reductions that run in a pass."""
    return form.stages.reductions[number] if number < form.stages.passes else []


def row_parts(form: Form, chunk: int) -> tuple[Statement, ...]:
    """Partial results of rows: each iteration takes `chunk` indices of the outermost reduced loop."""
    body = form.body
    count = len(body.nest.kept)
    part, along = index("part"), named("k", len(body.nest.reduced))
    step = body.numbers.take(chunk, "chunk")
    height = body.numbers.take(body.nest.rows, "rows")
    at, place = digits(part, [ZERO, height])
    body.indices = [*digits(place, body.sizes[:count]), *along]
    one = _pass(form, 0)
    first = at * step
    last = smaller(first + step, body.sizes[count])
    if len(along) == 1:
        loops = one.over(along[0], first, last)
    else:
        inner = one.over(along[-1], ZERO, body.sizes[-1])
        middle = nested(along[1:-1], body.sizes[count + 1 : -1], inner)
        loops = (Loop(along[0], first, last, middle),)
    if one.open is not None:
        loops = (_heard(form, at, height, place), *loops)
    after = [
        Store(buffer, part, accumulator(form, value)) for value, buffer in form.partials.items()
    ]
    pivots: list[Statement] = []
    for value, deviation in form.deviations.items():
        pivots += _row_pivot(form, value, along, first, last)
        after += [
            Store(deviation.pivots, part, pivot_of(form, value)),
            Store(deviation.distances, part, variable(f"r{value}d", deviation.distances.dtype)),
            Store(deviation.squares, part, variable(f"r{value}q", deviation.squares.dtype)),
        ]
    return (Loop(part, START, STOP, (*pivots, *one.before, *loops, *after), parallel=True),)


def _row_pivot(
    form: Form, value: int, along: list[Index], first: Expr, last: Expr
) -> tuple[Statement, ...]:
    """Return the statements that give a chunk its pivot: the mean of some elements, which float64 adds up."""
    body = form.body
    total = variable(f"sample{value}", float64)
    element = converted(body.operand(form.deviations[value].centred, 0), float64)
    take = (Set(total, apply("add_any", total, element)),)
    loops, count = _sample(body, along, first, last, take, _SAMPLE)
    mean = converted(total / count, form.operand_dtype(value))
    return (Set(total, literal(0, float64)), *loops, Set(pivot_of(form, value), mean))


def _sample(
    body: Body,
    along: list[Index],
    first: Expr,
    last: Expr,
    work: tuple[Statement, ...],
    most: int,
) -> tuple[tuple[Statement, ...], Expr]:
    """Return loops over the first elements of a chunk, along the outermost axis and the innermost, and their number."""
    sizes = body.sizes[len(body.nest.kept) :]
    each = most if len(along) == 1 else isqrt(most)
    stop = smaller(first + each, last)
    count = stop - first
    inner = work
    if len(along) > 1:
        across = smaller(literal(each, INDEX), sizes[-1])
        middle = along[1:-1]
        inner = (Loop(along[-1], ZERO, across, work),)
        inner = nested(middle, [literal(1, INDEX) for _ in middle], inner)
        count = count * across
    return (Loop(along[0], first, stop, inner),), apply("from_index", count, dtype=float64)


def _heard(form: Form, at: Expr, height: Expr, place: Expr) -> Statement:
    """Return the loop that asks the chunks before; those that are not done yet are as they were made: no answer."""
    ((value, buffer),) = form.partials.items()
    total, before = accumulator(form, value), index("before")
    known = load(buffer, before * height + place)
    return Loop(before, ZERO, at, (Set(total, form.accumulation(value).join(total, known)),))


def joined(form: Form, chunks: int, length: int) -> tuple[Statement, ...]:
    """Partial results of chunks of this length joined, one after the other, and what is computed from the results."""
    body = form.body
    count = len(body.nest.kept)
    row, chunk = index("row"), index("chunk")
    height = body.numbers.take(body.nest.rows, "rows")
    number = body.numbers.take(chunks, "chunks")
    body.indices = [*digits(row, body.sizes[:count]), *[ZERO] * len(body.nest.reduced)]
    before: list[Statement] = []
    work: list[Statement] = []
    for value, buffer in form.partials.items():
        how = form.accumulation(value)
        total = accumulator(form, value)
        before.append(Set(total, how.start()))
        work.append(Set(total, how.join(total, load(buffer, chunk * height + row))))
    again: list[Statement] = []
    if form.deviations:
        step = body.numbers.take(length, "chunk")
        left = {
            value: _left_there(form, value, chunk, chunk * height + row, step)
            for value in form.deviations
        }
        for value, source in form.followed.items():
            total = accumulator(form, value)
            before.append(Set(total, literal(0, float64)))
            work.append(Set(total, total + left[source].sum()))
        finish_pass(form, 0)
        for value, deviation in form.deviations.items():
            total = accumulator(form, value)
            before.append(Set(total, literal(0, float64)))
            added = left[value].squares_from(body.operand(deviation.centred, 1))
            again.append(Set(total, total + added))
    finish_pass(form, 0)
    loops = [Loop(chunk, ZERO, number, tuple(some)) for some in (work, again) if some]
    return (Loop(row, START, STOP, (*before, *loops, *form.row_stores()), parallel=True),)


def _left_there(form: Form, value: int, chunk: Index, place: Expr, step: Expr) -> Left:
    """Return what a chunk has left of distances from its pivot."""
    body = form.body
    outer, *inner = body.sizes[len(body.nest.kept) :]
    elements = smaller(chunk * step + step, outer) - chunk * step
    for size in inner:
        elements = elements * size
    count = apply("from_index", elements, dtype=float64)
    return Left(count, *[load(buffer, place) for buffer in form.deviations[value].buffers])


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
        loops, count = _sample(body, self.along, first, last, (take,), _COLUMN_SAMPLE)
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
        body.forget()
        statements += _column_pass(parts, number)
    body.forget()
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
    body.forget()
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
    parts.form.body.meet(value, parts.form.finished(value, load(found.memory, parts.slot)))
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
