"""The order in which elements are added: a function of how many there are, whichever threads add them, and from where.

Floats that are added in another order give other bits. So `Order` says, of the reduced lengths alone, what is added to
what, and each form shares this work out among threads in its own way:

- Elements are numbered in C order of the reduced axes, whatever their order in memory.
- No more than half a group's threads: one after the other. Where float32 is all there is, they go to 8 slots instead:
  the sum of 100 would be off by as many as 8 units in the last place.
- More: they go to `slots`, which take in their elements one after the other, 8 slots to a *class*. Runs of 128 elements
  go to the classes in turn, and neighbours of a run to the slots of a class in turn: threads that read along a row find
  their elements in a line of the cache, and one that reads down columns stays on few lines. A class joins its slots in
  order, and the result joins the classes in order. That is what `Combine` does with the threads of a group, and `Slots`
  in a single thread.
- More than two *chunks*, of a run for each class: each has a total of its own, and the totals are taken into slots like
  elements.

Empty slots are joined too, or not: identities change nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tensorframe.dtypes import DType, float32
from tensorframe.kernel import ir
from tensorframe.kernel.forms.form import Form, reductions_in
from tensorframe.kernel.ir.loops import ZERO, larger, smaller
from tensorframe.kernel.math.accumulate import Accumulation

# Elements of a run that a slot takes in.
_EACH = 16
# Slots of lengths up to which a group has several rows.
_FEW_SLOTS, _SHORT = 32, 1024


class Order(NamedTuple):
    """The order for `length` elements on a device whose groups have `lanes` threads."""

    length: int
    lanes: int

    @property
    def short(self) -> bool:
        """Whether one thread adds them all."""
        return 2 * self.length <= self.lanes

    def in_sequence(self, widest: DType) -> bool:
        """Whether elements are added one after the other, in the widest dtype that there is."""
        return self.short and (self.length <= 2 * ir.CLASS or widest != float32)

    @property
    def slots(self) -> int:
        """How many slots there are."""
        if self.short:
            return ir.CLASS
        return min(_FEW_SLOTS, self.lanes) if self.length <= _SHORT else self.lanes

    @property
    def classes(self) -> int:
        """How many classes the slots are in."""
        return -(-self.slots // ir.CLASS)

    @property
    def chunk(self) -> int:
        """How many elements a chunk has."""
        piece = _EACH * self.slots
        return self.length if self.length <= max(2 * piece, _SHORT) else piece

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return -(-self.length // max(self.chunk, 1))


def is_ordered(form: Form, number: int) -> bool:
    """Whether the order in which a pass takes in its elements tells in its results."""
    return any(form.accumulation(value).ordered for value in reductions_in(form, number))


# where numbers begin and end, and how many there are at most
Span = tuple[ir.Expr, ir.Expr, int]


class Total(NamedTuple):
    """What elements are accumulated in, and how."""

    how: Accumulation
    variable: ir.Variable

    def begin(self) -> ir.Set:
        """Return the statement that empties it."""
        return ir.Set(self.variable, self.how.start())

    def take(self, value: ir.Expr) -> ir.Set:
        """Return the statement that joins a value to it."""
        return ir.Set(self.variable, self.how.join(self.variable, value))

    def part(self, name: str) -> Total:
        """Return what a part of its elements is accumulated in."""
        whole = self.variable
        return Total(self.how, ir.variable(f"{whole.name}_{name}", whole.dtype))


class Turns:
    """The elements of one slot of `count`, of those that are in a span.

    `place` is the number whose turn it is, and `which` and `number` are the slot's class and its number there; `name`
    tells nests of loops apart.
    """

    def __init__(self, name: str, count: int, span: Span, which: ir.Expr, number: ir.Expr) -> None:
        first, last, most = span
        self._size = min(ir.CLASS, count)
        self._run, self._block = self._size * _EACH, count * _EACH
        self._length = last - first
        self._start, self._number = which * self._run, number
        self._turn = ir.index(f"{name}_turn")
        self._at = None if most <= self._block else ir.index(f"{name}_block")
        begin = self._start if self._at is None else self._at * self._block + self._start
        self.place = first + (begin + number + self._turn * self._size)

    def loops(self, work: Iterable[ir.Statement]) -> ir.Loop:
        """Return the loops in which they have their turn."""
        left = self._length if self._at is None else self._length - self._at * self._block
        there = smaller(larger(left, self._start) - self._start, ir.literal(self._run, ir.INDEX))
        turns = divided(larger(there, self._number) - self._number, self._size)
        loop = ir.Loop(self._turn, ZERO, turns, tuple(work))
        if self._at is None:
            return loop
        return ir.Loop(self._at, ZERO, divided(self._length, self._block), (loop,))


def slot_of(place: ir.Expr, count: int) -> ir.Expr:
    """Return which of so many slots what is numbered so goes to."""
    size = min(ir.CLASS, count)
    run = ir.apply("floor_divide", place, ir.literal(size * _EACH, ir.INDEX))
    which = ir.apply("remainder", run, ir.literal(count // size, ir.INDEX))
    return which * size + ir.apply("remainder", place, ir.literal(size, ir.INDEX))


def turns_in_block(block: ir.Expr, slot: ir.Expr, count: int) -> tuple[ir.Expr, ir.Expr, int]:
    """Return where in a block of `count` neighbours the turns of a slot begin, if any do, and how many are there."""
    size = min(ir.CLASS, count)
    run, classes = size * _EACH, count // size
    which, number = [
        ir.apply(op, slot, ir.literal(size, ir.INDEX)) for op in ("floor_divide", "remainder")
    ]
    runs = ir.apply("floor_divide", block * count, ir.literal(run, ir.INDEX))
    past = ir.apply("remainder", runs, ir.literal(classes, ir.INDEX))
    ahead = ir.apply("remainder", which + classes - past, ir.literal(classes, ir.INDEX))
    there = ir.compare("less", ahead, ir.literal(max(count // run, 1), ir.INDEX))
    return ahead * run + number, there, min(run, count) // size


class Slots:
    """All slots of `count`, which a single thread fills, or those of a class that is `which`: see `Turns`.

    What has its turn, at `place`, goes to the `slot` of a total.
    """

    def __init__(self, name: str, count: int, span: Span, which: ir.Expr | None = None) -> None:
        self._name = name
        self._class, self._number = ir.index(f"{name}_class"), ir.index(f"{name}_number")
        self._size = min(ir.CLASS, count)
        self._turns = Turns(name, count, span, which or self._class, self._number)
        self.place = self._turns.place
        runs = divided(span[1] - span[0], self._size * _EACH)
        self._classes = smaller(runs, ir.literal(count // self._size, ir.INDEX))

    def slot(self, total: Total) -> Total:
        """Return the slot of a total that takes in what has its turn."""
        return total.part(f"{self._name}_slot")

    def joined(self, totals: Sequence[Total], work: Iterable[ir.Statement]) -> list[ir.Statement]:
        """Return the loops that join all slots to totals; `work` takes what has its turn into the slot."""
        parts = [total.part(f"{self._name}_class") for total in totals]
        inside: tuple[ir.Statement, ...] = (
            *[part.begin() for part in parts],
            self._joined(parts, list(map(self.slot, totals)), work),
            *_each_joined(totals, parts),
        )
        return [ir.Loop(self._class, ZERO, self._classes, inside)]

    def joined_in_class(self, totals: Sequence[Total], work: Iterable[ir.Statement]) -> ir.Loop:
        """Return the loops that join the slots of one class to totals."""
        return self._joined(totals, list(map(self.slot, totals)), work)

    def _joined(
        self, totals: Sequence[Total], slots: Sequence[Total], work: Iterable[ir.Statement]
    ) -> ir.Loop:
        inside: tuple[ir.Statement, ...] = (
            *[slot.begin() for slot in slots],
            self._turns.loops(work),
            *_each_joined(totals, slots),
        )
        return ir.Loop(self._number, ZERO, ir.literal(self._size, ir.INDEX), inside)


def _each_joined(totals: Sequence[Total], parts: Sequence[Total]) -> list[ir.Statement]:
    return [total.take(part.variable) for total, part in zip(totals, parts, strict=True)]


def divided(count: ir.Expr, by: int) -> ir.Expr:
    """Return in how many parts of a size a count is, the last of which may be smaller."""
    return ir.apply("floor_divide", count + (by - 1), ir.literal(by, ir.INDEX))
