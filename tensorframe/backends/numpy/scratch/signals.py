"""Scratch of what signals go through: Fourier transforms and convolutions."""

from __future__ import annotations

from functools import lru_cache
from math import prod

from tensorframe.backends.numpy.scratch.calls import Call, Estimate
from tensorframe.backends.numpy.threads import thread_count
from tensorframe.dtypes import COMPLEX, NARROW, real_of, wide_of
from tensorframe.graph.op import Kind

# bytes of the windows that a thread has
_WINDOWS = 1 << 20


def _of_transform(call: Call) -> int:
    """Each axis makes an array, and a line has its plan and memory of its own; real values become complex before."""
    sizes, axes, _ = call.attrs
    real = not (call.kind in COMPLEX and call.dtype in COMPLEX)
    halves = 2 if real_of(call.kind).itemsize == 4 else 1
    between = call.elements if call.kind in COMPLEX else 0
    if call.dtype in COMPLEX:
        between = max(between, prod(call.shape))
    copies = between * max(call.kind.itemsize, call.dtype.itemsize) if len(axes) > 1 else 0
    if call.name in ("fftn", "ifftn") and call.kind not in COMPLEX:
        copies += call.elements * call.dtype.itemsize
    return copies + max([_line(size, real) // halves for size in sizes], default=0)


@lru_cache(maxsize=1024)
def _line(size: int, real: bool) -> int:
    """Return the bytes of a line in double precision, more where it becomes a convolution, by Bluestein's algorithm."""
    rest, factor = size, 2
    while factor * factor <= rest:
        while rest % factor == 0:
            rest //= factor
        factor += 1
    return size * (128 if rest * rest > size > 50 else 16 if real else 32)


def _of_convolution(call: Call) -> int:
    """The padded input, the turned kernel, and windows in each thread; half precision is converted."""
    kernel, dtype = call.operands[1]
    _, before, after, *_ = call.attrs
    shape, _ = call.operands[0]
    sizes = [max(sum(size), 0) for size in zip(shape[2:], before, after, strict=True)]
    elements = prod(shape[:2]) * prod(sizes) if any((*before, *after)) else 0
    if dtype in NARROW:
        elements += prod(shape) + prod(kernel) + prod(call.shape)
    if prod(kernel[2:]) <= prod(call.shape[2:]):  # not in a gradient by the kernel
        elements += prod(kernel)
    return elements * wide_of(dtype).itemsize + thread_count() * _WINDOWS


ESTIMATES: dict[str | Kind, Estimate] = {
    **dict.fromkeys(("fftn", "ifftn", "rfftn", "irfftn"), _of_transform),
    "convolution": _of_convolution,
}
