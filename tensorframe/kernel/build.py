"""Building: a region and the layout of its operands become kernels, and the numbers to call them with."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from tensorframe.dtypes import DType
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import strides_of
from tensorframe.kernel.body import Body, Numbers
from tensorframe.kernel.columns import column_parts, columns
from tensorframe.kernel.deviations import Deviation, deviations, followed_by
from tensorframe.kernel.follow import follow
from tensorframe.kernel.forms import Form, map_loops
from tensorframe.kernel.gather import GATHERS, MARK, noted, selected_axes
from tensorframe.kernel.hoist import name_values
from tensorframe.kernel.interpret import in_order
from tensorframe.kernel.ir import INDEX, Argument, Buffer, Kernel, Load, Role, Statement, argument
from tensorframe.kernel.join import joined as join_spaces
from tensorframe.kernel.nest import Access, Nest, arrange, linear, memory_order
from tensorframe.kernel.parts import joined
from tensorframe.kernel.pieces import PIECED, cut_axes
from tensorframe.kernel.positions import with_positions
from tensorframe.kernel.rare import FLAG, complete, has_rare, hopeful
from tensorframe.kernel.rows import row_parts, rows
from tensorframe.kernel.space import Affine, Map, Space
from tensorframe.kernel.split import split
from tensorframe.kernel.stages import Stages, stages_of
from tensorframe.kernel.tiling import tile_of, tiles
from tensorframe.kernel.walk import expressions
from tensorframe.ops.creation import ARANGE

Strides = tuple[int, ...]  # in elements
Partials = tuple[tuple[DType, int, complex], ...]

# Elements that one thread takes at a time: enough to hide handing them out, few enough to share out evenly. Where there
# are plenty they are more, since where a share begins nothing has been fetched ahead.
_SHARE, _MOST_SHARED, _SHARES = 1 << 15, 1 << 17, 64
# Elements of a chunk that gives one partial result, or one for each of its columns.
_CHUNK = 1 << 16
_COLUMN_CHUNK = 1 << 18
# Results from which every thread has enough rows, so that rows need not be cut.
_ENOUGH_ROWS = 32
# Columns that advance together: the more of each row is read on, the more the processor fetches ahead, as long as their
# accumulators stay in the nearest cache; but several passes, and threads, need blocks.
_COLUMNS = 1024
_FEWER_COLUMNS = 256
# Bytes of an output that is streamed. Smaller ones would stay in the third-level cache for the next kernel, which gains
# less from that than streaming saves from 8 MiB on, and is as fast at 16. Memory for larger ones comes from the system,
# which has just cleared it: that is in the cache.
_STREAMED = range(12 << 20, 32 << 20)
# Bytes of an output that are made before they are streamed: with more, the processor does nothing else meanwhile.
_STREAM = 2048
_LINE = 64  # bytes of a line of a cache
_PARTS = 2  # of a complex number: elements next to each other


class NotFusibleError(Exception):
    """The ops of a region do not run in one space of loops."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel, the numbers of its `sizes`, and how often and in which shares its outermost loop runs."""

    kernel: Kernel
    numbers: tuple[float, ...]
    total: int
    grain: int
    complete: Kernel | None = (
        None  # to run instead where `kernel` sets its flag, see kernel/rare.py
    )


@dataclass(frozen=True, slots=True)
class Built:
    """Kernels to run one after the other.

    Buffers are called `x0`, `x1` ... after the region's inputs, `y0` ... after its outputs, `p0` ... are the
    `partials`: dtype, number of elements, and what these are at first. `layouts` are the axes of each output in the
    order of its memory.
    """

    launches: tuple[Launch, ...]
    partials: Partials
    layouts: tuple[tuple[int, ...], ...]

    @property
    def selects(self) -> bool:
        """Whether kernels mark, in a buffer `m0`, that an index was out of bounds."""
        return any(MARK in one.kernel.outputs for one in self.launches)


def analyse(region: Region) -> Space:
    """Return the space of a region's loops, with the maps of all values; NotFusibleError says why there is none."""
    used = {source for one in region.ops for source in one.inputs}
    sinks = [value for value in region.outputs if value not in used]
    space, *waiting = [_space_of(region, sink) for sink in sorted(sinks, reverse=True)]
    while waiting:
        found = _joined_with_one(region, space, waiting)
        if found is None:
            raise NotFusibleError("the outputs do not share their loops")
        space = found
    return space


def _joined_with_one(region: Region, space: Space, waiting: list[Space]) -> Space | None:
    """Return a space together with one of those that wait, which waits no longer; None if it fits to none of them.

    What two have in common tells which of their loops are the same; else those of the same number are.
    """
    for pairs in (partial(_shared, region), _by_number):
        for at, other in enumerate(waiting):
            found = join_spaces(space, other, pairs(space, other), rows=True)
            if found is not None:
                del waiting[at]
                return found
    return None


def _by_number(one: Space, other: Space) -> Iterator[tuple[Map, Map]]:
    """Yield maps of a value that differs along all loops, or all that are kept, those of the same number alike."""
    for here, there in (
        (range(len(one.sizes)), range(len(other.sizes))),
        (one.kept, other.kept),
    ):
        if len(here) == len(there):
            yield _along(here), _along(there)


def _along(axes: Iterable[int]) -> Map:
    return tuple([Affine(0, ((axis, 1),)) for axis in axes])


def _space_of(region: Region, sink: int) -> Space:
    """Return the space of what one output needs."""
    first = len(region.inputs)
    space = Space.of_result(sink, region.shape_of(sink))
    for value in range(sink, first - 1, -1):
        if value not in space.maps:
            continue
        one = region.ops[value - first]
        shapes = [region.shape_of(source) for source in one.inputs]
        for at, reason in enumerate(follow(space, value, one.op, one.attrs, shapes)):
            source = one.inputs[at]
            if reason is not None and (source >= first or (value, at) not in space.maps):
                raise NotFusibleError(f"{one.op.name}: {reason}")
            if source >= first:
                found = space.maps[value, at]
                if space.maps.setdefault(source, found) != found:
                    raise NotFusibleError(f"value {source} is read at two places of the loops")
    return space


def _shared(region: Region, one: Space, other: Space) -> Iterator[tuple[Map, Map]]:
    """Yield the maps of what two spaces compute, or read, both."""
    for value, here in one.maps.items():
        if value in other.maps:
            yield here, other.maps[value]
    reads = list(_input_maps(region, other))
    for source, here in _input_maps(region, one):
        for same, there in reads:
            if source == same:
                yield here, there


def _input_maps(region: Region, space: Space) -> Iterator[tuple[int, Map]]:
    first = len(region.inputs)
    for value, one in enumerate(region.ops, start=first):
        for at, source in enumerate(one.inputs):
            if source < first and (value, at) in space.maps:
                yield source, space.maps[value, at]


def build(
    region: Region,
    space: Space,
    strides: Sequence[Strides],
    places: Sequence[tuple[int, int | None]],
) -> Built:
    """Return the kernels of a region whose inputs have these strides, for threads that run ranges of a loop.

    `places` are the array that each output goes to, and which part of its complex elements it is, or None.
    """
    found = lay_out(region, space, strides, places)
    launches, partials = _Builder(region, space, found).launches()
    return Built(launches, partials, found.layouts)


@dataclass(frozen=True, slots=True)
class Layout:
    """Loops in the order of memory, what operands read in them, and where outputs go.

    `reads` are the access of each operand; `lines` length and step of the axes on which gathers select; `arrays` the
    array of each output, whose axes `layouts` lists in the order of its memory.
    """

    nest: Nest
    reads: dict[tuple[int, int], tuple[int, Map]]
    lines: dict[int, list[tuple[int, int]]]
    arrays: dict[int, int]
    layouts: tuple[tuple[int, ...], ...]


def lay_out(
    region: Region,
    space: Space,
    strides: Sequence[Strides],
    places: Sequence[tuple[int, int | None]],
    into: Sequence[Access] = (),
) -> Layout:
    """Return the loops of a region whose inputs have these strides.

    Outputs go to new arrays, or, if `into` is given, to where it says: for each, a position and the steps of its axes.
    """
    first = len(region.inputs)
    reads = reads_of(region, space)
    accesses: dict[Hashable, Access] = {}
    for key in reads.values():
        value, positions = key
        if value < first:
            accesses[key] = linear(positions, strides[value], space)
        else:
            accesses[key] = linear(positions, (1,), space)
    loads = [accesses[key] for key in reads.values() if key[0] < first]
    order = memory_order(space, loads)
    layouts, written = written_in(region, space, places, order)
    if order and not space.reduced:
        # a reshape says where its elements are: better to read across the rows of operands than to write so
        across = [one for one in written.values() if abs(one.steps[order[-1]]) > _PARTS]
        if across:
            order = memory_order(space, across)
            layouts, written = written_in(region, space, places, order)
    accesses |= written
    for value, target in zip(region.outputs, into, strict=False):
        found = linear(space.maps[value], target.steps, space)
        accesses["out", value] = replace(found, start=found.start + target.start)
    nest = arrange(space, accesses, order, _pieces(region, space))
    arrays = {value: array for value, (array, _) in zip(region.outputs, places, strict=True)}
    return Layout(nest, reads, _lines(region, strides), arrays, tuple(layouts.values()))


def written_in(
    region: Region, space: Space, places: Sequence[tuple[int, int | None]], order: Sequence[int]
) -> tuple[dict[int, tuple[int, ...]], dict[Hashable, Access]]:
    """Return the layouts of arrays that are made in loops of this order, and where outputs go in them."""
    layouts: dict[int, tuple[int, ...]] = {}
    accesses: dict[Hashable, Access] = {}
    for value, (array, part) in zip(region.outputs, places, strict=True):
        positions = space.maps[value]
        layouts[array] = layout = _layout(positions, order)
        steps = strides_of(region.shape_of(value), layout)
        if part is None:
            accesses["out", value] = linear(positions, steps, space)
        else:
            found = linear(positions, [_PARTS * step for step in steps], space)
            accesses["out", value] = replace(found, start=part)
    return layouts, accesses


def reads_of(region: Region, space: Space) -> dict[tuple[int, int], tuple[int, Map]]:
    """Return, for each operand that is an input and each generator, what it reads: equal ones are one access."""
    first = len(region.inputs)
    reads: dict[tuple[int, int], tuple[int, Map]] = {}
    for at, one in enumerate(region.ops):
        value = first + at
        for number, source in enumerate(one.inputs):
            if source < first and region.inputs[source][0] != ():
                reads[value, number] = (source, space.maps[value, number])
        if one.op.kind is Kind.SOURCE and one.shape != ():
            reads[value, -1] = (value, _counted(one, space.maps[value]))
    return reads


def _counted(one: RegionOp, positions: Map) -> Map:
    """Return where the elements of a generator are in what it counts, of which a range may show a part."""
    if one.op is not ARANGE:
        return positions
    *_, first, stride = one.attrs
    return tuple([place.stepped(first, stride) for place in positions])


def _pieces(region: Region, space: Space) -> dict[Hashable, Access]:
    """Return where on each axis that pieces divide the loops are."""
    first = len(region.inputs)
    found: dict[Hashable, Access] = {}
    for value, one in enumerate(region.ops, start=first):
        if one.op in PIECED:
            shapes = [region.shape_of(source) for source in one.inputs]
            for axis in cut_axes(one.op, one.attrs, shapes):
                found[value, axis] = linear((space.maps[value][axis],), (1,), space)
    return found


def _lines(region: Region, strides: Sequence[Strides]) -> dict[int, list[tuple[int, int]]]:
    """Return, for each gather, length and step of the axes on which it selects."""
    return {
        value: [
            (region.shape_of(one.inputs[0])[axis], strides[one.inputs[0]][axis])
            for axis in selected_axes(one.op, one.attrs)
        ]
        for value, one in enumerate(region.ops, start=len(region.inputs))
        if one.op in GATHERS
    }


def _layout(positions: Map, order: Sequence[int]) -> tuple[int, ...]:
    """Return the axes of an output, outermost first, as the loops run."""
    place = {axis: at for at, axis in enumerate(order)}
    return tuple(
        sorted(
            range(len(positions)),
            key=lambda axis: (
                min((place[loop] for loop, _ in positions[axis].terms), default=-1),
                axis,
            ),
        )
    )


class _Builder:
    """Chooses the form of a region in a nest, and makes its kernels."""

    def __init__(self, region: Region, space: Space, layout: Layout) -> None:
        self.region = region
        self.space = space
        self.nest = layout.nest
        self.layout = layout

    def launches(self) -> tuple[tuple[Launch, ...], Partials]:
        nest = self.nest
        if not self.space.reduced:
            return (self._map(),), ()
        inside = nest.reduced_inside
        stages = stages_of(self.region, self.space, scratch=inside)
        elements = nest.rows * nest.row_length
        late = any(stages.stores[1:])
        apart = stages.passes == 1 and not late and not any(stages.scans)
        once = None if apart or elements <= 2 * _CHUNK else self._in_one_pass(stages)
        if once is not None and (not inside or nest.row_length > _CHUNK):
            return self._in_parts(*once, inside=inside, width=_COLUMNS // 2)
        width = _COLUMNS
        if not (inside or apart or _blocks(nest, width) >= _ENOUGH_ROWS):
            width = _FEWER_COLUMNS
        units = nest.rows if inside else _blocks(nest, width)
        if apart and units < _ENOUGH_ROWS and elements > 2 * _CHUNK:
            return self._in_parts(stages, {}, inside=inside, width=width)
        form = self._form(stages)
        if inside:
            body = rows(form, self._streamed())
            return (self._launch(form, body, nest.rows, nest.row_length),), ()
        body = columns(form, width)
        return (self._launch(form, body, units, width * nest.row_length),), ()

    def _in_one_pass(self, stages: Stages) -> tuple[Stages, dict[int, int]] | None:
        """Return stages of a single pass, and the sums of squared distances that are all that needed a second one."""
        found = deviations(self.region, stages.full)
        if not found or any(stages.stores[1:]) or any(stages.scans):
            return None
        once = stages_of(self.region, self.space, scratch=False, deviations=found)
        return (once, found) if once.passes == 1 else None

    def _form(self, stages: Stages) -> Form:
        layout = self.layout
        body = Body(self.region, self.nest, layout.reads, layout.lines)
        return Form(body, stages, output_buffers(self.region, layout))

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
        whole = bool(nest.reduced) or len(nest.kept) == 1 or nest.kept[-1] * itemsize % _LINE == 0
        along_memory = nest.accesses["out", value].steps[-1] == 1
        return whole and along_memory and prod(nest.sizes) * itemsize in _STREAMED

    def _itemsize(self, value: int) -> int:
        return self.region.dtype_of(value).itemsize

    def _in_parts(
        self, stages: Stages, centred: dict[int, int], *, inside: bool, width: int
    ) -> tuple[tuple[Launch, ...], Partials]:
        """Return two kernels: partial results of chunks, and the chunks joined."""
        nest = self.nest
        across = nest.row_length // nest.reduced[0] * (1 if inside else min(width, nest.kept[-1]))
        chunk = max(1, (_CHUNK if inside else _COLUMN_CHUNK) // across)
        chunks = -(-nest.reduced[0] // chunk)
        form = self._form(stages)
        partials: list[tuple[DType, int, complex]] = []

        def made(dtype: DType, first: complex = 0) -> Buffer:
            partials.append((dtype, chunks * nest.rows, first))
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
                form.partials[value] = made(how.dtype, how.first)
        if inside:
            units = nest.rows
            body = row_parts(form, chunk)
        else:
            units = _blocks(nest, width)
            body = column_parts(form, width, chunk)
        one = self._launch(form, body, units * chunks, chunk * across)
        second = self._form(stages)
        second.partials = {value: _as_input(one) for value, one in form.partials.items()}
        second.deviations = {
            value: Deviation(one.centred, *map(_as_input, one.buffers))
            for value, one in form.deviations.items()
        }
        second.followed = form.followed
        other = self._launch(second, joined(second, chunks, chunk), nest.rows, chunks)
        return (one, other), tuple(partials)

    def _launch(self, form: Form, body: tuple[Statement, ...], total: int, elements: int) -> Launch:
        """Return the launch of a kernel whose outermost loop runs `total` times over so many elements each."""
        grain = max(1, _share(total * elements) // max(elements, 1))
        numbers = tuple(form.body.numbers.values)
        statements = noted(split(body, form.body.cuts))
        if not has_rare(statements):
            return Launch(finish(form.body, statements), numbers, total, grain)
        full = finish(form.body, complete(statements), FLAG)
        quick = replace(full, body=name_values(hopeful(statements)))
        return Launch(quick, numbers, total, grain, full)


def _share(elements: int) -> int:
    """Return how many of so many elements one thread takes at a time."""
    return min(max(_SHARE, elements // _SHARES), _MOST_SHARED)


def _as_input(buffer: Buffer) -> Buffer:
    return Buffer(buffer.name, buffer.dtype, Role.INPUT)


def output_buffers(region: Region, layout: Layout) -> dict[int, Buffer]:
    """Return the buffer that each output goes to."""
    return {
        value: Buffer(f"y{array}", region.dtype_of(value), Role.OUTPUT)
        for value, array in layout.arrays.items()
    }


def _evenly(size: int, most: int) -> int:
    """Return a length, in whole lines of a cache, for equal pieces of a loop."""
    return -(-size // (-(-size // most) * 64)) * 64


def _blocks(nest: Nest, width: int) -> int:
    """Return how many blocks of columns there are."""
    return nest.rows // nest.kept[-1] * -(-nest.kept[-1] // width) if nest.rows else 0


def finish(
    body: Body,
    statements: tuple[Statement, ...],
    *flags: Buffer,
    lanes: int = 0,
    index: DType = INDEX,
) -> Kernel:
    """Return the kernel of statements about the elements of a region, see `assembled`."""
    scalars, notes = tuple(body.scalars.values()), _notes(body.region)
    return assembled(statements, body.numbers, scalars, notes, *flags, lanes=lanes, index=index)


def assembled(
    statements: tuple[Statement, ...],
    numbers: Numbers,
    scalars: Iterable[Argument],
    notes: tuple[str, ...],
    *flags: Buffer,
    lanes: int = 0,
    index: DType = INDEX,
) -> Kernel:
    """Return the kernel of statements, with the buffers and arguments that they use and values named.

    With `lanes` it is one of work-groups of so many threads, whose positions are numbers of dtype `index`.
    """
    roots, stores = expressions(statements)
    used = in_order(roots, {})
    loaded = {one.buffer for one in used if isinstance(one, Load) and one.buffer.role is Role.INPUT}
    written = {one.buffer for one in stores if one.buffer.role is Role.OUTPUT}
    by_value = {one for one in used if isinstance(one, Argument)} & set(scalars)
    sizes = numbers.arguments
    if index != INDEX:
        own = numbers.positions
        statements = with_positions(statements, own, index)
        sizes = [argument(one.name, index) if one in own else one for one in sizes]
    return Kernel(
        tuple(sorted(loaded, key=_by_name)),
        (*sorted(written, key=_by_name), *flags),
        tuple(sorted(by_value, key=_by_name)),
        tuple(sizes),
        name_values(statements),
        notes,
        lanes,
    )


def _by_name(one: Buffer | Argument) -> tuple[str, int]:
    return one.name[0], int(one.name[1:])


def _notes(region: Region) -> tuple[str, ...]:
    """Return the ops that the kernel runs, for its reader; no sizes, which many kernels of one text have."""
    names = [f"x{at}" for at in range(len(region.inputs))]
    lines = []
    for one in region.ops:
        names.append(f"v{len(names)}")
        operands = ", ".join([names[source] for source in one.inputs])
        lines.append(f"{names[-1]} = {one.op.name}({operands}): {one.dtype}")
    return tuple(lines)
