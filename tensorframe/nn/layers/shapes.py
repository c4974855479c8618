"""Layers that only change shapes."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from tensorframe.errors import AxisError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.operands import operand
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import as_shape
from tensorframe.nn.module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Axes from `start_dim` to `end_dim` as one: all but the first, if not given.

    >>> tfr.nn.Flatten()(tfr.ones((2, 3, 4))).shape
    (2, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: ArrayLike) -> Tensor:
        """Return a view of `input`."""
        tensor = operand(input)
        start, end = (_axis("Flatten", axis, tensor) for axis in (self.start_dim, self.end_dim))
        if end < start:
            raise ShapeError(
                f"Flatten: axis start_dim={self.start_dim} is behind end_dim={self.end_dim}"
            )
        sizes = tensor.shape
        return tensor.reshape((*sizes[:start], prod(sizes[start : end + 1]), *sizes[end + 1 :]))

    def extra_repr(self) -> str:
        """Return the axes."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """The axis `dim` as several, of the sizes `unflattened_size`, one of which may be -1.

    >>> tfr.nn.Unflatten(1, (3, -1))(tfr.ones((2, 12))).shape
    (2, 3, 4)
    """

    def __init__(self, dim: int, unflattened_size: Iterable[int]) -> None:
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input: ArrayLike) -> Tensor:
        """Return a view of `input`."""
        tensor = operand(input)
        axis = _axis("Unflatten", self.dim, tensor)
        size = tensor.shape[axis]
        known = prod([part for part in self.unflattened_size if part != -1])
        parts = [size // max(known, 1) if part == -1 else part for part in self.unflattened_size]
        if prod(parts) != size:
            raise ShapeError(
                f"Unflatten: axis {self.dim} of size {size} is not of shape {self.unflattened_size}"
            )
        return tensor.reshape((*tensor.shape[:axis], *as_shape(parts), *tensor.shape[axis + 1 :]))

    def extra_repr(self) -> str:
        """Return the axis and its sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


def _axis(name: str, axis: int, tensor: Tensor) -> int:
    if not -tensor.ndim <= axis < tensor.ndim:
        raise AxisError(
            f"{name}: there is no axis {axis} of a tensor of shape {tensor.shape}",
            axis=axis,
            ndim=tensor.ndim,
        )
    return axis % tensor.ndim
