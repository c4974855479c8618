"""Bars: the slices of a profile by lane, joined where nobody could see that they are two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from tensorframe.notebook.figures import time_text
from tensorframe.runtime.profiling.timeline import (
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
    """Slices of one kind that lie too near each other to be distinguished."""

    first: Slice
    began: int
    ended: int
    shares: dict[str, Share] = field(default_factory=dict)

    def takes(self, piece: Slice, apart: float) -> bool:
        """Whether a slice is so near that it belongs to this bar."""
        return piece.kind == self.first.kind and piece.began - self.ended < apart

    def add(self, piece: Slice) -> None:
        """Join a slice to this bar."""
        self.ended = max(self.ended, piece.ended)
        share = self.shares.setdefault(_name_of(piece), Share(piece))
        share.busy += piece.ended - piece.began
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
        first = shares[0].first
        lines = [str(shares[0]) if self.count > 1 else f"{first.kind}: {first.name}"]
        lines.append(time_text(shares[0].busy * 1e-9))
        lines += [
            str(first.facts[name]) for name in ("for", "where", "line") if first.facts.get(name)
        ]
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
        name = _name_of(self.first)
        return name if self.count == 1 else f"{self.count:,} x {name}"


def _name_of(piece: Slice) -> str:
    return f"{piece.kind} {piece.facts['for']}" if piece.facts.get("for") else piece.name


def lanes_of(slices: Iterable[Slice]) -> dict[Lane, list[Slice]]:
    """Return slices by lane: by thread, what prepares first, then devices, then transfers."""
    lanes: dict[Lane, list[Slice]] = {}
    for piece in _apart(slices):
        lanes.setdefault(piece.lane, []).append(piece)
    places = {HOST: 0, OPENING: 1, PLANNING: 2, MAKING: 3, TRANSFERS: 5}
    order = sorted(lanes, key=lambda lane: (lane.thread, places.get(lane.group, 4), lane.group))
    return {lane: lanes[lane] for lane in order}


def _apart(slices: Iterable[Slice]) -> Iterator[Slice]:
    """Yield slices, those of steps without opening devices and making kernels, and these without what lies inside."""
    making: dict[int, list[Slice]] = {}
    every = list(slices)
    for piece in every:
        if piece.lane.group in (OPENING, MAKING):
            making.setdefault(piece.lane.thread, []).append(piece)
    for piece in every:
        if piece.lane.group in (HOST, PLANNING, TRANSFERS):
            yield piece
        else:
            others = making.get(piece.lane.thread, ())
            yield from _without(piece, [other for other in others if other is not piece])


def _without(piece: Slice, others: Iterable[Slice]) -> Iterator[Slice]:
    began = piece.began
    for other in others:
        if piece.began <= other.began and other.ended <= piece.ended and other.ended > began:
            if other.began > began:
                yield replace(piece, began=began, ended=other.began)
            began = other.ended
    if began < piece.ended or began == piece.began:
        yield replace(piece, began=began)


def bars_of(slices: Iterable[Slice], apart: float) -> list[Bar]:
    """Return slices joined where nobody could see that they are two."""
    bars: list[Bar] = []
    for piece in sorted(slices, key=lambda piece: piece.began):
        if not bars or not bars[-1].takes(piece, apart):
            bars.append(Bar(piece, piece.began, piece.ended))
        bars[-1].add(piece)
    return bars
