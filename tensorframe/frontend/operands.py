"""Operands of functions that are not elementwise: Tensors of one dtype, and the few views that rearrange them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.dtypes import DType
from tensorframe.errors import DTypeError, OutOfRangeError, ShapeError
from tensorframe.frontend.conversion.convert import as_value, asarray
from tensorframe.frontend.dispatch import call, handle_on, recorded
from tensorframe.frontend.operand_nodes import (
    PYTHON_NUMBERS,
    SEQUENCES,
    all_tensors,
    as_node,
    new_constant,
    nodes_beside,
    plain,
)
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.graph.holding import default_on, require
from tensorframe.graph.node import Node
from tensorframe.graph.op import Op
from tensorframe.graph.precision import autocast_dtype
from tensorframe.graph.record import cast
from tensorframe.graph.shape import MAX_NDIM, Shape, check_size, normalize_axis
from tensorframe.ops.creation import FULL
from tensorframe.ops.movement import EXPAND, PERMUTE, RESHAPE


def nodes_of(name: str, tensors: Sequence[Any]) -> list[Node]:
    """Return the nodes of the tensors that a function called `name` takes one by one; DTypeError for anything else."""
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise DTypeError(
                f"{name}: takes tensors, got {type(tensor).__name__}",
                suggestions=(f"tfr.{name}(*tensors) where they are in a list",),
            )
    return [tensor.node for tensor in tensors]


def operand(obj: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Return `obj` as a Tensor of the function's own, which it may return: no caller has this handle.

    Assignments move handles. A function that returned the one it was given would return a tensor that changes
    with its operand; `asarray` returns it, so functions take their operands by this.
    """
    if type(obj) is Tensor and dtype is None and device is None:
        return handle_on(obj.node)
    tensor = asarray(obj, dtype=dtype, device=device)
    return Tensor(tensor.node) if tensor is obj else tensor


def promoted(*values: Any) -> list[Tensor]:
    """Return the operands as Tensors of the dtype they promote to; Python numbers are weak, as beside operators."""
    if len(values) == 1 and type(values[0]) is Tensor:
        return [handle_on(values[0].node)]
    if len(values) == 2 and type(values[0]) is Tensor and type(values[1]) is Tensor:
        left, right = values[0].node, values[1].node
        if left.dtype is right.dtype:  # the usual case, in half the time
            return [handle_on(left), handle_on(right)]
    tensors = weakly(values)
    own_dtypes = [tensor.node.dtype for tensor in tensors]
    if own_dtypes.count(own_dtypes[0]) == len(own_dtypes):
        return tensors
    dtype = dtypes.promote(*own_dtypes)
    return [converted(tensor, dtype) for tensor in tensors]


def floating(*values: Any) -> list[Tensor]:
    """Return the operands as Tensors of one floating dtype: integers take the default real one."""
    if len(values) == 1 and type(values[0]) is Tensor and values[0].node.dtype in dtypes.FLOATING:
        return [handle_on(values[0].node)]
    tensors = weakly(values)
    dtype = dtypes.float_of(dtypes.promote(*[tensor.dtype for tensor in tensors]))
    return [converted(tensor, dtype) for tensor in tensors]


def weakly(values: Sequence[Any]) -> list[Tensor]:
    """Return values as Tensors, Python numbers in the dtype that they take beside the others and on their device.

    Sequences of numbers have the dtype that `asarray` gives them, and no fewer digits than what they promote to.
    """
    if all_tensors(values):
        return [handle_on(value.node) for value in values]
    values = [plain(value) for value in values]
    nodes = nodes_beside(values, _array_node)
    known = [node for node in nodes if node is not None]
    if not known:
        return [asarray(value) for value in values]
    like, device = dtypes.promote(*[node.dtype for node in known]), known[0].device
    return [
        handle_on(node or new_constant(value, like, device))
        for value, node in zip(values, nodes, strict=True)
    ]


def array_beside(value: Any, home: Device | None) -> Tensor:
    """Return a Tensor of the function's own; of a NumPy array on the device `home`, where it holds the dtype."""
    return handle_on(_array_node(value, home))


def _array_node(value: Any, home: Device | None) -> Node:
    if home is not None and type(value) is np.ndarray:
        return as_node(value, home)
    return asarray(value).node


def comparable(x1: Any, x2: Any) -> list[Tensor]:
    """Return both operands as Tensors; a Python integer outside the dtype of the other one takes its own."""
    try:
        return weakly((x1, x2))
    except OutOfRangeError:
        return [operand(x1), operand(x2)]


def beside(tensor: Tensor, value: Any) -> Tensor:
    """Return `value` as a Tensor with as many digits as `tensor` has, to compute with both."""
    return weakly((tensor, value))[1]


def cast_into(value: Any, dtype: DType) -> Tensor:
    """Return `value` as a Tensor of `dtype`; integers of Python that it cannot hold raise OutOfRangeError.

    Floats of Python keep their digits: in the default dtype they could lose some on their way.
    """
    if dtype in dtypes.INTEGER and (type(value) is int or isinstance(value, SEQUENCES)):
        return operand(value, dtype=dtype)
    if dtype in dtypes.FLOATING and (type(value) is float or isinstance(value, SEQUENCES)):
        return operand(value, dtype=dtype)
    return converted(operand(value), dtype)


def converted(tensor: Tensor, dtype: DType) -> Tensor:
    """Return the tensor in another dtype; itself where it already has it."""
    return tensor if tensor.dtype == dtype else Tensor(cast(tensor.node, dtype))


def at_full_precision(tensor: Tensor) -> Tensor:
    """Return half precision as float32 inside `autocast`, where results that matter stay so; others as they are."""
    return tensor if autocast_dtype.get() is None else widened(tensor)


def beside_matmul(tensor: Tensor, result: Tensor) -> Tensor:
    """Return what is added to a matmul's result; inside `autocast` in its half precision, or that would be lost."""
    inside = autocast_dtype.get() is not None and result.dtype in dtypes.NARROW
    return converted(tensor, result.dtype) if inside else tensor


def widened(tensor: Tensor) -> Tensor:
    """Return half precision as float32, since sums of it overflow and libraries do not take it; others as they are."""
    return converted(tensor, dtypes.wide_of(tensor.dtype))


def rearranged(op: Op, tensor: Tensor, shape: Shape, *attrs: Any) -> Tensor:
    """Return a view of a tensor, of a shape that is known to be right and is no larger than the tensor's."""
    node = tensor.node
    return recorded(op, (node,), attrs, shape, node.dtype, node.device)


def reshaped(tensor: Tensor, shape: Shape) -> Tensor:
    """Return the elements under another shape of as many elements."""
    if tensor.node.shape == shape:
        return tensor
    if len(shape) > MAX_NDIM:
        check_size("reshape", shape)
    return rearranged(RESHAPE, tensor, shape, shape)


def flattened(tensor: Tensor) -> Tensor:
    """Return all elements along one axis, in C order."""
    return reshaped(tensor, (tensor.size,))


def along(name: str, x: Any, axis: int | None) -> tuple[Tensor, int]:
    """Return a tensor and an axis counted from the front: the tensor flattened where no axis is named."""
    tensor = operand(x)
    if axis is None:
        return flattened(tensor), 0
    return tensor, normalize_axis(name, axis, tensor.ndim)


def along_line(name: str, x: Any, axis: int | None) -> tuple[Tensor, int]:
    """Return a tensor and an axis as `along` does; one without axes as a vector of one element, as NumPy takes it."""
    tensor = operand(x)
    if not tensor.ndim:
        tensor = flattened(tensor)
    return along(name, tensor, axis)


def with_axes(tensor: Tensor, ndim: int) -> Tensor:
    """Return the tensor with axes of size 1 put in front until it has `ndim`."""
    return reshaped(tensor, (1,) * (ndim - tensor.ndim) + tensor.shape)


def permuted(tensor: Tensor, axes: Sequence[int]) -> Tensor:
    """Return the axes in another order."""
    order = tuple(axes)
    shape = tensor.node.shape
    if order == tuple(range(len(shape))):
        return tensor
    return rearranged(PERMUTE, tensor, tuple([shape[axis] for axis in order]), order)


def expanded(tensor: Tensor, shape: Shape) -> Tensor:
    """Return the tensor broadcast to `shape`, which it is known to fit."""
    return tensor if tensor.shape == shape else call(EXPAND, tensor, attrs=(shape,))


def need_axes(name: str, tensor: Tensor, count: int) -> None:
    """Raise ShapeError unless the tensor has at least `count` axes."""
    if tensor.ndim < count:
        wanted = "a vector" if count == 1 else "a matrix or a stack of matrices"
        raise ShapeError(f"{name}: takes {wanted}, got shape {tensor.shape}")


def accumulator(dtype: DType) -> DType:
    """Return the dtype of sums and products: bools and narrow integers grow to 64 bits, floats stay.

    Devices without such integers sum in their default ones: see `default_on`.
    """
    if dtype in dtypes.UNSIGNED:
        return dtypes.uint64
    return dtypes.int64 if dtype in dtypes.BITWISE else dtype


def accumulated(x: Any, dtype: Any) -> Tensor:
    """Return `x` in the dtype that it is summed in: `dtype` if one is given."""
    tensor = operand(x)
    if dtype is None and tensor.dtype in dtypes.FLOATING:
        return tensor
    own = default_on(tensor.device, accumulator(tensor.dtype))
    return converted(tensor, own if dtype is None else dtypes.as_dtype(dtype))


def number(name: str, value: Any) -> Any:
    """Return a Python number: `value` itself, or the element of a 0-d tensor, array or NumPy scalar."""
    if type(value) in PYTHON_NUMBERS:
        return value
    if isinstance(value, Tensor | np.ndarray | np.generic) and value.ndim == 0:
        scalar = value.item()
        if isinstance(scalar, bool | int | float | complex):
            return scalar
    raise DTypeError(
        f"{name}: takes numbers, got {value!r}", suggestions=("x.item() of a 0-d tensor",)
    )


def filled(shape: Shape, value: Any, dtype: DType, device: Device) -> Tensor:
    """Return the tensor that has one Python number everywhere; DTypeError if the device cannot hold it."""
    require("full", device, dtype)
    check_size("full", shape)
    return recorded(FULL, (), (as_value("full", value, dtype),), shape, dtype, device)
