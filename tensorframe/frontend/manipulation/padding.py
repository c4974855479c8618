"""Padding: tensors surrounded by a constant, or by their own elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import numpy as np

from tensorframe.errors import ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.convert import as_value
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.fast_paths.memoization import memoized
from tensorframe.frontend.indexing.searching import take
from tensorframe.frontend.manipulation.views import joined, part_of
from tensorframe.frontend.operands import expanded, number, operand
from tensorframe.frontend.parameters import choice, count
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import normalize_axis
from tensorframe.ops.movement import PAD

__all__ = ["pad"]

Places = np.ndarray[Any, np.dtype[np.int64]]

# What NumPy calls the ways to continue an axis by its own elements.
_BY_INDEX: Final = ("edge", "reflect", "symmetric", "wrap")
# and by what is computed of them
_COMPUTED: Final = ("empty", "linear_ramp", "maximum", "mean", "median", "minimum")


Mode = Literal[
    "constant",
    "edge",
    "empty",
    "linear_ramp",
    "maximum",
    "mean",
    "median",
    "minimum",
    "reflect",
    "symmetric",
    "wrap",
]


@memoized
def pad(
    array: ArrayLike,
    pad_width: ArrayLike,
    mode: Mode | Callable[..., Any] = "constant",
    *,
    constant_values: ArrayLike = 0,
    end_values: ArrayLike = 0,
    stat_length: ArrayLike | None = None,
    reflect_type: Literal["even", "odd"] = "even",
    **kwargs: Any,
) -> Tensor:
    """Return `array` with elements put before and after each axis.

    `pad_width` is a number for all sides, (before, after) for all axes, a pair for each axis, or a dict from axes to
    numbers or pairs. Modes: "constant" (with `constant_values`, given like the widths), "edge" repeats the last
    element, "reflect" mirrors about it, "symmetric" mirrors with it (both with their values turned about that of the
    end for `reflect_type="odd"`), "wrap" starts again at the other end, "linear_ramp" goes to `end_values`, "maximum",
    "mean", "median" and "minimum" are of the `stat_length` elements at the end (None: all), "empty" is anything. A
    function is called by NumPy, at once, with the other arguments. ArgumentError for other modes.

    >>> tfr.pad(tfr.asarray([1, 2, 3]), (1, 2)).tolist()
    [0, 1, 2, 3, 0, 0]
    >>> tfr.pad(tfr.asarray([1, 2, 3]), 1, "reflect").tolist()
    [2, 1, 2, 3, 2]
    >>> tfr.pad(tfr.asarray([1.0, 3.0]), (0, 2), "mean").tolist()
    [1.0, 3.0, 2.0, 2.0]
    """
    tensor = operand(array)
    widths = [
        (count("pad", "pad_width", before), count("pad", "pad_width", after))
        for before, after in _pairs(pad_width, tensor.ndim)
    ]
    if mode == "constant" and not kwargs:
        return _pad_constant(tensor, widths, _pairs(constant_values, tensor.ndim))
    if callable(mode):
        from tensorframe.frontend.manipulation import continuing  # for few calls

        return continuing.by_function(tensor, widths, mode, kwargs)
    if kwargs:
        raise TypeError(f"pad() got an unexpected keyword argument {next(iter(kwargs))!r}")
    choice("pad", "mode", mode, ("constant", *_BY_INDEX, *_COMPUTED))
    odd = choice("pad", "reflect_type", reflect_type, ("even", "odd")) == "odd"
    ends = _pairs(end_values, tensor.ndim) if mode == "linear_ramp" else []
    lengths = [(None, None)] * tensor.ndim
    if stat_length is not None:
        lengths = _pairs(stat_length, tensor.ndim)
    for axis, pair in enumerate(widths):
        if mode in _COMPUTED or (odd and mode in ("reflect", "symmetric")):
            tensor = _continued_by(tensor, axis, pair, mode, ends, lengths)
        else:
            tensor = _pad_by_index(tensor, axis, pair, mode)
    return tensor


def _continued_by(
    tensor: Tensor, axis: int, pair: tuple[int, int], mode: str, ends: Any, lengths: Any
) -> Tensor:
    """Return the tensor continued along an axis by what is computed of its elements."""
    from tensorframe.frontend.manipulation import continuing  # for few calls

    if not any(pair):
        return tensor
    if mode == "empty":
        return continuing.unsaid(tensor, axis, pair)
    _need_elements(tensor, axis)
    if mode == "linear_ramp":
        return continuing.with_ramp(tensor, axis, pair, ends[axis])
    if mode in continuing.STATISTICS:
        return continuing.with_statistic(tensor, axis, pair, mode, lengths[axis])
    return continuing.mirrored_oddly(tensor, axis, pair, twice=mode == "symmetric")


def _pairs(given: Any, ndim: int) -> list[tuple[Any, Any]]:
    """Return (before, after) for each axis."""
    if isinstance(given, dict):
        pairs: list[tuple[Any, Any]] = [(0, 0)] * ndim
        for axis, value in given.items():
            pairs[normalize_axis("pad", axis, ndim)] = _pairs(value, 1)[0]
        return pairs
    values = [[number("pad", amount) for amount in row] for row in _rows(given)]
    widened = [row * 2 if len(row) == 1 else row for row in values]
    if len(widened) == 1:
        widened *= ndim
    if len(widened) != ndim or any(len(row) != 2 for row in widened):
        raise ShapeError(
            f"pad: {given!r} does not give (before, after) for each of {ndim} axes",
            suggestions=("a number, a pair, or a list of one pair per axis",),
        )
    return [(row[0], row[1]) for row in widened]


def _rows(given: Any) -> list[list[Any]]:
    if isinstance(given, Tensor | np.ndarray):
        given = given.tolist()
    if not isinstance(given, list | tuple):
        return [[given]]
    if all(isinstance(row, list | tuple | np.ndarray) for row in given):
        return [list(row) for row in given]
    return [list(given)]


def _pad_constant(
    tensor: Tensor, widths: list[tuple[int, int]], values: list[tuple[Any, Any]]
) -> Tensor:
    sides = [value for pair in values for value in pair]
    before = tuple(pair[0] for pair in widths)
    after = tuple(pair[1] for pair in widths)
    if all(value == sides[0] for value in sides):
        return _surrounded(tensor, before, after, sides[0] if sides else 0)
    none = (0,) * tensor.ndim
    # one axis after the other: the later axis fills the corners
    for axis, (low, high) in enumerate(values):
        amounts = (*none[:axis], before[axis], *none[axis + 1 :])
        tensor = _surrounded(tensor, amounts, none, low)
        amounts = (*none[:axis], after[axis], *none[axis + 1 :])
        tensor = _surrounded(tensor, none, amounts, high)
    return tensor


def _surrounded(
    tensor: Tensor, before: tuple[int, ...], after: tuple[int, ...], value: Any
) -> Tensor:
    if not any(before) and not any(after):
        return tensor
    return call(PAD, tensor, attrs=(before, after, as_value("pad", value, tensor.dtype)))


def _pad_by_index(tensor: Tensor, axis: int, pair: tuple[int, int], mode: str) -> Tensor:
    if not any(pair):
        return tensor
    size = tensor.shape[axis]
    _need_elements(tensor, axis)
    before, after = pair
    left = _side(tensor, axis, range(-before, 0), mode) if before else []
    right = _side(tensor, axis, range(size, size + after), mode) if after else []
    return joined([*left, tensor, *right], axis)


def _need_elements(tensor: Tensor, axis: int) -> None:
    if tensor.shape[axis] == 0:
        raise ShapeError(
            f"pad: axis {axis} of shape {tensor.shape} has no elements to continue with",
            suggestions=('mode="constant"',),
        )


def _side(tensor: Tensor, axis: int, outside: range, mode: str) -> list[Tensor]:
    """Return what continues an axis at places outside of it: a slice, where one goes through the elements in order."""
    size, count = tensor.shape[axis], len(outside)
    if mode == "edge":
        end = part_of(tensor, axis, 0 if outside.start < 0 else size - 1, 1)
        return [expanded(end, (*tensor.shape[:axis], count, *tensor.shape[axis + 1 :]))]
    if count > size - (mode == "reflect"):  # more than once through the elements
        places = _continued(np.arange(outside.start, outside.stop), size, mode)
        return [take(tensor, places, axis=axis)]
    if mode == "wrap":
        return [part_of(tensor, axis, outside.start % size, count)]
    # backwards, from next to the end or from the end itself
    skipped = int(mode == "reflect")
    first = count - 1 + skipped if outside.start < 0 else size - 1 - skipped
    return [part_of(tensor, axis, first, count, -1 if count > 1 else 1)]


def _continued(places: Places, size: int, mode: str) -> Places:
    """Return the places of an axis that stand for those outside of it."""
    if mode == "wrap":
        return places % size
    # there and back again: an end is passed once, or twice if it is mirrored with the rest
    once = int(mode == "reflect")
    period = max(2 * (size - once), 1)
    there = places % period
    return np.minimum(there, period - 1 + once - there)
