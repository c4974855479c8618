"""Convolutions and their transposes, with the argument names and layouts of `torch.nn.functional`: channels first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from tensorframe.dtypes import BOOL
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.operands import beside_matmul, permuted, promoted, reshaped
from tensorframe.frontend.parameters import integer, integers
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import Shape
from tensorframe.ops.convolution import CONVOLUTION, Geometry
from tensorframe.ops.elementwise import ADD
from tensorframe.ops.movement import SLICE

__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
]

Size = int | Sequence[int]

_AXES = {1: "L", 2: "H, W", 3: "D, H, W"}
# types of arguments that are equal where they mean the same
_PLAIN = frozenset({int, str})


def conv1d(
    input: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution along one axis; see `conv2d`.

    `input` has shape (N, C, L) or (C, L), `weight` shape (O, C / groups, K), and `bias` shape (O,).

    ShapeError if channels and groups do not divide, the kernel is larger than the padded input, or the bias does not
    fit.

    >>> x = tfr.asarray([[1.0, 2.0, 3.0, 4.0]])
    >>> tfr.nn.functional.conv1d(x, tfr.asarray([[[1.0, -1.0]]])).tolist()
    [[-1.0, -1.0, -1.0]]
    """
    return _convolved("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of images, or cross-correlation: each window times the weights, summed. The weights are not flipped.

    Parameters
    ----------
    input
        Shape (N, C, H, W), or (C, H, W) for one example.
    weight
        Shape (O, C / groups, kernel height, kernel width).
    bias
        Shape (O,): added to each channel of the result.
    stride, padding, dilation
        One number for both axes, or one for each. `padding` is how many zeros are put on each side, "valid" for
        none, or "same" for as many as give a result of the input's size, with stride 1.
    groups
        The number of groups that the channels are divided into, each with its own weights.

    Returns
    -------
    Tensor
        Shape (N, O, H', W') with H' = (H + 2 padding - dilation (kernel - 1) - 1) // stride + 1, of the promoted
        dtype, which is any numeric one. Half precision accumulates in float32.

    Raises
    ------
    ShapeError
        If channels and groups do not divide, the kernel is larger than the padded input, or the bias does not fit.

    Examples
    --------
    >>> x = tfr.ones((1, 1, 3, 3))
    >>> tfr.nn.functional.conv2d(x, tfr.ones((1, 1, 3, 3)), padding="same").tolist()
    [[[[4.0, 6.0, 4.0], [6.0, 9.0, 6.0], [4.0, 6.0, 4.0]]]]

    """
    return _convolved("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of volumes; see `conv2d`.

    Shapes (N, C, D, H, W) or (C, D, H, W), weights (O, C / groups, and three sizes of the kernel).

    >>> tfr.nn.functional.conv3d(tfr.ones((1, 2, 3, 3, 3)), tfr.ones((4, 2, 3, 3, 3))).tolist()[0][0]
    [[[54.0]]]
    """
    return _convolved("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    input: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None = None,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
) -> Tensor:
    """Transposed convolution along one axis; see `conv_transpose2d`.

    Shapes (N, C, L) or (C, L), weights (C, O / groups, K).

    >>> x = tfr.asarray([[1.0, 2.0]])
    >>> tfr.nn.functional.conv_transpose1d(x, tfr.asarray([[[1.0, 10.0]]]), stride=2).tolist()
    [[1.0, 10.0, 2.0, 20.0]]
    """
    return _transposed(
        "conv_transpose1d",
        1,
        input,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
    )


def conv_transpose2d(
    input: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None = None,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
) -> Tensor:
    """Transposed convolution of images: each element times the weights, added up where these windows overlap.

    It is the gradient of `conv2d` by its input: with the arguments of a convolution it goes back from that one's
    result to a tensor of the input's shape.

    Parameters
    ----------
    input
        Shape (N, C, H, W), or (C, H, W) for one example.
    weight
        Shape (C, O / groups, kernel height, kernel width): that of the convolution which goes the other way.
    bias
        Shape (O,): added to each channel of the result.
    stride, dilation
        How far apart the windows, and the elements of one, are: one number for both axes, or one for each.
    padding
        How much is cut off the result on each side.
    output_padding
        How much longer the result is at its end, less than stride or dilation: a convolution with a stride gives one
        size for several sizes of its input.
    groups
        Parts that the channels are divided into.

    Returns
    -------
    Tensor
        Shape (N, O, H', W') with H' = (H - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1.

    Raises
    ------
    ShapeError
        If channels and groups do not divide, more is cut off than there is, or the bias does not fit.
    ArgumentError
        If `output_padding` is not less than stride or dilation.

    Examples
    --------
    >>> x = tfr.ones((1, 1, 2, 2))
    >>> tfr.nn.functional.conv_transpose2d(x, tfr.ones((1, 1, 2, 2))).tolist()
    [[[[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]]]

    """
    return _transposed(
        "conv_transpose2d",
        2,
        input,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
    )


def conv_transpose3d(
    input: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None = None,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
) -> Tensor:
    """Transposed convolution of volumes; see `conv_transpose2d`.

    Shapes (N, C, D, H, W) or (C, D, H, W), weights (C, O / groups, and three sizes of the kernel).

    >>> x = tfr.ones((1, 1, 1, 1, 1))
    >>> tfr.nn.functional.conv_transpose3d(x, tfr.ones((1, 2, 2, 2, 2))).shape
    (1, 2, 2, 2, 2)
    """
    return _transposed(
        "conv_transpose3d",
        3,
        input,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
    )


def _convolved(
    name: str,
    rank: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Size,
    padding: Size | str,
    dilation: Size,
    groups: int,
) -> Tensor:
    x, kernel, added = _operands(name, rank, input, weight, bias)
    how = stride, padding, dilation, groups
    # layers convolve alike in each step; numbers of other types may equal these, and be wrong
    windows_of = _known_windows if {*map(type, how)} <= _PLAIN else _windows
    windows, count = windows_of(name, x.shape[-rank - 1 :], kernel.shape, *how)
    return _recorded(name, x, kernel, added, windows, count)


def _windows(
    name: str,
    image: Shape,
    kernel: Shape,
    stride: Size,
    padding: Size | str,
    dilation: Size,
    groups: int,
) -> tuple[Geometry, int]:
    """Return where the windows on an image of channels lie, and how many groups there are, or raise an error."""
    (channels, *spatial), (out, inner, *positions) = image, kernel
    rank, sizes = len(spatial), tuple(positions)
    groups = _group_count(name, groups)
    steps = _positive(name, "stride", stride, rank)
    apart = _positive(name, "dilation", dilation, rank)
    before, after = _padding(name, padding, sizes, steps, apart)
    _check_channels(name, channels, kernel, groups, inner * groups)
    if out % groups:
        raise ShapeError(
            f"{name}: weight has {out} output channels, which groups={groups} does not divide",
            suggestions=(f"as many kernels as a multiple of {groups}",),
        )
    windows = Geometry(steps, before, after, (1,) * rank, apart)
    _check_sizes(name, tuple(spatial), sizes, windows)
    return windows, groups


_known_windows = lru_cache(maxsize=256)(_windows)


def _transposed(
    name: str,
    rank: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Size,
    padding: Size,
    output_padding: Size,
    groups: int,
    dilation: Size,
) -> Tensor:
    x, kernel, added = _operands(name, rank, input, weight, bias)
    groups = _group_count(name, groups)
    steps = _positive(name, "stride", stride, rank)
    apart = _positive(name, "dilation", dilation, rank)
    cut = _several(name, "padding", padding, rank, least=0)
    more = _several(name, "output_padding", output_padding, rank, least=0)
    for extra, step, along in zip(more, steps, apart, strict=True):
        if extra >= max(step, along):
            raise ArgumentError(
                f"{name}: output_padding={extra} must be less than stride or dilation, which are {step} and {along}",
                suggestions=("padding of the result by tfr.pad for more",),
            )
    channels = x.shape[-rank - 1]
    _check_channels(name, channels, kernel.shape, groups, kernel.shape[0])
    reach = [(size - 1) * along for size, along in zip(kernel.shape[2:], apart, strict=True)]
    before = tuple([far - low for far, low in zip(reach, cut, strict=True)])
    after = tuple([low + extra for low, extra in zip(before, more, strict=True)])
    windows = Geometry((1,) * rank, before, after, steps, apart)
    sizes = windows.sizes(x.shape[-rank:], kernel.shape[2:])
    if min(sizes) < 0:
        raise ShapeError(
            f"{name}: padding={cut} cuts more off than the {x.shape[-rank:]} elements of the input give",
            suggestions=("less padding, or more output_padding",),
        )
    return _recorded(name, x, _turned(kernel, groups), added, windows, groups)


def _turned(kernel: Tensor, groups: int) -> Tensor:
    """Return the kernel of the convolution that a transposed one is: flipped, from its input's channels."""
    sizes = kernel.shape[2:]
    given, out = kernel.shape[:2]
    apart = reshaped(kernel, (groups, given // groups, out, *sizes))
    turned = permuted(apart, (0, 2, 1, *range(3, 3 + len(sizes))))
    turned = reshaped(turned, (groups * out, given // groups, *sizes))
    starts = (0, 0, *[size - 1 for size in sizes])
    return call(SLICE, turned, attrs=(starts, turned.shape, (1, 1, *[-1] * len(sizes))))


def _operands(
    name: str, rank: int, input: Any, weight: Any, bias: Any
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return the operands in one dtype: the input with or without a batch, weights and bias of the right rank."""
    x, kernel, *rest = promoted(input, weight, *(() if bias is None else (bias,)))
    added = rest[0] if rest else None
    if x.dtype in BOOL:
        raise DTypeError(f"{name}: takes numbers, got bool", suggestions=("x.astype(tfr.float32)",))
    axes = _AXES[rank]
    if x.ndim not in (rank + 1, rank + 2):
        raise ShapeError(
            f"{name}: input must have shape (N, C, {axes}) or (C, {axes}), got {x.shape}",
            suggestions=(
                f"conv{x.ndim - 2}d" if 3 <= x.ndim <= 5 else "x.reshape(...) to one of these",
            ),
        )
    if kernel.ndim != rank + 2:
        raise ShapeError(
            f"{name}: weight must have {rank + 2} axes, got shape {kernel.shape}",
            suggestions=("weights of shape (output channels, input channels / groups, *kernel)",),
        )
    if 0 in kernel.shape[2:]:
        raise ShapeError(f"{name}: the kernel of weight {kernel.shape} has no elements")
    return x, kernel, added


def _group_count(name: str, groups: Any) -> int:
    count = integer(name, "groups", groups)
    if count < 1:
        raise ArgumentError(f"{name}: groups must be positive, got {count}")
    return count


def _check_channels(name: str, channels: int, weight: Shape, groups: int, taken: int) -> None:
    if channels % groups:
        raise ShapeError(
            f"{name}: the input has {channels} channels, which groups={groups} does not divide",
            suggestions=(f"groups that divide {channels}",),
        )
    if channels != taken:
        raise ShapeError(
            f"{name}: the input has {channels} channels, weight of shape {weight} with groups={groups} takes {taken}",
            suggestions=(
                "an input with channels first: x.permute((0, 3, 1, 2)) of one with channels last",
            ),
        )


def _padding(
    name: str, padding: Size | str, kernel: Shape, stride: Shape, dilation: Shape
) -> tuple[Shape, Shape]:
    """Return the zeros before and after the input."""
    if not isinstance(padding, str):
        both = _several(name, "padding", padding, len(kernel), least=0)
        return both, both
    if padding == "valid":
        return (0,) * len(kernel), (0,) * len(kernel)
    if padding != "same":
        raise ArgumentError(
            f"{name}: there is no padding {padding!r}",
            suggestions=('"same", "valid", or numbers of zeros',),
        )
    if max(stride) > 1:
        raise ArgumentError(
            f'{name}: padding="same" takes stride 1, got {stride}',
            suggestions=("padding=(kernel - 1) // 2 for a result of 1 / stride of the size",),
        )
    whole = [(size - 1) * along for size, along in zip(kernel, dilation, strict=True)]
    before = tuple([zeros // 2 for zeros in whole])
    return before, tuple([zeros - low for zeros, low in zip(whole, before, strict=True)])


def _check_sizes(name: str, spatial: Shape, kernel: Shape, windows: Geometry) -> None:
    sizes = windows.sizes(spatial, kernel)
    if min(sizes) < 1:
        padded = tuple(
            [
                size + low + high
                for size, low, high in zip(spatial, windows.before, windows.after, strict=True)
            ]
        )
        reach = tuple(
            [(size - 1) * along + 1 for size, along in zip(kernel, windows.dilation, strict=True)]
        )
        spread = f", which dilation spreads over {reach}," if reach != kernel else ""
        raise ShapeError(
            f"{name}: a kernel of {kernel}{spread} is larger than the padded input of {padded}",
            suggestions=(
                'more padding, such as padding="same"',
                "a smaller kernel, or less dilation",
            ),
        )


def _positive(name: str, parameter: str, value: Size, rank: int) -> Shape:
    return _several(name, parameter, value, rank, least=1)


def _several(name: str, parameter: str, value: Any, rank: int, *, least: int) -> Shape:
    """Return one number for each axis; ArgumentError if there are others, or one is too small."""
    numbers = integers(name, parameter, value)
    if len(numbers) == 1:
        numbers *= rank
    if len(numbers) != rank or min(numbers) < least:
        kind = "positive" if least else "not negative"
        raise ArgumentError(
            f"{name}: {parameter} must be one number or {rank}, {kind}, got {value!r}",
            suggestions=(f"{parameter}={(max(least, 1),) * rank}",),
        )
    return numbers


def _recorded(
    name: str, x: Tensor, kernel: Tensor, added: Tensor | None, windows: Geometry, groups: int
) -> Tensor:
    """Return the convolution of an input with or without a batch, and the bias added to it."""
    rank, out = len(windows.stride), kernel.shape[0]
    if added is not None and added.shape != (out,):
        raise ShapeError(
            f"{name}: bias must have shape ({out},), one number for each output channel, got {added.shape}",
            suggestions=("bias=None for none",),
        )
    alone = x.ndim == rank + 1
    batch = reshaped(x, (1, *x.shape)) if alone else x
    result = call(CONVOLUTION, batch, kernel, attrs=(*windows, groups))
    if added is not None:
        result = apply(ADD, result, beside_matmul(reshaped(added, (out, *(1,) * rank)), result))
    return reshaped(result, result.shape[1:]) if alone else result
