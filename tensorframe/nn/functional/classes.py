"""Classes: integers from 0 up to a number of classes, as checked indices, and as vectors of zeros and a one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.dtypes import BOOL, INTEGER, int64
from tensorframe.errors import DTypeError, IndexingError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.creation.ranges import counted
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.indexing.index_nodes import index_node
from tensorframe.frontend.linalg.norms import vector_norm
from tensorframe.frontend.operands import converted, filled, operand, reshaped
from tensorframe.frontend.parameters import flag, integer, number
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.holding import default_on
from tensorframe.nn.quantization import QuantizedTensor
from tensorframe.ops.elementwise import ADD, EQUAL, LESS, NOT_EQUAL, SUBTRACT, WHERE
from tensorframe.ops.indexing import GATHER, SCATTER_ADD
from tensorframe.ops.movement import STOP_GRADIENT

__all__ = ["embedding", "one_hot"]


def integers_in(name: str, argument: str, value: Any) -> Tensor:
    """Return a Tensor of integers; DTypeError for any other dtype. A sequence without elements has no dtype yet."""
    tensor = operand(value)
    if not isinstance(value, Tensor) and tensor.size == 0:
        tensor = converted(tensor, int64)
    if tensor.dtype not in INTEGER:
        what = "truth values" if tensor.dtype in BOOL else str(tensor.dtype)
        raise DTypeError(
            f"{name}: {argument} has integers, got {what}",
            suggestions=(f"{argument}.astype(tfr.int64)",),
        )
    return tensor


def class_index(
    name: str,
    argument: str,
    value: Any,
    classes: int,
    ignored: int | None = None,
    what: str = "classes",
) -> tuple[Tensor, Tensor]:
    """Return class numbers, and indices that every gather refuses unless they are from 0 to `classes` - 1.

    Numbers that are `ignored` have the index 0. What is computed is checked here, by the number itself; anything else
    when it runs: negative numbers, which would count from the end, are moved beyond the other end of the axis.
    """
    given = integers_in(name, argument, value)
    _check_known(name, argument, given, classes, ignored, what)
    numbers = converted(given, default_on(given.device, int64))
    index = apply(WHERE, apply(LESS, numbers, 0), apply(SUBTRACT, numbers, classes), numbers)
    if ignored is not None:
        index = apply(WHERE, apply(NOT_EQUAL, numbers, ignored), index, 0)
    return numbers, Tensor(index_node(index, 0, classes, index.device))


def known_numbers(tensor: Tensor) -> np.ndarray[Any, Any] | None:
    """Return the elements of a tensor that is in host memory already; None for any other."""
    storage = tensor.node.storage
    handle = None if storage is None else storage.handle
    return handle if isinstance(handle, np.ndarray) else None


def _check_known(
    name: str, argument: str, labels: Tensor, classes: int, ignored: int | None, what: str
) -> None:
    """Raise IndexingError for a label that is out of range, if the labels are in host memory already."""
    known = known_numbers(labels)
    if known is None:
        return
    wrong = (known < 0) | (known >= classes)
    if ignored is not None:
        wrong &= known != ignored
    if not wrong.any():
        return
    place = tuple(map(int, np.argwhere(wrong)[0]))
    where = f" at {place[0] if len(place) == 1 else place}" if place else ""
    raise IndexingError(
        f"{name}: {argument} {known[place]}{where} is out of range for {classes} {what}",
        suggestions=(f"{argument} from 0 to {classes - 1}",) if classes else (),
    )


def positions(labels: Tensor, classes: int) -> Tensor:
    """Return the numbers of the classes, in the dtype and on the device of labels."""
    return counted(classes, 0, 1, labels.dtype, labels.device)


def embedding(
    input: ArrayLike,
    weight: ArrayLike,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Tensor:
    """The rows of `weight` that `input` has the numbers of.

    Shapes (...) and (rows, features) give (..., features). To the row `padding_idx` flows no gradient. With `max_norm`,
    rows whose norm of order `norm_type` is larger are scaled down to it; `weight` itself, which PyTorch changes, does
    not change, and gradients are those of rows that are not scaled, as PyTorch's are. With `scale_grad_by_freq`, the
    gradient of a row is over how often `input` has its number. IndexingError for a number that is not from 0 to
    rows - 1. `weight` may be a quantised matrix, of which only these rows are read.

    >>> table = tfr.asarray([[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]])
    >>> tfr.nn.functional.embedding(tfr.asarray([2, 1]), table).tolist()
    [[3.0, 4.0], [1.0, 2.0]]
    >>> tfr.nn.functional.embedding(tfr.asarray([2]), table, max_norm=1.0).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    most = None if max_norm is None else number("embedding", "max_norm", max_norm)
    order = number("embedding", "norm_type", norm_type)
    by_frequency = flag("embedding", "scale_grad_by_freq", scale_grad_by_freq)
    table = weight if isinstance(weight, QuantizedTensor) else operand(weight)
    if table.ndim != 2:
        raise ShapeError(f"embedding: weight has shape (rows, features), got {table.shape}")
    rows = table.shape[0]
    numbers, index = class_index("embedding", "input", input, rows)
    if isinstance(table, QuantizedTensor):
        result = table.rows(index)
        return result if most is None else _within_norm(result, most, order)
    result = call(GATHER, table, index, attrs=((0,), 0))
    if by_frequency:
        counts = reshaped(_frequencies(index, rows, result), (*index.shape, 1))
        result = _with_gradient_of(result, result / counts)
    if most is not None:
        result = _with_gradient_of(_within_norm(result, most, order), result)
    if padding_idx is None:
        return result
    padding = integer("embedding", "padding_idx", padding_idx)
    if not -rows <= padding < rows:
        raise IndexingError(f"embedding: padding_idx {padding} is out of range for {rows} rows")
    is_padding = apply(EQUAL, numbers, padding % rows)
    constant = call(STOP_GRADIENT, result)
    return apply(WHERE, reshaped(is_padding, (*numbers.shape, 1)), constant, result)


def _frequencies(index: Tensor, rows: int, like: Tensor) -> Tensor:
    """Return, for each index, how many there are of it, in the dtype of `like`."""
    none = filled((rows,), 0, index.dtype, index.device)
    each = filled(index.shape, 1, index.dtype, index.device)
    counts = call(SCATTER_ADD, none, each, index, attrs=((0,), 0))
    return converted(call(GATHER, counts, index, attrs=((0,), 0)), like.dtype)


def _within_norm(rows: Tensor, most: float, order: float) -> Tensor:
    """Return rows, those of a norm of more than `most` scaled down to it."""
    norms = vector_norm(rows, axis=-1, keepdims=True, ord=order)
    # by a little less, as PyTorch does, so that none is larger by rounding
    scaled = rows * (most / (norms + 1e-7))
    return apply(WHERE, apply(LESS, most, norms), scaled, rows)


def _with_gradient_of(values: Tensor, other: Tensor) -> Tensor:
    """Return values whose gradient is that of another tensor: a straight-through estimator."""
    return apply(ADD, call(STOP_GRADIENT, values), other - call(STOP_GRADIENT, other))


def one_hot(tensor: ArrayLike, num_classes: int = -1) -> Tensor:
    """Vectors of zeros with a one at each number of `tensor`, along a new last axis of `num_classes`.

    The dtype is int64. Without `num_classes`, one more than the largest number, which is computed at once.
    IndexingError for a number that is not from 0 to `num_classes` - 1.

    >>> tfr.nn.functional.one_hot(tfr.asarray([2, 0]), 3).tolist()
    [[0, 0, 1], [1, 0, 0]]
    """
    numbers = integers_in("one_hot", "tensor", tensor)
    classes = integer("one_hot", "num_classes", num_classes)
    if classes == -1:
        classes = int(numbers._array().max()) + 1 if numbers.size else 0
    if classes < 0 or (not classes and numbers.size):
        raise IndexingError(f"one_hot: num_classes must be positive, got {num_classes}")
    _, index = class_index("one_hot", "tensor", numbers, classes)
    choices = positions(index, classes)
    # read by a gather, which checks its index
    chosen = call(GATHER, choices, index, attrs=((0,), 0)) if classes else index
    result = apply(EQUAL, reshaped(chosen, (*numbers.shape, 1)), choices)
    return converted(result, default_on(result.device, int64))
