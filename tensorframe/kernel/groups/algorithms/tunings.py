"""Tunings: what was found to be the best for kernels on a device, in place of what sizes suggest; it changes no bit.

For products these are tiles: the order in which one is added up is that of its inner axis, whatever they are. What may
differ between other kernels is in `kernel/groups/choices.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tensorframe.kernel.groups.algorithms.blocking import Blocking
from tensorframe.kernel.groups.choices import Choice, Room
from tensorframe.quick_dataclasses import dataclass
from tensorframe.quick_tuples import NamedTuple

# bytes of shared memory that every device has
_SHARED = 16384
# sides of tiles, results that a thread keeps, and elements of the inner axis that are shared at a time
_SIDES = (8, 16, 32, 64, 128, 256)
_MOST_REGISTERS = 64
_DEPTHS = (4, 8, 16, 32)


@dataclass(frozen=True, slots=True)
class Tiling:
    """The tile of a work-group, and how much of the inner axis is in shared memory at a time."""

    blocking: Blocking
    depth: int

    def fits(self, lanes: int, itemsize: int) -> bool:
        """Whether work-groups of so many threads, and their memory, do for it, with elements of so many bytes."""
        tile, shared = self.blocking, (self.blocking.height + self.blocking.width + 2) * self.depth
        return (
            tile.threads <= lanes
            and tile.rows * tile.columns <= _MOST_REGISTERS
            and tile.rows * tile.down == tile.height
            and tile.columns * tile.across == tile.width
            and shared * itemsize <= _SHARED
        )


class Asked(NamedTuple):
    """A kernel that was made: how by default, what may be tried beside a way, and where the best is noted."""

    default: Any
    near: Callable[[Any], Iterator[Any]]
    best: dict[str, Any]
    is_product: bool


class Tunings:
    """What was found for a device: tiles by the names of products, and choices by those of other kernels."""

    def __init__(self) -> None:
        self.best: dict[str, Tiling] = {}
        self.kernels: dict[str, Choice] = {}
        # where somebody wants to know what is made, and how
        self.asked: dict[str, Asked] | None = None

    @property
    def is_used(self) -> bool:
        """Whether anything was found for kernels that are no products, or is being looked for."""
        return bool(self.kernels) or self.asked is not None

    def chosen(self, name: str, default: Tiling, lanes: int, itemsize: int) -> Tiling:
        """Return the tiling of a product."""
        if self.asked is not None:
            around = partial(near, lanes=lanes, itemsize=itemsize)
            self.asked[name] = Asked(default, around, self.best, is_product=True)
        best = self.best.get(name, default)
        return best if best.fits(lanes, itemsize) else default

    def chosen_kernel(self, name: str, default: Choice, room: Room) -> Choice:
        """Return how another kernel is made."""
        if self.asked is not None:
            self.asked[name] = Asked(default, room.near, self.kernels, is_product=False)
        best = self.kernels.get(name)
        return best if best is not None and room.fits(best) else default


def name_of(stack: int, rows: int, columns: int, length: int, dtype: str) -> str:
    """Return what distinguishes products for which other tiles may be the best."""
    return f"{stack} x {rows} x {length} x {columns} {dtype}"


def near(tiling: Tiling, lanes: int, itemsize: int) -> Iterator[Tiling]:
    """Yield tilings with the sides, the thread's part or the depth twice or half as large, those that fit."""
    tile = tiling.blocking
    changes = [
        (2, 1, 1, 1, 1), (1, 2, 1, 1, 1), (0.5, 1, 1, 1, 1), (1, 0.5, 1, 1, 1),
        (2, 1, 2, 1, 1), (1, 2, 1, 2, 1), (0.5, 1, 0.5, 1, 1), (1, 0.5, 1, 0.5, 1),
        (2, 0.5, 1, 1, 1), (0.5, 2, 1, 1, 1), (1, 1, 2, 0.5, 1), (1, 1, 0.5, 2, 1),
        (1, 1, 2, 1, 1), (1, 1, 1, 2, 1), (1, 1, 1, 1, 2), (1, 1, 1, 1, 0.5),
    ]  # fmt: skip
    sizes = (tile.height, tile.width, tile.rows, tile.columns, tiling.depth)
    for change in changes:
        height, width, rows, columns, depth = [
            int(size * factor) for size, factor in zip(sizes, change, strict=True)
        ]
        known = height in _SIDES and width in _SIDES and depth in _DEPTHS
        if known and 1 <= rows <= height and 1 <= columns <= width:
            other = Tiling(Blocking(height, width, rows, columns), depth)
            if other.fits(lanes, itemsize):
                yield other
