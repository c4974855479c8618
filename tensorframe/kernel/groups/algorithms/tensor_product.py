"""Products of half precision by tensor cores: warps multiply tiles in shared memory, which the next ones are copied to.

Eight elements are copied at once, in the order that they have in memory (`copied_tiles.py`): a tile whose lines lie
across the inner axis is turned as it is read. Sums are of float32.
"""

from __future__ import annotations

from tensorframe.dtypes import float32, uint16
from tensorframe.graph.region import Region
from tensorframe.kernel import ir
from tensorframe.kernel.groups.algorithms.copied_tiles import Copied
from tensorframe.kernel.groups.algorithms.product_loops import Factor, Product
from tensorframe.kernel.groups.algorithms.product_tiles import Side, Totals
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir.loops import ZERO, digits
from tensorframe.quick_tuples import NamedTuple

_DEPTH = 32  # elements of the inner axis in one of the two parts of shared memory
_LARGE, _SMALL = 4, 2  # tiles of a warp along each side
_ENOUGH_GROUPS = 64  # from which every part of a large device has one


def takes(region: Region, product: Product, target: Target) -> bool:
    """Whether tensor cores make a product: of two factors of one dtype, which nothing else of the region reads."""
    factors = (product.left, product.right)
    dtypes = {region.inputs[factor.source][1] for factor in factors}
    rows, columns = product.shape[-2:]
    return (
        len(dtypes) == 1
        and dtypes <= target.tile_products
        and product.dtype in (*dtypes, float32)
        and min(rows, columns) >= ir.TILE_ROWS
        and not any(factor.gather for factor in factors)
        and not any(factor.source in _read(region) for factor in factors)
    )


def _read(region: Region) -> set[int]:
    return {source for op in region.ops for source in op.inputs} | {*region.outputs}


class Warps(NamedTuple):
    """The tile of a group: `down` by `across` warps, each of which makes `rows` by `columns` tiles of tensor cores."""

    down: int
    across: int
    rows: int
    columns: int

    @property
    def height(self) -> int:
        """Rows of the group's tile."""
        return self.down * self.rows * ir.TILE_ROWS

    @property
    def width(self) -> int:
        """Columns of the group's tile."""
        return self.across * self.columns * ir.TILE_COLUMNS

    def tiles(self, rows: int, columns: int) -> tuple[int, int]:
        """Return how many tiles a result has down and across."""
        return -(-rows // self.height), -(-columns // self.width)


class OfTensorCores(Copied):
    """The kernel of one product of half precision."""

    _blocking: Warps  # type: ignore[assignment]

    def _tiling(self, stack: int, rows: int, columns: int) -> tuple[Warps, int]:  # type: ignore[override]
        warps = self._target.lanes // ir.WARP
        down = 1 << (warps.bit_length() - 1) // 2
        for size in (_LARGE, _SMALL):
            tile = Warps(down, warps // down, size, size)
            high, wide = tile.tiles(rows, columns)
            if stack * high * wide >= _ENOUGH_GROUPS:
                break
        return tile, _DEPTH

    def _occupancy(self) -> int:
        return 0  # every total has a register: compilers would spill them

    def _side(self, key: str, factor: Factor, loop: int | None, length: int) -> Side:
        inside = factor.inner == 1
        # lines begin at a multiple of 16 bytes, those of one tile in different banks
        pitch = (_DEPTH if inside else length) + ir.neighbours(uint16)
        memory = ir.Buffer(f"{key}0", uint16, ir.Role.SHARED)
        return Side(key, factor, loop, length, pitch, inside, (memory,))

    def _totals(self) -> Totals:
        tile = self._blocking
        return [
            (i, j, tuple([ir.variable(f"sum_{i}_{j}_{part}", float32) for part in range(4)]))
            for i in range(tile.rows)
            for j in range(tile.columns)
        ]

    def _multiplied(self, totals: Totals, part: ir.Expr) -> ir.Statement:
        return self._by_lanes((self._product_of(totals, part),))

    def _product_of(self, totals: Totals, part: ir.Expr) -> ir.Statement:
        """Return the loop that multiplies what is in one part of shared memory."""
        inner, tile = ir.index("inner"), self._blocking
        row, column = self._warp()
        along = inner * ir.TILE_DEPTH
        left = self._tile(self._left, part, row * (tile.rows * ir.TILE_ROWS), along)
        right = self._tile(self._right, part, column * (tile.columns * ir.TILE_COLUMNS), along)
        names = tuple([total for _, _, block in totals for total in block])
        dtype = self._body.inputs[self._product.left.source].dtype
        multiply = ir.MultiplyTiles(dtype, names, tile.rows, tile.columns, left, right)
        return ir.Loop(inner, ZERO, ir.literal(_DEPTH // ir.TILE_DEPTH, ir.INDEX), (multiply,))

    def _tile(self, side: Side, part: ir.Expr, across: ir.Expr, inner: ir.Expr) -> ir.Tile:
        line, beside = (across, inner) if side.inside else (inner, across)
        first = part * self._piece(side)
        return ir.Tile(side.memory[0], first + line * side.pitch + beside, side.pitch, side.inside)

    def _warp(self) -> tuple[ir.Expr, ir.Expr]:
        """Return where a thread's warp is in the group's tile."""
        warp = ir.apply("floor_divide", ir.index("lane"), ir.literal(ir.WARP, ir.INDEX))
        row, column = digits(warp, [ZERO, ir.literal(self._blocking.across, ir.INDEX)])
        return row, column

    def _by_lanes(self, statements: tuple[ir.Statement, ...]) -> ir.Statement:
        count = ir.literal(self._target.lanes, ir.INDEX)
        return ir.Loop(ir.index("lane"), ZERO, count, statements, over=ir.ParallelAxis.LANES)

    def _store(self, totals: Totals, corner: tuple[ir.Expr, ir.Expr]) -> ir.Statement:
        tile, lane = self._blocking, ir.index("lane")
        i, j = ir.index("i"), ir.index("j")
        row, column = self._warp()
        thread = ir.apply("remainder", lane, ir.literal(ir.WARP, ir.INDEX))
        down, across = digits(thread, [ZERO, ir.literal(4, ir.INDEX)])
        stores: list[ir.Statement] = []
        for part in range(4):
            own = [(row, by, block[part : part + 1]) for row, by, block in totals]
            stores += self._stored(
                own,
                corner[0] + (row * tile.rows + i) * ir.TILE_ROWS + down + part // 2 * 8,
                corner[1] + (column * tile.columns + j) * ir.TILE_COLUMNS + across * 2 + part % 2,
                i,
                j,
            )
        along = ir.Loop(j, ZERO, ir.literal(tile.columns, ir.INDEX), tuple(stores))
        return self._by_lanes((ir.Loop(i, ZERO, ir.literal(tile.rows, ir.INDEX), (along,)),))
