"""The meaning of kernel IR, in NumPy: what every printer is tested against."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from tensorframe.dtypes import DType
from tensorframe.kernel.ir import language as ir
from tensorframe.kernel.ir.multiply_add import multiply_add
from tensorframe.kernel.ir.order import with_lanes
from tensorframe.kernel.ir.walk import in_order
from tensorframe.quick_dataclasses import dataclass, field

Array = Any  # arrays and NumPy scalars: an expression has a value for each element of its bindings


def evaluate(
    root: ir.Expr,
    values: Mapping[ir.Expr, Array],
    memory: Mapping[ir.Buffer, Array] | None = None,
) -> Array:
    """Return the value of an expression whose arguments, indices and variables have these values.

    They may be arrays: the expression is then evaluated for all elements at once.
    """
    known: dict[ir.Expr, Array] = dict(values)
    with np.errstate(all="ignore"):
        for expr in in_order((root,), known):
            known[expr] = _value(expr, known, memory or {})
    return known[root]


def _value(
    expr: ir.Expr, known: Mapping[ir.Expr, Array], memory: Mapping[ir.Buffer, Array]
) -> Array:
    if isinstance(expr, ir.Literal):
        return np.array(expr.value).astype(expr.dtype)[()]
    if isinstance(expr, ir.Load):
        return memory[expr.buffer][_place(expr.buffer, known[expr.position])]
    if isinstance(expr, ir.Apply):
        arguments = [known[operand] for operand in expr.arguments]
        if expr.op in ("cast", "to_index", "from_index"):
            return _cast(arguments[0], expr.dtype)
        if expr.op == "bitcast":
            return np.asarray(arguments[0]).view(expr.dtype)[()]
        return FUNCTIONS[expr.op](*arguments)
    raise KeyError(f"{type(expr).__name__} {getattr(expr, 'name', '')!r} has no value")


def _place(buffer: ir.Buffer, position: Array) -> Array:
    """Return a position as a signed number; scratch memory, unlike operands, begins with its first element."""
    unsigned = np.asarray(position)
    place = unsigned.astype(f"i{unsigned.dtype.itemsize}")
    if buffer.role in (ir.Role.SCRATCH, ir.Role.SHARED) and np.any(place < 0):
        raise IndexError(f"{buffer.name} has no element {place}")
    return place


def _cast(x: Array, dtype: DType) -> Array:
    return np.asarray(x).astype(dtype)[()]


def _bytes(words: Array) -> Array:
    """Return the four signed bytes of words, the lowest first, on a last axis, as int32."""
    words = np.asarray(words, np.uint32)[..., None]
    return (words >> np.arange(0, 32, 8, dtype=np.uint32)).astype(np.int8).astype(np.int32)


def _pair(high: Array, low: Array) -> Array:
    """Return two floats as a complex number, which arithmetic would not make of infinities."""
    both = np.empty(np.broadcast_shapes(np.shape(high), np.shape(low)), ir.PAIR)
    both.real, both.imag = high, low
    return both[()]


# the ops that dialects spell
FUNCTIONS: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "multiply_high": lambda x, y: (np.multiply(x, y, dtype=np.uint64) >> np.uint64(32)).astype(
        np.uint32
    ),
    "dot4": lambda x, y: np.asarray(np.sum(_bytes(x) * _bytes(y), axis=-1, dtype=np.int32))[()],
    "divide": np.divide,
    "floor_divide": np.floor_divide,  # integers: 0 where the divisor is 0
    "remainder": np.remainder,
    "negative": np.negative,
    "abs": np.abs,
    "fma": multiply_add,
    "accumulate_add": np.add,  # steps of sums, whose order `with_lanes` has written out
    "accumulate_multiply": np.multiply,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "copysign": np.copysign,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_not": np.logical_not,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "bitwise_invert": np.bitwise_not,
    "bitwise_left_shift": np.left_shift,
    "bitwise_right_shift": np.right_shift,
    "where_rare": lambda condition, x, y: np.asarray(np.where(condition, x, y))[()],
    "where": lambda condition, x, y: np.asarray(np.where(condition, x, y))[()],
    "pair": _pair,
    "high": np.real,
    "low": np.imag,
}


def run(
    kernel: ir.Kernel,
    start: int,
    stop: int,
    memory: Mapping[ir.Buffer, Array],
    arguments: Mapping[ir.Expr, Any],
) -> None:
    """Run a kernel for a range of its outermost loop, on one-dimensional arrays, in place.

    Everything happens one scalar at a time: this is a definition, not an engine.
    """
    values: dict[ir.Expr, Any] = {ir.START: np.uint64(start), ir.STOP: np.uint64(stop)}
    values.update(
        (parameter, parameter.dtype.type(value)) for parameter, value in arguments.items()
    )
    for _ in _Thread(values, dict(memory)).run(with_lanes(kernel.body)):
        raise ValueError("a kernel without work-groups waits for other threads")


def run_groups(
    kernel: ir.Kernel,
    stop: int,
    memory: Mapping[ir.Buffer, Array],
    arguments: Mapping[ir.Expr, Any],
    *,
    groups: int,
    lanes: int,
) -> None:
    """Run a kernel of work-groups on so many groups of so many threads.

    What it computes does not depend on the number of groups, and only the order of a sum on that of threads. Threads
    run from one barrier to the next, one after the other.
    """
    values: dict[ir.Expr, Any] = {}
    for dtype in (ir.INDEX, np.dtype(np.uint32)):  # positions may have been narrowed
        values[ir.argument(ir.START.name, dtype)] = dtype.type(0)
        values[ir.argument(ir.STOP.name, dtype)] = dtype.type(stop)
    values.update(
        (parameter, parameter.dtype.type(value)) for parameter, value in arguments.items()
    )
    for group in range(groups):
        shared: dict[ir.Buffer, Array] = {}
        threads = [
            _Thread(dict(values), dict(memory), shared, (group, groups), (lane, lanes))
            for lane in range(lanes)
        ]
        _in_step([thread.run(kernel.body) for thread in threads], threads)


Waiting = ir.Combine | ir.Barrier | ir.MultiplyTiles


def _in_step(running: Sequence[Iterator[Waiting]], threads: Sequence[_Thread]) -> None:
    """Run threads from barrier to barrier, and join their values at a `Combine`."""
    while True:
        reached = [next(waiting, None) for waiting in running]
        if len(set(map(id, reached))) > 1:
            raise ValueError("the threads of a group wait at different places")
        arrived = reached[0]
        if arrived is None:
            return
        if isinstance(arrived, ir.Combine):
            width = arrived.width or len(threads)
            for first in range(0, len(threads), width):
                some = threads[first : first + width]
                total = _combined(arrived, [thread.values[arrived.variable] for thread in some])
                for thread in some:
                    thread.values[arrived.variable] = total
        elif isinstance(arrived, ir.MultiplyTiles):
            for first in range(0, len(threads), ir.WARP):
                _multiply_tiles(arrived, threads[first : first + ir.WARP])


def _multiply_tiles(product: ir.MultiplyTiles, warp: Sequence[_Thread]) -> None:
    """Have the threads of a warp add the product of tiles to their totals, which are rounded after each step."""
    if len(warp) != ir.WARP:
        raise ValueError(f"{len(warp)} threads are no warp")
    left, right = [
        warp[0].tile(tile, product.dtype, count)
        for tile, count in (
            (product.left, product.rows * ir.TILE_ROWS),
            (product.right, product.columns * ir.TILE_COLUMNS),
        )
    ]
    for lane, thread in enumerate(warp):
        for number, total in enumerate(product.totals):
            tile, part = divmod(number, 4)
            row = tile // product.columns * ir.TILE_ROWS + part // 2 * 8 + lane // 4
            column = tile % product.columns * ir.TILE_COLUMNS + lane % 4 * 2 + part % 2
            for inner in range(ir.TILE_DEPTH):
                term = left[row, inner] * right[column, inner]
                thread.values[total] = np.float32(thread.values[total] + term)


def _combined(combination: ir.Combine, values: Sequence[Array]) -> Array:
    """Return the values of neighbouring threads, joined level by level."""

    def one_by_one(values: Sequence[Array]) -> Array:
        return reduce(
            lambda x, y: evaluate(
                combination.joined, {combination.variable: x, combination.other: y}
            ),
            values,
        )

    for size in ir.levels(len(values)):
        starts = range(0, len(values), size)
        values = [one_by_one(values[first : first + size]) for first in starts]
    return values[0]


@dataclass(slots=True)
class _Thread:
    """What runs statements; `group` and `lane` are its numbers, and how many there are."""

    values: dict[ir.Expr, Any]
    memory: dict[ir.Buffer, Array]
    shared: dict[ir.Buffer, Array] = field(default_factory=dict)
    group: tuple[int, int] = (0, 1)
    lane: tuple[int, int] = (0, 1)

    def run(self, body: Iterable[ir.Statement]) -> Iterator[Waiting]:
        """Run statements; yields those at which a thread waits for the others of its group."""
        for statement in body:
            if isinstance(statement, ir.Let | ir.Set):
                self.values[statement.variable] = self._evaluated(statement.value)
            elif isinstance(statement, ir.Store):
                position = int(_place(statement.buffer, self._evaluated(statement.position)))
                self.memory[statement.buffer][position] = self._evaluated(statement.value)
            elif isinstance(statement, ir.Loop):
                for index in self._indices(statement):
                    self.values[statement.index] = statement.index.dtype.type(index)
                    yield from self.run(statement.body)
            elif isinstance(statement, ir.If):
                if self._evaluated(statement.condition):
                    yield from self.run(statement.body)
            elif isinstance(statement, ir.Allocate):
                self._allocate(statement)
            elif isinstance(statement, ir.CopyNeighbours):
                self._copy(statement)
            elif isinstance(statement, ir.ReadNeighbours):
                self._read(statement)
            elif isinstance(statement, ir.StreamingStore):
                self._stream(statement)
            elif not isinstance(statement, ir.Prefetch):
                yield statement

    def _evaluated(self, root: ir.Expr) -> Array:
        return evaluate(root, self.values, self.memory)

    def _indices(self, loop: ir.Loop) -> range:
        """Return the iterations of a loop that fall to this thread."""
        first, last = int(self._evaluated(loop.start)), int(self._evaluated(loop.stop))
        (group, groups), (lane, lanes) = self.group, self.lane
        if loop.over is ir.ParallelAxis.GRID:
            return range(first + group * lanes + lane, last, groups * lanes)
        if loop.over is ir.ParallelAxis.GROUPS:
            return range(first + group, last, groups)
        if loop.over is ir.ParallelAxis.LANES:
            return range(first + lane, last, lanes)
        return range(first, last)

    def _stream(self, store: ir.StreamingStore) -> None:
        first = int(self._evaluated(store.position))
        for index in range(int(self._evaluated(store.count))):
            self.memory[store.buffer][first + index] = self.memory[store.source][index]

    def _copy(self, copy: ir.CopyNeighbours) -> None:
        to, valid = int(self._evaluated(copy.position)), int(self._evaluated(copy.valid))
        first = int(_place(copy.source, self._evaluated(copy.source_position)))
        elements = self.memory[copy.source][first : first + valid]
        target = self.memory[copy.buffer][to : to + ir.neighbours(copy.buffer.dtype)]
        target[:valid], target[valid:] = elements.view(copy.buffer.dtype), 0

    def _read(self, read: ir.ReadNeighbours) -> None:
        valid = int(self._evaluated(read.valid))
        first = int(_place(read.source, self._evaluated(read.position)))
        elements = self.memory[read.source][first : first + valid]
        for number, variable in enumerate(read.variables):
            self.values[variable] = elements[number] if number < valid else variable.dtype.type(0)

    def tile(self, tile: ir.Tile, dtype: DType, count: int) -> Array:
        """Return numbers of a tile in shared memory: `count` lines along the inner axis of a product."""
        first = int(self._evaluated(tile.position))
        along, beside = np.arange(ir.TILE_DEPTH), np.arange(count)[:, None]
        places = beside * tile.pitch + along if tile.inside else along * tile.pitch + beside
        return self.memory[tile.buffer][first + places].view(dtype).astype(np.float32)

    def _allocate(self, allocation: ir.Allocate) -> None:
        count = int(self._evaluated(allocation.count))
        if allocation.buffer.role is not ir.Role.SHARED:
            self.memory[allocation.buffer] = np.zeros(count, allocation.buffer.dtype)
            return
        made = self.shared.setdefault(allocation.buffer, np.zeros(count, allocation.buffer.dtype))
        self.memory[allocation.buffer] = made
