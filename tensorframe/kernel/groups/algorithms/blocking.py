"""Blocking: which part of a product a work-group makes, and which part of that a thread keeps in registers."""

from __future__ import annotations

from tensorframe.quick_dataclasses import dataclass

# Results that a thread keeps in registers: each factor that it reads serves four of them.
_REGISTERS = 16
# Tiles from which every part of a large device has one; below, smaller tiles make more of them.
_ENOUGH_TILES = 64
# Columns of the widest tile, as long as a work-group reads without a gap.
_WIDEST = 256


@dataclass(frozen=True, slots=True)
class Blocking:
    """A tile of `height` by `width`, of which every thread has `rows` by `columns`, spread out evenly."""

    height: int
    width: int
    rows: int
    columns: int

    @property
    def down(self) -> int:
        """Threads along a column of the tile."""
        return self.height // self.rows

    @property
    def across(self) -> int:
        """Threads along a row of the tile."""
        return self.width // self.columns

    @property
    def threads(self) -> int:
        """Threads that have a part of the tile."""
        return self.down * self.across

    def tiles(self, rows: int, columns: int) -> tuple[int, int]:
        """Return how many tiles a result has down and across."""
        return -(-rows // self.height), -(-columns // self.width)


def blocking_of(stack: int, rows: int, columns: int, lanes: int) -> Blocking:
    """Return the blocking of a stack of products for work-groups of so many threads; all sizes are powers of two."""
    area = _REGISTERS * lanes
    height = 1 << ((area.bit_length() - 1) // 2)
    width = min(area // height, _power(columns))
    height = min(height, _power(rows))
    # a tile that one side of the result makes narrow is long along the other one
    width = min(max(width, min(area // height, _WIDEST)), _power(columns))
    height = min(max(height, min(area // width, _WIDEST)), _power(rows))
    while height * width > lanes:
        if stack * -(-rows // height) * -(-columns // width) >= _ENOUGH_TILES:
            break
        if height >= width:
            height //= 2
        else:
            width //= 2
    each = max(1, height * width // lanes)
    down = min(height, 1 << ((each.bit_length() - 1) // 2))
    across = min(width, each // down)
    return Blocking(height, width, each // across, across)


def _power(size: int) -> int:
    """Return the smallest power of two that is not below `size`."""
    return 1 << (size - 1).bit_length()


# Results of all tiles that a large device works on at once.
_ENOUGH_RESULTS = _ENOUGH_TILES * 4096
# Elements of the inner axis from which it may be cut, and those of a part at least; parts end with a tile.
_LONG, _PART, _MULTIPLE = 2048, 512, 16


def chunk_of(results: int, length: int) -> int:
    """Return how much of an inner axis of this length one work-group takes in: all of it, but for few results."""
    if length < _LONG or 2 * results > _ENOUGH_RESULTS:
        return length
    parts = min(_ENOUGH_RESULTS // max(results, 1), length // _PART)
    return -(-length // (parts * _MULTIPLE)) * _MULTIPLE
