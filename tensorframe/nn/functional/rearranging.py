"""Elements of images in another arrangement: channels as pixels, channels shuffled, and something around the edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorframe.errors import ArgumentError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.manipulation import padding
from tensorframe.frontend.operands import operand, permuted, reshaped
from tensorframe.frontend.parameters import choice, integer, integers
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn.functional.operands import need_rank
from tensorframe.ops.movement import SLICE

__all__ = ["channel_shuffle", "pad", "pixel_shuffle", "pixel_unshuffle"]

# PyTorch's names of the ways to continue an axis, and NumPy's
_MODES: dict[str, padding.Mode] = {
    "constant": "constant",
    "reflect": "reflect",
    "replicate": "edge",
    "circular": "wrap",
}


def pixel_shuffle(input: ArrayLike, upscale_factor: int) -> Tensor:
    """Channels as pixels: shape (..., C r r, H, W) becomes (..., C, H r, W r), for `upscale_factor` r.

    All dtypes. ShapeError unless r * r divides the channels.
    Source: W. Shi et al., "Real-time single image and video super-resolution", arXiv 1609.05158.

    >>> tfr.nn.functional.pixel_shuffle(tfr.asarray([[[1.0]], [[2.0]], [[3.0]], [[4.0]]]), 2).tolist()
    [[[1.0, 2.0], [3.0, 4.0]]]
    """
    tensor = operand(input)
    need_rank("pixel_shuffle", "input", tensor, 3, "(..., channels, height, width)")
    factor = _factor("pixel_shuffle", "upscale_factor", upscale_factor)
    *front, channels, height, width = tensor.shape
    if channels % factor**2:
        raise ShapeError(
            f"pixel_shuffle: {channels} channels are not a multiple of upscale_factor squared, {factor**2}"
        )
    kept, rank = channels // factor**2, len(front)
    parts = reshaped(tensor, (*front, kept, factor, factor, height, width))
    order = (*range(rank + 1), rank + 3, rank + 1, rank + 4, rank + 2)
    return reshaped(permuted(parts, order), (*front, kept, height * factor, width * factor))


def pixel_unshuffle(input: ArrayLike, downscale_factor: int) -> Tensor:
    """Pixels as channels: shape (..., C, H r, W r) becomes (..., C r r, H, W), for `downscale_factor` r.

    The inverse of `pixel_shuffle` with the same factor; height and width must be multiples of it.

    >>> tfr.nn.functional.pixel_unshuffle(tfr.asarray([[[1.0, 2.0], [3.0, 4.0]]]), 2).tolist()
    [[[1.0]], [[2.0]], [[3.0]], [[4.0]]]
    """
    tensor = operand(input)
    need_rank("pixel_unshuffle", "input", tensor, 3, "(..., channels, height, width)")
    factor = _factor("pixel_unshuffle", "downscale_factor", downscale_factor)
    *front, channels, height, width = tensor.shape
    if height % factor or width % factor:
        raise ShapeError(
            f"pixel_unshuffle: downscale_factor={factor} does not divide images of {height} by {width}"
        )
    rank, rows, columns = len(front), height // factor, width // factor
    parts = reshaped(tensor, (*front, channels, rows, factor, columns, factor))
    order = (*range(rank + 1), rank + 2, rank + 4, rank + 1, rank + 3)
    return reshaped(permuted(parts, order), (*front, channels * factor**2, rows, columns))


def _factor(name: str, parameter: str, value: Any) -> int:
    factor = integer(name, parameter, value)
    if factor < 1:
        raise ArgumentError(f"{name}: {parameter} must be positive, got {factor}")
    return factor


def channel_shuffle(input: ArrayLike, groups: int) -> Tensor:
    """Channels (axis 1) in another order: the first of each of `groups`, then the second of each, and so on.

    Source: X. Zhang et al., "ShuffleNet", arXiv 1707.01083.

    >>> tfr.nn.functional.channel_shuffle(tfr.asarray([[[1], [2], [3], [4]]]), 2).tolist()
    [[[1], [3], [2], [4]]]
    """
    tensor = operand(input)
    need_rank("channel_shuffle", "input", tensor, 3, "(examples, channels, ..., positions)")
    count = _factor("channel_shuffle", "groups", groups)
    examples, channels, *rest = tensor.shape
    if channels % count:
        raise ShapeError(f"channel_shuffle: groups={count} does not divide {channels} channels")
    parts = reshaped(tensor, (examples, count, channels // count, *rest))
    return reshaped(permuted(parts, (0, 2, 1, *range(3, parts.ndim))), tensor.shape)


def pad(
    input: ArrayLike, pad: Sequence[int], mode: str = "constant", value: ArrayLike | None = None
) -> Tensor:
    """The tensor with elements around its last axes: `pad` is (before, after) of the last one, then of the one before.

    That is PyTorch's order; `tfr.pad` has NumPy's. Modes: "constant" (with `value`, 0 if not given; negative numbers
    cut elements off), "reflect" about the last element, which it does not repeat, "replicate" it, and "circular".

    >>> tfr.nn.functional.pad(tfr.asarray([[1, 2, 3]]), (1, 2)).tolist()
    [[0, 1, 2, 3, 0, 0]]
    >>> tfr.nn.functional.pad(tfr.asarray([[1, 2, 3]]), (2, 0), mode="reflect").tolist()
    [[3, 2, 1, 2, 3]]
    """
    tensor = operand(input)
    how = choice("pad", "mode", mode, tuple(_MODES))
    widths = _widths(tensor, pad)
    if how != "constant" and value:
        raise ArgumentError(f'pad: mode "{how}" takes no value', suggestions=('mode="constant"',))
    if how != "constant":
        _need_elements(tensor, widths, how)
        return padding.pad(tensor, widths, _MODES[how])
    kept = _cut(tensor, widths)
    outside = [(max(before, 0), max(after, 0)) for before, after in widths]
    return padding.pad(kept, outside, constant_values=0 if value is None else value)


def _widths(tensor: Tensor, pad: Any) -> list[tuple[int, int]]:
    """Return (before, after) for each axis."""
    numbers = integers("pad", "pad", pad)
    if len(numbers) % 2 or len(numbers) > 2 * tensor.ndim:
        raise ArgumentError(
            f"pad: pad has (before, after) of up to {tensor.ndim} axes, the last one first, got {len(numbers)} numbers"
        )
    given = list(zip(numbers[::2], numbers[1::2], strict=True))
    return [(0, 0)] * (tensor.ndim - len(given)) + given[::-1]


def _need_elements(tensor: Tensor, widths: list[tuple[int, int]], how: str) -> None:
    """Raise ShapeError where a mode would need more elements than an axis has."""
    for size, pair in zip(tensor.shape, widths, strict=True):
        most = {"reflect": size - 1, "circular": size}.get(how, max(pair))
        if any(pair) and (max(pair) > most or not size):
            raise ShapeError(
                f'pad: mode "{how}" adds at most {most} elements to an axis of {size}, got {pair}'
            )
        if min(pair) < 0:
            raise ArgumentError(f'pad: mode "{how}" takes no negative numbers, got {pair}')


def _cut(tensor: Tensor, widths: list[tuple[int, int]]) -> Tensor:
    """Return what negative widths leave of a tensor."""
    starts = tuple([max(-before, 0) for before, _ in widths])
    sizes = tuple(
        [
            size - start - max(-after, 0)
            for size, start, (_, after) in zip(tensor.shape, starts, widths, strict=True)
        ]
    )
    if sizes == tensor.shape:
        return tensor
    if min(sizes) < 0:
        raise ShapeError(f"pad: cuts more off than a tensor of shape {tensor.shape} has")
    return call(SLICE, tensor, attrs=(starts, sizes, (1,) * len(sizes)))
