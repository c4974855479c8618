"""Diagrams: what a picture shows, before anybody knows where it stands: boxes, frames around them, wires."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from enum import Enum


class Look(Enum):
    """What a box stands for, which is how it looks."""

    INPUT = "input"
    OP = "op"
    VIEW = "view"
    KERNEL = "kernel"
    LIBRARY = "library"
    TRANSFER = "transfer"
    RESULT = "result"


@dataclass(frozen=True, slots=True)
class Box:
    """A box: `title` over `lines`, in the colour of `device`.

    One that is `closed` is a step with all that it fuses: its title is in a bar, beside a `note`. `hint` is what
    pointing at the box says, `ops` counts the recorded or planned ops that it stands for, `frame` names the frame that
    it is part of, `copies` counts the boxes that it is a stack of.
    """

    name: str
    look: Look
    title: str
    device: str
    lines: tuple[str, ...] = ()
    _: KW_ONLY
    note: str = ""
    frame: str | None = None
    hint: str = ""
    ops: int = 0
    closed: bool = False
    copies: int = 1


@dataclass(frozen=True, slots=True)
class Frame:
    """What runs together: a header, and the boxes that name it."""

    name: str
    look: Look
    title: str
    device: str
    note: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Wire:
    """A value on its way from the box that makes it to those that use it; no label where it says nothing new."""

    source: str
    targets: tuple[str, ...]
    label: str
    nbytes: int
    moves: bool = False  # whether it comes from, or goes to, another device


@dataclass(slots=True)
class Diagram:
    """Everything that a picture shows. Boxes stand in an order in which they could be computed."""

    title: str
    boxes: list[Box] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)

    @property
    def ops(self) -> int:
        """How many ops the boxes stand for."""
        return sum(box.ops for box in self.boxes)

    def within(self, frame: str) -> list[Box]:
        """Return the boxes of a frame."""
        return [box for box in self.boxes if box.frame == frame]

    def edges(self) -> Iterator[tuple[str, str, Wire]]:
        """Yield the source, a target and the wire of every single line."""
        for wire in self.wires:
            for target in wire.targets:
                yield wire.source, target, wire


def wires_of(
    source: str, targets: Iterable[str], transfers: Container[str], label: str, nbytes: int
) -> list[Wire]:
    """Return a value's wires: one to the boxes that use it where it is, and one to those that move it elsewhere.

    The first of them has the label. What leaves a transfer has come from another device all the way.
    """
    if source in transfers:
        return [Wire(source, tuple(targets), label, nbytes, moves=True)]
    stays = tuple([target for target in targets if target not in transfers])
    leaves = tuple([target for target in targets if target in transfers])
    wires = [Wire(source, stays, label, nbytes)] if stays else []
    if leaves:
        wires.append(Wire(source, leaves, "" if stays else label, nbytes, moves=True))
    return wires
