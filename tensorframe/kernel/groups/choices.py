"""Choices: what may differ between kernels of a region without a bit of its results, and what is chosen unless tuned.

What is added to what follows from lengths alone, see `order.py`. So sums of rows may be taken by groups, by threads or
in parts; a group that joins no more than neighbours may have fewer threads; a thread may take several elements at once,
or a group several rows in turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from tensorframe.digests import sha256
from tensorframe.graph.region import Region
from tensorframe.kernel.groups.order import Order
from tensorframe.kernel.groups.team import has_strips
from tensorframe.kernel.nest.nest import Nest
from tensorframe.kernel.nest.stages import Stages
from tensorframe.quick_tuples import NamedTuple

MAP, SQUARES = "map", "squares"
ROWS, COLUMNS = "rows", "columns"
ROW_PARTS, COLUMN_PARTS, STRIP_PARTS = "row parts", "column parts", "strip parts"
FORMS = frozenset({MAP, SQUARES, ROWS, COLUMNS, ROW_PARTS, COLUMN_PARTS, STRIP_PARTS})

# Rows from which every group has one, and results from which every thread has.
_ENOUGH_ROWS = 256
_ENOUGH_RESULTS = 1 << 14
# Threads of a group at least, unless the device has fewer; elements of a thread at once, and groups' work in turn.
_FEWEST_LANES, _MOST_AT_ONCE, _MOST_TURNS = 32, 16, 64
# Elements that one thread takes at most where a form leaves it open: drivers stop loops that run for too long, and
# some, silently, those of more than 65,535 iterations.
_MOST_ITERATIONS = 1 << 14
# Partial results that are worth trying.
_MOST_PARTS = 1 << 22
# letters of the ops in a name
_LETTERS = 40


class Choice(NamedTuple):
    """The form of a kernel, the threads of a group, elements that one takes at once, and how often it begins again."""

    form: str
    lanes: int
    width: int = 1
    turns: int = 1


class Room(NamedTuple):
    """What a region leaves open: forms of the same bits, the most threads, and how many have to be in one group.

    `length` is how many elements a result takes.
    """

    forms: tuple[str, ...]
    lanes: int
    slots: int
    length: int = 1

    def fits(self, choice: Choice) -> bool:
        """Whether a kernel may be made so."""
        least = self.lanes if choice.form == ROW_PARTS else min(_FEWEST_LANES, self.lanes)
        if choice.form == ROWS:
            least = max(least, self.slots)
        return (
            choice.form in self.forms
            and least <= choice.lanes <= self.lanes
            and all(_is_power(number) for number in choice[1:])
            and choice.width <= (_MOST_AT_ONCE if choice.form == MAP else 1)
            and choice.turns <= _MOST_TURNS
            and choice.turns * self._iterations(choice.form) <= _MOST_ITERATIONS
        )

    def _iterations(self, form: str) -> int:
        """Return how many elements a thread takes for one result, or for its part of one."""
        if form == ROWS:
            return self.length // self.slots
        return self.length if form == COLUMNS else 1

    def near(self, choice: Choice) -> Iterator[Choice]:
        """Yield other forms, and what has twice or half as much of one thing; the threads of others as by default."""
        others = [Choice(form, self.lanes) for form in self.forms if form != choice.form]
        lanes, width, turns = choice.lanes, choice.width, choice.turns
        others += [choice._replace(lanes=lanes // 2), choice._replace(lanes=lanes * 2)]
        others += [choice._replace(width=width * 2), choice._replace(width=width // 2)]
        others += [choice._replace(turns=turns * 4), choice._replace(turns=turns // 4)]
        yield from filter(self.fits, others)


def _is_power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


def map_room(lanes: int, *, square: bool) -> Room:
    """Return what is open where nothing is reduced; squares are for operands that cross."""
    return Room((SQUARES, MAP) if square else (MAP,), lanes, 1)


def reduced_form(nest: Nest, order: Order, stages: Stages, most: int = 0) -> str:
    """Return how reductions are done unless something else was found to be faster.

    A thread's loops may have `most` iterations in all, of which those over the parts of a sum are an eighth; 0 where
    that has no limit.
    """
    rows, in_rows = nest.rows, nest.reduced_inside and not order.short
    apart = _in_one_pass(stages)
    cut = apart and order.chunks > 1
    if in_rows and cut and has_strips(nest, order) and nest.outer_is_nearer():
        return STRIP_PARTS
    if in_rows:
        return ROW_PARTS if cut and rows < _ENOUGH_ROWS else ROWS
    if apart and rows < _ENOUGH_RESULTS and order.length > order.lanes:
        return COLUMN_PARTS
    iterations = order.length * (stages.passes + 1) * 4 // 3
    return ROWS if most and iterations > most and not order.short else COLUMNS


def reduced_room(nest: Nest, order: Order, stages: Stages, default: str) -> Room:
    """Return what is open where something is reduced: what one thread adds in sequence, no group does."""
    forms = {default, COLUMNS}
    if not order.short:
        forms.add(ROWS)
        apart, parts = _in_one_pass(stages), nest.rows * order.chunks
        if apart and order.chunks > 1 and parts <= _MOST_PARTS:
            forms.add(ROW_PARTS)
        if apart and order.length > order.lanes and parts * order.classes <= _MOST_PARTS:
            forms.add(COLUMN_PARTS)
    slots = order.slots if order.chunks == 1 else order.lanes
    return Room(tuple(sorted(forms)), order.lanes, slots, order.length)


def _in_one_pass(stages: Stages) -> bool:
    """Whether results are made of totals alone, which may come in parts."""
    return stages.passes == 1 and not any(stages.stores[1:])


def name_of(region: Region, nest: Nest) -> str:
    """Return what distinguishes kernels with different best choices: ops, layouts, and sizes to a factor of two."""
    ops = [(op.op.name, op.dtype.name, *op.inputs) for op in region.ops]
    inputs = [(dtype.name, len(shape)) for shape, dtype in region.inputs]
    layouts = sorted(_pattern(access.steps) for access in nest.accesses.values())
    known = f"{ops} {inputs} {region.outputs} {layouts}"
    sizes = " x ".join(
        [str(_class_of(prod(loops))) for loops in (nest.kept, nest.reduced) if loops]
    )
    words = ", ".join(dict.fromkeys([op.op.name for op in region.ops]))
    dtype = region.dtype_of(region.outputs[0])
    return f"{sizes or 1} {dtype.name} {words[:_LETTERS]} {sha256(known.encode()).hexdigest()[:8]}"


def _pattern(steps: Sequence[int]) -> str:
    """Return which loops stay, go to neighbours, and jump."""
    return "".join(["0" if step == 0 else "1" if abs(step) == 1 else "n" for step in steps])


def _class_of(size: int) -> int:
    return 1 << max(size - 1, 0).bit_length()
