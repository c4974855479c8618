"""Normalisations: activations shifted and scaled to mean 0 and variance 1 along some of their axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorframe import dtypes
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike, ShapeLike
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.dtypes.machine_limits import finfo
from tensorframe.frontend.operands import at_full_precision, converted, operand, reshaped, widened
from tensorframe.frontend.parameters import count, flag, integers, number
from tensorframe.frontend.reductions.elementary import max as largest
from tensorframe.frontend.reductions.elementary import sum as total
from tensorframe.frontend.reductions.statistics import mean, var
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op
from tensorframe.graph.shape import Shape, normalize_axis
from tensorframe.nn.functional.operands import floating, need_rank, need_shape, real_number
from tensorframe.ops.elementwise import ABS, ADD, MAXIMUM, MULTIPLY, NOT_EQUAL, POW, SQRT, SQUARE
from tensorframe.ops.formulas import VECTOR_NORM
from tensorframe.ops.movement import PAD
from tensorframe.ops.normalization import RMS_SCALE, STANDARDIZE

__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "normalize",
    "rms_norm",
]

Axes = tuple[int, ...]


def layer_norm(
    input: ArrayLike,
    normalized_shape: ShapeLike,
    weight: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Elements along the last axes, less their mean and over their standard deviation, then `* weight + bias`.

    `normalized_shape` has the sizes of these axes (an integer for the last axis alone); `weight` and `bias` have that
    shape. `eps` is added to the variance. The result has the shape of `input`. Dtypes are real floating; half precision
    is computed in float32. It is one kernel. ShapeError if `normalized_shape` is not the end of the shape of `input`.
    Source: J. L. Ba, J. R. Kiros and G. E. Hinton, "Layer normalization", arXiv 1607.06450.

    >>> tfr.nn.functional.layer_norm(tfr.asarray([[1.0, 3.0], [0.0, 10.0]]), 2, eps=0.0).tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    """
    tensor, shape = _last_axes("layer_norm", input, normalized_shape)
    result = _normalized(STANDARDIZE, "layer_norm", tensor, _last(tensor, shape), eps)
    return _affine("layer_norm", tensor, result, weight, bias, shape, shape, "normalized_shape")


def rms_norm(
    input: ArrayLike,
    normalized_shape: ShapeLike,
    weight: ArrayLike | None = None,
    eps: float | None = None,
) -> Tensor:
    """Elements along the last axes over the root of their mean square, then `* weight`; no mean is subtracted.

    Arguments as for `layer_norm`; `eps` is the machine epsilon of `input` if not given. One kernel.
    Source: B. Zhang and R. Sennrich, "Root mean square layer normalization", arXiv 1910.07467.

    >>> tfr.nn.functional.rms_norm(tfr.asarray([[3.0, 4.0, 0.0, 0.0]]), 4, eps=0.0).numpy().round(2).tolist()
    [[1.2000000476837158, 1.600000023841858, 0.0, 0.0]]
    """
    tensor, shape = _last_axes("rms_norm", input, normalized_shape)
    least = float(finfo(tensor.dtype).eps) if eps is None else eps
    result = _normalized(RMS_SCALE, "rms_norm", tensor, _last(tensor, shape), least)
    return _affine("rms_norm", tensor, result, weight, None, shape, shape, "normalized_shape")


def batch_norm(
    input: ArrayLike,
    running_mean: ArrayLike | None = None,
    running_var: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel less its mean and over its standard deviation, then `* weight + bias`; channels are axis 1.

    `input` has shape (examples, channels, ...), all others shape (channels,). With `training`, mean and variance are
    those of the batch, and the handles `running_mean` and `running_var`, where given, move to
    `(1 - momentum) * running + momentum * batch` (with the unbiased variance), as assignments do. Without it, they
    are the running ones. One kernel. Source: S. Ioffe and C. Szegedy, "Batch normalization", arXiv 1502.03167.

    >>> x = tfr.asarray([[1.0, 10.0], [3.0, 30.0]])
    >>> mean, var = tfr.zeros(2), tfr.ones(2)
    >>> tfr.nn.functional.batch_norm(x, mean, var, training=True, eps=0.0).tolist()
    [[-1.0, -1.0], [1.0, 1.0]]
    >>> mean.tolist()
    [0.20000000298023224, 2.0]
    """
    tensor = floating("batch_norm", "input", input)
    need_rank("batch_norm", "input", tensor, 2, "(examples, channels, ...)")
    axes = (0, *range(2, tensor.ndim))
    if not flag("batch_norm", "training", training):
        result = _by_running("batch_norm", tensor, running_mean, running_var, eps)
    else:
        _need_several("batch_norm", tensor, axes)
        result = _normalized(STANDARDIZE, "batch_norm", tensor, axes, eps)
        _update("batch_norm", widened(tensor), axes, running_mean, running_var, momentum)
    return _by_channel("batch_norm", tensor, result, weight, bias)


def instance_norm(
    input: ArrayLike,
    running_mean: ArrayLike | None = None,
    running_var: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel of each example less its own mean and over its own deviation, then `* weight + bias`.

    Arguments as for `batch_norm`, with at least one axis after the channels. Running statistics, where given, are
    averages over the examples; without `use_input_stats` they take the place of the input's own. One kernel.

    >>> tfr.nn.functional.instance_norm(tfr.asarray([[[1.0, 3.0], [10.0, 30.0]]]), eps=0.0).tolist()
    [[[-1.0, 1.0], [-1.0, 1.0]]]
    """
    tensor = floating("instance_norm", "input", input)
    need_rank("instance_norm", "input", tensor, 3, "(examples, channels, ..., positions)")
    axes = tuple(range(2, tensor.ndim))
    if not flag("instance_norm", "use_input_stats", use_input_stats):
        result = _by_running("instance_norm", tensor, running_mean, running_var, eps)
    else:
        _need_several("instance_norm", tensor, axes)
        result = _normalized(STANDARDIZE, "instance_norm", tensor, axes, eps)
        _update("instance_norm", widened(tensor), axes, running_mean, running_var, momentum)
    return _by_channel("instance_norm", tensor, result, weight, bias)


def group_norm(
    input: ArrayLike,
    num_groups: int,
    weight: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Groups of channels of each example less their mean and over their deviation, then `* weight + bias`.

    `input` has shape (examples, channels, ...), `weight` and `bias` shape (channels,). ShapeError if `num_groups` does
    not divide the channels. Source: Y. Wu and K. He, "Group normalization", arXiv 1803.08494.

    >>> tfr.nn.functional.group_norm(tfr.asarray([[1.0, 3.0, 10.0, 30.0]]), 2, eps=0.0).tolist()
    [[-1.0, 1.0, -1.0, 1.0]]
    """
    tensor = floating("group_norm", "input", input)
    need_rank("group_norm", "input", tensor, 2, "(examples, channels, ...)")
    groups = count("group_norm", "num_groups", num_groups)
    examples, channels = tensor.shape[:2]
    if not groups or channels % groups:
        raise ShapeError(
            f"group_norm: num_groups={groups} does not divide the {channels} channels of shape {tensor.shape}"
        )
    parts = reshaped(tensor, (examples, groups, channels // groups, *tensor.shape[2:]))
    axes = tuple(range(2, parts.ndim))
    result = _normalized(STANDARDIZE, "group_norm", parts, axes, eps)
    aligned = (groups, channels // groups, *[1] * (tensor.ndim - 2))
    result = _by_channel("group_norm", tensor, result, weight, bias, aligned)
    return reshaped(result, tensor.shape)


def normalize(
    input: ArrayLike, p: float = 2.0, dim: int | Sequence[int] = 1, eps: float = 1e-12
) -> Tensor:
    """Vectors along `dim` over their p-norm, or over `eps` where that is larger.

    Shape as `input`, real floating dtypes.

    >>> tfr.nn.functional.normalize(tfr.asarray([[3.0, 4.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    tensor = floating("normalize", "input", input)
    axes = tuple(
        sorted(
            normalize_axis("normalize", axis, tensor.ndim)
            for axis in integers("normalize", "dim", dim)
        )
    )
    wide = widened(tensor)
    length = apply(
        MAXIMUM,
        norm(wide, number("normalize", "p", p), axes),
        real_number("normalize", "eps", eps),
    )
    return converted(wide / length, at_full_precision(tensor).dtype)


def norm(x: Tensor, p: float, axes: Axes) -> Tensor:
    """Return the p-norm of vectors along axes, which are kept."""
    if p == 2.0:
        return call(VECTOR_NORM, x, attrs=(axes, True))
    if p == float("inf"):
        return largest(apply(ABS, x), axis=axes, keepdims=True)
    if p == 0.0:
        return total(converted(apply(NOT_EQUAL, x, 0), x.dtype), axis=axes, keepdims=True)
    return apply(POW, total(apply(POW, apply(ABS, x), p), axis=axes, keepdims=True), 1.0 / p)


def local_response_norm(
    input: ArrayLike, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Elements over `(k + alpha * mean of the squares of `size` neighbouring channels) ** beta`; channels are axis 1.

    Beyond the first and the last channel are zeros. Source: A. Krizhevsky, I. Sutskever and G. E. Hinton, "ImageNet
    classification with deep convolutional neural networks", NIPS 2012, section 3.3.

    >>> tfr.nn.functional.local_response_norm(tfr.asarray([[[2.0], [0.0]]]), 1, alpha=1.0, beta=1.0).tolist()
    [[[0.4000000059604645], [0.0]]]
    """
    tensor = floating("local_response_norm", "input", input)
    need_rank("local_response_norm", "input", tensor, 3, "(examples, channels, ..., positions)")
    width = count("local_response_norm", "size", size)
    if not width:
        raise ArgumentError("local_response_norm: size must be positive, got 0")
    squares = apply(SQUARE, widened(tensor))
    sides = tuple([width // 2 if axis == 1 else 0 for axis in range(tensor.ndim)])
    after = tuple([(width - 1) // 2 if axis == 1 else 0 for axis in range(tensor.ndim)])
    padded = call(PAD, squares, attrs=(sides, after, 0)) if width > 1 else squares
    channels = tensor.shape[1]
    window = padded[:, :channels]
    for first in range(1, width):
        window = window + padded[:, first : first + channels]
    factor = window * (number("local_response_norm", "alpha", alpha) / width) + real_number(
        "local_response_norm", "k", k
    )
    scale = apply(POW, factor, real_number("local_response_norm", "beta", beta))
    return converted(widened(tensor) / scale, tensor.dtype)


def _last_axes(name: str, input: Any, normalized_shape: Any) -> tuple[Tensor, Shape]:
    """Return the tensor, and the sizes of its last axes; ShapeError unless these are the expected ones."""
    tensor = floating(name, "input", input)
    shape = integers(name, "normalized_shape", normalized_shape)
    if not shape or tensor.shape[-len(shape) :] != shape:
        raise ShapeError(
            f"{name}: normalized_shape={shape} are not the last sizes of an input of shape {tensor.shape}",
            suggestions=(f"normalized_shape={tensor.shape[-1:]}",) if tensor.ndim else (),
        )
    return tensor, shape


def _last(tensor: Tensor, shape: Shape) -> Axes:
    return tuple(range(tensor.ndim - len(shape), tensor.ndim))


def _normalized(op: Op, name: str, tensor: Tensor, axes: Axes, eps: Any) -> Tensor:
    """Return the row `op` of a tensor, in no less than float32."""
    return call(op, widened(tensor), attrs=(axes, number(name, "eps", eps)))


def _affine(
    name: str,
    tensor: Tensor,
    result: Tensor,
    weight: Any,
    bias: Any,
    shape: Shape,
    aligned: Shape,
    why: str,
) -> Tensor:
    """Return the result times `weight`, plus `bias`, both of `shape`, in the dtype that all of them promote to."""
    dtype = at_full_precision(tensor).dtype
    for op, argument, value in ((MULTIPLY, "weight", weight), (ADD, "bias", bias)):
        if value is None:
            continue
        parameter = operand(value)
        need_shape(name, argument, parameter, shape, why)
        dtype = dtypes.promote(dtype, parameter.dtype)
        result = apply(op, result, reshaped(parameter, aligned))
    return converted(result, dtype)


def _by_channel(
    name: str,
    tensor: Tensor,
    result: Tensor,
    weight: Any,
    bias: Any,
    aligned: Shape | None = None,
) -> Tensor:
    """Return the result times the weight of its channel, plus its bias; `aligned` is how their axes meet its own."""
    shape = (tensor.shape[1],)
    beside = (*shape, *[1] * (tensor.ndim - 2)) if aligned is None else aligned
    why = f"an input with {shape[0]} channels"
    return _affine(name, tensor, result, weight, bias, shape, beside, why)


def _need_several(name: str, tensor: Tensor, axes: Axes) -> None:
    """Raise ShapeError where a channel has one element only: it would always become 0."""
    sizes = [tensor.shape[axis] for axis in axes]
    if sizes.count(1) == len(sizes):
        raise ShapeError(
            f"{name}: one element for each channel, of shape {tensor.shape}, has no variance",
            suggestions=("more examples, or training=False with running statistics",),
        )


def _by_running(name: str, tensor: Tensor, mean: Any, var: Any, eps: Any) -> Tensor:
    """Return a tensor normalised by running statistics of its channels."""
    if mean is None or var is None:
        raise ArgumentError(
            f"{name}: running_mean and running_var are needed where statistics are not the input's own"
        )
    channels = (tensor.shape[1],)
    aligned = (*channels, *[1] * (tensor.ndim - 2))
    shift, variance = operand(mean), operand(var)
    why = f"an input with {channels[0]} channels"
    need_shape(name, "running_mean", shift, channels, why)
    need_shape(name, "running_var", variance, channels, why)
    deviation = apply(SQRT, reshaped(variance, aligned) + real_number(name, "eps", eps))
    result: Tensor = (widened(tensor) - reshaped(shift, aligned)) * (1 / deviation)
    return result


def _update(
    name: str, tensor: Tensor, axes: Axes, running_mean: Any, running_var: Any, momentum: Any
) -> None:
    """Move the handles of running statistics on by those of a batch, averaged over examples that have their own."""
    rate = real_number(name, "momentum", momentum)
    _need_running(name, tensor, running_mean=running_mean, running_var=running_var)
    if running_mean is not None:
        _move(running_mean, mean(tensor, axis=axes), rate)
    if running_var is not None:
        _move(running_var, var(tensor, axis=axes, correction=1), rate)


def _need_running(name: str, tensor: Tensor, **statistics: Any) -> None:
    """Raise unless running statistics are handles that can be moved, of the right shape, or None."""
    channels = tensor.shape[1]
    for argument, running in statistics.items():
        if running is not None and not isinstance(running, Tensor):
            raise DTypeError(
                f"{name}: {argument} is moved on, so it is a Tensor, got {type(running).__name__}",
                suggestions=("tfr.asarray(...) once, and the same tensor in every call",),
            )
        if running is not None:
            why = f"an input with {channels} channels"
            need_shape(name, argument, running, (channels,), why)


def _move(running: Tensor, statistic: Tensor, rate: Any) -> None:
    """Make a handle stand for the running statistic after one more, of which each example may have its own."""
    of_batch = statistic if statistic.ndim == 1 else mean(statistic, axis=0)
    moved: Tensor = running * (1 - rate) + of_batch * rate
    running._rebind(converted(moved, running.dtype).node)
