"""Forms: how the passes over a region become loops.

    map       no reduction: the loops, the innermost one along memory
    rows      operands are contiguous along the reduced axes: one row after the other, all passes while it is in cache
    columns   operands are contiguous along a kept axis: a block of neighbouring columns advances together, since the
              reduce loop outside and the rows inside is 91 times faster than the other way round (4.2 in the facts)
    parts     few results of many elements: chunks of fixed size give partial results, and `joined` joins them

Chunks and blocks depend on sizes alone, never on the number of threads: the same bits for any of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tensorframe.graph.region import Region
from tensorframe.kernel.accumulate import Accumulation, accumulation
from tensorframe.kernel.body import Body
from tensorframe.kernel.ir import (
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
    Variable,
    apply,
    index,
    load,
    variable,
)
from tensorframe.kernel.loops import ZERO, digits, flat, named, nested, smaller
from tensorframe.kernel.scalars import converted
from tensorframe.kernel.stages import Stages


@dataclass(slots=True)
class Form:
    """What the forms share: the body with its expressions, the stages, and the buffers that are written."""

    body: Body
    stages: Stages
    outputs: dict[int, Buffer]  # value -> where it goes
    partials: dict[int, Buffer] = field(default_factory=dict)  # reduction -> its partial results

    @property
    def region(self) -> Region:
        """The region that the kernel computes."""
        return self.body.region

    def store(self, value: int) -> Store:
        """Return the statement that writes an element of an output."""
        position = self.body.position(("out", value))
        return Store(self.outputs[value], position, self.body.element(value))

    def accumulation(self, value: int) -> Accumulation:
        """Return how a reduction of the region accumulates."""
        one = self.region.ops[value - len(self.region.inputs)]
        found = accumulation(one.op, self.region.dtype_of(one.inputs[0]))
        assert found is not None
        return found

    def finished(self, value: int, accumulator: Expr) -> Expr:
        """Return the result of a reduction from its accumulator."""
        return converted(accumulator, self.region.dtype_of(value))

    def row_stores(self) -> list[Statement]:
        """Return the statements that write the outputs with one element per row."""
        full = self.stages.full
        return [self.store(value) for value in self.outputs if not full[value]]


def map_loops(form: Form, block: int) -> tuple[Statement, ...]:
    """Loops without reductions; along the innermost one, `block` elements at a time if it is not 0."""
    body = form.body
    *outer, inner = body.sizes or (ZERO,)
    along = index("i")
    if not outer:
        body.indices = [along] if body.sizes else []
        stores = tuple([form.store(value) for value in form.outputs])
        return (Loop(along, START, STOP, stores, parallel=True),)
    row = index("row")
    if block:
        step = body.numbers.take(block, "block")
        blocks = body.numbers.take(-(-body.nest.kept[-1] // block), "blocks")
        *places, at = digits(row, [*outer, blocks])
        first, last = at * step, smaller(at * step + step, inner)
    else:
        places = digits(row, outer)
        first, last = ZERO, inner
    body.indices = [*places, along]
    stores = tuple([form.store(value) for value in form.outputs])
    return (Loop(row, START, STOP, (Loop(along, first, last, stores),), parallel=True),)


def tiles(form: Form, axis: int, height: int, width: int) -> tuple[Statement, ...]:
    """Loops over tiles of the innermost axis and of `axis`, along which an operand is contiguous as well.

    Each cache line that a tile touches is used as a whole while it is there.
    """
    body = form.body
    inner = len(body.sizes) - 1
    high, wide = body.numbers.take(height, "height"), body.numbers.take(width, "width")
    count = body.numbers.take(-(-body.nest.kept[axis] // height), "tiles")
    others = [size for at, size in enumerate(body.sizes) if at not in (axis, inner)]
    row, tile, up, along = index("row"), index("tile"), index("j"), index("i")
    *places, at = digits(row, [*others, count])
    body.indices = list(places)
    body.indices.insert(axis, up)
    body.indices.append(along)
    stores = tuple([form.store(value) for value in form.outputs])
    top, left = at * high, tile * wide
    lines = Loop(along, left, smaller(left + wide, body.sizes[inner]), stores)
    block = Loop(up, top, smaller(top + high, body.sizes[axis]), (lines,))
    across = apply("floor_divide", body.sizes[inner] + wide - 1, wide)
    return (Loop(row, START, STOP, (Loop(tile, ZERO, across, (block,)),), parallel=True),)


def rows(form: Form) -> tuple[Statement, ...]:
    """One row after the other, in as many passes as the reductions need."""
    body, stages = form.body, form.stages
    count = len(body.nest.kept)
    row, along = index("row"), named("k", len(body.nest.reduced))
    lengths = body.sizes[count:]
    body.indices = [*digits(row, body.sizes[:count]), *along]
    scratch = {
        value: Buffer(f"v{value}", form.region.dtype_of(value), Role.SCRATCH)
        for value in stages.kept
    }
    length = body.numbers.take(body.nest.row_length, "length") if scratch else ZERO
    in_row = flat(along, lengths)
    statements: list[Statement] = []
    for number in range(stages.passes + 1):
        body.forget()
        before, work = _pass(form, number)
        now = [value for value, begins in stages.kept.items() if begins == number]
        work += [Store(scratch[value], in_row, body.element(value)) for value in now]
        statements += [*before, *(nested(along, lengths, work) if work else ())]
        _finish(form, number)
        body.known.update((value, load(scratch[value], in_row)) for value in now)
    body.forget()
    statements += form.row_stores()
    memory = [Allocate(buffer, length) for buffer in scratch.values()]
    return (*memory, Loop(row, START, STOP, tuple(statements), parallel=True))


def _pass(form: Form, number: int) -> tuple[list[Statement], list[Statement]]:
    """Return what comes before a pass over a row, and what it does with each element."""
    before: list[Statement] = []
    work: list[Statement] = []
    for value in _reductions(form, number):
        how = form.accumulation(value)
        total = variable(f"r{value}", how.dtype)
        before.append(Set(total, how.start()))
        work.append(Set(total, how.join(total, how.take(form.body.operand(value, 0)))))
    return before, work + [form.store(value) for value in form.stages.stores[number]]


def _finish(form: Form, number: int) -> None:
    """Make the results of a pass known to the following ones."""
    for value in _reductions(form, number):
        total = _accumulator(form, value)
        form.body.known[value] = form.finished(value, total)


def _accumulator(form: Form, value: int) -> Variable:
    return variable(f"r{value}", form.accumulation(value).dtype)


def _reductions(form: Form, number: int) -> list[int]:
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
    before, work = _pass(form, 0)
    inner = nested(along[1:], body.sizes[count + 1 :], work)
    first = at * step
    loop = Loop(along[0], first, smaller(first + step, body.sizes[count]), inner)
    after = [
        Store(buffer, part, _accumulator(form, value)) for value, buffer in form.partials.items()
    ]
    return (Loop(part, START, STOP, (*before, loop, *after), parallel=True),)


def joined(form: Form, chunks: int) -> tuple[Statement, ...]:
    """Partial results joined, chunk after chunk, and what is computed from the results."""
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
        total = _accumulator(form, value)
        before.append(Set(total, how.start()))
        work.append(Set(total, how.join(total, load(buffer, chunk * height + row))))
    _finish(form, 0)
    statements = (*before, Loop(chunk, ZERO, number, tuple(work)), *form.row_stores())
    return (Loop(row, START, STOP, statements, parallel=True),)


@dataclass(slots=True)
class _Columns:
    """The loops of a block of columns: `lane` runs from `base` to `end`, `slot` is its place in scratch memory."""

    form: Form
    lane: Index
    base: Expr
    end: Expr
    slot: Expr
    width: Expr
    along: list[Index]
    memory: list[Buffer] = field(default_factory=list)

    def across(self, work: list[Statement]) -> Statement:
        return Loop(self.lane, self.base, self.end, tuple(work))

    def down(self, work: Statement) -> tuple[Statement, ...]:
        body = self.form.body
        return nested(self.along, body.sizes[len(body.nest.kept) :], [work])

    def scratch(self, value: int, accumulator: Accumulation | None = None) -> Buffer:
        dtype = accumulator.dtype if accumulator else self.form.region.dtype_of(value)
        buffer = Buffer(f"{'r' if accumulator else 'v'}{value}", dtype, Role.SCRATCH)
        self.memory.append(buffer)
        return buffer


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
    parts = _Columns(form, lane, base, smaller(base + step, lanes), lane - base, step, along)
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
    first: list[Statement] = []
    work: list[Statement] = []
    found: dict[int, Expr] = {}
    for value in _reductions(form, number):
        how = form.accumulation(value)
        total = parts.scratch(value, how)
        element = how.take(body.operand(value, 0))
        first.append(Store(total, parts.slot, how.start()))
        work.append(Store(total, parts.slot, how.join(load(total, parts.slot), element)))
        found[value] = form.finished(value, load(total, parts.slot))
    work += [form.store(value) for value in form.stages.stores[number]]
    statements = [parts.across(first)] if first else []
    if work:
        statements += parts.down(parts.across(work))
    body.known.update(found)
    body.forget()
    kept = {value: parts.scratch(value) for value in _used_by_rows(form, number + 1)}
    if kept:
        stores: list[Statement] = [
            Store(buffer, parts.slot, body.element(value)) for value, buffer in kept.items()
        ]
        statements.append(parts.across(stores))
        body.known.update((value, load(buffer, parts.slot)) for value, buffer in kept.items())
    return statements


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
    parts = _Columns(form, lane, base, smaller(base + step, kept[-1]), lane - base, step, along)
    first: list[Statement] = []
    work: list[Statement] = []
    last: list[Statement] = []
    for value, buffer in form.partials.items():
        how = form.accumulation(value)
        total = parts.scratch(value, how)
        element = how.take(body.operand(value, 0))
        first.append(Store(total, parts.slot, how.start()))
        work.append(Store(total, parts.slot, how.join(load(total, parts.slot), element)))
        place = at * height + flat([*places, lane], kept)
        last.append(Store(buffer, place, load(total, parts.slot)))
    work += [form.store(value) for value in form.stages.stores[0]]
    inner = nested(along[1:], body.sizes[count + 1 :], [parts.across(work)])
    top = at * rise
    down = Loop(along[0], top, smaller(top + rise, body.sizes[count]), inner)
    memory = [Allocate(buffer, step) for buffer in parts.memory]
    statements = (parts.across(first), down, parts.across(last))
    return (*memory, Loop(part, START, STOP, statements, parallel=True))
