"""Fourier transforms over any axes; one axis is the special case, not another op."""

from __future__ import annotations

from typing import Any

from tensorframe.dtypes import COMPLEX, DType, complex_of, float32, float64
from tensorframe.graph.op import DTypeRule, Kind, Op, ShapeRule, real_part, register
from tensorframe.graph.shape import Shape
from tensorframe.ops.derivatives import Rule
from tensorframe.ops.rules.fourier import adjoint, of_half_spectrum, of_real_values

PRECISE = frozenset({float32, float64})


def _complexified(dtype: DType, *_: Any) -> DType:
    return complex_of(dtype)


def _resized(shapes: tuple[Shape, ...], sizes: Shape, axes: tuple[int, ...], _norm: str) -> Shape:
    shape = list(shapes[0])
    for size, axis in zip(sizes, axes, strict=True):
        shape[axis] = size
    return tuple(shape)


def _halved(shapes: tuple[Shape, ...], sizes: Shape, axes: tuple[int, ...], norm: str) -> Shape:
    # the spectrum of real values is symmetric: only frequencies from zero up are kept
    return _resized(shapes, (*sizes[:-1], sizes[-1] // 2 + 1), axes, norm)


def transform(name: str, accepts: frozenset[DType], result: DTypeRule, shape: ShapeRule, doc: str, vjp: Rule) -> Op:
    """Define a row; `sizes` are the numbers of points along `axes`, to which the operand is cut or padded with zeros."""
    attributes = ("sizes", "axes", "norm")
    return register(
        Op(name, Kind.LIBRARY, 1, accepts, result, doc, shape=shape, attributes=attributes, costly=True, cost=50.0, vjp=vjp)
    )


FFTN = transform("fftn", PRECISE | COMPLEX, _complexified, _resized, "Discrete Fourier transform.", adjoint("ifftn"))
IFFTN = transform("ifftn", PRECISE | COMPLEX, _complexified, _resized, "Inverse discrete Fourier transform.", adjoint("fftn"))
RFFTN = transform("rfftn", PRECISE, _complexified, _halved, "Discrete Fourier transform of real values: half of it, the rest is its mirror image.", of_half_spectrum)
IRFFTN = transform("irfftn", COMPLEX, real_part, _resized, "Inverse of the transform of real values.", of_real_values)
