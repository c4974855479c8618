"""Library ops on sampled signals: opaque calls that no other module of this folder has."""

from __future__ import annotations

from tensorframe.dtypes import NUMERIC
from tensorframe.errors import ShapeError
from tensorframe.graph.op import Kind, Op, register, same
from tensorframe.graph.shape import Shape
from tensorframe.ops.rules.ordering import of_convolve


def _convolved(shapes: tuple[Shape, ...], mode: str) -> Shape:
    long, short = shapes
    if len(long) != 1 or len(short) != 1 or not short[0]:
        raise ShapeError(
            f"convolve: takes two vectors that are not empty, got shapes {long} and {short}"
        )
    return (
        {"full": long[0] + short[0] - 1, "same": long[0], "valid": long[0] - short[0] + 1}[mode],
    )


CONVOLVE = register(
    Op(
        "convolve",
        Kind.LIBRARY,
        2,
        NUMERIC,
        same,
        "Convolution of a vector with one that is not longer.",
        shape=_convolved,
        attributes=("mode",),
        in_standard=False,
        costly=True,
        vjp=of_convolve,
    )
)
