"""Binary search: where values belong in a sorted vector, and elements of a run in another run."""

from __future__ import annotations

from math import prod

from tensorframe.dtypes import DType, uint32
from tensorframe.graph.shape import Shape
from tensorframe.kernel import ir
from tensorframe.kernel.groups.algorithms.lines import Lines
from tensorframe.kernel.groups.algorithms.order import key_dtype, key_of
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir.formula import both, either, equal, where
from tensorframe.kernel.ir.loops import ZERO, smaller
from tensorframe.kernel.nest.assemble import Built, Launch, assembled
from tensorframe.kernel.nest.body import Numbers
from tensorframe.kernel.nest.layout import Strides
from tensorframe.kernel.spaces.gather import place_of, with_bounds_checks
from tensorframe.ops.reduction import index_dtype
from tensorframe.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Searching:
    """Values of this shape to insert into a vector of `length` elements; `right` is behind those that are equal.

    `vector` and `values` are the numbers of the inputs; without `strides` the only value is passed as a number.
    `sorter` are number and step of the input with the positions that sort the vector, if it is not in order itself.
    """

    dtype: DType
    vector: int
    length: int
    step: int
    values: int
    shape: Shape
    strides: Strides | None
    right: bool
    sorter: tuple[int, int] | None = None


def build_search(searching: Searching, rank: int, target: Target) -> Built:
    """Return the kernel that searches; places go to an array in C order with so many axes."""
    numbers = Numbers()
    shape, dtype = searching.shape, searching.dtype
    contiguous = tuple([prod(shape[axis + 1 :]) for axis in range(len(shape))])
    strides = [(*(searching.strides or contiguous), 0), (*contiguous, 0)]
    lines = Lines((*shape, 1), len(shape), strides, numbers)
    length = numbers.take(searching.length, "length")
    halvings = (searching.length - 1).bit_length()
    most = numbers.take(1 << halvings, "most")
    steps = numbers.take(halvings + 1, "steps")
    step = numbers.take(searching.step, "step")
    position, search = ir.index("at"), ir.index("search")
    key, count = ir.variable("key", key_dtype(dtype)), ir.variable("count", ir.INDEX)
    scalar = ir.argument(f"c{searching.values}", dtype)
    held = ir.load(
        ir.Buffer(f"x{searching.values}", dtype, ir.Role.INPUT), lines.position(0, position, ZERO)
    )
    value = scalar if searching.strides is None else held
    upto = smaller(count + ir.apply("bitwise_right_shift", most, search), length)
    last = _place(searching, upto - 1, length, numbers)
    element = ir.load(ir.Buffer(f"x{searching.vector}", dtype, ir.Role.INPUT), last * step)
    other = key_of(element, descending=False, one_zero=True)
    before = other <= key if searching.right else other < key
    place = ir.apply("from_index", count, dtype=index_dtype())
    body = (
        ir.Set(key, key_of(value, descending=False, one_zero=True)),
        ir.Set(count, ir.apply("to_index", ir.literal(0, uint32), dtype=ir.INDEX)),
        ir.Loop(search, ZERO, steps, (ir.Set(count, where(before, upto, count)),)),
        ir.Store(
            ir.Buffer("y0", index_dtype(), ir.Role.OUTPUT), lines.position(1, position, ZERO), place
        ),
    )
    loop = ir.Loop(position, ir.START, ir.STOP, body, parallel=True, over=ir.ParallelAxis.GRID)
    notes = (f"places in a sorted vector: {dtype}",)
    kernel = assembled(
        with_bounds_checks((loop,)),
        numbers,
        (scalar,),
        notes,
        lanes=target.lanes,
        index=target.index,
    )
    launch = Launch(kernel, tuple(numbers.values), prod(shape), 1)
    return Built((launch,), (), (tuple(range(rank)),))


def _place(searching: Searching, rank: ir.Expr, length: ir.Expr, numbers: Numbers) -> ir.Expr:
    """Return where in the vector the element is that has so many before it."""
    if searching.sorter is None:
        return rank
    number, step = searching.sorter
    sorter = ir.Buffer(f"x{number}", index_dtype(), ir.Role.INPUT)
    return place_of(ir.load(sorter, rank * numbers.take(step, "step")), length)


@dataclass(frozen=True, slots=True)
class RunSearch:
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
