"""Building: a region and the layout of its operands become kernels, and the numbers to call them with."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod

from tensorframe.dtypes import DType
from tensorframe.graph.region import Region
from tensorframe.graph.shape import strides_of
from tensorframe.graph.space import Space
from tensorframe.kernel.forms.columns import column_parts, columns
from tensorframe.kernel.forms.deviations import Deviation, deviations, followed_by
from tensorframe.kernel.forms.form import Form, map_loops
from tensorframe.kernel.forms.parts import joined
from tensorframe.kernel.forms.rows import row_parts, rows
from tensorframe.kernel.forms.tiles import tile_of, tiles
from tensorframe.kernel.ir import Buffer, Role, Statement, order
from tensorframe.kernel.nest.assemble import Built, Launch, Partials, finish
from tensorframe.kernel.nest.body import Body
from tensorframe.kernel.nest.layout import Layout, Strides, lay_out, output_buffers
from tensorframe.kernel.nest.nest import Nest
from tensorframe.kernel.nest.passes.rare import FLAG, general, has_rare, speculative
from tensorframe.kernel.nest.passes.split import split
from tensorframe.kernel.nest.stages import Stages, stages_of
from tensorframe.kernel.spaces.analyse import space_of
from tensorframe.kernel.spaces.complex import in_parts
from tensorframe.kernel.spaces.expand import expanded
from tensorframe.kernel.spaces.gather import with_bounds_checks
from tensorframe.machine import HOST
from tensorframe.quick_tuples import NamedTuple

# Elements that one thread takes at a time: enough to hide handing them out, few enough to share out evenly. Where there
# are plenty they are more, since where a share begins nothing has been prefetched.
_SHARE, _MOST_SHARED, _SHARES = 1 << 15, 1 << 17, 64
# Elements of a chunk that gives one partial result, or one for each of its columns.
_CHUNK = HOST.row
_COLUMN_CHUNK = 1 << 18
# Columns that advance together: the more of each row is read on, the more the processor prefetches, as long as their
# accumulators stay in the nearest cache; but several passes, and threads, need blocks.
_COLUMNS = 1024
# Bytes of an output that are made before they are streamed: with more, the processor does nothing else meanwhile.
_STREAM = 2048


def build(
    region: Region,
    space: Space,
    strides: Sequence[Strides],
    places: Sequence[tuple[int, int | None]],
) -> Built:
    """Return the kernels of a region whose inputs have these strides, for threads that run ranges of a loop.

    `places` are the array that each output goes to, and which part of its complex elements it is, or None.
    """
    layout = lay_out(region, space, strides, places, in_order=True)
    launches, partials = _Builder(region, space, layout).launches()
    return Built(launches, partials, layout.layouts)


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


def one_pass_of(region: Region) -> OnePass | None:
    """Return the sums of squared distances that a region's kernels take in one pass, for operands in C order."""
    parts = in_parts(expanded(region))
    space = space_of(parts.region)
    strides = [strides_of(shape) for shape, _ in parts.region.inputs]
    layout = lay_out(parts.region, space, strides, parts.places, in_order=True)
    return _Builder(parts.region, space, layout).one_pass()


class _Builder:
    """Chooses the form of a region in a nest, and makes its kernels."""

    def __init__(self, region: Region, space: Space, layout: Layout) -> None:
        self.region = region
        self.space = space
        self.nest = layout.nest
        self.layout = layout

    def launches(self) -> tuple[tuple[Launch, ...], Partials]:
        """Return the kernels in the order in which they run, and the partial results between them."""
        nest = self.nest
        if not self.space.reduced:
            return (self._map(),), ()
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
        if not self.space.reduced or nest.rows * nest.row_length <= 2 * _CHUNK:
            return None
        stages = stages_of(self.region, self.space, scratch=nest.reduced_inside)
        if _is_joinable(stages):
            return None
        once = self._in_one_pass(stages)
        if once is None:
            return None
        _, centred = once
        inside = nest.reduced_inside
        form = self._form(stages)
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

    def _map(self) -> Launch:
        form = self._form(stages_of(self.region, self.space, scratch=False))
        sizes = self.nest.kept
        streamed = self._streamed()
        if streamed:
            width = _evenly(sizes[-1], _STREAM // max(map(self._itemsize, streamed)))
            total = prod(sizes[:-1]) * -(-sizes[-1] // width)
            return self._launch(form, map_loops(form, width, streamed), total, width)
        if len(sizes) < 2:
            total = prod(sizes)
            return self._launch(form, map_loops(form, 0), total, 1)
        tile = tile_of(self.nest)
        if tile is not None:
            body = tiles(form, tile)
            return self._launch(form, body, tile.count(self.nest), tile.height * tile.width)
        outer, inner = prod(sizes[:-1]), sizes[-1]
        if inner <= 2 * _SHARE:
            return self._launch(form, map_loops(form, 0), outer, inner)
        total = outer * -(-inner // _SHARE)
        return self._launch(form, map_loops(form, _SHARE), total, _SHARE)

    def _rows(self, stages: Stages) -> Launch:
        form = self._form(stages)
        # a row that leaves the cache before it goes to memory is made there at once
        streamed = [value for value in self._streamed() if self._row_bytes(value) <= HOST.second]
        return self._launch(form, rows(form, streamed), self.nest.rows, self.nest.row_length)

    def _row_bytes(self, value: int) -> int:
        return self.nest.row_length * self._itemsize(value)

    def _columns(self, stages: Stages, width: int) -> Launch:
        nest, form = self.nest, self._form(stages)
        body = columns(form, width)
        return self._launch(form, body, _blocks(nest, width), width * nest.row_length)

    def _streamed(self) -> list[int]:
        """Return the outputs that are so large that what of them is in a cache afterwards is of little use.

        A store of a line would read it first; past the caches it is only written.
        """
        nest = self.nest
        if nest.pieces or len(nest.reduced) > 1 or not nest.sizes:
            return []
        if nest.sizes[-1] < _STREAM // 16 or (not nest.reduced and tile_of(nest)):
            return []
        return [value for value in self.region.outputs if self._is_streamed(value)]

    def _is_streamed(self, value: int) -> bool:
        nest, itemsize = self.nest, self._itemsize(value)
        # in a map, the ends of a row that is not whole lines would take longer than the rest saves
        whole = (
            bool(nest.reduced) or len(nest.kept) == 1 or nest.kept[-1] * itemsize % HOST.line == 0
        )
        along_memory = nest.accesses["out", value].steps[-1] == 1
        return whole and along_memory and prod(nest.sizes) * itemsize in HOST.streamed

    def _itemsize(self, value: int) -> int:
        return self.region.dtype_of(value).itemsize

    def _has_only_sums(self, stages: Stages) -> bool:
        form = self._form(stages)
        return (
            _is_joinable(stages)
            and not any(stages.stores)
            and all(form.accumulation(value).ordered for value in stages.reductions[0])
        )

    def _across(self, stages: Stages) -> tuple[tuple[Launch, ...], Partials]:
        """Return two kernels where memory is along an outer axis of sums: columns over the inner ones, and joined."""
        whole = self._form(stages)
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
        launch = self._launch(form, body, total, min(chunk, nest.row_length) * width)
        whole.partials = {value: _as_input(buffer) for value, buffer in form.partials.items()}
        other = self._launch(whole, joined(whole, 0, 0), self.nest.rows, whole.units)
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
        form = self._form(stages)
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
        first = self._launch(form, body, units * chunks, chunk * across)
        second = self._form(stages)
        second.partials = {value: _as_input(buffer) for value, buffer in form.partials.items()}
        second.deviations = {
            value: Deviation(deviation.centred, *map(_as_input, deviation.buffers))
            for value, deviation in form.deviations.items()
        }
        second.followed = form.followed
        other = self._launch(second, joined(second, chunks, chunk), nest.rows, chunks)
        return (first, other), tuple(partials)

    def _form(self, stages: Stages) -> Form:
        layout = self.layout
        body = Body(self.region, self.nest, layout.reads, layout.lines)
        return Form(body, stages, output_buffers(self.region, layout))

    def _launch(self, form: Form, body: tuple[Statement, ...], total: int, elements: int) -> Launch:
        """Return the launch of a kernel whose outermost loop runs `total` times over so many elements each."""
        grain = max(1, _share(total * elements) // max(elements, 1))
        numbers = tuple(form.body.numbers.values)
        statements = with_bounds_checks(split(body, form.body.cuts))
        if not has_rare(statements):
            return Launch(finish(form.body, statements), numbers, total, grain)
        quick = finish(form.body, statements, FLAG, runs=speculative(statements))
        full = cache(lambda: finish(form.body, general(statements), FLAG))
        return Launch(quick, numbers, total, grain, full)


def _is_joinable(stages: Stages) -> bool:
    """Whether chunks give partial results that need only be joined: no element waits for a result of its row."""
    return stages.passes == 1 and not any(stages.stores[1:]) and not any(stages.scans)


def _width(nest: Nest, stages: Stages) -> int:
    """Return how many columns advance together."""
    if _is_joinable(stages) or _blocks(nest, _COLUMNS) >= HOST.units:
        return _COLUMNS
    return HOST.columns


def _evenly(size: int, most: int) -> int:
    """Return a length, in whole lines of a cache, for equal pieces of a loop."""
    return -(-size // (-(-size // most) * 64)) * 64


def _blocks(nest: Nest, width: int) -> int:
    """Return how many blocks of columns there are."""
    return nest.rows // nest.kept[-1] * -(-nest.kept[-1] // width) if nest.rows else 0


def _as_input(buffer: Buffer) -> Buffer:
    return Buffer(buffer.name, buffer.dtype, Role.INPUT)


def _share(elements: int) -> int:
    """Return how many of so many elements one thread takes at a time."""
    return min(max(_SHARE, elements // _SHARES), _MOST_SHARED)
