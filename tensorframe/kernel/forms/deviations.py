"""One-pass variance: sums of squared distances from a value of the row, such as its mean, over long rows.

The sum of (x - m)^2 cannot begin before m is known, and then it reads again what has left the cache. Each chunk takes
distances from a pivot p of its own instead, the mean of its first elements. With d the sum of its x - p and q that of
their squares, its n elements contribute q + (p - m) (2 d + n (p - m)), whatever m is; where p is the chunk's mean, this
is how Chan, Golub and LeVeque ("Algorithms for computing the sample variance", The American Statistician 37, 1983) join
chunks. The mean of s elements is so near to that of all n that q is at most 1 + n / s times what it would be there: a
bound on what cancels, which only chunks with outliers for their first elements come near.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from tensorframe.dtypes import DType, float32, float64
from tensorframe.graph.op import Op
from tensorframe.graph.region import Region
from tensorframe.kernel.ir import Buffer, Expr
from tensorframe.kernel.math.scalars import converted
from tensorframe.ops.elementwise import MULTIPLY, SUBTRACT
from tensorframe.ops.reduction import SUM
from tensorframe.quick_dataclasses import dataclass
from tensorframe.quick_tuples import NamedTuple

One = TypeVar("One")

DTYPES = frozenset({float32, float64})


class Deviation(NamedTuple):
    """The difference whose squares are summed, and where each chunk leaves its pivot, distances and squares."""

    centred: int
    pivots: Buffer
    distances: Buffer
    squares: Buffer

    @property
    def buffers(self) -> tuple[Buffer, Buffer, Buffer]:
        """All that a chunk leaves."""
        return self.pivots, self.distances, self.squares


def chain_of(
    total: One,
    op_of: Callable[[One], Op | None],
    operands_of: Callable[[One], Sequence[One]],
    dtype_of: Callable[[One], DType],
) -> tuple[One, One] | None:
    """Return the square and the difference of a sum of squared differences, or None if it is something else."""
    if op_of(total) is not SUM or dtype_of(total) not in DTYPES:
        return None
    square = operands_of(total)[0]
    if op_of(square) is not MULTIPLY or dtype_of(square) != dtype_of(total):
        return None
    left, right = operands_of(square)
    if left is not right and left != right:
        return None
    return (square, left) if op_of(left) is SUBTRACT else None


def deviations(region: Region, full: Sequence[bool]) -> dict[int, int]:
    """Return, for each sum of squared distances from a value of the row, the differences; nothing else needs these."""
    first = len(region.inputs)
    users: dict[int, set[int]] = {}
    for value, op in enumerate(region.ops, start=first):
        for source in op.inputs:
            users.setdefault(source, set()).add(value)
    centred_in = {}
    for value in range(first, first + len(region.ops)):
        chain = chain_of(
            value,
            lambda number: region.ops[number - first].op if number >= first else None,
            lambda number: region.ops[number - first].inputs,
            region.dtype_of,
        )
        if chain is None:
            continue
        square, centred = chain
        m = region.ops[centred - first].inputs[1]
        alone = users[square] == {value} and users[centred] == {square}
        if alone and not {square, centred} & {*region.outputs} and first <= m and not full[m]:
            centred_in[value] = centred
    return centred_in


def followed_by(region: Region, value: int, centred: Mapping[int, int]) -> int | None:
    """Return the sum of squared distances that also gives the sum of the elements themselves, if `value` is that.

    What is seen outside has the bits of a sum in its own order.
    """
    first = len(region.inputs)
    op = region.ops[value - first]
    if op.op is not SUM or op.dtype not in DTYPES or value in _seen(region, centred):
        return None
    return next(
        (total for total, c in centred.items() if region.ops[c - first].inputs[0] == op.inputs[0]),
        None,
    )


def _seen(region: Region, centred: Mapping[int, int]) -> set[int]:
    """Return the values that outputs are made of otherwise than by sums of squared distances."""
    first = len(region.inputs)
    seen: set[int] = set()
    waiting = list(region.outputs)
    while waiting:
        value = waiting.pop()
        if value >= first and value not in seen and value not in centred:
            seen.add(value)
            waiting += region.ops[value - first].inputs
    return seen


@dataclass(frozen=True, slots=True)
class ChunkMoments:
    """What a chunk has left: how many elements it had, its pivot, and the sums of distances and of their squares."""

    count: Expr
    pivot: Expr
    distances: Expr
    squares: Expr

    def sum(self) -> Expr:
        """Return the sum of the elements, in float64."""
        return self.distances + self.count * converted(self.pivot, float64)

    def squares_from(self, m: Expr) -> Expr:
        """Return the sum of squared distances from m, in the dtype of what the chunk has left."""
        wide = self.squares.dtype
        away = converted(self.pivot, wide) - converted(m, wide)
        return self.squares + away * (2.0 * self.distances + self.count * away)
