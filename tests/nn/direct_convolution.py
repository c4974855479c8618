"""Convolution as it is defined: for each position of the kernel, what the windows have there times the weights."""

from itertools import product
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def direct(
    x: Array,
    weight: Array,
    stride: tuple[int, ...],
    before: tuple[int, ...],
    after: tuple[int, ...],
    spread: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> Array:
    """Return the convolution of `x`, spread out by zeros and surrounded by them, in double precision."""
    rank = len(stride)
    sizes = [
        (size - 1) * step + 1 if size else 0 for size, step in zip(x.shape[2:], spread, strict=True)
    ]
    low, high = [max(zeros, 0) for zeros in before], [max(zeros, 0) for zeros in after]
    wide = np.result_type(x, np.float64)
    whole = np.zeros((*x.shape[:2], *np.add(np.add(low, sizes), high)), wide)
    inside: list[Any] = [
        slice(b, b + size, step) for b, size, step in zip(low, sizes, spread, strict=True)
    ]
    whole[(..., *inside)] = x
    ends = [size - max(-zeros, 0) for size, zeros in zip(whole.shape[2:], after, strict=True)]
    whole = whole[
        (..., *[slice(max(-zeros, 0), end) for zeros, end in zip(before, ends, strict=True)])
    ]
    kernel = weight.shape[2:]
    places = [
        (whole.shape[2 + axis] - (kernel[axis] - 1) * dilation[axis] - 1) // stride[axis] + 1
        for axis in range(rank)
    ]
    out = np.zeros((len(x), len(weight), *places), wide)
    in_group, of_group = weight.shape[1], len(weight) // groups
    for position in product(*map(range, kernel)):
        window = whole[
            (
                ...,
                *[
                    slice(k * along, k * along + (count - 1) * step + 1, step)
                    for k, along, count, step in zip(
                        position, dilation, places, stride, strict=True
                    )
                ],
            )
        ]
        for group in range(groups):
            channels = slice(group * in_group, (group + 1) * in_group)
            made = slice(group * of_group, (group + 1) * of_group)
            weights = weight[(made, slice(None), *position)]
            out[:, made] += np.einsum("nc...,oc->no...", window[:, channels], weights)
    return out


def transposed(
    x: Array,
    weight: Array,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    output_padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> Array:
    """Return the transposed convolution: every element puts the weights, times itself, where its window is."""
    kernel, spatial, channels = weight.shape[2:], x.shape[2:], weight.shape[0]
    whole = [
        (size - 1) * step + along * (k - 1) + 1 + more
        for size, step, along, k, more in zip(
            spatial, stride, dilation, kernel, output_padding, strict=True
        )
    ]
    out = np.zeros((len(x), weight.shape[1] * groups, *whole), np.result_type(x, np.float64))
    in_group, of_group = channels // groups, weight.shape[1]
    for position in product(*map(range, kernel)):
        places = [
            slice(k * along, k * along + (size - 1) * step + 1, step)
            for k, along, size, step in zip(position, dilation, spatial, stride, strict=True)
        ]
        for group in range(groups):
            taken = slice(group * in_group, (group + 1) * in_group)
            made = slice(group * of_group, (group + 1) * of_group)
            weights = weight[(taken, slice(None), *position)]
            out[(slice(None), made, *places)] += np.einsum("nc...,co->no...", x[:, taken], weights)
    cut = [slice(zeros, size - zeros) for zeros, size in zip(padding, whole, strict=True)]
    return out[(slice(None), slice(None), *cut)]
