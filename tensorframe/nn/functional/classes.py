"""Classes: integers from 0 up to a number of classes, as checked indices, and as vectors of zeros and a one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.dtypes import BOOL, INTEGER, int64
from tensorframe.errors import DTypeError, IndexingError, ShapeError
from tensorframe.frontend.creation.ranges import counted
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.indexing.selection import index_node
from tensorframe.frontend.operands import converted, operand, reshaped
from tensorframe.frontend.parameters import integer
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.holding import default_on
from tensorframe.nn.quantization import QuantizedTensor
from tensorframe.ops.elementwise import EQUAL, LESS, NOT_EQUAL, SUBTRACT, WHERE
from tensorframe.ops.indexing import GATHER
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
    name: str, argument: str, value: Any, classes: int, ignored: int | None = None
) -> tuple[Tensor, Tensor]:
    """Return class numbers, and indices that every gather refuses unless they are from 0 to `classes` - 1.

    Numbers that are `ignored` have the index 0. What is computed is checked here, by the number itself; anything else
    when it runs: negative numbers, which would count from the end, are moved beyond the other end of the axis.
    """
    given = integers_in(name, argument, value)
    _check_known(name, argument, given, classes, ignored)
    numbers = converted(given, default_on(given.device, int64))
    index = apply(WHERE, apply(LESS, numbers, 0), apply(SUBTRACT, numbers, classes), numbers)
    if ignored is not None:
        index = apply(WHERE, apply(NOT_EQUAL, numbers, ignored), index, 0)
    return numbers, Tensor(index_node(index, 0, classes, index.device))


def _check_known(
    name: str, argument: str, labels: Tensor, classes: int, ignored: int | None
) -> None:
    """Raise IndexingError for a label that is out of range, if the labels are in host memory already."""
    storage = labels.node.storage
    if storage is None or not isinstance(storage.handle, np.ndarray):
        return
    known = storage.handle
    wrong = (known < 0) | (known >= classes)
    if ignored is not None:
        wrong &= known != ignored
    if not wrong.any():
        return
    place = tuple(map(int, np.argwhere(wrong)[0]))
    where = f" at {place[0] if len(place) == 1 else place}" if place else ""
    raise IndexingError(
        f"{name}: {argument} {known[place]}{where} is out of range for {classes} classes",
        suggestions=(f"{argument} from 0 to {classes - 1}",) if classes else (),
    )


def positions(labels: Tensor, classes: int) -> Tensor:
    """Return the numbers of the classes, in the dtype and on the device of labels."""
    return counted(classes, 0, 1, labels.dtype, labels.device)


def embedding(input: Any, weight: Any, padding_idx: int | None = None) -> Tensor:
    """The rows of `weight` that `input` has the numbers of.

    Shapes (...) and (rows, features) give (..., features). To the row `padding_idx` flows no gradient.
    IndexingError for a number that is not from 0 to rows - 1. `weight` may be a quantised matrix, of which only these
    rows are read.

    >>> table = tfr.asarray([[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]])
    >>> tfr.nn.functional.embedding(tfr.asarray([2, 1]), table).tolist()
    [[3.0, 4.0], [1.0, 2.0]]
    """
    table = weight if isinstance(weight, QuantizedTensor) else operand(weight)
    if table.ndim != 2:
        raise ShapeError(f"embedding: weight has shape (rows, features), got {table.shape}")
    rows = table.shape[0]
    numbers, index = class_index("embedding", "input", input, rows)
    if isinstance(table, QuantizedTensor):
        return table.rows(index)
    result = call(GATHER, table, index, attrs=((0,), 0))
    if padding_idx is None:
        return result
    padding = integer("embedding", "padding_idx", padding_idx)
    if not -rows <= padding < rows:
        raise IndexingError(f"embedding: padding_idx {padding} is out of range for {rows} rows")
    is_padding = apply(EQUAL, numbers, padding % rows)
    constant = call(STOP_GRADIENT, result)
    return apply(WHERE, reshaped(is_padding, (*numbers.shape, 1)), constant, result)


def one_hot(tensor: Any, num_classes: int = -1) -> Tensor:
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
