"""Operands of layers: tensors and sizes that a function named by PyTorch is given, checked where they are given."""

from __future__ import annotations

from typing import Any

from tensorframe import dtypes
from tensorframe.errors import DTypeError, OutOfRangeError, ShapeError
from tensorframe.frontend.operands import operand
from tensorframe.frontend.parameters import number
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import Shape
from tensorframe.graph.tracing import TracedNumber


def floating(name: str, argument: str, value: Any) -> Tensor:
    """Return `value` as a Tensor of a real floating dtype; DTypeError, which names the argument, for any other."""
    tensor = operand(value)
    if tensor.dtype not in dtypes.FLOAT:
        raise DTypeError(
            f"{name}: {argument} has a real floating dtype, got {tensor.dtype}",
            suggestions=(f"{argument}.astype(tfr.float32)",),
        )
    return tensor


def need_shape(name: str, argument: str, tensor: Tensor, wanted: Shape, why: str) -> None:
    """Raise ShapeError unless a tensor has the shape that `why` requires."""
    if tensor.shape != wanted:
        raise ShapeError(f"{name}: {argument} has shape {tensor.shape}, but {why} needs {wanted}")


def need_rank(name: str, argument: str, tensor: Tensor, least: int, what: str) -> None:
    """Raise ShapeError unless a tensor has at least `least` axes, which are `what`."""
    if tensor.ndim < least:
        raise ShapeError(f"{name}: {argument} has axes {what}, got shape {tensor.shape}")


def real_number(name: str, parameter: str, value: Any) -> Any:
    """Return a real number of Python's, or one that `jit` records; DTypeError for anything else."""
    return value if type(value) is TracedNumber else number(name, parameter, value)


def probability(name: str, value: Any, argument: str = "p") -> float:
    """Return the number of an argument from 0 to 1; OutOfRangeError for any other."""
    p = number(name, argument, value)
    if not 0.0 <= p <= 1.0:
        raise OutOfRangeError(f"{name}: {argument} is a probability from 0 to 1, got {p}")
    return p
