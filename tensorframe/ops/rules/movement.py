"""Gradients of views and of slices that are set: the same movements, the other way."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tensorframe.dtypes import wide_of
from tensorframe.graph.shape import Shape
from tensorframe.ops.term import Term, call


def of_slice(
    ct: Term, _out: Term, x: Term, starts: Shape, sizes: Shape, steps: Shape
) -> Sequence[Any]:
    """Rule of a slice: zeros around it, and between its elements."""
    turned = tuple([axis for axis, step in enumerate(steps) if step < 0 and sizes[axis]])
    ct = ct.flipped(turned)
    starts, steps = _rising(starts, sizes, steps)
    # of one element, or none, any step may be taken for 1
    if any(step != 1 and size > 1 for step, size in zip(steps, sizes, strict=True)):
        return (call("set_slice", x.filled(0, x.shape), ct, attrs=(starts, sizes, steps)),)
    after = tuple(
        [n - start - size for n, start, size in zip(x.shape, starts, sizes, strict=True)]
    )
    return (ct.padded(starts, after),)


def of_windows(
    ct: Term, _out: Term, x: Term, axis: int, _size: int, step: int, dilation: int
) -> Sequence[Any]:
    """Rule of windows: added up where they came from."""
    total = ct.cast(wide_of(ct.dtype))
    return (call("fold", total, attrs=(axis, step, dilation, x.shape[axis])),)


def _rising(starts: Shape, sizes: Shape, steps: Shape) -> tuple[Shape, Shape]:
    """Return starts and steps of the same elements in ascending order; what is empty starts at 0."""
    lowest = [
        (start + step * (size - 1) if step < 0 else start) if size else 0
        for start, size, step in zip(starts, sizes, steps, strict=True)
    ]
    return tuple(lowest), tuple(map(abs, steps))


def of_pad(
    ct: Term, _out: Term, x: Term, before: Shape, _after: Shape, _value: complex
) -> Sequence[Any]:
    """Rule of padding: what is inside."""
    return (ct.sliced(before, x.shape, (1,) * len(before)),)


def of_concat(ct: Term, _out: Term, *operands_and_axis: Any) -> Sequence[Any]:
    """Rule of joining: to each operand its part."""
    *operands, axis = operands_and_axis
    cotangents = []
    start = 0
    for operand in operands:
        starts = tuple([start if dimension == axis else 0 for dimension in range(len(operand.shape))])
        cotangents.append(partial(ct.sliced, starts, operand.shape, (1,) * len(starts)))
        start += operand.shape[axis]
    return cotangents


def of_set_slice(
    ct: Term, _out: Term, _x: Term, _values: Term, starts: Shape, sizes: Shape, steps: Shape
) -> Sequence[Any]:
    """Rule of a slice that is set: to the tensor what is not replaced, to the values what is."""
    attrs = (starts, sizes, steps)

    def kept() -> Term:
        return call("set_slice", ct, ct.filled(0, sizes), attrs=attrs)

    return kept, lambda: ct.sliced(*attrs)
