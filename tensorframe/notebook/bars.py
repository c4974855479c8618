"""Bars: the slices of a profile by lane, joined where nobody could see that they are two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from tensorframe.notebook.figures import time_text
from tensorframe.runtime.timeline import (
    HOST,
    MAKING,
    OPENING,
    PLANNING,
    TRANSFERS,
    Lane,
    Slice,
)

_SAID = 5  # names of what is in one bar


@dataclass(slots=True)
class Bar:
    """Slices of one kind that lie too near each other to be told apart."""

    first: Slice
    began: int
    ended: int
    shares: dict[str, Share] = field(default_factory=dict)

    def takes(self, one: Slice, apart: float) -> bool:
        """Whether a slice is so near that it belongs to this bar."""
        return one.kind == self.first.kind and one.began - self.ended < apart

    def add(self, one: Slice) -> None:
        """Join a slice to this bar."""
        self.ended = max(self.ended, one.ended)
        share = self.shares.setdefault(_named(one), Share(one))
        share.busy += one.ended - one.began
        share.count += 1

    @property
    def busy(self) -> int:
        """Nanoseconds in which something ran."""
        return sum(share.busy for share in self.shares.values())

    @property
    def count(self) -> int:
        """How many slices there are."""
        return sum(share.count for share in self.shares.values())

    def longest_first(self) -> list[Share]:
        """Return what took the bar's time, by name; of equal ones the first comes first."""
        return sorted(self.shares.values(), key=lambda share: -share.busy)

    def named(self) -> str:
        """Return the name of what took the most of the bar's time, and how much else there is."""
        longest, *others = self.longest_first()
        more = sum(share.count for share in others)
        return f"{longest} and {more:,} more" if more else str(longest)

    def described(self) -> str:
        """Return what pointing at the bar says: what took the most of its time, then the rest."""
        shares = self.longest_first()
        one = shares[0].first
        lines = [str(shares[0]) if self.count > 1 else f"{one.kind}: {one.name}"]
        lines.append(time_text(shares[0].busy * 1e-9))
        lines += [str(one.facts[name]) for name in ("for", "where", "line") if one.facts.get(name)]
        lines += [f"{share}: {time_text(share.busy * 1e-9)}" for share in shares[1:_SAID]]
        rest = sum(share.count for share in shares[_SAID:])
        return "\n".join([*lines, *([f"and {rest:,} more"] if rest else [])])


@dataclass(slots=True)
class Share:
    """The slices of one name in a bar."""

    first: Slice
    busy: int = 0
    count: int = 0

    def __str__(self) -> str:
        name = _named(self.first)
        return name if self.count == 1 else f"{self.count:,} x {name}"


def _named(one: Slice) -> str:
    return f"{one.kind} {one.facts['for']}" if one.facts.get("for") else one.name


def lanes_of(slices: Iterable[Slice]) -> dict[Lane, list[Slice]]:
    """Return slices by lane: by thread, what prepares first, then devices, then transfers."""
    found: dict[Lane, list[Slice]] = {}
    for one in _apart(slices):
        found.setdefault(one.lane, []).append(one)
    places = {HOST: 0, OPENING: 1, PLANNING: 2, MAKING: 3, TRANSFERS: 5}
    order = sorted(found, key=lambda lane: (lane.thread, places.get(lane.group, 4), lane.group))
    return {lane: found[lane] for lane in order}


def _apart(slices: Iterable[Slice]) -> Iterator[Slice]:
    """Yield slices, those of steps without opening devices and making kernels, and these without what lies inside."""
    making: dict[int, list[Slice]] = {}
    every = list(slices)
    for one in every:
        if one.lane.group in (OPENING, MAKING):
            making.setdefault(one.lane.thread, []).append(one)
    for one in every:
        if one.lane.group in (HOST, PLANNING, TRANSFERS):
            yield one
        else:
            others = making.get(one.lane.thread, ())
            yield from _without(one, [other for other in others if other is not one])


def _without(one: Slice, others: Iterable[Slice]) -> Iterator[Slice]:
    began = one.began
    for other in others:
        if one.began <= other.began and other.ended <= one.ended and other.ended > began:
            if other.began > began:
                yield replace(one, began=began, ended=other.began)
            began = other.ended
    if began < one.ended or began == one.began:
        yield replace(one, began=began)


def bars_of(slices: Iterable[Slice], apart: float) -> list[Bar]:
    """Return slices joined where nobody could see that they are two."""
    found: list[Bar] = []
    for one in sorted(slices, key=lambda one: one.began):
        if not found or not found[-1].takes(one, apart):
            found.append(Bar(one, one.began, one.ended))
        found[-1].add(one)
    return found
