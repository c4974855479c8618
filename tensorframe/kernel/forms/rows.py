"""Rows: operands are contiguous along the reduced axes, one row after the other, all passes while it is in cache.

Where there are few rows, each is cut into chunks that give partial results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tensorframe.dtypes import float32, float64
from tensorframe.kernel.forms.form import Form, accumulator, finish_pass, reductions_in
from tensorframe.kernel.forms.parts import sample
from tensorframe.kernel.forms.scanning import distributed
from tensorframe.kernel.formula import negation
from tensorframe.kernel.ir import (
    INDEX,
    START,
    STOP,
    Allocate,
    Buffer,
    Expr,
    If,
    Index,
    Loop,
    Prefetch,
    Role,
    Set,
    Statement,
    Store,
    StreamingStore,
    Variable,
    apply,
    index,
    literal,
    load,
    variable,
)
from tensorframe.kernel.loops import ZERO, digits, flat, named, nested, smaller
from tensorframe.kernel.scalars import converted
from tensorframe.kernel.walk import substituted
from tensorframe.machine import HOST

# Elements between two looks whether `any` or `all` is known.
_LOOK = 4096
# Elements that are summed in float32: each of 32 or 64 lanes takes in 32 of them at most, which costs two digits of the
# last place at worst, as NumPy's blocks of 128 with 8 accumulators do.
_SHORT = 1024
_PIECE = index("piece")
# Elements whose mean is the pivot of a chunk of a row: see kernel/forms/deviations.py.
_SAMPLE = 1024
# Elements of a row that is asked for before its turn: worth it, and beside the one before in the nearest cache; and
# operands of which that is done.
_SOON, _MOST_FETCHED = (128, HOST.first // 8), 2


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
    pieces: dict[Buffer, None] = {}
    for number in range(stages.passes + 1):
        body.begin_pass()
        now = [value for value, begins in stages.kept.items() if begins == number]
        one = _pass(form, number, streamed, now)
        pieces.update(dict.fromkeys(one.memory))
        for value in [value for value in streamed if value in stages.stores[number]]:
            one.work.append(Store(made[value], in_row, body.element(value)))
            at_first = body.position(("out", value))
            place = substituted(at_first, dict.fromkeys(along, ZERO))
            one.after.append(StreamingStore(form.outputs[value], place, made[value], length))
        one.work += [Store(scratch[value], in_row, body.element(value)) for value in now]
        if one.work or one.earlier:
            if number == 1:
                statements += _next_row(form, row, along)
            inner = one.over(along[-1], ZERO, lengths[-1])
            loops = nested(along[:-1], lengths[:-1], inner)
            statements += [*one.before, *loops, *one.after]
        finish_pass(form, number)
        body.known.update((value, load(scratch[value], in_row)) for value in now)
    body.begin_pass()
    statements += form.row_stores()
    allocated = [Allocate(buffer, length) for buffer in memory]
    allocated += [Allocate(buffer, literal(_SHORT, INDEX)) for buffer in pieces]
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
    return [
        Prefetch(buffer, substituted(at, there), body.sizes[-1]) for at, buffer in found.items()
    ]


@dataclass(slots=True)
class _Pass:
    """One pass over a row: what comes before it, what it does with each element, and what comes after it.

    `begin` and `end` are for pieces of a row: sums of float32 run in float32, on twice as many lanes, for as many
    elements as do not lose digits, and are added up in float64. `open` is the condition that a pass for `any` or `all`
    alone may still find its answer: a vector loop cannot stop, but it need not begin. `earlier` are loops over the same
    piece that run before its `work`, and hand elements over in `memory`: see kernel/forms/scanning.py.
    """

    before: list[Statement] = field(default_factory=list)
    work: list[Statement] = field(default_factory=list)
    after: list[Statement] = field(default_factory=list)
    begin: list[Statement] = field(default_factory=list)
    end: list[Statement] = field(default_factory=list)
    open: Expr | None = None
    earlier: list[list[Statement]] = field(default_factory=list)
    memory: list[Buffer] = field(default_factory=list)

    def over(self, along: Index, first: Expr, last: Expr) -> tuple[Statement, ...]:
        """Return the loops over the innermost axis from `first` to `last`."""
        if not self.begin and self.open is None and not self.earlier:
            return (Loop(along, first, last, tuple(self.work)),)
        length = _SHORT if self.begin or self.earlier else _LOOK
        piece = _PIECE
        pieces = apply("floor_divide", last - first + (length - 1), literal(length, INDEX))
        start = first + piece * length
        stop = smaller(start + length, last)
        turns = [one for one in (*self.earlier, self.work) if one]
        inner = [Loop(along, start, stop, tuple(one)) for one in turns]
        body: tuple[Statement, ...] = (*self.begin, *inner, *self.end)
        return (Loop(piece, ZERO, pieces, body if self.open is None else (If(self.open, body),)),)


def _pass(
    form: Form, number: int, elsewhere: Sequence[int] = (), kept: Sequence[int] = ()
) -> _Pass:
    """Return one pass over a row, with the scans, reductions and stores that run in it.

    Stores `elsewhere` and of what is `kept` for later passes are added by the caller.
    """
    found = _Pass()
    if form.stages.scans[number]:
        slot = form.body.indices[-1] - _PIECE * _SHORT
        one = distributed(form, number, slot, [*kept, *form.stages.stores[number]])
        found.before += one.before
        found.memory += one.memory.values()
        found.earlier += one.loops if one.closed else one.loops[:-1]
        found.work += [] if one.closed else one.loops[-1]
    reductions = reductions_in(form, number)
    for value in reductions:
        if value in form.followed:
            continue
        if value in form.deviations:
            _deviate(form, value, found)
        else:
            _accumulate(form, value, found, pieces=form.is_short_sum(value))
    if len(reductions) == len(found.work) == 1:
        found.open = _is_open(form, reductions[0])
    stored = [value for value in form.stages.stores[number] if value not in elsewhere]
    found.work += [form.store(value) for value in stored]
    if form.stages.stores[number]:
        found.open = None
    return found


def _is_open(form: Form, value: int) -> Expr | None:
    """Return whether elements may still change an accumulator, which is a truth value; None if they always may."""
    how, total = form.operation(value).combination, accumulator(form, value)
    if how is None or how.final is None:
        return None
    return negation(total) if how.final else negation(negation(total))


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
        loops = (_early_exit(form, at, height, place), *loops)
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
    take = (Set(total, apply("add_reassociable", total, element)),)
    loops, count = sample(body, along, first, last, take, _SAMPLE)
    mean = converted(total / count, form.operand_dtype(value))
    return (Set(total, literal(0, float64)), *loops, Set(pivot_of(form, value), mean))


def _early_exit(form: Form, at: Expr, height: Expr, place: Expr) -> Statement:
    """Return the loop that asks the chunks before; those that are not done yet are as they were made: no answer."""
    ((value, buffer),) = form.partials.items()
    total, before = accumulator(form, value), index("before")
    known = load(buffer, before * height + place)
    return Loop(before, ZERO, at, (Set(total, form.accumulation(value).join(total, known)),))
