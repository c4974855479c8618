"""Loop distribution: what is around a scan of rows has loops of its own, over a piece of a row at a time.

A scan waits for the element before, so its loop never runs on vectors, and nothing else in that loop does. Costly
operands are therefore made first, into scratch memory, and what is costly afterwards reads the results from there.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.kernel.forms.form import Form, accumulator, reductions_in
from tensorframe.kernel.ir import Buffer, Expr, Role, Set, Statement, Store, load
from tensorframe.kernel.nest.stages import WORTH_SCRATCH, cost_of, reached
from tensorframe.quick_dataclasses import dataclass, field


@dataclass(slots=True)
class Distributed:
    """The loops of a pass up to its last scan; the last of them is not closed if the rest of the pass belongs there.

    `before` starts the accumulators, `memory` is the scratch memory that the loops hand a piece over in.
    """

    before: list[Statement] = field(default_factory=list)
    loops: list[list[Statement]] = field(default_factory=list)
    memory: dict[int, Buffer] = field(default_factory=dict)
    closed: bool = False


def distributed(form: Form, number: int, slot: Expr, last: Sequence[int]) -> Distributed:
    """Return the loops of the scans that run in a pass, and make their results known to it.

    `slot` is an element's place in its piece, `last` are the values that the rest of the pass begins with.
    """
    return _Distribution(form, number, slot, last).run()


class _Distribution:
    def __init__(self, form: Form, number: int, slot: Expr, last: Sequence[int]) -> None:
        self.form = form
        self.number = number
        self.slot = slot
        self.scans = form.stages.scans[number]
        self.turns = self._in_turns()
        self.distribution = Distributed()
        # value -> the turn in which it is stored for later ones
        self.kept: dict[int, int] = {}
        self._met: dict[int, Expr] = {}
        self._roots = [[self._operand(value) for value in turn] for turn in self.turns]
        self._roots.append([*last, *map(self._operand, reductions_in(form, number))])
        self._keep_what_is_shared()

    def _operand(self, value: int) -> int:
        region = self.form.region
        return region.ops[value - len(region.inputs)].inputs[0]

    def _in_turns(self) -> list[list[int]]:
        """Return the scans turn by turn: those of a turn wait for none but earlier ones."""
        turn: dict[int, int] = {}
        for value in self.scans:
            before = self._reached([self._operand(value)], ()) & turn.keys()
            turn[value] = 1 + max([turn[scan] for scan in before], default=-1)
        count = 1 + max(turn.values())
        return [[value for value in self.scans if turn[value] == number] for number in range(count)]

    def _reached(self, roots: Sequence[int], ends: Sequence[int]) -> set[int]:
        stages, number = self.form.stages, self.number
        there = [value for value, begins in stages.kept.items() if begins < number]
        return reached(self.form.region, stages, roots, number, {*ends, *there})

    def _cost(self, turn: int) -> float:
        """Return the operations for an element of what a turn begins with."""
        ends = [*self.scans, *[value for value, first in self.kept.items() if first < turn]]
        return cost_of(self.form.region, self._reached(self._roots[turn], ends))

    def _keep_what_is_shared(self) -> None:
        """Choose the values that several turns need and that cost more than a store and a load."""
        region, inside = self.form.region, self.form.stages.inside
        while True:
            ends = [*self.scans, *self.kept]
            turns = [self._reached(roots, ends) for roots in self._roots]
            shared = [
                value
                for value in set[int]().union(*turns)
                if inside[value]
                and sum(value in needed for needed in turns) > 1
                and cost_of(region, self._reached([value], ends)) >= WORTH_SCRATCH
            ]
            if not shared:
                return
            value = max(shared)
            self.kept[value] = next(
                number for number, needed in enumerate(turns) if value in needed
            )

    def run(self) -> Distributed:
        """Make the loops."""
        for number, turn in enumerate(self.turns):
            self._make_operands(number)
            self._scan(turn, open_ended=number == len(self.turns) - 1)
        return self.distribution

    def _make_operands(self, number: int) -> None:
        """Add the loop that makes what is costly for the scans of a turn, and what later turns share with them."""
        made = [value for value, first in self.kept.items() if first == number]
        if self._cost(number) >= WORTH_SCRATCH:
            first = len(self.form.region.inputs)
            made += [
                value for value in self._roots[number] if value >= first and value not in self._met
            ]
        made = list(dict.fromkeys(made))
        if made:
            self._close([self._stored(value, self.form.body.element(value)) for value in made])
            self._meet_in_memory(made)

    def _scan(self, turn: Sequence[int], *, open_ended: bool) -> None:
        """Add the loop of the scans of a turn; what follows the last one is part of it, unless that is costly."""
        form = self.form
        work: list[Statement] = []
        for value in turn:
            how, total = form.accumulation(value), accumulator(form, value)
            self.distribution.before.append(Set(total, how.start()))
            work.append(Set(total, how.join(total, how.take(form.body.operand(value, 0)))))
        if open_ended and self._cost(len(self.turns)) < WORTH_SCRATCH:
            for value in turn:
                form.body.define_element(value, form.finished(value, accumulator(form, value)))
            self.distribution.loops.append(work)
            return
        work += [self._stored(scan, form.finished(scan, accumulator(form, scan))) for scan in turn]
        self._close(work)
        self._meet_in_memory(turn)
        self.distribution.closed = open_ended

    def _close(self, work: list[Statement]) -> None:
        """Add a loop; elements that it made are made anew, or loaded, in the next one."""
        self.distribution.loops.append(work)
        self.form.body.begin_pass()
        for value, element in self._met.items():
            self.form.body.define_element(value, element)

    def _stored(self, value: int, element: Expr) -> Store:
        dtype = self.form.region.dtype_of(value)
        buffer = self.distribution.memory.setdefault(
            value, Buffer(f"q{value}", dtype, Role.SCRATCH)
        )
        return Store(buffer, self.slot, element)

    def _meet_in_memory(self, values: Sequence[int]) -> None:
        for value in values:
            self._met[value] = load(self.distribution.memory[value], self.slot)
            self.form.body.define_element(value, self._met[value])
