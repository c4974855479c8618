"""Selection: the elements that sorting would put at some places of rows, which are read and not sorted (radix select).

The wanted element becomes known four bits at a time, the highest first: counts of the digits of those that agree with
it so far (`radix.py`) say which digit comes next, and which place the element has among those that have it too.

A group goes through all digits of a row for itself. Of few long rows groups count pieces, one launch for each digit,
and a second one chooses it. Places of a row that agree so far, as the middle two of a median do nearly to the end, are
counted once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tensorframe.dtypes import DType, int64, uint32, uint64
from tensorframe.graph.shape import Shape, strides_of
from tensorframe.kernel import ir
from tensorframe.kernel.groups.algorithms.lines import Lines
from tensorframe.kernel.groups.algorithms.order import (
    element_at,
    key_dtype,
    ordinal_bits,
    ordinal_of,
)
from tensorframe.kernel.groups.algorithms.radix import (
    BITS,
    DIGITS,
    LANE,
    THREADS,
    TURN,
    RadixCounts,
    Statements,
    by_groups,
    by_one,
    by_threads,
)
from tensorframe.kernel.groups.order import divided
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir.formula import equal, where
from tensorframe.kernel.ir.loops import ZERO, digits, smaller
from tensorframe.kernel.nest.assemble import Built, Launch, Partials, assembled
from tensorframe.kernel.nest.body import Numbers
from tensorframe.kernel.nest.layout import Strides
from tensorframe.kernel.spaces.gather import place_of, with_bounds_checks
from tensorframe.quick_dataclasses import dataclass

# Wanted elements from which there are groups enough with one for each; else the elements of a piece of a row at least,
# and pieces of it at most.
_ENOUGH, _PIECE, _MOST_PIECES = 256, 1 << 14, 1 << 10

_GROUP, _ELEMENT, _OTHER = [ir.index(name) for name in ("group", "element", "other")]


@dataclass(frozen=True, slots=True)
class Selecting:
    """Rows of elements along an axis of `shape`, the last one, and `count` places in each of them, which are int64.

    `operands` are the numbers of the inputs: elements and places. With `kth` these are the places of all rows, along
    any axis, and the ordinals of the elements there stay in memory between launches.
    """

    shape: Shape
    dtype: DType
    strides: Strides
    count: int
    place_strides: Strides = ()
    operands: tuple[int, int] = (0, 1)
    axis: int = -1
    kth: tuple[int, ...] = ()

    @property
    def length(self) -> int:
        """Elements of a row."""
        return self.shape[self.axis]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return prod(self.shape) // self.length

    @property
    def wanted(self) -> int:
        """How many elements are wanted of all rows."""
        return self.rows * self.count

    @property
    def result(self) -> Shape:
        """The shape of the places, and of the elements there."""
        return (self.rows, self.count) if self.kth else (*self.shape[:-1], self.count)

    @property
    def counted(self) -> DType:
        """The dtype of counts."""
        return uint32 if self.length < 2**32 else uint64

    @property
    def turns(self) -> int:
        """How many digits an element has."""
        return -(-ordinal_bits(self.dtype) // BITS)

    @property
    def piece(self) -> int:
        """How much of a row a group counts: all of it, but of few long ones."""
        if self.wanted >= _ENOUGH or self.length <= _PIECE:
            return self.length
        return max(_PIECE, -(-self.length // _MOST_PIECES))

    @property
    def pieces(self) -> int:
        """How many groups count each row."""
        return -(-self.length // self.piece)

    @property
    def partials(self) -> Partials:
        """What is in memory between launches: two states, of digits so far and places among those, and counts."""
        key, counted, wanted = key_dtype(self.dtype), self.counted, self.wanted
        if self.pieces == 1:
            return ((key, wanted, 0),) if self.kth else ()
        return (
            (key, 2 * wanted, 0),
            (counted, 2 * wanted, 0),
            (counted, wanted * self.pieces * DIGITS, 0),
        )


def build_selection(selecting: Selecting, target: Target) -> Built:
    """Return the kernels that select, and the memory between them."""
    launches, known = selected(selecting, target)
    if selecting.pieces > 1:
        launches.append(_Kernel(selecting, target, old=known).end())
    return Built(tuple(launches), selecting.partials, (tuple(range(len(selecting.shape))),))


def selected(selecting: Selecting, target: Target) -> tuple[list[Launch], int]:
    """Return the launches that find elements, and where in `p0` their ordinals begin, if that is where they stay."""
    if selecting.pieces == 1:
        return [_Kernel(selecting, target).whole()], 0
    launches = [_Kernel(selecting, target).begin()]
    for turn in range(selecting.turns):
        shift = BITS * (selecting.turns - 1 - turn)
        old, new = [(turn + more) % 2 * selecting.wanted for more in (0, 1)]
        launches.append(_Kernel(selecting, target, shift, old, new).count())
        launches.append(_Kernel(selecting, target, shift, old, new).choose())
    return launches, selecting.turns % 2 * selecting.wanted


class _Kernel:
    """One kernel; those of all digits have the same text, and differ in the first of its numbers.

    These are where the digit is, and where the state of elements begins that is read, and the one that is written.
    """

    def __init__(
        self, selecting: Selecting, target: Target, shift: int = 0, old: int = 0, new: int = 0
    ) -> None:
        self._selecting, self._target = selecting, target
        numbers = self._numbers = Numbers()
        self._shift = numbers.take(shift, "shift")
        self._old, self._new = numbers.take(old, "old"), numbers.take(new, "new")
        self._length = numbers.take(selecting.length, "length")
        self._count = numbers.take(selecting.count, "count")
        axis = selecting.axis % len(selecting.shape)
        self._rows = Lines(selecting.shape, axis, [selecting.strides], numbers)
        steps = strides_of(selecting.result)
        places = selecting.place_strides or steps
        self._results = Lines(selecting.result, len(steps) - 1, [places, steps], numbers)
        key = key_dtype(selecting.dtype)
        self._counts = RadixCounts(min(THREADS, target.lanes), key, selecting.counted)
        self._prefix, self._rank = (
            ir.variable("prefix", key),
            ir.variable("rank", selecting.counted),
        )
        self._leader = ir.variable("leader", ir.INDEX)

    def whole(self) -> Launch:
        """Return the launch in which a group finds all digits of an element."""
        row, place = digits(_GROUP, [ZERO, self._count])
        digit = ir.index("digit")
        last = self._numbers.take(self._selecting.turns - 1, "last")
        shift = (last - digit) * BITS
        turn = (
            *self._counted(row, shift, ZERO, self._length),
            *self._counts.summed(self._counts.sums, lambda digit: digit),
            ir.Barrier(),
            *self._counts.chosen(shift, self._prefix, self._rank),
        )
        body = (
            *self._first(row, place),
            ir.Loop(digit, ZERO, last + 1, turn, rolled=True),
            by_one(self._kept(_GROUP) if self._selecting.kth else self._result(row, place)),
        )
        return self._by_groups(body, self._selecting.wanted)

    def begin(self) -> Launch:
        """Return the launch that sets the states of all elements: nothing is known but their places."""
        row, place = digits(_ELEMENT, [ZERO, self._count])
        return self._by_threads((*self._first(row, place), *self._stored(_ELEMENT)))

    def count(self) -> Launch:
        """Return the launch that counts the digits of pieces of rows, for the first of the elements that agree."""
        selecting = self._selecting
        pieces = self._numbers.take(selecting.pieces, "pieces")
        size = self._numbers.take(selecting.piece, "piece")
        element, piece = digits(_GROUP, [ZERO, pieces])
        row, place = digits(element, [ZERO, self._count])
        first = piece * size
        stop = where(equal(self._leader, place), smaller(first + size, self._length), first)
        goal = ir.Buffer("p2", selecting.counted, ir.Role.OUTPUT)
        body = (
            *self._led(self._states(ir.Role.INPUT)[0], row, place),
            *self._counted(row, self._shift, first, stop),
            *self._counts.summed(goal, lambda digit: _GROUP * DIGITS + digit),
        )
        return self._by_groups(body, selecting.wanted * selecting.pieces, sums=False)

    def choose(self) -> Launch:
        """Return the launch that adds the pieces up, and chooses the digits of all elements."""
        row, place = digits(_GROUP, [ZERO, self._count])
        state, ranks = self._states(ir.Role.OUTPUT)
        body = (
            *self._led(state, row, place),
            ir.Set(self._rank, ir.load(ranks, self._old + _GROUP)),
            self._pieces(row),
            ir.Barrier(),
            *self._counts.summed(self._counts.sums, lambda digit: digit),
            ir.Barrier(),
            *self._counts.chosen(self._shift, self._prefix, self._rank),
            by_one(*self._stored(self._new + _GROUP)),
        )
        return self._by_groups(body, self._selecting.wanted)

    def end(self) -> Launch:
        """Return the launch that writes the elements, of which all digits are known."""
        state, _ = self._states(ir.Role.INPUT)
        row, place = digits(_ELEMENT, [ZERO, self._count])
        known = ir.Set(self._prefix, ir.load(state, self._old + _ELEMENT))
        return self._by_threads((known, self._result(row, place)))

    def _first(self, row: ir.Expr, place: ir.Expr) -> Statements:
        """Return what is known of an element at first."""
        wanted = self._wanted(row, place)
        return (
            ir.Set(self._prefix, ir.literal(0, self._prefix.dtype)),
            ir.Set(self._rank, ir.apply("from_index", wanted, dtype=self._rank.dtype)),
        )

    def _wanted(self, row: ir.Expr, place: ir.Expr) -> ir.Expr:
        """Return the place of an element in its row."""
        if self._selecting.kth:
            known = [self._numbers.take(kth, "kth") for kth in self._selecting.kth]
            chosen: ir.Expr = known[0]
            for number, kth in enumerate(known[1:], start=1):
                chosen = where(equal(place, number), kth, chosen)
            return chosen
        _, source = self._selecting.operands
        places = ir.Buffer(f"x{source}", int64, ir.Role.INPUT)
        return place_of(ir.load(places, self._results.position(0, row, place)), self._length)

    def _kept(self, position: ir.Expr) -> ir.Statement:
        """Return what leaves the ordinal of an element for a later launch."""
        return ir.Store(self._states(ir.Role.OUTPUT)[0], position, self._prefix)

    def _states(self, role: ir.Role) -> tuple[ir.Buffer, ir.Buffer]:
        return (
            ir.Buffer("p0", self._prefix.dtype, role),
            ir.Buffer("p1", self._rank.dtype, role),
        )

    def _stored(self, position: ir.Expr) -> Statements:
        """Return what writes what is known of an element."""
        state, ranks = self._states(ir.Role.OUTPUT)
        return ir.Store(state, position, self._prefix), ir.Store(ranks, position, self._rank)

    def _led(self, state: ir.Buffer, row: ir.Expr, place: ir.Expr) -> Statements:
        """Return how threads learn the digits of an element so far, and the first place of the row that has them."""
        known = self._old + row * self._count
        earlier = place - 1 - _OTHER
        agrees = equal(ir.load(state, known + earlier), self._prefix)
        # PoCL may run a loop that ends where it begins, see `Step.by_lanes`
        look = ir.If(place > _OTHER, (ir.If(agrees, (ir.Set(self._leader, earlier),)),))
        return (
            ir.Set(self._prefix, ir.load(state, known + place)),
            ir.Set(self._leader, place),
            ir.Loop(_OTHER, ZERO, place, (look,)),
        )

    def _counted(self, row: ir.Expr, shift: ir.Expr, first: ir.Expr, stop: ir.Expr) -> Statements:
        source, _ = self._selecting.operands
        elements = ir.Buffer(f"x{source}", self._selecting.dtype, ir.Role.INPUT)

        def ordinal(place: ir.Expr) -> ir.Expr:
            position = self._rows.position(0, row, smaller(place, self._length - 1))
            return ordinal_of(ir.load(elements, position))

        return self._counts.counted(ordinal, shift, self._prefix, first, stop)

    def _pieces(self, row: ir.Expr) -> ir.Statement:
        """Return how threads take in the counts of pieces, each of some of them."""
        counts, digit = self._counts, ir.index("digit")
        pieces = self._numbers.take(self._selecting.pieces, "pieces")
        source = ir.Buffer("p2", counts.dtype, ir.Role.INPUT)
        total, piece = ir.variable("piece", counts.dtype), TURN * counts.lanes + LANE
        first = (row * self._count + self._leader) * pieces
        taken = ir.Set(total, total + ir.load(source, (first + piece) * DIGITS + digit))
        turns = divided(pieces, counts.lanes)
        own = (
            ir.Set(total, ir.literal(0, counts.dtype)),
            ir.Loop(TURN, ZERO, turns, (ir.If(piece < pieces, (taken,)),)),
            ir.Store(counts.memory, counts.slot(digit), total),
        )
        return counts.by_lanes(ir.Loop(digit, ZERO, ir.literal(DIGITS, ir.INDEX), own))

    def _result(self, row: ir.Expr, place: ir.Expr) -> ir.Statement:
        """Return what writes the element."""
        dtype = self._selecting.dtype
        goal = ir.Buffer("y0", dtype, ir.Role.OUTPUT)
        position = self._results.position(1, row, place)
        return ir.Store(goal, position, element_at(self._prefix, dtype))

    def _by_groups(self, body: Statements, groups: int, *, sums: bool = True) -> Launch:
        memory = self._counts.allocated(sums=sums)
        return self._launch(by_groups(_GROUP, memory, body), groups, self._counts.lanes)

    def _by_threads(self, body: Statements) -> Launch:
        count, lanes = self._selecting.wanted, self._target.lanes
        return self._launch(by_threads(_ELEMENT, body), count, lanes)

    def _launch(self, statements: Sequence[ir.Statement], total: int, lanes: int) -> Launch:
        kernel = assembled(
            with_bounds_checks(tuple(statements)),
            self._numbers,
            (),
            (f"{self._selecting.dtype} at places of rows in order",),
            lanes=lanes,
            index=self._target.index,
        )
        return Launch(kernel, tuple(self._numbers.values), total, 1)
