"""Random words as an elementwise op: a word depends on its position, a counter and a key, and on nothing else.

Two more ops make numbers of them, with the same bits on every device; the functions that they are named after have other
formulas in NumPy and in kernels.

The generator is Philox 4x32-10. Ten rounds of multiplications and exclusive ors turn a 128-bit counter into a block of
four random words, under a 64-bit key. Any block can be had without the ones before it, so results do not depend on who
computes what when. Source: J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, "Parallel random numbers: as easy as
1, 2, 3", SC'11.
"""

from __future__ import annotations

from math import inf, nan, pi
from typing import Any

from tensorframe.dtypes import BOOL, FLOAT, REAL, DType, uint32
from tensorframe.graph.op import NONE, Kind, Op, register, same
from tensorframe.graph.shape import Shape
from tensorframe.ops.derivatives import partials
from tensorframe.ops.term import sin

ROUNDS = 10
# the multipliers of the two halves, and the Weyl constants (golden ratio, sqrt(3) - 1) that the key grows by
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)

RANDOM_WORD = register(
    Op(
        "random_word",
        Kind.MAP,
        5,  # position, then the lower and the upper half of a counter, and of a key
        frozenset({uint32}),
        same,
        "Word number `word` of the `words` random ones (1, 2 or 4) that each `every` (1 or 2) consecutive positions "
        "share: they are dealt out in order, four from each counter, from the given one on.",
        attributes=("every", "words", "word"),
        in_standard=False,
        public=False,
        cost=80.0,
        vjp=NONE,
    )
)



def _drawn(*arguments: Any) -> DType:
    dtype: DType = arguments[-1]
    return dtype


def _of_shape(_shapes: tuple[Shape, ...], _name: str, _size: Shape, shape: Shape, _dtype: DType) -> Shape:
    return shape


# Operands: the halves of a key and of a counter, then the parameters of the distribution, in float64.
DRAW = register(
    Op(
        "draw",
        Kind.LIBRARY,
        None,
        BOOL | REAL,
        _drawn,
        "Numbers of a distribution that NumPy's generators draw, `size` of them, which make a tensor of `shape`.",
        shape=_of_shape,
        attributes=("distribution", "size", "shape", "dtype"),
        in_standard=False,
        public=False,
        costly=True,
        cost=100.0,
        vjp=NONE,
    )
)
SURPRISAL = register(
    Op(
        "surprisal",
        Kind.MAP,
        1,
        FLOAT,
        same,
        "-log(x) of normal numbers up to one, by sums, products and quotients alone.",
        in_standard=False,
        public=False,
        at={1.0: 0.0},
        exact=FLOAT,
        cost=25.0,
        vjp=partials(lambda _out, x: -1 / x),
    )
)
COS_TURNS = register(
    Op(
        "cos_turns",
        Kind.MAP,
        1,
        FLOAT,
        same,
        "Cosine of an angle of `x` turns, cos(2 pi x), by sums and products alone.",
        in_standard=False,
        public=False,
        at={0.0: 1.0, 0.25: 0.0, inf: nan},
        exact=FLOAT,
        cost=15.0,
        vjp=partials(lambda _out, x: sin(x * (2 * pi)) * (-2 * pi)),
    )
)


def positions_of_block(every: int, words: int) -> int:
    """Return how many positions share a block of four words."""
    return 4 * every // words
