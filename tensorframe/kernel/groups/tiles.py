"""Tiling by work-groups: operands contiguous along another axis than the rest are transposed in shared memory.

Threads of a group read neighbouring elements at once where these are next to each other in memory. Whatever axis the
threads run along, some operand has its elements far apart; so a group reads a square of such an operand along its own
axis, and then works on the square along the innermost one.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.kernel import ir
from tensorframe.kernel.forms.form import Form
from tensorframe.kernel.forms.tiles import crossed_axis
from tensorframe.kernel.ir.loops import ZERO, digits, smaller
from tensorframe.kernel.ir.walk import expressions, in_order, substituted_in
from tensorframe.kernel.nest.nest import Nest
from tensorframe.quick_dataclasses import dataclass

_SIDE = 32  # elements of a side: what threads that run together read at once
_PITCH = _SIDE + 1  # from row to row in shared memory: a column's elements are in different banks
_LEAST = 16  # elements of an axis below which a square would be mostly empty
_MEMORY = 16_384  # bytes of shared memory that every device has


@dataclass(frozen=True, slots=True)
class Square:
    """Squares of `axis` and the innermost loop, `down` by `across` of them; `count` with those of the other loops."""

    axis: int
    down: int
    across: int
    count: int


def square_of(nest: Nest) -> Square | None:
    """Return the squares of loops without reductions; None if no operand crosses the innermost loop, or it is short."""
    if len(nest.kept) < 2:
        return None
    axes = [crossed_axis(access) for key, access in nest.accesses.items() if _is_read(key)]
    axis = next((candidate for candidate in axes if candidate is not None), None)
    if axis is None or nest.pieces or min(nest.kept[axis], nest.kept[-1]) < _LEAST:
        return None
    down, across = [-(-nest.kept[loop] // _SIDE) for loop in (axis, -1)]
    others = nest.rows // (nest.kept[axis] * nest.kept[-1])
    return Square(axis, down, across, others * down * across)


def squares(form: Form, square: Square) -> tuple[ir.Statement, ...]:
    """A work-group for each square."""
    body, axis = form.body, square.axis
    inner = len(body.sizes) - 1
    down = body.numbers.take(square.down, "down")
    across = body.numbers.take(square.across, "across")
    others = [size for loop, size in enumerate(body.sizes) if loop not in (axis, inner)]
    *places, tile_row, tile_column = digits(ir.index("tile"), [*others, down, across])
    top, left = tile_row * _SIDE, tile_column * _SIDE

    def set_indices(row: ir.Expr, column: ir.Expr) -> None:
        body.begin_pass()
        body.indices = [*places[:axis], row, *places[axis:], column]

    place, side = ir.index("place"), ir.literal(_SIDE, ir.INDEX)
    up, along = digits(place, [ZERO, side])
    row, column = top + up, left + along
    set_indices(row, column)
    stores: tuple[ir.Statement, ...] = tuple([form.store(value) for value in form.outputs])
    crossing = _crossing(form, axis, stores)
    moved: dict[ir.Expr, ir.Expr] = {}
    memory: list[ir.Statement] = []
    fills: list[ir.Statement] = []
    fill = ir.index("fill")
    beside, below = digits(fill, [ZERO, side])
    set_indices(
        smaller(top + below, body.sizes[axis] - 1), smaller(left + beside, body.sizes[inner] - 1)
    )
    for number, (key, load) in enumerate(crossing):
        shared = ir.Buffer(f"w{number}", load.dtype, ir.Role.SHARED)
        memory.append(ir.Allocate(shared, ir.literal(_SIDE * _PITCH, ir.INDEX)))
        element = ir.load(load.buffer, body.position(key))
        fills.append(ir.Store(shared, beside * _PITCH + below, element))
        moved[load] = ir.load(shared, along * _PITCH + up)
    there = ir.If(row < body.sizes[axis], (ir.If(column < body.sizes[inner], stores),))
    work = substituted_in((there,), moved)
    area = ir.literal(_SIDE * _SIDE, ir.INDEX)
    statements = (
        ir.Loop(fill, ZERO, area, tuple(fills), over=ir.ParallelAxis.LANES),
        ir.Barrier(),
        ir.Loop(place, ZERO, area, work, over=ir.ParallelAxis.LANES),
        ir.Barrier(),
    )
    loop = ir.Loop(
        ir.index("tile"), ir.START, ir.STOP, statements, parallel=True, over=ir.ParallelAxis.GROUPS
    )
    return (*memory, loop)


def _crossing(
    form: Form, axis: int, stores: Sequence[ir.Statement]
) -> list[tuple[object, ir.Load]]:
    """Return the loads that are contiguous along an axis, as many as shared memory has room for, and their accesses."""
    body = form.body
    keys = {
        body.position(key): key
        for key, access in body.nest.accesses.items()
        if _is_read(key) and crossed_axis(access) == axis
    }
    roots, _ = expressions(stores)
    crossing: list[tuple[object, ir.Load]] = []
    room = _MEMORY
    for expr in in_order(roots, {}):
        if (
            isinstance(expr, ir.Load)
            and expr.buffer.role is ir.Role.INPUT
            and expr.position in keys
        ):
            room -= _SIDE * _PITCH * max(expr.dtype.itemsize, 4)
            if room >= 0:
                crossing.append((keys[expr.position], expr))
    return crossing


def _is_read(key: object) -> bool:
    return not (isinstance(key, tuple) and key[0] == "out")
