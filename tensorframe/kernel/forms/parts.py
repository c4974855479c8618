"""Parts: what chunks of rows and of columns have in common, from the sample that gives a pivot to joining results."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.dtypes import float64
from tensorframe.kernel import ir
from tensorframe.kernel.forms.deviations import ChunkMoments
from tensorframe.kernel.forms.form import Form, accumulator, finish_pass
from tensorframe.kernel.ir import order
from tensorframe.kernel.ir.loops import ZERO, digits, flat, nested, smaller
from tensorframe.kernel.nest.body import Body

# the loop over the pieces of a chunk or a row
PIECE = ir.index("piece")


def sample(
    body: Body,
    along: list[ir.Index],
    first: ir.Expr,
    last: ir.Expr,
    work: tuple[ir.Statement, ...],
    most: int,
) -> tuple[tuple[ir.Statement, ...], ir.Expr]:
    """Return loops over the first elements of a chunk, along the outermost axis and the innermost, and their number.

    They are taken from few rows: lines of memory that follow each other come sooner than the first ones of many rows.
    """
    sizes = body.sizes[len(body.nest.kept) :]
    rows = most if len(along) == 1 else max(most // order.GROUP, 1)
    stop = smaller(first + rows, last)
    count = stop - first
    inner = work
    if len(along) > 1:
        across = smaller(ir.literal(most // rows, ir.INDEX), sizes[-1])
        middle = along[1:-1]
        inner = (ir.Loop(along[-1], ZERO, across, work),)
        inner = nested(middle, [ir.literal(1, ir.INDEX) for _ in middle], inner)
        count = count * across
    return (ir.Loop(along[0], first, stop, inner),), ir.apply("from_index", count, dtype=float64)


def unit_of(
    form: Form,
    chunk_number: ir.Expr,
    chunk: int,
    along: Sequence[ir.Index],
    lengths: Sequence[ir.Expr],
) -> ir.Expr:
    """Return the number of the piece that runs now, among those of a row; `chunk_number` is that of the chunk.

    Loops over the inner axes come last, and may be one.
    """
    outer = form.outer
    if not outer:
        return chunk_number * form.body.numbers.take(chunk // order.PIECE, "each") + PIECE
    pieces = form.body.numbers.take(form.pieces, "pieces")
    return flat(along[:outer], lengths[:outer]) * pieces + PIECE


def begin_joining(form: Form, chunks: int) -> tuple[ir.Index, ir.Index, ir.Expr, ir.Expr]:
    """Put the form at a row of the result; return the row, the chunk, and how many there are of both."""
    body = form.body
    row, chunk = ir.index("row"), ir.index("chunk")
    height = body.numbers.take(body.nest.rows, "rows")
    number = body.numbers.take(chunks, "chunks")
    kept = body.sizes[: len(body.nest.kept)]
    body.indices = [*digits(row, kept), *[ZERO] * len(body.nest.reduced)]
    return row, chunk, height, number


def joined(form: Form, chunks: int, length: int) -> tuple[ir.Statement, ...]:
    """Partial results of chunks of this length joined, one after the other, and what is computed from the results."""
    body = form.body
    row, chunk, height, number = begin_joining(form, chunks)
    before: list[ir.Statement] = []
    work: list[ir.Statement] = []
    for value, buffer in form.partials.items():
        how = form.accumulation(value)
        total = accumulator(form, value)
        before.append(ir.Set(total, how.start()))
        if how.ordered:
            units = body.numbers.take(form.units, "units")
            take = ir.Set(total, how.then(total, ir.load(buffer, chunk * height + row)))
            before.append(ir.Loop(chunk, ZERO, units, (take,)))
        else:
            work.append(ir.Set(total, how.join(total, ir.load(buffer, chunk * height + row))))
    again: list[ir.Statement] = []
    if form.deviations:
        step = body.numbers.take(length, "chunk")
        left = {
            value: _chunk_moments(form, value, chunk, chunk * height + row, step)
            for value in form.deviations
        }
        for value, source in form.followed.items():
            total = accumulator(form, value)
            before.append(ir.Set(total, ir.literal(0, float64)))
            work.append(ir.Set(total, total + left[source].sum()))
        finish_pass(form, 0)
        for value, deviation in form.deviations.items():
            total = accumulator(form, value)
            before.append(ir.Set(total, ir.literal(0, float64)))
            added = left[value].squares_from(body.operand(deviation.centred, 1))
            again.append(ir.Set(total, total + added))
    finish_pass(form, 0)
    loops = [ir.Loop(chunk, ZERO, number, tuple(some)) for some in (work, again) if some]
    return (ir.Loop(row, ir.START, ir.STOP, (*before, *loops, *form.row_stores()), parallel=True),)


def _chunk_moments(
    form: Form, value: int, chunk: ir.Index, place: ir.Expr, step: ir.Expr
) -> ChunkMoments:
    """Return what a chunk has left of distances from its pivot."""
    body = form.body
    outer, *inner = body.sizes[len(body.nest.kept) :]
    elements = smaller(chunk * step + step, outer) - chunk * step
    for size in inner:
        elements = elements * size
    count = ir.apply("from_index", elements, dtype=float64)
    return ChunkMoments(
        count, *[ir.load(buffer, place) for buffer in form.deviations[value].buffers]
    )
