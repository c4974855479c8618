"""Scatters that combine, for threads that run ranges of a loop: each element takes its values in one after the other.

The output holds the tensor's elements already. Threads share out the axes that values have besides those of the
indices, in blocks of columns. Each goes through the indices in C order, so what is added to what depends on nothing but
the program. Elements are combined with in place, but where a row has a wider dtype for them, there are accumulators:

    dense     one for each element of the columns, where many are pointed to
    sparse    one for each element that is pointed to; others stay untouched
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.dtypes import COMPLEX, FLOAT, bool_, float32, real_of, uint32
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import broadcast, broadcast_strides, strides_of
from tensorframe.kernel import ir
from tensorframe.kernel.ir.formula import bitcast, both, equal, negation, where
from tensorframe.kernel.ir.loops import ZERO, digits, flat, named, nested, smaller
from tensorframe.kernel.math.accumulate import accumulation
from tensorframe.kernel.math.scalars import converted
from tensorframe.kernel.nest.assemble import Built, Launch, assembled
from tensorframe.kernel.nest.axes import Axes, step_of, summed, times
from tensorframe.kernel.nest.body import Numbers
from tensorframe.kernel.nest.layout import Strides
from tensorframe.kernel.spaces.gather import place_on_axis, with_bounds_checks
from tensorframe.machine import HOST

# Elements that a thread combines at a time, and columns of which a block has at least so many.
_SHARE, _COLUMNS = 1 << 15, 64
# Bytes of accumulators that stay in the cache, and columns of which a block has at least so many to that end.
_CACHED, _CACHED_COLUMNS = 4 * HOST.second, 16
# How many elements there are at least for each index where only those pointed to have accumulators.
_FEW = 4

Statements = tuple[ir.Statement, ...]

# of an element that is pointed to: its number, in C order of the indexed axes, its position, and its accumulators
_NUMBER, _PLACE, _SLOT = [ir.variable(name, ir.INDEX) for name in ("number", "place", "slot")]
_KNOWN = ir.variable("known", bool_)
_USED = ir.variable("used", ir.INDEX)  # accumulators
_PLACES = ir.Buffer("places", ir.INDEX, ir.Role.SCRATCH)  # of elements, by accumulator
_SLOTS = ir.Buffer("slots", uint32, ir.Role.SCRATCH)  # accumulators, by the number of an element


def build_scatter(region: Region, strides: Sequence[Strides]) -> Built:
    """Return the kernel that combines values with the output's elements; inputs have these strides, in elements."""
    scatter = _Scatter(region, strides)
    statements = with_bounds_checks(scatter.statements())
    inputs = enumerate(region.inputs)
    scalars = [
        ir.argument(f"x{position}", dtype) for position, (shape, dtype) in inputs if shape == ()
    ]
    (op,) = region.ops
    notes = (f"{op.op.name}: {op.dtype}",)
    kernel = assembled(statements, scatter.numbers, scalars, notes)
    grain = max(1, _SHARE // scatter.work)
    launch = Launch(kernel, tuple(scatter.numbers.values), scatter.units, grain)
    return Built((launch,), (), (tuple(range(len(op.shape))),))


def scratch_bytes(region: Region) -> int:
    """Return how much memory each thread takes for accumulators."""
    return _Scatter(region, [strides_of(shape) for shape, _ in region.inputs]).scratch


class _Scatter:
    """The statements of a scatter.

    Of the `outer` and `inner` axes, which indices leave alone, array 0 is the output and array 1 the values. Of the
    `chosen` axes, those of the indices, array 0 is the values, and the indices follow. The `rows` are the output's axes
    that indices select on.
    """

    def __init__(self, region: Region, strides: Sequence[Strides]) -> None:
        (op,) = region.ops
        dtype = real_of(op.dtype) if op.dtype in COMPLEX else op.dtype
        how, combination = accumulation(op.op, dtype), op.op.combination
        assert how is not None
        assert combination is not None
        self._how, self._region, self._dtype = how, region, dtype
        self._output = ir.Buffer("y0", dtype, ir.Role.OUTPUT)
        self._sums = ir.Buffer("sums", how.dtype, ir.Role.SCRATCH)
        self.numbers = Numbers()
        self._sort_axes(op, strides)
        self._is_wide = combination.wide and dtype in FLOAT and how.dtype != dtype
        few = self._chosen.count < min(self._rows.count / _FEW, 2**32)
        self._is_sparse = self._is_wide and few
        self._is_own_set = dtype == float32  # which has the bits for the number of an accumulator
        self._accumulators = self._chosen.count if self._is_sparse else self._rows.count
        width = self._columns_of_a_block()
        blocks = -(-self._inner.count // width)
        self._begin_block(blocks, width)
        self.units, self.work = self._outer.count * blocks, self._chosen.count * width
        each = how.dtype.itemsize * width + _PLACES.dtype.itemsize
        slots = _SLOTS.dtype.itemsize * self._rows.count * (not self._is_own_set)
        self.scratch = (each * self._accumulators + slots) * self._is_wide

    def _sort_axes(self, op: RegionOp, strides: Sequence[Strides]) -> None:
        region, numbers, shape = self._region, self.numbers, op.shape
        (axes, place), (_, self._values, *self._indices) = op.attrs, op.inputs
        # the parts of complex elements are one more axis
        scale, parts = (2, [(2, 1, 1)]) if op.dtype in COMPLEX else (1, [])
        out = [scale * step for step in strides_of(shape)]
        count = len(region.shape_of(self._values))
        values = [scale * step for step in strides[self._values][:count]]
        indices = [(region.shape_of(index), strides[index]) for index in self._indices]
        chosen = broadcast(op.op.name, *[own for own, _ in indices])
        steps = [broadcast_strides(*index, chosen) for index in indices]
        end = place + len(chosen)
        kept = [(shape[axis], out[axis]) for axis in range(len(shape)) if axis not in axes]
        beside = [*values[:place], *values[end:]]
        shared = [(*axis, step) for axis, step in zip(kept, beside, strict=True)]
        self._outer = Axes(shared[:place], numbers)
        self._inner = Axes([*shared[place:], *parts], numbers)
        self._chosen = Axes(list(zip(chosen, values[place:end], *steps, strict=True)), numbers)
        self._rows = Axes([(shape[axis], out[axis]) for axis in axes], numbers)
        self._lengths = [numbers.take(shape[axis], "length") for axis in axes]
        self._steps = [step_of(out[axis], numbers) for axis in axes]

    def _columns_of_a_block(self) -> int:
        """Return how many columns a thread takes at a time: threads share them, and accumulators stay in the cache."""
        columns = self._inner.count
        if len(self._inner.sizes) != 1:
            return columns
        held = self._how.dtype.itemsize * self._accumulators * columns if self._is_wide else 0
        shared = min(-(-self._chosen.count * columns // _SHARE), columns // _COLUMNS)
        cached = min(-(-held // _CACHED), columns // _CACHED_COLUMNS)
        return -(-columns // max(shared, cached, 1))

    def _begin_block(self, blocks: int, width: int) -> None:
        """Set where a block begins in all arrays, and the loops over its columns."""
        self._unit = ir.index("unit")
        outer: ir.Expr = self._unit
        block: ir.Expr = ZERO
        self._width = self.numbers.take(width, "width")
        if blocks > 1:
            outer, block = digits(self._unit, [ZERO, self.numbers.take(blocks, "blocks")])
        place = digits(outer, self._outer.sizes)
        self._bases = [self._outer.position(array, place) for array in range(2)]
        sizes, self._columns = self._inner.sizes, named("c", len(self._inner.sizes))
        self._ranges: list[tuple[ir.Expr, ir.Expr]] = [(ZERO, size) for size in sizes]
        self._column = flat(self._columns, sizes)
        if blocks > 1:
            first = block * self._width
            self._ranges = [(first, smaller(first + self._width, sizes[0]))]
            self._column = self._columns[0] - first

    def statements(self) -> Statements:
        """Return the loop over blocks of columns, and the memory of accumulators."""
        held = self.numbers.take(self._accumulators, "held")
        if not self._is_wide:
            memory, body = [], self._in_place()
        else:
            memory = [ir.Allocate(self._sums, held * self._width)]
            body = self._sparse() if self._is_sparse else self._dense()
        if self._is_sparse:
            memory.append(ir.Allocate(_PLACES, held))
            if not self._is_own_set:
                memory.append(ir.Allocate(_SLOTS, self.numbers.take(self._rows.count, "rows")))
        return (*memory, ir.Loop(self._unit, ir.START, ir.STOP, body, parallel=True))

    def _in_place(self) -> Statements:
        total = self._joined(self._how.take(ir.load(self._output, self._element(_PLACE))))
        return self._for_each_index(self._for_each_column(self._write(_PLACE, total)))

    def _dense(self) -> Statements:
        """Return what makes all elements of the columns accumulators, which take in the values."""
        indices, sizes = named("r", len(self._rows.sizes)), self._rows.sizes
        number, place = flat(indices, sizes), self._rows.position(0, indices)
        begin = self._for_each_column(self._read(number, place))
        finish = self._for_each_column(self._write(place, self._sum(number)))
        take_in = self._for_each_column(self._take_in(_NUMBER))
        return (
            *nested(indices, sizes, begin),
            *self._for_each_index(take_in),
            *nested(indices, sizes, finish),
        )

    def _sparse(self) -> Statements:
        """Return what makes the elements accumulators that are pointed to, in the order in which they first are.

        A sparse set (Briggs and Torczon, "An efficient representation for sparse sets", 1993): an element says which
        accumulator it has, and is believed if that one says the same.
        """
        said = self._slot_of_element()
        slot = where(said < _USED, said, ZERO)
        known = both(said < _USED, equal(ir.load(_PLACES, slot), _PLACE))
        begin = (
            *self._for_each_column(self._read(_USED, _PLACE)),
            ir.Store(_PLACES, _USED, _PLACE),
            self._note_slot(_USED),
            ir.Set(_SLOT, _USED),
            ir.Set(_USED, _USED + 1),
        )
        take_in = self._for_each_column(self._take_in(_SLOT))
        each = ir.index("each")
        finish = self._for_each_column(self._write(ir.load(_PLACES, each), self._sum(each)))
        search = (ir.Set(_SLOT, slot), ir.Set(_KNOWN, known), ir.If(negation(_KNOWN), begin))
        return (
            *(() if self._is_own_set else self._for_each_index((self._note_slot(ZERO),))),
            ir.Set(_USED, ZERO),
            *self._for_each_index((*search, *take_in)),
            ir.Loop(each, ZERO, _USED, finish),
        )

    def _slot_of_element(self) -> ir.Expr:
        """Return which accumulator an element says that it has; its value is in there, if it has one."""
        said: ir.Expr = ir.load(_SLOTS, _NUMBER)
        if self._is_own_set:
            said = bitcast(ir.load(self._output, self._first_element()), uint32)
        return ir.apply("to_index", said, dtype=ir.INDEX)

    def _note_slot(self, slot: ir.Expr) -> ir.Statement:
        number = ir.apply("from_index", slot, dtype=uint32)
        if not self._is_own_set:
            return ir.Store(_SLOTS, _NUMBER, number)
        return ir.Store(self._output, self._first_element(), bitcast(number, self._dtype))

    def _first_element(self) -> ir.Expr:
        first = [start for start, _ in self._ranges]
        return summed(self._bases[0], _PLACE, self._inner.position(0, first))

    # --- loops ---

    def _for_each_index(self, body: Statements) -> Statements:
        """Return loops over the indices in C order, where the number and the position of the element are set."""
        indices = named("i", len(self._chosen.sizes))
        places, pointing = [], []
        for array, length in enumerate(self._lengths):
            index = self._load(self._indices[array], self._chosen.position(array + 1, indices))
            places.append(ir.variable(f"place{array}", ir.INDEX))
            pointing.append(ir.Set(places[-1], place_on_axis(index, length)))
        steps = [times(*pair) for pair in zip(places, self._steps, strict=True)]
        pointing.append(ir.Set(_NUMBER, flat(places, self._lengths)))
        pointing.append(ir.Set(_PLACE, summed(*steps)))
        return nested(indices, self._chosen.sizes, (*pointing, *body))

    def _for_each_column(self, statement: ir.Statement) -> Statements:
        """Return loops over the columns of the block."""
        body: Statements = (statement,)
        for column, ends in zip(reversed(self._columns), reversed(self._ranges), strict=True):
            body = (ir.Loop(column, *ends, body),)
        return body

    # --- elements of the column ---

    def _read(self, slot: ir.Expr, place: ir.Expr) -> ir.Statement:
        """Return what begins an accumulator with its element."""
        element = ir.load(self._output, self._element(place))
        return ir.Store(self._sums, self._accumulator(slot), self._how.take(element))

    def _take_in(self, slot: ir.Expr) -> ir.Statement:
        return ir.Store(self._sums, self._accumulator(slot), self._joined(self._sum(slot)))

    def _joined(self, total: ir.Expr) -> ir.Expr:
        """Return what an accumulator and the value for it make."""
        indices = named("i", len(self._chosen.sizes))
        place = self._chosen.position(0, indices)
        column = self._inner.position(1, self._columns)
        value = self._load(self._values, summed(self._bases[1], place, column))
        return self._how.join(total, self._how.take(value))

    def _write(self, place: ir.Expr, total: ir.Expr) -> ir.Statement:
        value = converted(self._how.finish(total), self._dtype)
        return ir.Store(self._output, self._element(place), value)

    def _sum(self, slot: ir.Expr) -> ir.Expr:
        return ir.load(self._sums, self._accumulator(slot))

    def _accumulator(self, slot: ir.Expr) -> ir.Expr:
        return summed(slot * self._width, self._column) if self._columns else slot

    def _element(self, place: ir.Expr) -> ir.Expr:
        return summed(self._bases[0], place, self._inner.position(0, self._columns))

    def _load(self, source: int, position: ir.Expr) -> ir.Expr:
        """Return an element of an input; what has no axes is passed by its value."""
        dtype = self._region.dtype_of(source)
        if self._region.shape_of(source) == ():
            return ir.argument(f"x{source}", dtype)
        real = real_of(dtype) if dtype in COMPLEX else dtype
        return ir.load(ir.Buffer(f"x{source}", real, ir.Role.INPUT), position)
