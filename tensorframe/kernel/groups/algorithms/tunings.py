"""Tunings: tile sizes of products that were found to be the best on a device, in place of those that sizes suggest.

The order in which a product is added up is that of its inner axis, whatever the tiles: a tuning changes no bit.
"""

from __future__ import annotations

from collections.abc import Iterator

from tensorframe.kernel.groups.algorithms.blocking import Blocking
from tensorframe.quick_dataclasses import dataclass

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


class Tunings:
    """What was found for a device, by what each product is: see `name_of`."""

    def __init__(self) -> None:
        self.best: dict[str, Tiling] = {}
        # where somebody wants to know what is made, and how: the tiling by default, threads, bytes of an element
        self.asked: dict[str, tuple[Tiling, int, int]] | None = None

    def chosen(self, name: str, default: Tiling, lanes: int, itemsize: int) -> Tiling:
        """Return the tiling of a product."""
        if self.asked is not None:
            self.asked[name] = (default, lanes, itemsize)
        best = self.best.get(name, default)
        return best if best.fits(lanes, itemsize) else default


def name_of(stack: int, rows: int, columns: int, length: int, dtype: str) -> str:
    """Return what tells products apart for which other tiles may be the best."""
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
