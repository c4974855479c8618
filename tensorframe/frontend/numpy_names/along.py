"""Functions along axes: what calls a function of the user's with one vector, or one axis, after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import FunctionType
from typing import Any

from tensorframe.errors import DTypeError, ShapeError, TensorFrameError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.manipulation.joining import stack
from tensorframe.frontend.manipulation.views import expand_dims, moveaxis
from tensorframe.frontend.operands import operand, reshaped
from tensorframe.frontend.parameters import integers
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.transformations.mapping import vmap
from tensorframe.graph.shape import normalize_axis

__all__ = ["apply_along_axis", "apply_over_axes"]


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> Tensor:
    """What a function gives for each vector along `axis`, in the place of that axis.

    It is called once for each, from Python; `vmap` calls it once for all of them, as this does with functions of ours.

    >>> tfr.apply_along_axis(lambda v: v[0] + v[-1], 0, tfr.asarray([[1, 2, 3], [4, 5, 6]])).tolist()
    [5, 7, 9]
    """
    if not callable(func1d):
        raise DTypeError(f"apply_along_axis: takes a function, got {type(func1d).__name__}")
    tensor = operand(arr)
    place = normalize_axis("apply_along_axis", axis, tensor.ndim)
    lines = moveaxis(tensor, place, -1)
    around = lines.shape[:-1]
    if 0 in around:
        raise ShapeError("apply_along_axis: there is no vector to call the function with")
    rows = reshaped(lines, (prod(around), lines.shape[-1]))
    results = _of_all(func1d, rows, args, kwargs)
    if results is None:
        results = stack([operand(func1d(row, *args, **kwargs)) for row in rows])
    shape = results.shape[1:]
    joined = reshaped(results, (*around, *shape))
    return moveaxis(
        joined,
        range(len(around), len(around) + len(shape)),
        range(place, place + len(shape)),
    )


def _of_all(
    function: Callable[..., Any], rows: Tensor, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Tensor | None:
    """Return what a function of ours, which has no side effects, gives for all rows; None if it does so one by one.

    Objects of ours that are called, such as modules, may call what users wrote; compiled functions have no module.
    """
    if type(function) is not FunctionType:
        return None
    if str(function.__module__).partition(".")[0] != "tensorframe":
        return None
    try:
        results = vmap(lambda row: function(row, *args, **kwargs))(rows)
    except TensorFrameError:
        return None
    return results if type(results) is Tensor else None


def apply_over_axes(func: Callable[..., Any], a: ArrayLike, axes: int | Sequence[int]) -> Tensor:
    """What a function of a tensor and an axis gives, called with one of `axes` after the other.

    Axes that it takes away come back with size 1.

    >>> tfr.apply_over_axes(tfr.sum, tfr.ones((2, 3, 4)), (0, 2)).shape
    (1, 3, 1)
    """
    if not callable(func):
        raise DTypeError(f"apply_over_axes: takes a function, got {type(func).__name__}")
    tensor = operand(a)
    ndim = tensor.ndim
    for axis in integers("apply_over_axes", "axes", axes):
        place = normalize_axis("apply_over_axes", axis, ndim)
        result = operand(func(tensor, place))
        if result.ndim == ndim - 1:
            result = expand_dims(result, place)
        if result.ndim != ndim:
            raise ShapeError("apply_over_axes: the function changed the number of axes")
        tensor = result
    return tensor
