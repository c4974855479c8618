"""Operands of functions that are not elementwise: Tensors of one dtype, and the few views that rearrange them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorframe import dtypes
from tensorframe.dtypes import DType
from tensorframe.errors import ShapeError
from tensorframe.frontend.creation.convert import asarray
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.record import cast
from tensorframe.graph.shape import Shape
from tensorframe.ops.movement import EXPAND, PERMUTE, RESHAPE


def as_tensor(value: Any) -> Tensor:
    """Return `value` as a Tensor: itself, or what `asarray` makes of it."""
    return value if isinstance(value, Tensor) else asarray(value)


def promoted(*values: Any) -> list[Tensor]:
    """Return the operands as Tensors of the dtype they promote to."""
    tensors = [as_tensor(value) for value in values]
    found = [tensor.node.dtype for tensor in tensors]
    if found.count(found[0]) == len(found):
        return tensors
    dtype = dtypes.promote(*found)
    return [converted(tensor, dtype) for tensor in tensors]


def floating(*values: Any) -> list[Tensor]:
    """Return the operands as Tensors of one floating dtype: integers take the default real one."""
    tensors = [as_tensor(value) for value in values]
    dtype = dtypes.float_of(dtypes.promote(*[tensor.dtype for tensor in tensors]))
    return [converted(tensor, dtype) for tensor in tensors]


def converted(tensor: Tensor, dtype: DType) -> Tensor:
    """Return the tensor in another dtype; itself where it already has it."""
    return tensor if tensor.dtype == dtype else Tensor(cast(tensor.node, dtype))


def reshaped(tensor: Tensor, shape: Shape) -> Tensor:
    """Return the elements under another shape of as many elements."""
    return tensor if tensor.shape == shape else call(RESHAPE, tensor, attrs=(shape,))


def permuted(tensor: Tensor, axes: Sequence[int]) -> Tensor:
    """Return the axes in another order."""
    order = tuple(axes)
    if order == tuple(range(tensor.ndim)):
        return tensor
    return call(PERMUTE, tensor, attrs=(order,))


def expanded(tensor: Tensor, shape: Shape) -> Tensor:
    """Return the tensor broadcast to `shape`, which it is known to fit."""
    return tensor if tensor.shape == shape else call(EXPAND, tensor, attrs=(shape,))


def need_axes(name: str, tensor: Tensor, count: int) -> None:
    """Raise ShapeError unless the tensor has at least `count` axes."""
    if tensor.ndim < count:
        wanted = "a vector" if count == 1 else "a matrix or a stack of matrices"
        raise ShapeError(f"{name}: takes {wanted}, got shape {tensor.shape}")
