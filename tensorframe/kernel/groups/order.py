"""The order in which elements are added: a function of how many there are, whichever threads add them, and from where.

Floats that are added in another order give other bits. So `Order` says, of the reduced lengths alone, what is added to
what, and each form shares this work out among threads in its own way:

- Elements are numbered in C order of the reduced axes, whatever their order in memory.
- No more than half a group's threads: one after the other. Where float32 is all there is, they go to 8 slots instead:
  the sum of 100 would be off by as many as 8 units in the last place.
- More: they go to `slots`, in *runs* of 8 neighbours, which slots take in turn: a thread reads a run by accesses of 16
  bytes, and one that reads down a column stays on few lines of the cache. A slot adds up a run of float32, or of fewer
  digits, in float32, and what runs give in the widest dtype, which many devices compute far more slowly.
- Slots are joined by neighbours, in order: 8 to a *class*, 4 classes to a *warp*, and all warps. That is what `Combine`
  does with the threads of a group, and `Slots` in a single thread.
- More than two *chunks*: each has a total of its own, and the totals are taken into slots like elements.
- Of several reduced axes the last ones are taken as one until they have 256 elements, as on the cpu: a *strip*. A chunk
  has whole strips, or a part of one, so that threads read neighbours where memory is along another axis: the same
  elements of strips that are next to each other.

Empty slots are joined too, or not: identities change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import prod
from operator import mul

from tensorframe.dtypes import DType, float32
from tensorframe.kernel import ir
from tensorframe.kernel.forms.form import Form, reductions_in
from tensorframe.kernel.ir.loops import ZERO, larger, smaller
from tensorframe.kernel.math.accumulate import Accumulation
from tensorframe.kernel.math.pairs import held_as
from tensorframe.kernel.math.scalars import converted
from tensorframe.quick_tuples import NamedTuple

# Elements of a run, and those of a chunk that a slot takes in.
_RUN, _EACH = 8, 16
# Slots of lengths up to which a group has several rows.
_FEW_SLOTS, _SHORT = 32, 1024


class Order(NamedTuple):
    """The order for `length` elements, in strips of so many, on a device whose groups have `lanes` threads."""

    length: int
    lanes: int
    strip: int

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
        """How many elements a chunk has, unless it is the last one."""
        piece = _EACH * self.slots
        if self.length <= max(2 * piece, _SHORT):
            return self.length
        return piece if self.strip > 2 * piece else max(1, piece // self.strip) * self.strip

    @property
    def pieces(self) -> int:
        """How many chunks a strip has; 1 where chunks have whole strips."""
        return -(-self.strip // self.chunk) if 0 < self.chunk < self.strip else 1

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        if self.pieces > 1:
            return self.length // self.strip * self.pieces
        return -(-self.length // max(self.chunk, 1))

    @property
    def in_one_strip(self) -> bool:
        """Whether no chunk has elements of several strips."""
        return self.chunk <= self.strip


def is_ordered(form: Form, number: int) -> bool:
    """Whether the results of a pass depend on the order in which it takes in its elements."""
    return any(form.accumulation(value).ordered for value in reductions_in(form, number))


# where numbers begin and end, and how many there are at most
Span = tuple[ir.Expr, ir.Expr, int]


class Place(NamedTuple):
    """The number of an element as that of another one and how many come after it, fewer than `most`."""

    start: ir.Expr
    step: ir.Expr
    most: int


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


class Work(NamedTuple):
    """What is done for each element of a run, and once before the run and after it."""

    each: Sequence[ir.Statement]
    before: Sequence[ir.Statement] = ()
    after: Sequence[ir.Statement] = ()


class Runs(NamedTuple):
    """What elements of a run are taken into, and the statements before the run and after it."""

    totals: Mapping[int, Total]
    before: Sequence[ir.Statement]
    after: Sequence[ir.Statement]

    def work(self, each: Sequence[ir.Statement]) -> Work:
        """Return the work of which `each` takes an element in."""
        return Work(each, self.before, self.after)


def runs_of(form: Form, totals: Mapping[int, Total]) -> Runs:
    """Return what runs of elements are taken into that go to `totals`: sums of few digits run in float32."""
    short = {
        value: total
        for value, total in totals.items()
        if total.how.ordered and form.is_short_sum(value)
    }
    runs = {value: _in_single(total) for value, total in short.items()}
    after = [
        total.take(held_as(runs[value].variable, total.how.dtype)) for value, total in short.items()
    ]
    return Runs({**totals, **runs}, [run.begin() for run in runs.values()], after)


def _in_single(total: Total) -> Total:
    how = total.how._replace(dtype=float32, take=lambda x: converted(x, float32))
    return Total(how, ir.variable(f"{total.variable.name}_run", float32))


class Turns:
    """The elements of one slot of `count`, of those that are in a span.

    `place` is the number whose turn it is, `in_run` the same as steps along a run, `nth` how many the slot had before;
    `name` tells nests of loops apart.
    """

    def __init__(self, name: str, count: int, span: Span, slot: ir.Expr) -> None:
        first, last, most = span
        run, self._block = run_in(count), run_in(count) * count
        self._length, self._run = last - first, ir.literal(run, ir.INDEX)
        self._start = slot * run
        self._part = ir.index(f"{name}_part")
        self._number = None if most <= self._block else ir.index(f"{name}_block")
        self._begin = self._start
        if self._number is not None:
            self._begin = self._number * self._block + self._start
        self.nth: ir.Expr = self._part if self._number is None else self._number * run + self._part
        self.place = first + (self._begin + self._part)
        self.in_run = Place(first + self._begin, self._part, run)

    def loops(self, work: Work) -> ir.Statement:
        """Return the loops in which they have their turn."""
        count = smaller(self._length - self._begin, self._run)
        width = int(self._run.value.real)
        part = ir.Loop(self._part, ZERO, count, tuple(work.each), width=width)
        inside = (*work.before, part, *work.after)
        if self._number is None:
            return ir.If(self._start < self._length, inside)
        there = larger(self._length, self._start) - self._start
        return ir.Loop(self._number, ZERO, divided(there, self._block), inside)


def run_in(count: int) -> int:
    """Return how many neighbours go to one of so many slots at once."""
    return min(_RUN, count)


def slot_of(place: ir.Expr, count: int) -> ir.Expr:
    """Return which of so many slots what is numbered so goes to."""
    run = ir.apply("floor_divide", place, ir.literal(run_in(count), ir.INDEX))
    return ir.apply("remainder", run, ir.literal(count, ir.INDEX))


_LEVELS = ("slot", "class", "warp")


class Slots:
    """All slots of `count`, which a single thread fills, or those of a class that is `which`: see `Turns`.

    What has its turn, at `place`, goes to the `slot` of a total. Where `few` have any, loops end at the last one that
    has: processors that run threads as vectors go once through the loops of a slot without any. Else their ends are
    constant.
    """

    def __init__(
        self,
        name: str,
        count: int,
        span: Span,
        which: ir.Expr | None = None,
        *,
        few: bool = False,
    ) -> None:
        self._name = name
        self._sizes = ir.levels(count)
        self._indices = [ir.index(f"{name}_{level}") for level in _LEVELS[: len(self._sizes)]]
        slot: ir.Expr = self._indices[0]
        if which is not None:
            slot = which * self._sizes[0] + slot
        else:
            for index, below in zip(self._indices[1:], accumulate(self._sizes, mul), strict=False):
                slot = index * below + slot
        self._turns = Turns(name, count, span, slot)
        self.place, self.in_run = self._turns.place, self._turns.in_run
        levels = range(len(self._sizes))
        self._stops = [self._stop(level, run_in(count), span, few=few) for level in levels]

    def slot(self, total: Total) -> Total:
        """Return the slot of a total that takes in what has its turn."""
        return total.part(f"{self._name}_slot")

    def joined(self, totals: Sequence[Total], work: Work) -> ir.Loop:
        """Return the loops that join all slots to totals; `work` takes what has its turn into the slot."""
        inside = self._turns.loops(work)
        last = len(self._sizes) - 1
        for level in range(last):
            into = self._parts(level + 1, totals)
            inside = self._level(level, totals, into, inside)
        return self._level(last, totals, totals, inside)

    def joined_in_class(self, totals: Sequence[Total], work: Work) -> ir.Loop:
        """Return the loops that join the slots of one class to totals."""
        return self._level(0, totals, totals, self._turns.loops(work))

    def _stop(self, level: int, run: int, span: Span, *, few: bool) -> ir.Expr:
        """Return where the loop over the parts of a level ends."""
        size = ir.literal(self._sizes[level], ir.INDEX)
        if not few and level < len(self._sizes) - 1:
            return size
        if few and span[2] <= run * prod(self._sizes[:level]):
            return ir.literal(1, ir.INDEX)  # loops take registers, where compilers do not know this
        return smaller(self._filled(level, run, span), size)

    def _filled(self, level: int, run: int, span: Span) -> ir.Expr:
        """Return how many parts of a level have elements where the loops around it are; more than exist if all have."""
        wholes = [*accumulate(self._sizes, mul, initial=run)]
        left = span[1] - span[0]
        for index, whole in zip(self._indices[level + 1 :], wholes[level + 1 :], strict=False):
            left = left - index * whole
        return divided(left, wholes[level])

    def _parts(self, level: int, totals: Sequence[Total]) -> list[Total]:
        return [total.part(f"{self._name}_{_LEVELS[level]}") for total in totals]

    def _level(
        self,
        level: int,
        totals: Sequence[Total],
        into: Sequence[Total],
        inside: ir.Statement,
    ) -> ir.Loop:
        """Return the loop that joins the parts of a level, which `inside` fills."""
        parts = self._parts(level, totals)
        joins = [total.take(part.variable) for total, part in zip(into, parts, strict=True)]
        statements = (*[part.begin() for part in parts], inside, *joins)
        return ir.Loop(self._indices[level], ZERO, self._stops[level], statements)


def divided(count: ir.Expr, by: int) -> ir.Expr:
    """Return in how many parts of a size a count is, the last of which may be smaller."""
    return ir.apply("floor_divide", count + (by - 1), ir.literal(by, ir.INDEX))
