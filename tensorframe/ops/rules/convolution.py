"""Gradients of a convolution: two more of them.

With q * e = p * s + k * d - b, where output element p reads element q of the input (dilated by e) for position k of the
kernel: the input's cotangent slides the flipped kernel over the result's, dilated by s, in steps of e; the kernel's
slides the result's cotangent, dilated by s, over the input in steps of d, with batch and channels exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tensorframe.graph.shape import Shape
from tensorframe.ops.derivatives import conjugate
from tensorframe.ops.term import Term, call


def cotangents(ct: Term, _out: Term, x: Term, weight: Term, *attrs: Any) -> Sequence[Any]:
    """Rule of a convolution."""
    return partial(_of_input, ct, x, weight, *attrs), partial(_of_weight, ct, x, weight, *attrs)


def _of_input(
    ct: Term, x: Term, weight: Term, stride: Shape, before: Shape, _after: Shape, spread: Shape, dilation: Shape, groups: int
) -> Term:
    kernel = _flipped(_with_exchanged_channels(conjugate(weight), groups))
    first = [reach - b for reach, b in zip(_reach(weight.shape[2:], dilation), before, strict=True)]
    return _sliding(ct, kernel, spread, first, stride, dilation, groups, x.shape[2:])


def _of_weight(
    ct: Term, x: Term, weight: Term, stride: Shape, before: Shape, _after: Shape, spread: Shape, dilation: Shape, groups: int
) -> Term:
    x, sizes = conjugate(x), weight.shape[2:]
    if max(spread) == 1 or max(stride) > 1:
        by_channel = _sliding(
            _exchanged(x, groups), _turned(ct), dilation, before, spread, stride, groups, sizes
        )
        return _turned(by_channel)
    # the zeros between the input's elements are left out: it is what slides, over the cotangent
    first = [reach - b for reach, b in zip(_reach(sizes, dilation), before, strict=True)]
    ones = (1,) * len(sizes)
    by_channel = _sliding(
        _exchanged(ct, groups), _turned(x), dilation, first, ones, spread, groups, sizes
    )
    return _flipped(_exchanged(_turned(by_channel), groups, of_kernel=True))


def _sliding(
    x: Term,
    kernel: Term,
    stride: Sequence[int],
    before: Sequence[int],
    spread: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    sizes: Shape,
) -> Term:
    """Return the convolution whose windows begin `before` the input and have as many positions as `sizes` says."""
    reach = _reach(kernel.shape[2:], dilation)
    after = [
        (size - 1) * step + along + 1 - first - ((length - 1) * apart + 1 if length else 0)
        for size, step, along, first, length, apart in zip(
            sizes, stride, reach, before, x.shape[2:], spread, strict=True
        )
    ]
    attrs = (stride, before, after, spread, dilation)
    return call("convolution", x, kernel, attrs=(*map(tuple, attrs), groups))


def _reach(kernel: Shape, dilation: Sequence[int]) -> list[int]:
    """Return how far the last position of a kernel is from its first."""
    return [(size - 1) * apart for size, apart in zip(kernel, dilation, strict=True)]


def _flipped(kernel: Term) -> Term:
    axes = [axis for axis in range(2, len(kernel.shape)) if kernel.shape[axis] > 1]
    return kernel.flipped(tuple(axes))


def _turned(x: Term) -> Term:
    """Return a tensor with its first two axes exchanged."""
    return x.permuted((1, 0, *range(2, len(x.shape))))


def _with_exchanged_channels(kernel: Term, groups: int) -> Term:
    """Return a kernel from the channels of its result to those of its operand, in each group."""
    if groups == 1:
        return _turned(kernel)
    outer, inner, *sizes = kernel.shape
    apart = kernel.reshaped((groups, outer // groups, inner, *sizes))
    turned = apart.permuted((0, 2, 1, *range(3, len(apart.shape))))
    return turned.reshaped((groups * inner, outer // groups, *sizes))


def _exchanged(x: Term, groups: int, *, of_kernel: bool = False) -> Term:
    """Return (N, groups * C) as (C, groups * N): a batch of channels, each group with all of the batch.

    `of_kernel` does so with the first axis in groups: (groups * C, N) becomes (groups * N, C).
    """
    if groups == 1:
        return _turned(x)
    if of_kernel:
        return _with_exchanged_channels(x, groups)
    batch, channels, *sizes = x.shape
    apart = x.reshaped((batch, groups, channels // groups, *sizes))
    turned = apart.permuted((2, 1, 0, *range(3, len(apart.shape))))
    return turned.reshaped((channels // groups, groups * batch, *sizes))
