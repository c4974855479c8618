"""Rows: operands are contiguous along the reduced axes, one row after the other, all passes while it is in cache.

Where there are few rows, each is cut into chunks that give partial results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tensorframe.dtypes import float32, float64
from tensorframe.kernel import ir
from tensorframe.kernel.forms.form import Form, accumulator, finish_pass, reductions_in
from tensorframe.kernel.forms.parts import PIECE, sample, unit_of
from tensorframe.kernel.forms.scanning import distributed
from tensorframe.kernel.ir import order
from tensorframe.kernel.ir.formula import negation
from tensorframe.kernel.ir.loops import ZERO, digits, flat, named, nested, smaller
from tensorframe.kernel.ir.walk import substituted
from tensorframe.kernel.math.scalars import converted
from tensorframe.machine import HOST
from tensorframe.quick_dataclasses import dataclass, field

# Elements between two looks whether `any` or `all` is known.
_LOOK = 4096
_PACKED = ir.index("packed")
# Elements whose mean is the pivot of a chunk of a row: see kernel/forms/deviations.py.
ROW_SAMPLE = 1024
# Elements of a row that is prefetched: worth it, and beside the one before in the nearest cache; and
# operands of which that is done.
_SOON, _MOST_FETCHED = (128, HOST.first // 8), 2


def rows(form: Form, streamed: Sequence[int] = ()) -> tuple[ir.Statement, ...]:
    """One row after the other, in as many passes as the reductions need.

    Rows of outputs that are `streamed` are made in scratch memory, and go to memory from there.
    """
    body, stages = form.body, form.stages
    count = len(body.nest.kept)
    row, along = ir.index("row"), named("k", len(body.nest.reduced))
    lengths = body.sizes[count:]
    body.indices = [*digits(row, body.sizes[:count]), *along]
    scratch = {
        value: ir.Buffer(f"v{value}", form.region.dtype_of(value), ir.Role.SCRATCH)
        for value in stages.kept
    }
    made = {
        value: ir.Buffer(f"w{number}", form.region.dtype_of(value), ir.Role.SCRATCH)
        for number, value in enumerate(streamed)
    }
    memory = [*scratch.values(), *made.values()]
    packs = is_packed(form)
    length = body.numbers.take(body.nest.row_length, "length") if memory or packs else ZERO
    in_row = flat(along, lengths)
    statements: list[ir.Statement] = []
    pieces: dict[ir.Buffer, None] = {}
    packed: dict[ir.Buffer, None] = {}
    for number in range(stages.passes + 1):
        body.begin_pass()
        now = [value for value, begins in stages.kept.items() if begins == number]
        row_pass = _pass(form, number, along, streamed, now)
        pieces.update(dict.fromkeys(row_pass.memory))
        packed.update(dict.fromkeys(row_pass.packed))
        for value in [value for value in streamed if value in stages.stores[number]]:
            row_pass.work.append(ir.Store(made[value], in_row, body.element(value)))
            at_first = body.position(("out", value))
            place = substituted(at_first, dict.fromkeys(along, ZERO))
            row_pass.after.append(
                ir.StreamingStore(
                    form.outputs[value], place, made[value], length, form.on_line(value)
                )
            )
        row_pass.work += [ir.Store(scratch[value], in_row, body.element(value)) for value in now]
        if row_pass.work or row_pass.earlier:
            if number == 1:
                statements += _next_row(form, row, along)
            loops = row_pass.over_axes(form, along, lengths)
            statements += [*row_pass.before, *loops, *row_pass.after]
        finish_pass(form, number)
        body.known.update((value, ir.load(scratch[value], in_row)) for value in now)
    body.begin_pass()
    statements += form.row_stores()
    allocated = [ir.Allocate(buffer, length) for buffer in [*memory, *packed]]
    allocated += [ir.Allocate(buffer, ir.literal(order.PIECE, ir.INDEX)) for buffer in pieces]
    return (*allocated, ir.Loop(row, ir.START, ir.STOP, tuple(statements), parallel=True))


def _next_row(form: Form, row: ir.Index, along: Sequence[ir.Index]) -> list[ir.Statement]:
    """Return what prefetches the elements of the next row while this one is gone over again in the nearest cache.

    The first pass over a row would wait for memory, and the others leave memory idle.
    """
    body = form.body
    if len(along) != 1 or not _SOON[0] <= body.nest.row_length <= _SOON[1]:
        return []
    there: dict[ir.Expr, ir.Expr] = {row: row + 1, along[0]: ZERO}
    operands = body.contiguous()
    if len(operands) > _MOST_FETCHED:
        return []
    return [
        ir.Prefetch(buffer, substituted(position, there), body.sizes[-1])
        for position, buffer in operands.items()
    ]


@dataclass(slots=True)
class _Pass:
    """One pass over a row: what comes before it, what it does with each element, and what comes after it.

    `begin` and `end` are for pieces of a row, in which sums run in the order of lanes; `lanes` are their statements
    where elements are `packed` first, since the loops over them are not along one axis. `open` is the condition
    that a pass for `any` or `all` alone may still find its answer: a vector loop cannot stop, but it need not
    begin. `earlier` are loops over the same piece that run before its `work`, and hand elements over in `memory`:
    see kernel/forms/scanning.py.
    """

    before: list[ir.Statement] = field(default_factory=list)
    work: list[ir.Statement] = field(default_factory=list)
    after: list[ir.Statement] = field(default_factory=list)
    begin: list[ir.Statement] = field(default_factory=list)
    end: list[ir.Statement] = field(default_factory=list)
    open: ir.Expr | None = None
    earlier: list[list[ir.Statement]] = field(default_factory=list)
    memory: list[ir.Buffer] = field(default_factory=list)
    packed: list[ir.Buffer] = field(default_factory=list)
    lanes: list[ir.Statement] = field(default_factory=list)
    long: bool = False

    def over_axes(
        self, form: Form, along: Sequence[ir.Index], lengths: Sequence[ir.Expr]
    ) -> tuple[ir.Statement, ...]:
        """Return the loops over all reduced axes."""
        if not self.packed:
            inner = self.over(along[-1], ZERO, lengths[-1])
            return nested(along[:-1], lengths[:-1], inner)
        outer = len(along) - form.body.nest.inner
        inner = (
            *nested(
                along[outer:-1], lengths[outer:-1], self.elements(along[-1], ZERO, lengths[-1])
            ),
            *self.over_packed(ZERO, total_of(lengths[outer:]), ZERO),
        )
        return nested(along[:outer], lengths[:outer], inner)

    def over_packed(self, first: ir.Expr, last: ir.Expr, base: ir.Expr) -> tuple[ir.Statement, ...]:
        """Return the loops over packed elements from `first` to `last`, of which `base` is the first in memory."""
        length = order.PIECE
        pieces = ir.apply("floor_divide", last - first + (length - 1), ir.literal(length, ir.INDEX))
        start = first + PIECE * length
        stop = smaller(start + length, last)
        inner = ir.Loop(_PACKED, start - base, stop - base, tuple(self.lanes))
        return (ir.Loop(PIECE, ZERO, pieces, (*self.begin, inner, *self.end)),)

    def elements(self, along: ir.Index, first: ir.Expr, last: ir.Expr) -> tuple[ir.Statement, ...]:
        """Return the loops over the innermost axis that pack elements."""
        if self.earlier:
            return replace(self, begin=[], end=[], packed=[]).over(along, first, last)
        return (ir.Loop(along, first, last, tuple(self.work)),)

    def over(self, along: ir.Index, first: ir.Expr, last: ir.Expr) -> tuple[ir.Statement, ...]:
        """Return the loops over the innermost axis from `first` to `last`."""
        if not self.begin and self.open is None and not self.earlier:
            return (ir.Loop(along, first, last, tuple(self.work), long=self.long),)
        length = order.PIECE if self.begin or self.earlier else _LOOK
        piece = PIECE
        pieces = ir.apply("floor_divide", last - first + (length - 1), ir.literal(length, ir.INDEX))
        start = first + piece * length
        stop = smaller(start + length, last)
        turns = [earlier for earlier in (*self.earlier, self.work) if earlier]
        inner = [ir.Loop(along, start, stop, tuple(turn), long=self.long) for turn in turns]
        body: tuple[ir.Statement, ...] = (*self.begin, *inner, *self.end)
        return (
            ir.Loop(piece, ZERO, pieces, body if self.open is None else (ir.If(self.open, body),)),
        )


def total_of(lengths: Sequence[ir.Expr]) -> ir.Expr:
    """Return how many iterations loops of these lengths have."""
    product = lengths[0]
    for length in lengths[1:]:
        product = product * length
    return product


def is_packed(form: Form) -> bool:
    """Whether elements of ordered sums are put side by side first: several loops, or parts of one, go over them."""
    nest = form.body.nest
    count = len(nest.kept)
    cut = any(any(piece.steps[count:]) for piece in nest.pieces.values())
    return (nest.inner > 1 or cut) and any(
        form.accumulation(value).ordered for values in form.stages.reductions for value in values
    )


def _pass(
    form: Form,
    number: int,
    along: Sequence[ir.Index],
    elsewhere: Sequence[int] = (),
    kept: Sequence[int] = (),
    base: ir.Expr = ZERO,
) -> _Pass:
    """Return one pass over a row, with the scans, reductions and stores that run in it.

    Stores `elsewhere` and of what is `kept` for later passes are added by the caller.
    """
    row_pass = _Pass(long=form.is_long(form.body.nest.row_length))
    if form.stages.scans[number]:
        slot = form.body.indices[-1] - PIECE * order.PIECE
        scans = distributed(form, number, slot, [*kept, *form.stages.stores[number]])
        row_pass.before += scans.before
        row_pass.memory += scans.memory.values()
        row_pass.earlier += scans.loops if scans.closed else scans.loops[:-1]
        row_pass.work += [] if scans.closed else scans.loops[-1]
    reductions = reductions_in(form, number)
    for value in reductions:
        if value in form.followed:
            continue
        if value in form.deviations:
            _deviate(form, value, row_pass)
        else:
            element = form.body.operand(value, 0)
            place = _slot(form, along, base) if is_packed(form) else None
            _take_in(form, value, str(value), element, row_pass, place)
    if len(reductions) == len(row_pass.work) == 1:
        row_pass.open = _is_open(form, reductions[0])
    stored = [value for value in form.stages.stores[number] if value not in elsewhere]
    row_pass.work += [form.store(value) for value in stored]
    if form.stages.stores[number]:
        row_pass.open = None
    return row_pass


def _is_open(form: Form, value: int) -> ir.Expr | None:
    """Return whether elements may still change an accumulator, which is a truth value; None if they always may."""
    how, total = form.operation(value).combination, accumulator(form, value)
    if how is None or how.final is None:
        return None
    return negation(total) if how.final else negation(negation(total))


def _slot(form: Form, along: Sequence[ir.Index], base: ir.Expr) -> ir.Expr:
    """Return where an element is packed."""
    outer = len(along) - form.body.nest.inner
    sizes = form.body.sizes[len(form.body.nest.kept) + outer :]
    return flat(along[outer:], sizes) - base


def _take_in(
    form: Form,
    value: int,
    name: str,
    element: ir.Expr,
    row_pass: _Pass,
    slot: ir.Expr | None = None,
) -> None:
    """Take elements into the accumulator of this name, as a reduction does; with a slot, they are packed first."""
    how = form.accumulation(value)
    total = ir.variable(f"r{name}", how.dtype)
    if not how.ordered:
        row_pass.before.append(ir.Set(total, how.start()))
        row_pass.work.append(ir.Set(total, how.join(total, how.take(element))))
        return
    short = form.is_short_sum(value)
    part = ir.variable(f"a{name}", float32 if short else how.dtype)
    element = converted(element, float32) if short else how.take(element)
    row_pass.begin.append(ir.Set(part, ir.literal(how.first, part.dtype)))
    if slot is None:
        row_pass.work.append(ir.Set(part, how.join(part, element)))
    else:
        packed = ir.Buffer(f"packed{name}", part.dtype, ir.Role.SCRATCH)
        row_pass.packed.append(packed)
        row_pass.work.append(ir.Store(packed, slot, element))
        row_pass.lanes.append(ir.Set(part, how.join(part, ir.load(packed, _PACKED))))
    taken = how.take(part) if short else part
    if value in form.partials and form.unit is not None:
        row_pass.end.append(ir.Store(form.partials[value], form.unit, taken))
    else:
        row_pass.before.append(ir.Set(total, how.start()))
        row_pass.end.append(ir.Set(total, how.then(total, taken)))


def _deviate(form: Form, value: int, row_pass: _Pass) -> None:
    """Take in distances from the pivot, and their squares."""
    away = form.distance(value, pivot_of(form, value))
    _take_in(form, value, f"{value}d", away, row_pass)
    _take_in(form, value, f"{value}q", away * away, row_pass)


def pivot_of(form: Form, value: int) -> ir.Variable:
    """Return the variable that holds the pivot of a chunk."""
    return ir.variable(f"pivot{value}", form.operand_dtype(value))


def row_parts(form: Form, chunk: int) -> tuple[ir.Statement, ...]:
    """Partial results of rows: each iteration takes `chunk` indices of the outermost reduced loop."""
    body = form.body
    count = len(body.nest.kept)
    part, along = ir.index("part"), named("k", len(body.nest.reduced))
    step = body.numbers.take(chunk, "chunk")
    height = body.numbers.take(body.nest.rows, "rows")
    chunk_number, place = digits(part, [ZERO, height])
    body.indices = [*digits(place, body.sizes[:count]), *along]
    lengths = body.sizes[count:]
    first = chunk_number * step
    outer = form.outer
    last = smaller(first + step, lengths[0] if outer else total_of(lengths))
    form.unit = unit_of(form, chunk_number, chunk, along, lengths) * height + place
    top, bottom, base = packed_rows(lengths, first, last)
    row_pass = _pass(form, 0, along, base=base if not outer else ZERO)
    if outer:
        inside = row_pass.over_axes(form, along[1:], lengths[1:])
        loops: tuple[ir.Statement, ...] = (ir.Loop(along[0], first, last, inside),)
    elif not row_pass.packed:
        loops = row_pass.over(along[0], first, last)
    else:
        if len(along) == 1:
            elements = row_pass.elements(along[0], first, last)
        else:
            inner = row_pass.elements(along[-1], ZERO, lengths[-1])
            elements = (ir.Loop(along[0], top, bottom, nested(along[1:-1], lengths[1:-1], inner)),)
        loops = (*elements, *row_pass.over_packed(first, last, base))
    if row_pass.open is not None:
        loops = (_early_exit(form, chunk_number, height, place), *loops)
    after: list[ir.Statement] = [
        ir.Store(buffer, part, accumulator(form, value))
        for value, buffer in form.partials.items()
        if not form.accumulation(value).ordered
    ]
    pivots: list[ir.Statement] = []
    for value, deviation in form.deviations.items():
        pivots += _row_pivot(form, value, along, first, last)
        after += [
            ir.Store(deviation.pivots, part, pivot_of(form, value)),
            ir.Store(
                deviation.distances, part, ir.variable(f"r{value}d", deviation.distances.dtype)
            ),
            ir.Store(deviation.squares, part, ir.variable(f"r{value}q", deviation.squares.dtype)),
        ]
    room = lengths[0] if not outer else total_of(lengths[outer:])
    if not outer:
        room = step + total_of(lengths[1:]) * 2 if len(along) > 1 else step
    allocated = [ir.Allocate(buffer, room) for buffer in row_pass.packed]
    body_of = (*pivots, *row_pass.before, *loops, *after)
    return (*allocated, ir.Loop(part, ir.START, ir.STOP, body_of, parallel=True))


def packed_rows(
    lengths: Sequence[ir.Expr], first: ir.Expr, last: ir.Expr
) -> tuple[ir.Expr, ir.Expr, ir.Expr]:
    """Return where the outermost of the inner loops meets elements from `first` to `last`, and its first element."""
    if len(lengths) == 1:
        return first, last, first
    rest = total_of(lengths[1:])
    top = ir.apply("floor_divide", first, rest)
    bottom = ir.apply("floor_divide", last + rest - 1, rest)
    return top, bottom, top * rest


def _row_pivot(
    form: Form, value: int, along: list[ir.Index], first: ir.Expr, last: ir.Expr
) -> tuple[ir.Statement, ...]:
    """Return the statements that give a chunk its pivot: the mean of some elements, which float64 adds up."""
    body = form.body
    total = ir.variable(f"sample{value}", float64)
    element = converted(body.operand(form.deviations[value].centred, 0), float64)
    take = (ir.Set(total, ir.apply("accumulate_add", total, element)),)
    loops, count = sample(body, along, first, last, take, ROW_SAMPLE)
    mean = converted(total / count, form.operand_dtype(value))
    return (ir.Set(total, ir.literal(0, float64)), *loops, ir.Set(pivot_of(form, value), mean))


def _early_exit(form: Form, chunk_number: ir.Expr, height: ir.Expr, place: ir.Expr) -> ir.Statement:
    """Return the loop over the flags of earlier chunks; one that is not done yet has its initial value: no answer."""
    ((value, buffer),) = form.partials.items()
    total, before = accumulator(form, value), ir.index("before")
    known = ir.load(buffer, before * height + place)
    return ir.Loop(
        before, ZERO, chunk_number, (ir.Set(total, form.accumulation(value).join(total, known)),)
    )
