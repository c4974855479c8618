"""Writing: NumPy's functions that change their first argument, which is a tensor or an array of the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tensorframe.dtypes import BOOL, FLOAT, as_dtype
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, handle_on
from tensorframe.frontend.dtypes.casting import Casting, raise_unless_allowed
from tensorframe.frontend.fast_paths.exact_functions import exact_in_place
from tensorframe.frontend.indexing.assignment import as_values
from tensorframe.frontend.indexing.searching import indices_along, need_line, take, within
from tensorframe.frontend.numpy_names.choosing import cycled, resize
from tensorframe.frontend.operands import (
    cast_into,
    converted,
    expanded,
    flattened,
    operand,
    reshaped,
)
from tensorframe.frontend.parameters import choice, flag, is_number
from tensorframe.frontend.protocols.ufuncs import written_to
from tensorframe.frontend.reductions.scans import cumulative_sum
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import broadcast, normalize_axis
from tensorframe.ops.elementwise import REMAINDER, WHERE

__all__ = ["copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"]


def _written(function: Callable[..., None], target: Any, *arguments: Any, **options: Any) -> None:
    """Have NumPy write to an array of the user's; DTypeError for what is neither that nor a tensor."""
    if not isinstance(target, np.ndarray):
        raise DTypeError(
            f"{function.__name__}: writes to a tensor or an array, got {type(target).__name__}"
        )
    try:
        written_to(function, target, *arguments, **options)
    except (TypeError, ValueError, IndexError) as error:
        raise ArgumentError(f"{function.__name__}: {error}") from error


@exact_in_place(np.copyto)
def copyto(
    dst: ArrayLike, src: ArrayLike, casting: Casting = "same_kind", where: ArrayLike = True
) -> None:
    """Make a tensor a handle on the elements of another one, which broadcasts, where a condition is true.

    >>> x = tfr.zeros(3)
    >>> tfr.copyto(x, 5, where=[True, False, True])
    >>> x.tolist()
    [5.0, 0.0, 5.0]
    """
    if not isinstance(dst, Tensor):
        _written(np.copyto, dst, src, casting=casting, where=where)
        return
    source = operand(src)
    if not is_number(src):
        raise_unless_allowed("copyto", source.dtype, dst.dtype, casting)
    chosen = operand(where)
    if chosen.dtype not in BOOL:
        raise DTypeError(f"copyto: where= takes a condition of bools, got {chosen.dtype}")
    source = _without_leading(source, dst.ndim)
    if broadcast("copyto", source.shape, dst.shape, chosen.shape) != dst.shape:
        raise ShapeError(f"copyto: shape {source.shape} does not fit {dst.shape}")
    values = _without_leading(cast_into(src, dst.dtype), dst.ndim)
    result = expanded(values, dst.shape) if where is True else apply(WHERE, chosen, values, dst)
    dst._rebind(result.to_device(dst.device).node)


def _without_leading(source: Tensor, ndim: int) -> Tensor:
    """Return what is copied to `ndim` axes without axes of size 1 in front that it has beside these, as in NumPy."""
    extra = source.ndim - ndim
    is_longer = extra > 0 and set(source.shape[:extra]) == {1}
    return reshaped(source, source.shape[extra:]) if is_longer else source


@exact_in_place(np.putmask)
def putmask(a: ArrayLike, mask: ArrayLike, values: ArrayLike) -> None:
    """Make a tensor a handle on a copy with `values`, over and over again, where a mask is true, by their places in it.

    >>> x = tfr.asarray([1, 2, 3, 4])
    >>> tfr.putmask(x, x > 2, [10, 20, 30])
    >>> x.tolist()
    [1, 2, 30, 10]
    """
    if not isinstance(a, Tensor):
        _written(np.putmask, a, mask, values)
        return
    chosen = reshaped(_mask("putmask", mask, a), a.shape)
    given = _values_for("putmask", values, a)
    if not given.size:
        return
    a._rebind(apply(WHERE, chosen, resize(given, a.shape), a).to_device(a.device).node)


@exact_in_place(np.place)
def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike) -> None:
    """Make a tensor a handle on a copy where the true places of a mask have one after the other of `vals`.

    >>> x = tfr.asarray([1, 2, 3, 4])
    >>> tfr.place(x, x > 2, [10, 20, 30])
    >>> x.tolist()
    [1, 2, 10, 20]
    """
    if not isinstance(arr, Tensor):
        _written(np.place, arr, mask, vals)
        return
    chosen = _mask("place", mask, arr)
    given = _values_for("place", vals, arr)
    if not given.size:
        raise ArgumentError("place: there are no values to put in")
    number: Any = cumulative_sum(converted(chosen, as_dtype("int64")), axis=0) - 1
    values = take(given, apply(REMAINDER, number, given.size))
    result = apply(WHERE, chosen, values, flattened(operand(arr)))
    arr._rebind(reshaped(result, arr.shape).to_device(arr.device).node)


def _values_for(name: str, values: Any, target: Tensor) -> Tensor:
    """Return values in the dtype of the tensor that they are put into; tensors lose no kind of number, as in NumPy."""
    if isinstance(values, Tensor | np.ndarray):
        raise_unless_allowed(name, operand(values).dtype, target.dtype, "same_kind")
    return flattened(cast_into(values, target.dtype))


def _mask(name: str, mask: Any, target: Tensor) -> Tensor:
    chosen = operand(mask)
    if chosen.size != target.size:
        raise ShapeError(f"{name}: a mask of shape {chosen.shape} for a tensor of {target.shape}")
    return flattened(chosen if chosen.dtype in BOOL else operand(chosen != 0))


def _numpys_put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    if (
        mode == "wrap"
    ):  # NumPy's subtracts the size until a position fits, a year where it is far away
        ind, mode = np.remainder(ind, a.size), "raise"
    np.put(a, ind, v, mode)


@exact_in_place(_numpys_put)
def put(
    a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: Literal["raise", "wrap", "clip"] = "raise"
) -> None:
    """Make a tensor a handle on a copy with `v`, over and over again, at positions that count elements in C order.

    >>> x = tfr.zeros(4, int)
    >>> tfr.put(x, [0, 2], [-44, -55])
    >>> x.tolist()
    [-44, 0, -55, 0]
    """
    if not isinstance(a, Tensor):
        _written(np.put, a, ind, v, mode=mode)
        return
    index = flattened(operand(ind))
    if index.dtype in BOOL:
        index = converted(index, as_dtype("int64"))  # positions 0 and 1, as in NumPy, and no mask
    if choice("put", "mode", mode, ("raise", "wrap", "clip")) != "raise":
        index = within(mode, index, a.size)
    values = flattened(handle_on(as_values(v, a.node)))
    if not index.size or not values.size:
        return
    flat = flattened(operand(a))
    flat[index] = cycled(values, index.size)
    a._rebind(reshaped(flat, a.shape).node)


@exact_in_place(np.fill_diagonal)
def fill_diagonal(a: ArrayLike, val: ArrayLike, wrap: bool = False) -> None:
    """Make a tensor a handle on a copy with `val`, over and over again, on its main diagonal.

    It has two axes or more; those of more than two have one size. `wrap` begins the diagonal of a tall matrix again
    after each square, with a row between them.

    >>> x = tfr.zeros((2, 2), int)
    >>> tfr.fill_diagonal(x, 5)
    >>> x.tolist()
    [[5, 0], [0, 5]]
    """
    if not isinstance(a, Tensor):
        _written(np.fill_diagonal, a, val, wrap)
        return
    shape = a.shape
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise ShapeError(f"fill_diagonal: takes a matrix, or axes of one size, got shape {shape}")
    if len(shape) == 2:
        step = shape[1] + 1
        end = a.size if flag("fill_diagonal", "wrap", wrap) else min(shape[1] * shape[1], a.size)
    else:
        step = 1 + sum(shape[0] ** power for power in range(1, len(shape)))
        end = a.size
    flat = flattened(operand(a))
    if (type(val) is int and a.dtype not in BOOL) or (type(val) is float and a.dtype in FLOAT):
        flat[:end:step] = val  # the usual call: there is nothing to repeat, and nothing to convert
    else:
        values = flattened(cast_into(val, a.dtype))
        if not values.size:
            return
        flat[:end:step] = cycled(values, len(range(0, end, step)))
    a._rebind(reshaped(flat, shape).node)


@exact_in_place(np.put_along_axis)
def put_along_axis(
    arr: Tensor, indices: ArrayLike, values: ArrayLike, axis: int | None = -1
) -> None:
    """Make `arr` a handle on a copy with `values` at the positions that `take_along_axis` would read.

    No other tensor changes. The values broadcast to the indices. DTypeError if their dtype is of a higher kind.

    >>> x = tfr.asarray([[3, 1], [2, 5]])
    >>> tfr.put_along_axis(x, tfr.asarray([[1], [0]]), 0, axis=1)
    >>> x.tolist()
    [[3, 0], [0, 5]]
    """
    if not isinstance(arr, Tensor):
        raise DTypeError(
            f"put_along_axis: changes a Tensor, got {type(arr).__name__}",
            suggestions=("tfr.asarray(arr) first",),
        )
    if axis is None:
        flat = flattened(operand(arr))
        flat[operand(indices)] = values
        arr._rebind(reshaped(flat, arr.shape).node)
        return
    axis = normalize_axis("put_along_axis", axis, arr.ndim)
    index = indices_along("put_along_axis", indices, axis, arr)
    need_line("put_along_axis", arr, index)
    shape = broadcast(
        "put_along_axis", arr.shape[:axis] + (1,) + arr.shape[axis + 1 :], index.shape
    )
    key: list[Any] = [
        np.arange(size).reshape((-1,) + (1,) * (arr.ndim - 1 - number))
        for number, size in enumerate(shape)
    ]
    key[axis] = index
    arr[tuple(key)] = values
