"""One pass over long rows: a sum that needs another reduction's result takes that of its chunk, and is corrected later.

A softmax reads a row for its maximum, for the sum of exponentials, and to write the result: three times, where no group
has memory for the row. But a group has memory for a chunk. So it makes both reductions of that, and a second kernel
joins what chunks have left. With c the chunk's own value and m the row's,

- a sum s of exp(x - c) contributes s exp(c - m), where these are maxima: M. Milakov and N. Gimelshein, "Online
  normalizer calculation for softmax" (2018);
- a sum of (x - c)^2 contributes as in `kernel/forms/deviations.py`, where these are means.

A third kernel goes over the elements again, if one is stored for each. Other reductions have the bits that they have in
other forms; these sums have roundings of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorframe.dtypes import DType, wide_of
from tensorframe.kernel import ir
from tensorframe.kernel.forms.form import Form, reductions_in
from tensorframe.kernel.groups.chunks import (
    ChunkBuffers,
    joined_chunks,
    reduced_chunks,
    stored_chunks,
)
from tensorframe.kernel.groups.distances import Distances, Ops, distances_in
from tensorframe.kernel.groups.held import Held, held_in
from tensorframe.kernel.groups.order import Order
from tensorframe.kernel.nest.assemble import Partials
from tensorframe.quick_tuples import NamedTuple

_PASSES = 2  # whose reductions one kernel makes
# Threads that a multiprocessor has registers for at once, where elements are stored whose places wrap around axes.
_THREADS = 1024


class OnePass(NamedTuple):
    """Kernels to run one after the other.

    Of each its form, its statements, how often its outermost loop runs, and its occupancy.
    """

    kernels: tuple[tuple[Form, tuple[ir.Statement, ...], int, int], ...]
    partials: Partials


def in_one_pass(
    forms: Sequence[Form], order: Order, memory: int, *, few_rows: bool
) -> OnePass | None:
    """Return the kernels for rows of several chunks, where no group has the memory for a row; None for other rows.

    Each kernel has one of the `forms`, which are equal. A group has so many bytes of `memory`.
    """
    form, joining, storing = forms
    sums = sums_of_distances(form)
    # one reduction, and elements: a group for each row reads it twice, too, where there are enough of them
    if sums is None or (not sums and not (few_rows and any(form.stages.stores))):
        return None
    if held_in(form, order, order.lanes, memory).is_whole:
        return None
    rows, chunks = form.body.nest.rows, order.chunks
    between = _Between(form, sums, chunks, needed_later(form))
    written, read = ir.Role.OUTPUT, ir.Role.INPUT
    held = Held(
        form, Order(order.chunk, order.lanes, order.chunk), order.lanes, memory, form.stages.passes
    )
    joined = joined_chunks(joining, order, sums, between.left(read), between.results(written))
    kernels = [
        (form, reduced_chunks(form, order, held, sums, between.left(written)), chunks * rows, 0),
        (joining, joined, rows, 0),
    ]
    if any(form.stages.stores):
        stored = stored_chunks(storing, order, between.results(read))
        # compilers spill a place that wraps around, for more threads than are needed
        occupancy = max(1, _THREADS // order.lanes) if len(form.body.nest.reduced) > 1 else 0
        kernels.append((storing, stored, chunks * rows, occupancy))
    return OnePass(tuple(kernels), tuple(between.partials))


def sums_of_distances(form: Form) -> dict[int, Distances[int]] | None:
    """Return the sums that need another reduction's result, if one kernel can make all; None if it cannot."""
    region, stages, first = form.region, form.stages, len(form.region.inputs)
    if stages.passes > _PASSES:
        return None
    ops = Ops[int](
        lambda value: form.operation(value) if value >= first else None,
        lambda value: region.ops[value - first].inputs,
        region.dtype_of,
    )
    sums = {value: distances_in(value, ops) for value in reductions_in(form, 1)}
    known = {
        value: distances
        for value, distances in sums.items()
        if distances is not None and _is_of_row(form, distances)
    }
    return known if len(known) == len(sums) else None


def _is_of_row(form: Form, distances: Distances[int]) -> bool:
    """Whether the source is a reduction of the row, of the same elements that distances are of."""
    distance, centre, source, _ = distances
    if source not in reductions_in(form, 0) or form.stages.full[centre]:
        return False
    is_input = form.region.ops[source - len(form.region.inputs)].inputs[0] < len(form.region.inputs)
    return not is_input or form.body.access_of(source, 0) == form.body.access_of(distance, 0)


def needed_later(form: Form) -> list[int]:
    """Return the values of a row that the elements which are stored are made of, if reductions are needed for them."""
    region, full, first = form.region, form.stages.full, len(form.region.inputs)
    waiting = [value for stores in form.stages.stores for value in stores]
    of_rows: set[int] = set()
    for value in waiting:  # grows while it is walked
        for other in region.ops[value - first].inputs:
            if other >= first and full[other] and other not in waiting:
                waiting.append(other)
            elif other >= first and not full[other] and form.stages.level[other]:
                of_rows.add(other)
    return sorted(of_rows)


class _Between:
    """The buffers between the kernels: of each reduction what chunks leave, and results of rows."""

    def __init__(
        self, form: Form, sums: Mapping[int, Distances[int]], chunks: int, later: Sequence[int]
    ) -> None:
        rows = form.body.nest.rows
        self._form, self._sums, self._later = form, sums, later
        self.partials = [
            (dtype, chunks * rows, first)
            for value in self._reductions()
            for dtype, first in self._left(value)
        ]
        self._between = len(self.partials)
        self.partials += [(self._result(value), rows, 0) for value in later]

    def _reductions(self) -> list[int]:
        return [*reductions_in(self._form, 0), *reductions_in(self._form, 1)]

    def _left(self, value: int) -> list[tuple[DType, complex]]:
        how = self._form.accumulation(value)
        if value not in self._sums or not self._sums[value].squared:
            return [(how.dtype, how.first)]
        return [
            (how.dtype, 0),
            (self._form.region.dtype_of(self._sums[value].centre), 0),
            (how.dtype, 0),
        ]

    def _result(self, value: int) -> DType:
        return wide_of(self._form.region.dtype_of(value))

    def left(self, role: ir.Role) -> dict[int, ChunkBuffers]:
        """Return what chunks leave, as what a kernel writes or reads."""
        names = iter(range(self._between))
        return {
            value: ChunkBuffers(
                *[ir.Buffer(f"p{next(names)}", dtype, role) for dtype, _ in self._left(value)]
            )
            for value in self._reductions()
        }

    def results(self, role: ir.Role) -> dict[int, ir.Buffer]:
        """Return the results of rows, as what a kernel writes or reads."""
        return {
            value: ir.Buffer(f"p{number}", self._result(value), role)
            for number, value in enumerate(self._later, start=self._between)
        }
