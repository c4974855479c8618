"""The kernels of a sort along an axis: blocks in shared memory, and merges of runs in device memory.

An element's place in two merged runs is its place in its own plus the number of elements of the other one that come
before it, which it looks up by halving. So every element finds its place alone, equal ones keep their order, and
there is no exchange that depends on another.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tensorframe.dtypes import DType, uint32, uint64
from tensorframe.graph.shape import Shape
from tensorframe.kernel import ir
from tensorframe.kernel.groups.algorithms.binary_search import RunSearch
from tensorframe.kernel.groups.algorithms.lines import Lines
from tensorframe.kernel.groups.algorithms.order import element_of, key_dtype, key_of, last_key
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir.formula import both, cast, where
from tensorframe.kernel.ir.loops import ZERO, digits, smaller
from tensorframe.kernel.nest.assemble import Launch, assembled
from tensorframe.kernel.nest.body import Numbers
from tensorframe.kernel.nest.layout import Strides
from tensorframe.ops.reduction import index_dtype
from tensorframe.quick_dataclasses import dataclass, field

# Elements that a thread sorts in shared memory.
_EACH = 4
_ONE = ir.literal(1, ir.INDEX)


@dataclass(frozen=True, slots=True)
class Sorting:
    """What is sorted: elements of this dtype along `axis`, of which the first `count` are wanted.

    `outputs` say of each output whether it takes the elements, or their places on the axis, which have dtype `places`.
    """

    shape: Shape
    dtype: DType
    strides: Strides
    axis: int
    descending: bool
    count: int
    outputs: tuple[bool, ...]
    places: DType = field(default_factory=index_dtype)

    @property
    def length(self) -> int:
        """Elements of a row."""
        return self.shape[self.axis]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return prod(self.shape) // self.length

    @property
    def result(self) -> Shape:
        """The shape of an output."""
        return (*self.shape[: self.axis], self.count, *self.shape[self.axis + 1 :])

    @property
    def with_places(self) -> bool:
        """Whether keys take along where they came from."""
        return not all(self.outputs)

    @property
    def place(self) -> DType:
        """The dtype of places between kernels."""
        return uint32 if self.length < 2**32 else uint64

    @property
    def held(self) -> list[DType]:
        """The dtypes of what is kept of an element: its key, and where it came from if that is wanted."""
        return [key_dtype(self.dtype), self.place][: 1 + self.with_places]


def area_of(length: int, lanes: int) -> int:
    """Return how many elements a group of so many threads sorts in shared memory, of rows of so many."""
    return lanes * (_EACH if length > lanes else 1)


def block_of(length: int, lanes: int) -> int:
    """Return how many elements of a row such a group sorts together: a power of two."""
    return min(1 << (length - 1).bit_length(), area_of(length, lanes))


class Pass:
    """One kernel, number `turn`, of rows that have `length` elements left: `last` says that it writes the outputs."""

    def __init__(
        self, sorting: Sorting, target: Target, turn: int, length: int, *, last: bool
    ) -> None:
        self._sorting, self._target, self._left, self._last = sorting, target, length, last
        self._numbers = Numbers()
        self._lines = Lines(
            sorting.shape, sorting.axis, [sorting.strides, _strides(sorting.result)], self._numbers
        )
        self._length = self._numbers.take(length, "length")
        self._input = ir.Buffer("x0", sorting.dtype, ir.Role.INPUT)
        self._source = self._between(turn - 1, ir.Role.INPUT) if turn else []
        self._goal = [] if last else self._between(turn, ir.Role.OUTPUT)

    def _between(self, turn: int, role: ir.Role) -> list[ir.Buffer]:
        """Return what a kernel leaves to the next one: the two buffers take turns."""
        held = self._sorting.held
        first = turn % 2 * len(held)
        return [ir.Buffer(f"p{first + number}", dtype, role) for number, dtype in enumerate(held)]

    def launch(self, statements: Sequence[ir.Statement], count: int) -> Launch:
        """Return the launch of a kernel whose outermost loop runs so often."""
        target, sorting = self._target, self._sorting
        way = "descending" if sorting.descending else "ascending"
        notes = (f"{sorting.dtype} in {way} order",)
        kernel = assembled(
            tuple(statements), self._numbers, (), notes, lanes=target.lanes, index=target.index
        )
        return Launch(kernel, tuple(self._numbers.values), count, 1)

    def blocks(self, wanted: int) -> tuple[tuple[ir.Statement, ...], int]:
        """Return the statements that sort blocks of rows in shared memory, and how many groups they take.

        Of each block the first `wanted` elements are written, one block after the other.
        """
        sorting, lanes = self._sorting, self._target.lanes
        lanes = self._target.lanes
        area, block = area_of(self._left, lanes), block_of(self._left, lanes)
        chunks = -(-self._left // block)
        count = sorting.rows * chunks
        groups = -(-count * block // area)
        memory = [
            ir.Buffer(name, dtype, ir.Role.SHARED)
            for name, dtype in zip(("keys", "places"), sorting.held, strict=False)
        ]
        group, lane, level = ir.index("group"), ir.index("lane"), ir.index("level")
        slots = [lane + index * lanes if index else lane for index in range(area // lanes)]
        count_of = self._numbers.take(count, "blocks")
        chunks_of = self._numbers.take(chunks, "chunks")
        # blocks of any size share their text
        size_of = self._numbers.take(block, "block")
        first = group * self._numbers.take(area // block, "each")
        levels = self._numbers.take(block.bit_length() - 1, "levels")
        keeps = self._keeps(chunks, block, wanted)
        fill: list[ir.Statement] = []
        give: list[ir.Statement] = []
        for slot in slots:
            number, inside_chunk = digits(slot, [ZERO, size_of])
            number = first + number
            row, chunk = digits(smaller(number, count_of - 1), [ZERO, chunks_of])
            place = chunk * size_of + inside_chunk
            there = both(number < count_of, place < self._length)
            inside = smaller(place, self._length - 1)
            key, *places = self._taken(row, inside)
            values = [where(there, key, last_key(sorting.dtype)), *places]
            fill += [
                ir.Store(buffer, slot, value) for buffer, value in zip(memory, values, strict=True)
            ]
            loaded = [ir.load(buffer, slot) for buffer in memory]
            if keeps is None:
                stores = self._stores(row, self._length, place, loaded)
            else:
                kept, left = keeps
                there = both(there, inside_chunk < kept)
                stores = self._stores(row, left, chunk * kept + inside_chunk, loaded)
            give.append(ir.If(there, tuple(stores)))
        turn = ir.Loop(level, ZERO, levels, self._turn(slots, memory))
        work = (self._by_lanes(fill), ir.Barrier(), turn, self._by_lanes(give))
        size = ir.literal(area, ir.INDEX)
        allocated = [ir.Allocate(buffer, size) for buffer in memory]
        loop = ir.Loop(group, ir.START, ir.STOP, work, parallel=True, over=ir.ParallelAxis.GROUPS)
        return (*allocated, loop), groups

    def _keeps(self, chunks: int, block: int, wanted: int) -> tuple[ir.Expr, ir.Expr] | None:
        """Return how many elements of a block are candidates, and how many a row has; None if all of them are."""
        if self._last or wanted >= block:
            return None
        last = min(self._left - (chunks - 1) * block, wanted)
        left = (chunks - 1) * wanted + last
        return self._numbers.take(wanted, "kept"), self._numbers.take(left, "left")

    def _taken(self, row: ir.Expr, place: ir.Expr) -> list[ir.Expr]:
        """Return the key of an element, and where it came from if that is wanted."""
        if self._source:
            return [ir.load(buffer, row * self._length + place) for buffer in self._source]
        came_from = ir.apply("from_index", place, dtype=self._sorting.place)
        return [self._key(row, place), came_from][: len(self._sorting.held)]

    def _turn(
        self, slots: Sequence[ir.Expr], memory: Sequence[ir.Buffer]
    ) -> tuple[ir.Statement, ...]:
        """Return the statements that merge runs of 2 ** level slots in pairs."""
        level = ir.index("level")
        run = ir.apply("bitwise_left_shift", _ONE, level)
        find: list[ir.Statement] = []
        searches: list[ir.Statement] = []
        write: list[ir.Statement] = []
        for turn, slot in enumerate(slots):
            held = [ir.variable(f"{buffer.name}_{turn}", buffer.dtype) for buffer in memory]
            find += [
                ir.Set(mine, ir.load(buffer, slot))
                for mine, buffer in zip(held, memory, strict=True)
            ]
            number = ir.apply("floor_divide", slot, run)
            other = (number ^ 1) * run
            search = RunSearch(ir.variable(f"before_{turn}", ir.INDEX), held[0], number)
            find.append(search.begin())
            searches += search.step(memory[0], other, run, run)
            goal = slot - (number & 1) * run + search.count
            write += [
                ir.Store(buffer, goal, mine) for mine, buffer in zip(held, memory, strict=True)
            ]
        loop = ir.Loop(ir.index("search"), ZERO, level + 1, tuple(searches))
        return (self._by_lanes([*find, loop]), ir.Barrier(), self._by_lanes(write), ir.Barrier())

    def merged(self, run: int) -> tuple[ir.Statement, ...]:
        """Return the statements that merge runs of so many elements of each row in pairs."""
        position, source = ir.index("at"), self._source
        size = self._numbers.take(run, "run")
        steps = self._numbers.take(run.bit_length(), "steps")
        row, place = digits(position, [ZERO, self._length])
        number = ir.apply("floor_divide", place, size)
        other = smaller((number ^ 1) * size, self._length)
        there = smaller(size, self._length - other)
        held = [ir.variable(f"mine_{buffer.name}", buffer.dtype) for buffer in source]
        search = RunSearch(ir.variable("before", ir.INDEX), held[0], number)
        find = search.step(source[0], row * self._length + other, size, there)
        loop = ir.Loop(ir.index("search"), ZERO, steps, tuple(find))
        target = place - (number & 1) * size + search.count
        work = (
            *[
                ir.Set(mine, ir.load(buffer, position))
                for mine, buffer in zip(held, source, strict=True)
            ],
            search.begin(),
            ir.If(there > ZERO, (loop,)),
            *self._stores(row, self._length, target, held),
        )
        return (
            ir.Loop(position, ir.START, ir.STOP, work, parallel=True, over=ir.ParallelAxis.GRID),
        )

    def _key(self, row: ir.Expr, place: ir.Expr) -> ir.Expr:
        element = ir.load(self._input, self._lines.position(0, row, place))
        sorting = self._sorting
        return key_of(element, descending=sorting.descending, one_zero=sorting.with_places)

    def _stores(
        self, row: ir.Expr, length: ir.Expr, place: ir.Expr, held: Sequence[ir.Expr]
    ) -> list[ir.Statement]:
        """Return the statements that write what is at a place of a row: its key, and where it came from.

        Rows have `length` elements between kernels.
        """
        if not self._last:
            target = row * length + place
            return [
                ir.Store(buffer, target, mine)
                for buffer, mine in zip(self._goal, held, strict=True)
            ]
        sorting = self._sorting
        position = self._lines.position(1, row, place)
        stores: list[ir.Statement] = []
        for number, with_elements in enumerate(sorting.outputs):
            value, dtype = held[-1], sorting.places
            if with_elements:
                value, dtype = self._element(row, held), sorting.dtype
            buffer = ir.Buffer(f"y{number}", dtype, ir.Role.OUTPUT)
            stores.append(
                ir.Store(buffer, position, value if with_elements else cast(value, dtype))
            )
        if sorting.count < self._left:
            wanted = self._numbers.take(sorting.count, "count")
            return [ir.If(place < wanted, tuple(stores))]
        return stores

    def _element(self, row: ir.Expr, held: Sequence[ir.Expr]) -> ir.Expr:
        sorting = self._sorting
        if not sorting.with_places:
            return element_of(held[0], sorting.dtype, descending=sorting.descending)
        place = ir.apply("to_index", held[1], dtype=ir.INDEX)
        return ir.load(self._input, self._lines.position(0, row, place))

    def _by_lanes(self, statements: Sequence[ir.Statement]) -> ir.Statement:
        """Return statements for every thread of a group; `lane` is its number."""
        lanes = ir.literal(self._target.lanes, ir.INDEX)
        return ir.Loop(ir.index("lane"), ZERO, lanes, tuple(statements), over=ir.ParallelAxis.LANES)


def _strides(shape: Shape) -> Strides:
    return tuple([prod(shape[axis + 1 :]) for axis in range(len(shape))])
