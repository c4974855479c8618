"""Choosing: elements of several tensors by conditions, numbers and places."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tensorframe.dtypes import BOOL, INTEGER, as_dtype
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike, ShapeLike
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.fast_paths.exact_functions import exact
from tensorframe.frontend.indexing.searching import nonzero, take, take_along_axis, within
from tensorframe.frontend.manipulation.joining import stack
from tensorframe.frontend.manipulation.views import broadcast_to, part_of, ravel
from tensorframe.frontend.operands import (
    cast_into,
    converted,
    expanded,
    filled,
    flattened,
    operand,
    promoted,
    reshaped,
    with_axes,
)
from tensorframe.frontend.outputs import Output, delivered
from tensorframe.frontend.parameters import choice, is_number, items
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import as_shape, broadcast
from tensorframe.ops.elementwise import WHERE

__all__ = ["choose", "compress", "extract", "piecewise", "resize", "select"]


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
    return reshaped(cycled(flattened(operand(a)), int(np.prod(sizes))), sizes)


def cycled(values: Tensor, size: int) -> Tensor:
    """Return `size` elements of a vector, from the first on, which begins again after the last."""
    if not values.size:
        return filled((size,), 0, values.dtype, values.device)
    turns = -(-size // values.size)
    if values.size == 1:
        return expanded(values, (size,))
    if turns > 1:
        values = flattened(expanded(with_axes(values, 2), (turns, values.size)))
    return part_of(values, 0, 0, size)
