"""Reductions of losses: one number for each element, their sum, or their mean."""

from __future__ import annotations

from typing import Any

from tensorframe import dtypes
from tensorframe.errors import ShapeError
from tensorframe.frontend.operands import converted, expanded, operand, promoted, widened
from tensorframe.frontend.parameters import choice
from tensorframe.frontend.reductions.elementary import sum as total
from tensorframe.frontend.reductions.statistics import mean
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.precision import autocast_dtype
from tensorframe.graph.shape import broadcast
from tensorframe.nn.functional.operands import floating

REDUCTIONS = ("none", "mean", "sum")


def need_reduction(name: str, reduction: Any, allowed: tuple[str, ...] = REDUCTIONS) -> str:
    """Return the name of a reduction; ArgumentError if there is none of this name."""
    known: str = choice(name, "reduction", reduction, allowed)
    return known


def reduced(loss: Tensor, reduction: str, count: Any = None) -> Tensor:
    """Return a loss by its reduction; `count` is what sums are divided by if that is not the number of elements."""
    if reduction == "none":
        return loss
    if reduction == "sum":
        return total(loss)
    if count is None:
        return mean(loss)
    result: Tensor = total(loss) / count
    return result


def as_given(loss: Tensor, dtype: dtypes.DType) -> Tensor:
    """Return a loss in the dtype of what it is of; half precision gives float32 inside `autocast`."""
    inside = autocast_dtype.get() is not None
    return converted(loss, dtypes.wide_of(dtype) if inside else dtype)


def both(name: str, input: Any, target: Any) -> tuple[Tensor, Tensor]:
    """Return input and target in the dtype that they promote to; targets of integers take the input's.

    ShapeError unless the target has the shape of the input, or broadcasts to it: beside a target of shape (n, 1), an
    input of shape (n,) would give n * n losses.
    """
    given = floating(name, "input", input)
    wanted = beside(name, "target", target, given)
    first, second = promoted(given, wanted)
    return first, second


def beside(name: str, argument: str, value: Any, tensor: Tensor) -> Tensor:
    """Return a tensor that broadcasts to another one, in that one's dtype if it is not floating itself."""
    other = operand(value)
    if other.dtype not in dtypes.FLOAT:
        other = converted(other, tensor.dtype)
    if other.shape != tensor.shape:
        need_broadcast(name, argument, other, tensor)
    return other


def need_broadcast(name: str, argument: str, other: Tensor, tensor: Tensor) -> None:
    """Raise ShapeError unless a tensor broadcasts to the shape of another one."""
    try:
        fits = broadcast(name, tensor.shape, other.shape) == tensor.shape
    except ShapeError:
        fits = False
    if not fits:
        hint = f"{argument}.reshape({tensor.shape})"
        raise ShapeError(
            f"{name}: {argument} of shape {other.shape} does not belong to an input of shape {tensor.shape}",
            suggestions=(hint,) if other.size == tensor.size else (),
        )


def wide(*tensors: Tensor) -> list[Tensor]:
    """Return tensors in no less than float32."""
    return [widened(tensor) for tensor in tensors]


def spread(tensor: Tensor, like: Tensor) -> Tensor:
    """Return a tensor broadcast to the shape of another."""
    return expanded(tensor, like.shape)
