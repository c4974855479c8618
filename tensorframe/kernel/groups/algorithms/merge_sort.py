"""Sorting along an axis by work-groups: runs are merged in shared memory, long rows by passes over device memory.

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
from tensorframe.kernel.groups.algorithms.lines import Lines
from tensorframe.kernel.groups.algorithms.order import element_of, key_dtype, key_of, last_key
from tensorframe.kernel.groups.forms import Target
from tensorframe.kernel.ir.formula import both, cast, either, equal, where
from tensorframe.kernel.ir.loops import ZERO, digits, smaller
from tensorframe.kernel.nest.assemble import Built, Launch, assembled
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


def build_sort(sorting: Sorting, target: Target) -> Built:
    """Return the kernels that sort, and the memory between them."""
    lanes = target.lanes
    area = lanes * (_EACH if sorting.length > lanes else 1)
    block = min(1 << (sorting.length - 1).bit_length(), area)
    place = uint32 if sorting.length < 2**32 else uint64
    pair = [key_dtype(sorting.dtype), place][: 1 + sorting.with_places]
    total = sorting.rows * sorting.length
    runs = [block]
    while runs[-1] < sorting.length:
        runs.append(2 * runs[-1])
    buffers = [
        [(f"p{turn * len(pair) + number}", dtype) for number, dtype in enumerate(pair)]
        for turn in range(min(len(runs) - 1, 2))
    ]
    launches = []
    for turn, run in enumerate(runs):
        kernel = _Pass(sorting, target, place, last=turn == len(runs) - 1)
        source = (
            [ir.Buffer(*buffer, ir.Role.INPUT) for buffer in buffers[(turn - 1) % 2]]
            if turn
            else []
        )
        goal = (
            []
            if kernel.last
            else [ir.Buffer(*buffer, ir.Role.OUTPUT) for buffer in buffers[turn % 2]]
        )
        if turn:
            statements, count = kernel.merged(run // 2, source, goal), total
        else:
            statements, count = kernel.blocks(block, area, goal)
        launches.append(kernel.launch(statements, count))
    partials = tuple([(dtype, total, 0) for arrays in buffers for _, dtype in arrays])
    layout = tuple(range(len(sorting.shape)))
    return Built(tuple(launches), partials, (layout,) * len(sorting.outputs))


class _Pass:
    """One kernel: `last` says that it writes the outputs."""

    def __init__(self, sorting: Sorting, target: Target, place: DType, *, last: bool) -> None:
        self._sorting, self._target, self._place = sorting, target, place
        self.last = last
        self._numbers = Numbers()
        self._lines = Lines(
            sorting.shape, sorting.axis, [sorting.strides, _strides(sorting.result)], self._numbers
        )
        self._length = self._numbers.take(sorting.length, "length")
        self._input = ir.Buffer("x0", sorting.dtype, ir.Role.INPUT)

    def launch(self, statements: Sequence[ir.Statement], count: int) -> Launch:
        """Return the launch of a kernel whose outermost loop runs so often."""
        target, sorting = self._target, self._sorting
        way = "descending" if sorting.descending else "ascending"
        notes = (f"{sorting.dtype} in {way} order",)
        kernel = assembled(
            tuple(statements), self._numbers, (), notes, lanes=target.lanes, index=target.index
        )
        return Launch(kernel, tuple(self._numbers.values), count, 1)

    def blocks(
        self, block: int, area: int, goal: Sequence[ir.Buffer]
    ) -> tuple[tuple[ir.Statement, ...], int]:
        """Return the statements that sort blocks of rows in shared memory, and how many groups they take."""
        sorting, lanes = self._sorting, self._target.lanes
        chunks = -(-sorting.length // block)
        count = sorting.rows * chunks
        groups = -(-count * block // area)
        memory = [ir.Buffer("keys", key_dtype(sorting.dtype), ir.Role.SHARED)]
        if sorting.with_places:
            memory.append(ir.Buffer("places", self._place, ir.Role.SHARED))
        group, lane, level = ir.index("group"), ir.index("lane"), ir.index("level")
        slots = [lane + index * lanes if index else lane for index in range(area // lanes)]
        count_of = self._numbers.take(count, "blocks")
        chunks_of = self._numbers.take(chunks, "chunks")
        # blocks of any size share their text
        size_of = self._numbers.take(block, "block")
        first = group * self._numbers.take(area // block, "each")
        levels = self._numbers.take(block.bit_length() - 1, "levels")
        fill: list[ir.Statement] = []
        give: list[ir.Statement] = []
        for slot in slots:
            number, inside_chunk = digits(slot, [ZERO, size_of])
            number = first + number
            row, chunk = digits(smaller(number, count_of - 1), [ZERO, chunks_of])
            place = chunk * size_of + inside_chunk
            there = both(number < count_of, place < self._length)
            inside = smaller(place, self._length - 1)
            key = where(there, self._key(row, inside), last_key(sorting.dtype))
            fill.append(ir.Store(memory[0], slot, key))
            if sorting.with_places:
                fill.append(ir.Store(memory[1], slot, self._as_place(place)))
            loaded = [ir.load(buffer, slot) for buffer in memory]
            stores = self._stores(row, place, loaded, goal)
            give.append(ir.If(there, tuple(stores)))
        turn = ir.Loop(level, ZERO, levels, self._turn(slots, memory))
        work = (self._by_lanes(fill), ir.Barrier(), turn, self._by_lanes(give))
        size = ir.literal(area, ir.INDEX)
        allocated = [ir.Allocate(buffer, size) for buffer in memory]
        loop = ir.Loop(group, ir.START, ir.STOP, work, parallel=True, over=ir.ParallelAxis.GROUPS)
        return (*allocated, loop), groups

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
            search = _Search(ir.variable(f"before_{turn}", ir.INDEX), held[0], number)
            find.append(search.begin())
            searches += search.step(memory[0], other, run, run)
            goal = slot - (number & 1) * run + search.count
            write += [
                ir.Store(buffer, goal, mine) for mine, buffer in zip(held, memory, strict=True)
            ]
        loop = ir.Loop(ir.index("search"), ZERO, level + 1, tuple(searches))
        return (self._by_lanes([*find, loop]), ir.Barrier(), self._by_lanes(write), ir.Barrier())

    def merged(
        self, run: int, source: Sequence[ir.Buffer], goal: Sequence[ir.Buffer]
    ) -> tuple[ir.Statement, ...]:
        """Return the statements that merge runs of so many elements of each row in pairs."""
        position = ir.index("at")
        size = self._numbers.take(run, "run")
        steps = self._numbers.take(run.bit_length(), "steps")
        row, place = digits(position, [ZERO, self._length])
        number = ir.apply("floor_divide", place, size)
        other = smaller((number ^ 1) * size, self._length)
        there = smaller(size, self._length - other)
        held = [ir.variable(f"mine_{buffer.name}", buffer.dtype) for buffer in source]
        search = _Search(ir.variable("before", ir.INDEX), held[0], number)
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
            *self._stores(row, target, held, goal),
        )
        return (
            ir.Loop(position, ir.START, ir.STOP, work, parallel=True, over=ir.ParallelAxis.GRID),
        )

    def _key(self, row: ir.Expr, place: ir.Expr) -> ir.Expr:
        element = ir.load(self._input, self._lines.position(0, row, place))
        sorting = self._sorting
        return key_of(element, descending=sorting.descending, one_zero=sorting.with_places)

    def _as_place(self, place: ir.Expr) -> ir.Expr:
        return ir.apply("from_index", place, dtype=self._place)

    def _stores(
        self, row: ir.Expr, place: ir.Expr, held: Sequence[ir.Expr], goal: Sequence[ir.Buffer]
    ) -> list[ir.Statement]:
        """Return the statements that write what is at a place of a row: its key, and where it came from."""
        if not self.last:
            target = row * self._length + place
            return [ir.Store(buffer, target, mine) for buffer, mine in zip(goal, held, strict=True)]
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
        if sorting.count < sorting.length:
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


@dataclass(frozen=True, slots=True)
class _Search:
    """How many elements of another run come before `key`: those that are smaller, and equal ones of an earlier run."""

    count: ir.Variable
    key: ir.Expr
    run: ir.Expr  # the number of the key's own run

    def begin(self) -> ir.Set:
        """Return the statement to begin with."""
        return ir.Set(self.count, ir.apply("to_index", ir.literal(0, uint32), dtype=ir.INDEX))

    def step(
        self, keys: ir.Buffer, first: ir.Expr, run: ir.Expr, length: ir.Expr
    ) -> list[ir.Statement]:
        """Return a step, number `search`, of a search in `length` elements, at most `run`, which is a power of two."""
        stride = ir.apply("bitwise_right_shift", run, ir.index("search"))
        upto = smaller(self.count + stride, length)
        other = ir.load(keys, first + upto - 1)
        earlier = equal(self.run & 1, 1)
        before = either(other < self.key, both(earlier, equal(other, self.key)))
        return [ir.Set(self.count, where(before, upto, self.count))]


def _strides(shape: Shape) -> Strides:
    return tuple([prod(shape[axis + 1 :]) for axis in range(len(shape))])
