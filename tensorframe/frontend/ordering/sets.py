"""Sets: distinct elements, membership, unions and intersections; distinct elements are computed at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any, Literal

import numpy as np

from tensorframe.dtypes import ADDED, COMPLEX, FLOATING, bool_, int64, wide_of
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.indexing.items import getitem
from tensorframe.frontend.operand_nodes import data_node
from tensorframe.frontend.operands import comparable, expanded, flattened, operand, promoted
from tensorframe.frontend.parameters import choice, flag
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.history import history
from tensorframe.graph.shape import normalize_axis
from tensorframe.ops.custom import COMPUTED
from tensorframe.ops.elementwise import EQUAL, LOGICAL_NOT, LOGICAL_OR, MINIMUM
from tensorframe.ops.reduction import ANY_TRUE
from tensorframe.ops.sorting import SEARCHSORTED, SORT
from tensorframe.quick_tuples import NamedTuple

__all__ = [
    "UniqueAll",
    "UniqueCounts",
    "UniqueInverse",
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


class UniqueAll(NamedTuple):
    """What `unique_all` gives.

    Four tensors: the distinct values, where each occurs first, which of them each element is, and
    how often each occurs.
    """

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives.

    A pair of equal length: the distinct values in ascending order, and how often each of them
    occurs.
    """

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives.

    A pair: the distinct values in ascending order, and for each element its position among them.
    """

    values: Tensor
    inverse_indices: Tensor


def unique_values(x: ArrayLike) -> Tensor:
    """The distinct elements of the flattened tensor, sorted; every NaN is distinct. Computes at once.

    >>> tfr.unique_values(tfr.asarray([3, 1, 3])).tolist()
    [1, 3]
    """
    return _distinct(operand(x), equal_nan=False)[0]


def unique_counts(x: ArrayLike) -> UniqueCounts:
    """The distinct elements, sorted, and how often each occurs; every NaN is distinct. Computes at once.

    >>> tfr.unique_counts(tfr.asarray([3, 1, 3])).counts.tolist()
    [1, 2]
    """
    return UniqueCounts(*_distinct(operand(x), return_counts=True, equal_nan=False))


def unique_inverse(x: ArrayLike) -> UniqueInverse:
    """The distinct elements, sorted, and for each element of `x` (in its shape) its position among them.

    Every NaN is distinct. Computes at once.

    >>> tfr.unique_inverse(tfr.asarray([3, 1, 3])).inverse_indices.tolist()
    [1, 0, 1]
    """
    return UniqueInverse(*_distinct(operand(x), return_inverse=True, equal_nan=False))


def unique_all(x: ArrayLike) -> UniqueAll:
    """The distinct elements, sorted, their first positions in the flattened `x`, inverse positions, and counts.

    Every NaN is distinct. Computes at once.

    >>> tfr.unique_all(tfr.asarray([3, 1, 3])).indices.tolist()
    [1, 0]
    """
    wanted = dict.fromkeys(("return_index", "return_inverse", "return_counts"), True)
    return UniqueAll(*_distinct(operand(x), equal_nan=False, **wanted))


def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The distinct elements, sorted, or the distinct parts along `axis`: NumPy's form of the `unique_` functions.

    Followed by what is requested: positions of first occurrences, inverse positions, counts. Computes at once. `sorted`
    is NumPy's: they are in order here in any case.

    >>> tfr.unique(tfr.asarray([[1, 2], [1, 2], [0, 5]]), axis=0).tolist()
    [[0, 5], [1, 2]]
    """
    del sorted
    ar = operand(ar)
    if axis is not None:
        axis = normalize_axis("unique", axis, ar.ndim)
    results = _distinct(
        ar,
        return_index=return_index,
        return_inverse=return_inverse,
        return_counts=return_counts,
        axis=axis,
        equal_nan=equal_nan,
    )
    return results if len(results) > 1 else results[0]


def _distinct(x: Tensor, **options: Any) -> tuple[Tensor, ...]:
    """Return the distinct elements, and what else `options` ask NumPy for."""
    function: Callable[..., Any] = np.unique
    results = function(_sortable(x), **options)
    values, *others = results if isinstance(results, tuple) else (results,)
    return (
        _values(values, x),
        *(_wrap(other.astype(int64, copy=False), x) for other in others),
    )


def _sortable(x: Tensor) -> Any:
    # NumPy takes no care of NaN in a dtype that is not its own
    array = x._array()
    return array.astype(wide_of(x.dtype)) if x.dtype in ADDED else array


def _wrap(array: Any, like: Tensor) -> Tensor:
    return Tensor(data_node(array, like.device))


def _values(array: Any, *tensors: Tensor) -> Tensor:
    """Return elements that were computed of tensors at once, in the dtype of the first and where that is."""
    first = tensors[0]
    tensor = _wrap(array.astype(first.dtype, copy=False), first)
    if history.get() is None or first.dtype not in FLOATING:
        return tensor
    return call(COMPUTED, tensor, *tensors)


def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: Literal["sort", "table"] | None = None,
) -> Tensor:
    """Whether each element of `element` is one of `test_elements`, or is none of them if `invert`; NaN never is.

    The shape is that of `element`. Either may be a number. Nothing computes. `assume_unique` and `kind` are NumPy's
    hints, of no use to a binary search.

    >>> tfr.isin(tfr.asarray([1, 2, 3]), tfr.asarray([2, 3, 5])).tolist()
    [False, True, True]
    """
    del assume_unique
    choice("isin", "kind", kind, (None, "sort", "table"))
    values, pool = promoted(*comparable(element, test_elements))
    contained = _found(values, flattened(pool))
    return apply(LOGICAL_NOT, contained) if flag("isin", "invert", invert) else contained


# Elements up to which each is compared with all: one pass of a kernel, where a binary search jumps about.
_FEW = 8


def _found(values: Tensor, pool: Tensor) -> Tensor:
    if pool.size == 0:
        nothing = Tensor(data_node(np.zeros((), bool_), values.device))
        return expanded(nothing, values.shape)
    if values.dtype in COMPLEX:  # without an order: every pair is compared
        pairs = apply(EQUAL, getitem(values, (..., None)), pool)
        return call(ANY_TRUE, pairs, attrs=((values.ndim,), False))
    if pool.size <= _FEW:
        alike = [apply(EQUAL, values, getitem(pool, place)) for place in range(pool.size)]
        return reduce(partial(apply, LOGICAL_OR), alike)
    ordered = call(SORT, pool, attrs=(0, False))
    place = call(SEARCHSORTED, ordered, values, attrs=("left",))
    return apply(EQUAL, getitem(ordered, apply(MINIMUM, place, pool.size - 1)), values)


def union1d(ar1: ArrayLike, ar2: ArrayLike) -> Tensor:
    """The distinct elements of both tensors, sorted. Computes at once.

    Both are flattened first. How many elements there are depends on their values, which is why
    nothing is left lazy.

    >>> tfr.union1d(tfr.asarray([3, 1]), tfr.asarray([2, 3])).tolist()
    [1, 2, 3]
    """
    return _combined(np.union1d, ar1, ar2)


def intersect1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The distinct elements that both tensors have, sorted, with their first positions in either if requested.

    Computes at once. `assume_unique` promises that neither has an element twice.

    >>> tfr.intersect1d(tfr.asarray([3, 1, 3]), tfr.asarray([2, 3])).tolist()
    [3]
    """
    if not return_indices:
        return _combined(np.intersect1d, ar1, ar2, assume_unique=assume_unique)
    first, second = promoted(ar1, ar2)
    values, *places = np.intersect1d(
        _sortable(first), _sortable(second), assume_unique, return_indices=True
    )
    common = _values(values, first, second)
    return (common, *(_wrap(place.astype(int64, copy=False), first) for place in places))


def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Tensor:
    """The distinct elements of `ar1` that `ar2` lacks, sorted, in the dtype of `ar1`. Computes at once.

    >>> tfr.setdiff1d(tfr.asarray([3, 1, 2]), tfr.asarray([2])).tolist()
    [1, 3]
    """
    first, second = comparable(ar1, ar2)
    # compared in NumPy's promotion, which keeps integers and floats apart
    rest = np.setdiff1d(_sortable(first), _sortable(second), assume_unique)
    return _values(rest, first, second)


def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Tensor:
    """The distinct elements that are in one of two tensors only, sorted. Computes at once.

    >>> tfr.setxor1d(tfr.asarray([1, 2, 3]), tfr.asarray([3, 5])).tolist()
    [1, 2, 5]
    """
    return _combined(np.setxor1d, ar1, ar2, assume_unique=assume_unique)


def _combined(function: Any, x1: Any, x2: Any, **options: bool) -> Tensor:
    first, second = promoted(x1, x2)
    combined = function(_sortable(first), _sortable(second), **options)
    return _values(combined, first, second)
