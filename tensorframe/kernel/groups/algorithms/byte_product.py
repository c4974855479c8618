"""Products of bytes: four neighbours along the inner axis are a word of shared memory, and multiplied at once (`dot4`).

Sums are of 32 bits, and exact but for their wrapping, so they are those of byte after byte. A result of one byte wraps
as well: it does not depend on whether bytes of the factors have signs, and all are multiplied as if they had.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.dtypes import int8, int32, uint8, uint32
from tensorframe.graph.region import Region
from tensorframe.kernel import ir
from tensorframe.kernel.groups.algorithms.blocking import Blocking
from tensorframe.kernel.groups.algorithms.product import Tiled
from tensorframe.kernel.groups.algorithms.product_loops import Factor, Product
from tensorframe.kernel.groups.algorithms.product_tiles import Side
from tensorframe.kernel.ir.formula import bitcast, both, dot4, where
from tensorframe.kernel.ir.loops import ZERO, digits, smaller
from tensorframe.kernel.math.scalars import converted

_BYTES = 4  # of a word


def takes(region: Region, product: Product) -> bool:
    """Whether the factors are of bytes, and signed ones where the result depends on it."""
    dtypes = {region.inputs[factor.source][1] for factor in (product.left, product.right)}
    if product.dtype in (int8, uint8):
        return dtypes <= {int8, uint8}
    return dtypes == {int8} and product.total == int32


class OfBytes(Tiled):
    """The kernel of one product of bytes."""

    def _tiling(self, stack: int, rows: int, columns: int) -> tuple[Blocking, int]:
        blocking, words = super()._tiling(stack, rows, columns)
        return blocking, words * _BYTES

    def _side(self, key: str, factor: Factor, loop: int | None, length: int) -> Side:
        side = super()._side(key, factor, loop, length)
        memory = ir.Buffer(f"{key}0", uint32, ir.Role.SHARED)
        return Side(key, factor, loop, length, side.pitch, side.inside, (memory,))

    @property
    def _words(self) -> int:
        """How many words of the inner axis are in shared memory at a time."""
        return self._depth // _BYTES

    def _shared(self, side: Side) -> int:
        return side.pitch * self._words

    def _fill(self, side: Side, corner: ir.Expr, first: ir.Expr, last: ir.Expr) -> ir.Statement:
        place = ir.index(f"fill_{side.key}")
        if side.inside:
            across, word = digits(place, [ZERO, ir.literal(self._words, ir.INDEX)])
        else:
            word, across = digits(place, [ZERO, ir.literal(side.length, ir.INDEX)])
        self._set_indices({side.loop: corner + across}, inside=True)
        (memory,) = side.memory
        bytes_ = [
            self._byte(side, first + word * _BYTES + number, last) for number in range(_BYTES)
        ]
        store = ir.Store(memory, word * side.pitch + across, _packed(bytes_))
        count = ir.literal(side.length * self._words, ir.INDEX)
        return ir.Loop(place, ZERO, count, (store,), over=ir.ParallelAxis.LANES)

    def _byte(self, side: Side, inner: ir.Expr, last: ir.Expr) -> ir.Expr:
        """Return the bits of an element by its place on the inner axis, as a word; zero beyond the end."""
        position, known = self._place(side, smaller(inner, last - 1))
        element = ir.load(self._body.inputs[side.factor.source], position)
        there = inner < last if known is None else both(inner < last, known)
        wide = int32 if element.dtype == int8 else uint32
        return where(there, bitcast(converted(element, wide), uint32) & 0xFF, 0)

    def _turns_inside(self) -> int:
        return self._words

    def _element(self, side: Side, number: int, part: int) -> ir.Variable:
        return ir.variable(f"{side.key}{part}_{number}", uint32)

    def _taken_in(
        self, block: Sequence[ir.Expr], left: Sequence[ir.Expr], right: Sequence[ir.Expr]
    ) -> list[ir.Expr]:
        return [block[0] + bitcast(dot4(left[0], right[0]), block[0].dtype)]


def _packed(bytes_: Sequence[ir.Expr]) -> ir.Expr:
    """Return the word that has these bytes, the lowest first."""
    word = bytes_[0]
    for number, byte in enumerate(bytes_[1:], start=1):
        word = word | (byte << 8 * number)
    return word
