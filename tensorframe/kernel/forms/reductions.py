"""Building reductions: rows, columns, or partial results of chunks, by how the reduced loops lie in memory."""

from __future__ import annotations

from tensorframe.dtypes import DType
from tensorframe.kernel.forms.builder import Builder
from tensorframe.kernel.forms.columns import column_parts, columns
from tensorframe.kernel.forms.deviations import Deviation, deviations, followed_by
from tensorframe.kernel.forms.form import Form
from tensorframe.kernel.forms.parts import joined
from tensorframe.kernel.forms.rows import row_parts, rows
from tensorframe.kernel.ir import Buffer, Role, order
from tensorframe.kernel.nest.assemble import Launch, Partials
from tensorframe.kernel.nest.body import Body
from tensorframe.kernel.nest.layout import output_buffers
from tensorframe.kernel.nest.nest import Nest
from tensorframe.kernel.nest.stages import Stages, stages_of
from tensorframe.machine import HOST
from tensorframe.quick_tuples import NamedTuple

# Elements of a chunk that gives one partial result, or one for each of its columns.
_CHUNK = HOST.row
_COLUMN_CHUNK = 1 << 18
# Columns that advance together: the more of each row is read on, the more the processor prefetches, as long as their
# accumulators stay in the nearest cache; but several passes, and threads, need blocks.
_COLUMNS = 1024


class OnePass(NamedTuple):
    """Squared distances from a mean that are summed in one pass over chunks, each with a pivot of its own."""

    # sum of squares -> the distances
    centred: dict[int, int]
    # sum of the elements that follows from what chunks leave -> the sum of squares
    followed: dict[int, int]
    # elements of a chunk; 0 where chunks are not consecutive elements of a row
    chunk: int
    # whether rows are along memory
    inside: bool


class ReductionBuilder(Builder):
    """Makes the kernels of a region that reduces axes, or scans along one."""

    def launches(self) -> tuple[tuple[Launch, ...], Partials]:
        """Return the kernels in the order in which they run, and the partial results between them."""
        nest = self.nest
        inside = nest.reduced_inside
        stages = stages_of(self.region, self.space, scratch=inside)
        if inside and nest.outer_is_nearer() and self._has_only_sums(stages):
            return self._across(stages)
        width = 0 if inside else _width(nest, stages)
        if nest.rows * nest.row_length > 2 * _CHUNK:
            if _is_joinable(stages):
                units = nest.rows if inside else _blocks(nest, width)
                if units < HOST.units and self._has_parts(stages, inside=inside):
                    return self._in_parts(stages, {}, inside=inside, width=width)
            elif (once := self._in_one_pass(stages)) is not None:
                return self._in_parts(*once, inside=inside, width=_COLUMNS // 2)
        return (self._rows(stages) if inside else self._columns(stages, width),), ()

    def one_pass(self) -> OnePass | None:
        """Return the sums of squared distances that are taken in one pass."""
        nest = self.nest
        if nest.rows * nest.row_length <= 2 * _CHUNK:
            return None
        stages = stages_of(self.region, self.space, scratch=nest.reduced_inside)
        if _is_joinable(stages):
            return None
        once = self._in_one_pass(stages)
        if once is None:
            return None
        _, centred = once
        inside = nest.reduced_inside
        form = self.form(stages)
        chunk, _ = self._chunk(form, inside=inside, width=_COLUMNS // 2)
        sums = range(len(self.region.inputs), len(self.region.inputs) + len(self.region.ops))
        centred_by = {value: followed_by(self.region, value, centred) for value in sums}
        followed = {value: source for value, source in centred_by.items() if source is not None}
        return OnePass(centred, followed, 0 if len(nest.reduced) > 1 else chunk, inside)

    def _chunk(self, form: Form, *, inside: bool, width: int) -> tuple[int, int]:
        """Return how many indices of the outermost reduced loop a chunk has, and elements each of them."""
        nest = self.nest
        along = nest.reduced[0] if form.outer else nest.row_length
        across = nest.row_length // along * (1 if inside else min(width, nest.kept[-1]))
        chunk = max(1, (_CHUNK if inside else _COLUMN_CHUNK) // across)
        if not form.outer:  # whole pieces
            chunk = -(-chunk // order.PIECE) * order.PIECE
        return chunk, across

    def _rows(self, stages: Stages) -> Launch:
        form = self.form(stages)
        # a row that leaves the cache before it goes to memory is made there at once
        streamed = [value for value in self.streamed() if self._row_bytes(value) <= HOST.second]
        return self.launch(form, rows(form, streamed), self.nest.rows, self.nest.row_length)

    def _row_bytes(self, value: int) -> int:
        return self.nest.row_length * self.itemsize(value)

    def _columns(self, stages: Stages, width: int) -> Launch:
        nest, form = self.nest, self.form(stages)
        body = columns(form, width)
        return self.launch(form, body, _blocks(nest, width), width * nest.row_length)

    def _has_only_sums(self, stages: Stages) -> bool:
        form = self.form(stages)
        return (
            _is_joinable(stages)
            and not any(stages.stores)
            and all(form.accumulation(value).ordered for value in stages.reductions[0])
        )

    def _across(self, stages: Stages) -> tuple[tuple[Launch, ...], Partials]:
        """Return two kernels where memory is along an outer axis of sums: columns over the inner ones, and joined."""
        whole = self.form(stages)
        layout, outer = self.layout.with_outer_kept()
        nest = layout.nest
        form = Form(
            Body(self.region, nest, layout.reads, layout.lines),
            stages,
            output_buffers(self.region, layout),
        )
        width = min(_COLUMNS, nest.kept[-1])
        chunk = max(1, _COLUMN_CHUNK // width // order.PIECE) * order.PIECE
        partials: list[tuple[DType, int, complex]] = []
        for value in stages.reductions[0]:
            how = form.accumulation(value)
            partials.append((how.dtype, whole.units * self.nest.rows, how.first))
            form.partials[value] = Buffer(f"p{len(partials) - 1}", how.dtype, Role.OUTPUT)
        total = _blocks(nest, width) * -(-nest.row_length // chunk)
        body = column_parts(form, width, chunk, outer)
        launch = self.launch(form, body, total, min(chunk, nest.row_length) * width)
        whole.partials = {value: _as_input(buffer) for value, buffer in form.partials.items()}
        other = self.launch(whole, joined(whole, 0, 0), self.nest.rows, whole.units)
        return (launch, other), tuple(partials)

    def _has_parts(self, stages: Stages, *, inside: bool) -> bool:
        """Whether chunks of rows are pieces of what their sums go over: what is packed is whole rows of a loop."""
        nest = self.nest
        if not inside or nest.inner == 1 or len(nest.reduced) > nest.inner:
            return True
        return self._has_only_sums(stages)

    def _in_one_pass(self, stages: Stages) -> tuple[Stages, dict[int, int]] | None:
        """Return stages of a single pass, and the sums of squared distances that are all that needed a second one."""
        if self.nest.reduced_inside and self.nest.row_length <= _CHUNK:
            return None
        centred = deviations(self.region, stages.full)
        if self.nest.inner > 1 or not centred or any(stages.stores[1:]) or any(stages.scans):
            return None
        once = stages_of(self.region, self.space, scratch=False, deviations=centred)
        return (once, centred) if once.passes == 1 else None

    def _in_parts(
        self, stages: Stages, centred: dict[int, int], *, inside: bool, width: int
    ) -> tuple[tuple[Launch, ...], Partials]:
        """Return two kernels: partial results of chunks, and the chunks joined."""
        nest = self.nest
        form = self.form(stages)
        along = nest.reduced[0] if form.outer else nest.row_length
        chunk, across = self._chunk(form, inside=inside, width=width)
        chunks = -(-along // chunk)
        partials: list[tuple[DType, int, complex]] = []

        def made(dtype: DType, first: complex = 0, count: int = chunks) -> Buffer:
            partials.append((dtype, count * nest.rows, first))
            return Buffer(f"p{len(partials) - 1}", dtype, Role.OUTPUT)

        for value in stages.reductions[0]:
            how = form.accumulation(value)
            source = followed_by(self.region, value, centred)
            if source is not None:
                form.followed[value] = source
            elif value in centred:
                buffers = [made(dtype) for dtype in (form.operand_dtype(value), *[how.dtype] * 2)]
                form.deviations[value] = Deviation(centred[value], *buffers)
            else:
                count = form.units if how.ordered else chunks
                form.partials[value] = made(how.dtype, how.first, count)
        if inside:
            units = nest.rows
            body = row_parts(form, chunk)
        else:
            units = _blocks(nest, width)
            body = column_parts(form, width, chunk)
        first = self.launch(form, body, units * chunks, chunk * across)
        second = self.form(stages)
        second.partials = {value: _as_input(buffer) for value, buffer in form.partials.items()}
        second.deviations = {
            value: Deviation(deviation.centred, *map(_as_input, deviation.buffers))
            for value, deviation in form.deviations.items()
        }
        second.followed = form.followed
        other = self.launch(second, joined(second, chunks, chunk), nest.rows, chunks)
        return (first, other), tuple(partials)


def _is_joinable(stages: Stages) -> bool:
    """Whether chunks give partial results that need only be joined: no element waits for a result of its row."""
    return stages.passes == 1 and not any(stages.stores[1:]) and not any(stages.scans)


def _width(nest: Nest, stages: Stages) -> int:
    """Return how many columns advance together."""
    if _is_joinable(stages) or _blocks(nest, _COLUMNS) >= HOST.units:
        return _COLUMNS
    return HOST.columns


def _blocks(nest: Nest, width: int) -> int:
    """Return how many blocks of columns there are."""
    return nest.rows // nest.kept[-1] * -(-nest.kept[-1] // width) if nest.rows else 0


def _as_input(buffer: Buffer) -> Buffer:
    return Buffer(buffer.name, buffer.dtype, Role.INPUT)
