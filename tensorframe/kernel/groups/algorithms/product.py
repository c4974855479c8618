"""Products of matrices by work-groups: each makes tiles of the result from tiles of both factors in shared memory.

A thread keeps its part of a tile in registers. What is done to the product elementwise is done to it there, before it
is stored: the region that says so has the product as an input which is in no memory. Beyond the edges factors are read
at the edge, along the inner axis as zero, and nothing is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tensorframe.dtypes import BOOL, NARROW
from tensorframe.graph.region import Region
from tensorframe.graph.space import Space
from tensorframe.kernel import ir
from tensorframe.kernel.groups.algorithms.blocking import Blocking, blocking_of
from tensorframe.kernel.groups.algorithms.product_loops import (
    COLUMNS,
    LEFT,
    RIGHT,
    Factor,
    Product,
    lay_out_product,
    loops_of,
)
from tensorframe.kernel.groups.algorithms.product_tiles import (
    Neighbours,
    Side,
    Totals,
    added,
    moved,
    selected,
)
from tensorframe.kernel.groups.algorithms.tunings import Tiling, name_of
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir.formula import both, where
from tensorframe.kernel.ir.loops import ZERO, digits, smaller
from tensorframe.kernel.ir.walk import expressions, in_order, substituted_in
from tensorframe.kernel.math.scalars import converted
from tensorframe.kernel.nest.assemble import Built, Launch, finish
from tensorframe.kernel.nest.body import Body
from tensorframe.kernel.nest.layout import Strides, output_buffers
from tensorframe.kernel.nest.passes.choices import branched

# Elements of the inner axis that are in shared memory at a time, where an element has so many bytes at most.
_DEPTHS = ((4, 16), (8, 8), (16, 4))
_THREADS = 1280  # of a multiprocessor, for factors of few bits


class Tiled:
    """The kernel of one product and of what `region` does to it, whose inputs have these strides."""

    def __init__(
        self,
        region: Region,
        space: Space,
        strides: Sequence[Strides],
        places: Sequence[tuple[int, int | None]],
        product: Product,
        target: Target,
    ) -> None:
        layout = lay_out_product(region, space, strides, places, product)
        nest = layout.nest
        self._product, self._target, self._layouts = product, target, layout.layouts
        self._body = Body(region, nest, layout.reads, {}, target.widest)
        self._outputs = output_buffers(region, layout)
        self._rows, self._columns, self._part = loops_of(nest)
        self._stack = [
            loop for loop in range(len(nest.kept)) if loop not in (self._rows, self._columns)
        ]
        rows, columns = [
            1 if loop is None else nest.kept[loop] for loop in (self._rows, self._columns)
        ]
        stack = prod([nest.kept[loop] for loop in self._stack])
        self._blocking, self._depth = self._tiling(stack, rows, columns)
        self._tiles = self._blocking.tiles(rows, columns)
        self._count = stack * prod(self._tiles)
        self._left = self._side(LEFT, product.left, self._rows, self._blocking.height)
        self._right = self._side(RIGHT, product.right, self._columns, self._blocking.width)
        self._places: dict[int, ir.Expr] = {}

    def _tiling(self, stack: int, rows: int, columns: int) -> tuple[Blocking, int]:
        """Return the tile of a group, and how much of the inner axis it has in shared memory at a time."""
        product, target = self._product, self._target
        width = product.total.itemsize * product.parts
        tiling = Tiling(
            blocking_of(stack, rows, columns, target.lanes),
            next(depth for size, depth in _DEPTHS if width <= size),
        )
        if target.tunings is not None:
            name = name_of(stack, rows, columns, product.length, product.total.name)
            tiling = target.tunings.chosen(name, tiling, target.lanes, width)
        return tiling.blocking, tiling.depth

    def _side(self, key: str, factor: Factor, loop: int | None, length: int) -> Side:
        along = 0 if loop is None else abs(self._body.nest.accesses[key].steps[loop])
        inside = abs(factor.inner) < along
        # an odd length of rows: what is written down a column goes to different banks
        pitch = length + 1 if inside else length
        parts = range(self._product.parts)
        memory = [ir.Buffer(f"{key}{part}", self._product.total, ir.Role.SHARED) for part in parts]
        return Side(key, factor, loop, length, pitch, inside, tuple(memory))

    def built(self) -> Built:
        """Return the kernel."""
        body = self._body
        statements = branched(self._statements(), body.cuts)
        target, occupancy = self._target, self._occupancy()
        kernel = finish(
            body, statements, lanes=target.lanes, occupancy=occupancy, index=target.index
        )
        launch = Launch(kernel, tuple(body.numbers.values), self._count, 1)
        return Built((launch,), (), self._layouts)

    def _occupancy(self) -> int:
        """Return how many groups a multiprocessor is to have registers for at once; 0 leaves it to compilers.

        These would spill what elements of few bits are converted to, for more threads than memory needs.
        """
        return max(1, _THREADS // self._target.lanes) if self._product.dtype in NARROW else 0

    def _statements(self) -> tuple[ir.Statement, ...]:
        body, blocking, product = self._body, self._blocking, self._product
        tile = ir.index("tile")
        down, across = [
            body.numbers.take(count, name)
            for count, name in zip(self._tiles, ("down", "across"), strict=True)
        ]
        *places, row, by = digits(tile, [*[body.sizes[loop] for loop in self._stack], down, across])
        self._places = dict(zip(self._stack, places, strict=True))
        corner = (row * blocking.height, by * blocking.width)
        totals = self._totals()
        zero = ir.literal(0, product.total)
        begin = [ir.Set(total, zero) for _, _, block in totals for total in block]
        last = self._end()
        steps = body.numbers.take(-(-(product.chunk or product.length) // self._depth), "steps")
        turns = self._turns(totals, corner, last, steps)
        work = (*begin, *turns, self._store(totals, corner))
        memory = [
            ir.Allocate(buffer, ir.literal(self._shared(side), ir.INDEX))
            for side in (self._left, self._right)
            for buffer in side.memory
        ]
        return (
            *memory,
            ir.Loop(tile, ir.START, ir.STOP, work, parallel=True, over=ir.ParallelAxis.GROUPS),
        )

    def _shared(self, side: Side) -> int:
        """Return how many elements of a factor are in shared memory."""
        return side.pitch * self._depth

    def _turns(
        self, totals: Totals, corner: tuple[ir.Expr, ir.Expr], last: ir.Expr, steps: ir.Expr
    ) -> tuple[ir.Statement, ...]:
        """Return the loop along the inner axis."""
        step = ir.index("step")
        first = step * self._depth
        fills = (
            self._fill(self._left, corner[0], first, last),
            self._fill(self._right, corner[1], first, last),
        )
        turn = (*fills, ir.Barrier(), self._multiply(totals, ZERO), ir.Barrier())
        return (ir.Loop(step, ZERO, steps, turn),)

    def _totals(self) -> Totals:
        """Return the accumulators of a thread: row, column, and one for each part of a number."""
        names, dtype = ("sum", "imaginary")[: self._product.parts], self._product.total
        return [
            (i, j, tuple([ir.variable(f"{name}_{i}_{j}", dtype) for name in names]))
            for i in range(self._blocking.rows)
            for j in range(self._blocking.columns)
        ]

    def _end(self) -> ir.Expr:
        """Return where the inner axis, or the part of it that a group runs along, ends."""
        product = self._product
        length = self._body.numbers.take(product.length, "length")
        if not product.chunk:
            return length
        chunk = self._body.numbers.take(product.chunk, "chunk")
        part = ZERO if self._part is None else self._places[self._part]
        return smaller(chunk, length - part * chunk)

    def _fill(self, side: Side, corner: ir.Expr, first: ir.Expr, last: ir.Expr) -> ir.Statement:
        """Return the loop that copies a tile of a factor into shared memory."""
        place = ir.index(f"fill_{side.key}")
        position, elements = self._elements(side, place, corner, first, last)
        stores = [
            ir.Store(memory, position, value)
            for memory, value in zip(side.memory, elements, strict=True)
        ]
        count = ir.literal(side.length * self._depth, ir.INDEX)
        return ir.Loop(place, ZERO, count, tuple(stores), over=ir.ParallelAxis.LANES)

    def _elements(
        self, side: Side, place: ir.Expr, corner: ir.Expr, first: ir.Expr, last: ir.Expr
    ) -> tuple[ir.Expr, list[ir.Expr]]:
        """Return where shared memory has an element of a tile, and its parts: zero beyond the inner axis.

        Elements that are neighbours in memory have numbers that are so.
        """
        if side.inside:
            across, inner = digits(place, [ZERO, ir.literal(self._depth, ir.INDEX)])
        else:
            inner, across = digits(place, [ZERO, ir.literal(side.length, ir.INDEX)])
        body, along = self._body, corner + across
        self._set_indices({side.loop: along}, inside=True)
        position, known = self._place(side, smaller(first + inner, last - 1))
        elements = []
        for part, memory in enumerate(side.memory):
            element = ir.load(
                body.inputs[side.factor.source], position + part if part else position
            )
            value = where(first + inner < last, converted(element, memory.dtype), 0)
            if known is not None:
                value = where(known, value, 0)
            elements.append(value)
        return inner * side.pitch + across, elements

    def _place(self, side: Side, inner: ir.Expr) -> tuple[ir.Expr, ir.Expr | None]:
        """Return where an element of a factor is, by its place on the inner axis, and whether it is there."""
        body, factor = self._body, side.factor
        start = body.position(side.key)
        if factor.gather is None:
            return moved(start, inner, body.step(factor.inner, (side.key, "inner"))), None
        outer = body.position(COLUMNS) if side.key == RIGHT else ZERO
        place, known = factor.gather.place(body, inner, outer)
        return place if start is ZERO else start + place, known

    def _set_indices(self, indices: dict[int | None, ir.Expr], *, inside: bool = False) -> None:
        """Have the body compute positions for these indices; beyond the edge of the result it is at the edge."""
        body = self._body
        body.indices = [self._places.get(loop, ZERO) for loop in range(len(body.sizes))]
        for loop, place in indices.items():
            if loop is not None:
                body.indices[loop] = smaller(place, body.sizes[loop] - 1) if inside else place

    def _has_neighbours(self, side: Side) -> bool:
        """Whether elements of a factor lie side by side, along the inner axis or along the loop across it."""
        steps = self._body.nest.accesses[side.key].steps
        return side.factor.inner == 1 or (side.loop is not None and steps[side.loop] == 1)

    def _neighbours(
        self, side: Side, number: ir.Expr, corner: ir.Expr, first: ir.Expr, last: ir.Expr
    ) -> Neighbours:
        """Return where the tile's `number`th elements that lie side by side are."""
        each = ir.neighbours(side.memory[0].dtype)
        beside = (self._depth if side.inside else side.length) // each
        line, nth = digits(number, [ZERO, ir.literal(beside, ir.INDEX)])
        across, inner = (line, nth * each) if side.inside else (nth * each, line)
        along, ahead = corner + across, first + inner
        size = ir.literal(1, ir.INDEX) if side.loop is None else self._body.sizes[side.loop]
        self._set_indices({side.loop: along}, inside=True)
        source, _ = self._place(side, ahead)
        left = last - ahead if side.inside else size - along
        there = ahead < last if side.inside else both(ahead < last, along < size)
        valid = where(there, smaller(left, ir.literal(each, ir.INDEX)), 0)
        return Neighbours(across, inner, source, valid)

    def _multiply(self, totals: Totals, tile: ir.Expr) -> ir.Statement:
        """Return the loop in which every thread takes in a tile of each factor: shared memory may have several."""
        lane, inner, blocking = ir.index("lane"), ir.index("inner"), self._blocking
        row, by = digits(lane, [ZERO, ir.literal(blocking.across, ir.INDEX)])
        statements: list[ir.Statement] = []
        for side, start, count, stride in (
            (self._left, row, blocking.rows, blocking.down),
            (self._right, by, blocking.columns, blocking.across),
        ):
            own, step = self._spread(side, start, count, stride)
            line = inner * side.pitch + own
            begin = line if tile is ZERO else tile * (side.pitch * self._depth) + line
            for number in range(count):
                for part, memory in enumerate(side.memory):
                    factor = ir.load(memory, begin + number * step)
                    statements.append(ir.Let(self._element(side, number, part), factor))
        for i, j, block in totals:
            left, right = [
                [self._element(side, number, part) for part in range(self._product.parts)]
                for side, number in ((self._left, i), (self._right, j))
            ]
            statements += [
                ir.Set(total, value)
                for total, value in zip(block, self._taken_in(block, left, right), strict=True)
            ]
        turns = ir.literal(self._turns_inside(), ir.INDEX)
        return self._by_threads((ir.Loop(inner, ZERO, turns, tuple(statements)),))

    def _spread(
        self, _side: Side, thread: ir.Expr, _count: int, stride: int
    ) -> tuple[ir.Expr, int]:
        """Return the first of a thread's `count` rows of the tile, or columns, and how far apart they are.

        Neighbouring threads have neighbours: processors read these as vectors.
        """
        return thread, stride

    def _turns_inside(self) -> int:
        """Return how often threads take in what is side by side in shared memory."""
        return self._depth

    def _element(self, side: Side, number: int, part: int) -> ir.Variable:
        return ir.variable(f"{side.key}{part}_{number}", self._product.total)

    def _taken_in(
        self, block: Sequence[ir.Expr], left: Sequence[ir.Expr], right: Sequence[ir.Expr]
    ) -> list[ir.Expr]:
        """Return the sums with one more product taken in."""
        if self._product.dtype in BOOL:
            return [block[0] | (left[0] & right[0])]
        if self._product.parts == 1:
            return [added(block[0], left[0], right[0])]
        (a, b), (c, d) = left, right
        return [
            added(added(block[0], a, c), -b, d),
            added(added(block[1], a, d), b, c),
        ]

    def _by_threads(self, statements: tuple[ir.Statement, ...]) -> ir.Statement:
        """Return statements for each thread that has a part of the tile; `lane` is its number."""
        count = ir.literal(self._blocking.threads, ir.INDEX)
        return ir.Loop(ir.index("lane"), ZERO, count, statements, over=ir.ParallelAxis.LANES)

    def _store(self, totals: Totals, corner: tuple[ir.Expr, ir.Expr]) -> ir.Statement:
        """Return the loops over a thread's part of the tile, which compute and write what becomes of it."""
        blocking = self._blocking
        i, j = ir.index("i"), ir.index("j")
        down, across = digits(ir.index("lane"), [ZERO, ir.literal(blocking.across, ir.INDEX)])
        down, below = self._spread(self._left, down, blocking.rows, blocking.down)
        across, beside = self._spread(self._right, across, blocking.columns, blocking.across)
        row = corner[0] + i * below + down
        column = corner[1] + j * beside + across
        stores = self._stored(totals, row, column, i, j)
        along = ir.Loop(j, ZERO, ir.literal(blocking.columns, ir.INDEX), stores)
        return self._by_threads((ir.Loop(i, ZERO, ir.literal(blocking.rows, ir.INDEX), (along,)),))

    def _stored(
        self, totals: Totals, row: ir.Expr, column: ir.Expr, i: ir.Expr, j: ir.Expr
    ) -> tuple[ir.Statement, ...]:
        """Return what writes an element's results, unless it is beyond the edge."""
        body = self._body
        # what is read besides may move out of the conditions below, so it is read at the edge, too
        self._set_indices({self._rows: row, self._columns: column}, inside=True)
        stores: tuple[ir.Statement, ...] = tuple(
            [
                ir.Store(buffer, body.position(("out", value)), body.element(value))
                for value, buffer in self._outputs.items()
            ]
        )
        stores = substituted_in(stores, self._products(stores, totals, i, j))
        for loop, place in ((self._columns, column), (self._rows, row)):
            if loop is not None:
                stores = (ir.If(place < body.sizes[loop], stores),)
        return stores

    def _products(
        self, stores: tuple[ir.Statement, ...], totals: Totals, i: ir.Expr, j: ir.Expr
    ) -> dict[ir.Expr, ir.Expr]:
        """Return the register that stands for each load of the product, in row `i` and column `j` of a thread."""
        roots, _ = expressions(stores)
        wanted = self._body.inputs[self._product.value]
        known: dict[ir.Expr, ir.Expr] = {}
        for expr in in_order(roots, {}):
            if isinstance(expr, ir.Load) and expr.buffer is wanted:
                assert isinstance(expr.position, ir.Literal)
                part = int(expr.position.value.real)
                total = selected({(row, by): block[part] for row, by, block in totals}, i, j)
                known[expr] = converted(total, expr.dtype)
        return known
