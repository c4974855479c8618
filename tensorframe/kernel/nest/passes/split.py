"""Index-set splitting: loops are divided where pieces begin and end, so that nothing inside branches on its position.

Builders write a value that differs from piece to piece as a choice by conditions `index < bound`. Along the index of a
loop these hold in one part and not in the other: each part becomes a loop of its own, in which the choice is made. What
is loaded for one side of a choice is so never loaded on the other, and the loops that are left become vector code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from tensorframe.dtypes import bool_
from tensorframe.kernel import ir
from tensorframe.kernel.ir.formula import both
from tensorframe.kernel.ir.loops import ZERO, larger, smaller
from tensorframe.kernel.ir.walk import expressions, in_order, substituted_in
from tensorframe.quick_dataclasses import dataclass

Block = tuple[ir.Statement, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """A condition `place < bound`, where `place` runs over the indices of a loop, `count` of them."""

    place: ir.Expr
    bound: ir.Argument
    value: int  # of the bound: within 0 and `count`, without these
    count: int


class Cuts:
    """The conditions of one kernel; `whole` are the numbers that stand for the lengths of its loops."""

    def __init__(self, whole: Sequence[ir.Expr]) -> None:
        self.known: dict[ir.Expr, Cut] = {}
        self.whole = frozenset(whole)

    def before(self, place: ir.Expr, bound: ir.Argument, first: int, count: int) -> ir.Expr:
        """Return the condition that holds at the first `first` of the `count` indices of a loop."""
        made = place < bound
        self.known[made] = Cut(place, bound, first, count)
        return made


def split(statements: Sequence[ir.Statement], cuts: Cuts) -> Block:
    """Return statements of the same meaning without the conditions in `cuts`."""
    if not cuts.known:
        return tuple(statements)
    return _Splitter(cuts).block(tuple(statements), frozenset())


@dataclass(frozen=True, slots=True)
class _Part:
    """Indices from `first` up to, not including, `last`: their bounds unless they are a loop's own, and what holds."""

    first: int
    last: int
    low: ir.Argument | None
    high: ir.Argument | None
    decided: Mapping[ir.Expr, ir.Literal]

    def condition(self, place: ir.Expr) -> ir.Expr:
        """Return whether a place is in this part."""
        if self.low is None:
            assert self.high is not None
            return place < self.high
        return (
            place >= self.low if self.high is None else both(place >= self.low, place < self.high)
        )


class _Splitter:
    def __init__(self, cuts: Cuts) -> None:
        self._cuts = cuts

    def block(self, statements: Block, scope: frozenset[ir.Index]) -> Block:
        """Return a block, which runs in the loops over the indices in `scope`."""
        for place in {cut.place: None for cut in self._used(statements).values()}:
            if (
                _indices(place) <= scope
            ):  # it does not change in this block: one part or the other runs
                return tuple(
                    [
                        ir.If(part.condition(place), self.block(_given(statements, part), scope))
                        for part in self._parts(place, statements)
                    ]
                )
        divided: list[ir.Statement] = []
        for statement in statements:
            if isinstance(statement, ir.Loop):
                divided += self._loop(statement, scope)
            elif isinstance(statement, ir.If):
                divided.append(replace(statement, body=self.block(statement.body, scope)))
            else:
                divided.append(statement)
        return tuple(divided)

    def _loop(self, loop: ir.Loop, scope: frozenset[ir.Index]) -> Block:
        """Return a loop for each part of a loop's indices; a part of one index needs none."""
        inside = scope | {loop.index}
        whole = loop.start is ZERO and loop.stop in self._cuts.whole
        statements: list[ir.Statement] = []
        for part in self._parts(loop.index, loop.body):
            body = self.block(_given(loop.body, part), inside)
            if whole and part.last == part.first + 1:
                statements += substituted_in(body, {loop.index: part.low or ZERO})
                continue
            start, stop = loop.start, loop.stop
            if part.low is not None:
                start = part.low if whole else larger(start, part.low)
            if part.high is not None:
                stop = part.high if whole else smaller(stop, part.high)
            statements.append(replace(loop, start=start, stop=stop, body=body))
        return tuple(statements)

    def _used(self, statements: Block) -> dict[ir.Expr, Cut]:
        roots, _ = expressions(statements)
        known = self._cuts.known
        return {expr: known[expr] for expr in in_order(roots, {}) if expr in known}

    def _parts(self, place: ir.Expr, statements: Block) -> list[_Part]:
        """Return the parts between the bounds of the conditions on a place; without any, one with no end."""
        used = {
            condition: cut
            for condition, cut in self._used(statements).items()
            if cut.place is place
        }
        bounds = {cut.value: cut.bound for cut in used.values()}
        edges = sorted(bounds)
        count = max([cut.count for cut in used.values()], default=0)
        return [
            _Part(
                first,
                last,
                bounds.get(first),
                bounds.get(last),
                {
                    condition: ir.literal(cut.value >= last, bool_)
                    for condition, cut in used.items()
                },
            )
            for first, last in pairwise([0, *edges, count])
        ]


def _indices(place: ir.Expr) -> frozenset[ir.Expr]:
    return frozenset([expr for expr in in_order((place,), {}) if isinstance(expr, ir.Index)])


def _given(statements: Block, part: _Part) -> Block:
    return substituted_in(statements, part.decided)
