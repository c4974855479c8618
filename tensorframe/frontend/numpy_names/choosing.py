"""Choosing: elements of several tensors by conditions, and NumPy's functions that write where a condition holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tensorframe.dtypes import BOOL, FLOAT, INTEGER, as_dtype
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike, ShapeLike
from tensorframe.frontend.casting import Casting, raise_unless_allowed
from tensorframe.frontend.dispatch import apply, handle_on
from tensorframe.frontend.exact_functions import exact, exact_in_place
from tensorframe.frontend.indexing.items import as_values
from tensorframe.frontend.indexing.searching import nonzero, take, take_along_axis, within
from tensorframe.frontend.manipulation.joining import concat, stack
from tensorframe.frontend.manipulation.views import broadcast_to, ravel
from tensorframe.frontend.operands import (
    cast_into,
    converted,
    expanded,
    filled,
    flattened,
    operand,
    promoted,
    reshaped,
)
from tensorframe.frontend.outputs import Output, delivered
from tensorframe.frontend.parameters import choice, flag, is_number, items
from tensorframe.frontend.protocols.ufuncs import written_to
from tensorframe.frontend.reductions.scans import cumulative_sum
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import as_shape, broadcast
from tensorframe.ops.elementwise import REMAINDER, WHERE

__all__ = [
    "choose",
    "compress",
    "copyto",
    "extract",
    "fill_diagonal",
    "piecewise",
    "place",
    "put",
    "putmask",
    "resize",
    "select",
]


def _conditions(name: str, value: Any) -> list[Tensor]:
    conditions = [operand(condition) for condition in items(name, "condlist", value)]
    for condition in conditions:
        if condition.dtype not in BOOL:
            raise DTypeError(f"{name}: conditions are bools, got {condition.dtype}")
    return conditions


def select(condlist: ArrayLike, choicelist: ArrayLike, default: ArrayLike = 0) -> Tensor:
    """Elements of the first of several tensors whose condition is true, of `default` where none is.

    >>> x = tfr.arange(5)
    >>> tfr.select([x < 2, x > 3], [x, x * 10], -1).tolist()
    [0, 1, -1, -1, 40]
    """
    conditions = _conditions("select", condlist)
    choices = items("select", "choicelist", choicelist)
    if len(conditions) != len(choices) or not choices:
        raise ArgumentError(f"select: {len(conditions)} conditions for {len(choices)} choices")
    *tensors, result = promoted(*choices, default)
    shape = broadcast("select", *[tensor.shape for tensor in (*conditions, *tensors)])
    for condition, tensor in zip(conditions[::-1], tensors[::-1], strict=True):
        result = apply(WHERE, condition, tensor, result)
    return result if result.shape == shape else broadcast_to(result, shape)


def piecewise(x: ArrayLike, condlist: ArrayLike, funclist: Any, *args: Any, **kw: Any) -> Tensor:
    """Values of the function (or the number) that belongs to the last condition that is true, in the dtype of `x`.

    One function more than conditions is for where none is true, which gives 0 otherwise. Functions are called with
    all of `x`: what they give elsewhere does not count.

    >>> x = tfr.asarray([-2.0, 0.5, 3.0])
    >>> tfr.piecewise(x, [x < 0, x > 1], [lambda v: -v, 1]).tolist()
    [2.0, 0.0, 1.0]
    """
    tensor = operand(x)
    if is_number(condlist) or isinstance(condlist, Tensor | np.ndarray):
        single = operand(condlist)
        condlist = [single] if single.ndim == tensor.ndim or not single.ndim else condlist
    elif tensor.ndim and isinstance(condlist, list | tuple) and condlist and is_number(condlist[0]):
        condlist = [condlist]
    conditions = _conditions("piecewise", condlist)
    functions = items("piecewise", "funclist", funclist)
    if len(functions) not in (len(conditions), len(conditions) + 1):
        raise ArgumentError(
            f"piecewise: {len(functions)} functions for {len(conditions)} conditions",
            suggestions=("one for each condition, and one more for the rest",),
        )
    values = [
        function(tensor, *args, **kw) if callable(function) else function for function in functions
    ]
    rest = values[len(conditions)] if len(values) > len(conditions) else 0
    result = expanded(cast_into(rest, tensor.dtype), tensor.shape)
    for condition, value in zip(conditions, values, strict=False):
        result = apply(WHERE, condition, cast_into(value, tensor.dtype), result)
    return result


@exact(np.choose, 2)
def choose(
    a: ArrayLike,
    choices: ArrayLike,
    out: Output = None,
    mode: Literal["raise", "wrap", "clip"] = "raise",
) -> Tensor:
    """Elements of the tensor among `choices` whose number stands in `a`; all of them broadcast.

    `mode` says what becomes of a number that is out of bounds, as in `take`.

    >>> tfr.choose(tfr.asarray([1, 0, 1]), [tfr.asarray([1, 2, 3]), tfr.asarray([10, 20, 30])]).tolist()
    [10, 2, 30]
    """
    index = operand(a)
    if index.dtype not in INTEGER | BOOL:
        raise DTypeError(f"choose: a is made of integers, got {index.dtype}")
    given = (
        list(operand(choices))
        if isinstance(choices, Tensor | np.ndarray)
        else items("choose", "choices", choices)
    )
    if not given:
        raise ArgumentError("choose: takes one choice at least")
    tensors = promoted(*given)
    index = converted(index, as_dtype("int64")) if index.dtype in BOOL else index
    if mode != "raise":
        index = within(
            choice("choose", "mode", mode, ("raise", "wrap", "clip")), index, len(tensors)
        )
    shape = broadcast("choose", index.shape, *[tensor.shape for tensor in tensors])
    stacked = stack([expanded(tensor, shape) for tensor in tensors])
    chosen = take_along_axis(stacked, reshaped(expanded(index, shape), (1, *shape)), 0)
    return delivered("choose", reshaped(chosen, shape), out)


@exact(np.compress, 3)
def compress(
    condition: ArrayLike, a: ArrayLike, axis: int | None = None, out: Output = None
) -> Tensor:
    """The parts of `a` along `axis` (elements, if None) where a vector of conditions is true. Computes the condition.

    >>> tfr.compress([False, True], tfr.asarray([[1, 2], [3, 4]]), axis=0).tolist()
    [[3, 4]]
    """
    wanted = operand(condition)
    if wanted.ndim != 1:
        raise ShapeError(f"compress: takes a vector of conditions, got shape {wanted.shape}")
    (places,) = nonzero(wanted)
    return take(a, places, axis=axis, out=out)


@exact(np.extract, 2)
def extract(condition: ArrayLike, arr: ArrayLike) -> Tensor:
    """The elements where a condition is true, in C order. Computes the condition.

    >>> tfr.extract(tfr.asarray([[True, False], [False, True]]), tfr.asarray([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    return compress(ravel(condition), ravel(arr))


@exact(np.resize, 2)
def resize(a: ArrayLike, new_shape: ShapeLike) -> Tensor:
    """A tensor of another shape, filled by the elements in C order, over and over again.

    >>> tfr.resize(tfr.asarray([1, 2, 3]), (2, 4)).tolist()
    [[1, 2, 3, 1], [2, 3, 1, 2]]
    """
    sizes = as_shape(new_shape)
    return reshaped(_cycled(flattened(operand(a)), int(np.prod(sizes))), sizes)


def _cycled(values: Tensor, size: int) -> Tensor:
    """Return `size` elements of a vector, from the first on, which begins again after the last."""
    if not values.size:
        return filled((size,), 0, values.dtype, values.device)
    turns = -(-size // values.size)
    return (concat([values] * turns) if turns > 1 else values)[:size]


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
    if broadcast("copyto", source.shape, dst.shape, chosen.shape) != dst.shape:
        raise ShapeError(f"copyto: shape {source.shape} does not fit {dst.shape}")
    values = cast_into(src, dst.dtype)
    result = expanded(values, dst.shape) if where is True else apply(WHERE, chosen, values, dst)
    dst._rebind(result.to_device(dst.device).node)


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


@exact_in_place(np.put)
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
    if choice("put", "mode", mode, ("raise", "wrap", "clip")) != "raise":
        index = within(mode, index, a.size)
    values = flattened(handle_on(as_values(v, a.node)))
    if not index.size or not values.size:
        return
    flat = flattened(operand(a))
    flat[index] = _cycled(values, index.size)
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
        size = len(range(0, end, step))
        flat[:end:step] = _cycled(flattened(cast_into(val, a.dtype)), size)
    a._rebind(reshaped(flat, shape).node)
