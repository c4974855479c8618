"""Tiling: blocks of two axes, for operands of which some are contiguous along one and some along the other.

Whatever the order of loops, some operand would be read across its rows: a cache line for every element, and where rows
are a power of two apart all of them in the same few places of the cache (2048x2048 transposed: 9 times slower than
2000x2000). So a block of such an operand is first copied, row by row, into scratch memory whose rows are an odd number
of cache lines apart, and read across there.
"""

from __future__ import annotations

from tensorframe.kernel import ir
from tensorframe.kernel.forms.form import Form
from tensorframe.kernel.ir.loops import digits, smaller
from tensorframe.kernel.ir.walk import expressions, in_order, substituted_in
from tensorframe.kernel.nest.nest import Access, Nest
from tensorframe.machine import HOST
from tensorframe.quick_dataclasses import dataclass

_SIDE = 64  # elements of a side of a tile: whole cache lines of either operand
_AREA = 4096  # elements of a tile that an axis makes narrow
_NARROW = 16  # elements of an axis below which copying a tile takes longer than it saves
_LINES = 8  # rows that a small cache can hold at once if they are a power of two apart


@dataclass(frozen=True, slots=True)
class Tile:
    """`height` indices of the kept loop `axis` by `width` of the innermost one.

    What crosses a `copied` tile goes through scratch memory; down a `turned` one runs its inner loop.
    """

    axis: int
    height: int
    width: int
    copied: bool = False
    turned: bool = False

    def count(self, nest: Nest) -> int:
        """Return how many tiles there are."""
        down, across = -(-nest.kept[self.axis] // self.height), -(-nest.kept[-1] // self.width)
        return nest.rows // (nest.kept[self.axis] * nest.kept[-1]) * down * across


def tile_of(nest: Nest) -> Tile | None:
    """Return the tile for loops without reductions; None if all operands are contiguous along the innermost one."""
    axis = next(
        (
            crossed
            for access in nest.accesses.values()
            if (crossed := crossed_axis(access)) is not None
        ),
        None,
    )
    if axis is None:
        return None
    down, across = nest.kept[axis], nest.kept[-1]
    if down < _NARROW:
        return Tile(axis, down, _AREA // down)
    if across < _NARROW:
        return Tile(axis, _AREA // across, across, turned=True)
    if nest.pieces:  # what is outside a piece cannot be copied
        return Tile(axis, _SIDE, _LINES)
    return Tile(axis, _SIDE, _SIDE, copied=True)


def crossed_axis(access: Access) -> int | None:
    """Return the loop, not the innermost, along which an operand is contiguous (a complex number is two elements)."""
    *outer, inner = access.steps
    if abs(inner) <= 2:
        return None
    return next((axis for axis, step in enumerate(outer) if 0 < abs(step) <= 2), None)


def tiles(form: Form, tile: Tile) -> tuple[ir.Statement, ...]:
    """Loops over tiles, and in each down its height and along its width."""
    body = form.body
    inner = len(body.sizes) - 1
    height, width = body.numbers.take(tile.height, "height"), body.numbers.take(tile.width, "width")
    down = body.numbers.take(-(-body.nest.kept[tile.axis] // tile.height), "down")
    across = body.numbers.take(-(-body.nest.kept[inner] // tile.width), "across")
    others = [size for axis, size in enumerate(body.sizes) if axis not in (tile.axis, inner)]
    row, up, along = ir.index("row"), ir.index("j"), ir.index("i")
    *places, tile_row, tile_column = digits(row, [*others, down, across])
    body.indices = [*places[: tile.axis], up, *places[tile.axis :], along]
    top, left = tile_row * height, tile_column * width
    bottom = smaller(top + height, body.sizes[tile.axis])
    right = smaller(left + width, body.sizes[inner])
    stores: tuple[ir.Statement, ...] = tuple([form.store(value) for value in form.outputs])
    memory: list[ir.Statement] = []
    copies: list[ir.Statement] = []
    moved: dict[ir.Expr, ir.Expr] = {}
    for number, load in enumerate(_crossing_loads(form, tile, stores)):
        pitch = _pitch(load.dtype.itemsize)
        scratch = ir.Buffer(f"w{number}", load.dtype, ir.Role.SCRATCH)
        place = (along - left) * pitch + (up - top)
        memory.append(ir.Allocate(scratch, ir.literal(pitch * _SIDE, ir.INDEX)))
        copy = ir.Loop(up, top, bottom, (ir.Store(scratch, place, load),))
        copies.append(ir.Loop(along, left, right, (copy,)))
        moved[load] = ir.load(scratch, place)
    work = substituted_in(stores, moved)
    if tile.turned:
        block = ir.Loop(along, left, right, (ir.Loop(up, top, bottom, work),))
    else:
        block = ir.Loop(up, top, bottom, (ir.Loop(along, left, right, work),))
    return (*memory, ir.Loop(row, ir.START, ir.STOP, (*copies, block), parallel=True))


def _crossing_loads(form: Form, tile: Tile, stores: tuple[ir.Statement, ...]) -> list[ir.Load]:
    """Return the loads of operands that are contiguous down the tile, if these are copied."""
    if not tile.copied:
        return []
    body = form.body
    places = {
        body.position(key)
        for key, access in body.nest.accesses.items()
        if crossed_axis(access) == tile.axis
    }
    roots, _ = expressions(stores)
    loads = [expr for expr in in_order(roots, {}) if isinstance(expr, ir.Load)]
    return [load for load in loads if load.position in places and load.buffer.role is ir.Role.INPUT]


def _pitch(itemsize: int) -> int:
    """Return the elements from one row of a copied tile to the next: an odd number of cache lines."""
    lines = -(-_SIDE * itemsize // HOST.line) | 1
    return lines * HOST.line // itemsize
