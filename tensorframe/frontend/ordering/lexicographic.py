"""Lexicographic order: by several keys, one after the other, and that of complex numbers, by their parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.dtypes import COMPLEX, complex_of, float_of, int64
from tensorframe.errors import ArgumentError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.fast_paths.exact_functions import exact
from tensorframe.frontend.indexing.searching import take_along_axis
from tensorframe.frontend.manipulation.joining import unstack
from tensorframe.frontend.manipulation.views import part_of
from tensorframe.frontend.operands import converted, filled, operand, reshaped
from tensorframe.frontend.ordering.sorting import argsort
from tensorframe.frontend.parameters import items
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import normalize_axis
from tensorframe.ops.elementwise import IMAG, ISNAN, REAL_PART, WHERE
from tensorframe.ops.movement import CONCAT
from tensorframe.ops.reduction import CUMULATIVE_SUM
from tensorframe.ops.sorting import ARGSORT

__all__ = ["lexsort", "sort_complex"]


@exact(np.lexsort, 2)
def lexsort(keys: ArrayLike, axis: int = -1) -> Tensor:
    """The positions that sort by several keys along `axis`: by the last key, where it is equal by the one before.

    Keys are a sequence of tensors of one shape, or the parts of a tensor along its first axis. The dtype is int64;
    elements that are equal by all keys keep their order.

    >>> tfr.lexsort((tfr.asarray([9, 4, 0, 4]), tfr.asarray([1, 5, 1, 4]))).tolist()
    [2, 0, 3, 1]
    """
    given = unstack(keys) if isinstance(keys, Tensor) else items("lexsort", "keys", keys)
    tensors = [operand(key) for key in given]
    if not tensors:
        raise ArgumentError("lexsort: takes one key at least")
    shapes = {tensor.shape for tensor in tensors}
    if len(shapes) > 1:
        raise ShapeError(f"lexsort: keys have one shape, got {sorted(shapes)}")
    if not tensors[0].ndim:
        normalize_axis("lexsort", axis, 1)
        return filled((), 0, int64, tensors[0].device)
    return _by_keys(tensors, normalize_axis("lexsort", axis, tensors[0].ndim))


def _by_keys(keys: list[Tensor], axis: int) -> Tensor:
    """Return the positions that sort by keys, the last one first: by each in turn, keeping the order so far."""
    order = argsort(keys[0], axis=axis)
    for key in keys[1:]:
        order = take_along_axis(order, argsort(take_along_axis(key, order, axis), axis=axis), axis)
    return order


def order_of_complex(x: Tensor, axis: int, descending: bool) -> Tensor:
    """Return the positions that sort complex elements: real parts, then imaginary ones, NaN last."""
    real, imag = apply(REAL_PART, x), apply(IMAG, x)
    if not descending:
        # as NumPy orders them: numbers, then those with NaN in the imaginary part, then in the real one
        return _by_keys([imag, real, apply(ISNAN, imag), apply(ISNAN, real)], axis)
    missing = apply(ISNAN, x)
    kept = [apply(WHERE, missing, 0, part) for part in (imag, real)]
    order = call(ARGSORT, kept[0], attrs=(axis, True, True))
    for key, downwards in ((kept[1], True), (missing, False)):
        moved = take_along_axis(key, order, axis)
        order = take_along_axis(order, call(ARGSORT, moved, attrs=(axis, downwards, True)), axis)
    return order


def sorted_complex(x: Tensor, axis: int, descending: bool) -> Tensor:
    """Return complex elements in order along an axis."""
    return take_along_axis(x, order_of_complex(x, axis, descending), axis)


def places_among_complex(
    a: Tensor, v: Tensor, sorter: Tensor | None = None, *, side: str
) -> Tensor:
    """Return where to insert complex values into a sorted vector, beside equal elements on one side of these.

    Both are put in order together: before each value lie as many elements of the vector as its place is. What is equal
    keeps its order, so that values come first in it, or last.
    """
    vector = a if sorter is None else take_along_axis(a, sorter, 0)
    values, is_left = reshaped(v, (v.size,)), side == "left"
    parts = [values, vector] if is_left else [vector, values]
    order = order_of_complex(call(CONCAT, *parts, attrs=(0,)), 0, False)
    is_element: Any = order >= v.size if is_left else order < a.size
    before = call(CUMULATIVE_SUM, converted(is_element, int64), attrs=(0,))
    at_each = take_along_axis(before, argsort(order), 0)
    return reshaped(part_of(at_each, 0, 0 if is_left else a.size, v.size), v.shape)


def _numpys_sort_complex(array: Any) -> Any:
    """Return what `sort_complex` gives: zeros of either sign are equal, and keep their order, unlike in NumPy's."""
    return np.sort(array.astype(np.result_type(array, np.complex64)), axis=-1, kind="stable")


@exact(_numpys_sort_complex, 1)
def sort_complex(a: ArrayLike) -> Tensor:
    """The elements in order along the last axis, by their real parts first, as complex numbers.

    >>> tfr.sort_complex(tfr.asarray([3, 1, 2])).tolist()
    [(1+0j), (2+0j), (3+0j)]
    """
    tensor = operand(a)
    if tensor.dtype not in COMPLEX:
        tensor = converted(tensor, complex_of(float_of(tensor.dtype)))
    return sorted_complex(tensor, normalize_axis("sort_complex", -1, tensor.ndim), False)
