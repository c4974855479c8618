"""Data types: conversion, promotion and categories."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tensorframe import dtypes
from tensorframe.dtypes import (
    BOOL,
    COMPLEX,
    FLOAT,
    INTEGER,
    NUMERIC,
    SIGNED,
    UNSIGNED,
    DType,
    DTypeLike,
    as_dtype,
)
from tensorframe.errors import ArgumentError, DTypeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.convert import (
    NUMBERS_BY_KIND,
    OnDevice,
    asarray,
    raise_unless_castable,
)
from tensorframe.frontend.dtypes.casting import CASTINGS, Casting, castable
from tensorframe.frontend.dtypes.numpy_only_dtypes import is_dtype_of_others
from tensorframe.frontend.operand_nodes import PYTHON_NUMBERS
from tensorframe.frontend.parameters import choice
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.record import cast
from tensorframe.graph.tracing import example

__all__ = ["astype", "can_cast", "isdtype", "promote_types", "result_type"]

# the standard's categories. Source: isdtype in the Array API standard
KINDS: Final[dict[str, frozenset[DType]]] = {
    "bool": BOOL,
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": INTEGER,
    "real floating": FLOAT,
    "complex floating": COMPLEX,
    "numeric": NUMERIC,
}


def astype(
    x: ArrayLike, dtype: DTypeLike, /, *, copy: bool = True, device: OnDevice = None
) -> Tensor:
    """Return the elements of `x` converted to `dtype`, and on `device` if one is named.

    Floating to integer drops the fraction; what NaN and values out of range become is not said. Complex to real raises
    DTypeError: say which part. With `copy=False` a tensor that has the dtype already is returned itself. Text and
    objects (`str`, `object`) are computed at once, as an array of NumPy's.

    >>> tfr.astype(tfr.asarray([1.7, -1.7]), tfr.int32).tolist()
    [1, -1]
    """
    tensor = asarray(x)
    try:
        target = as_dtype(dtype)
    except DTypeError:
        if device is not None or not is_dtype_of_others(dtype):
            raise
        elements: Any = tensor.numpy().astype(dtype)
        return elements  # type: ignore[no-any-return]  # of no dtype that a Tensor has
    if tensor.dtype == target:
        result = Tensor(tensor.node) if copy else tensor
    else:
        raise_unless_castable("astype", tensor.dtype, target)
        result = Tensor(cast(tensor.node, target))
    return result if device is None else asarray(result, device=device)


def dtype_of(value: Any) -> DType:
    """Return the dtype of a tensor or array, or the dtype that `value` names."""
    if isinstance(value, Tensor | np.ndarray | np.generic):
        return as_dtype(value.dtype)
    return as_dtype(value)


def result_type(*arrays_and_dtypes: ArrayLike | DTypeLike) -> DType:
    """Return the dtype that operands promote to: tensors, dtypes, and Python numbers, which are weak.

    Integers with floating dtypes take the floating one: int64 with float32 is float32.

    >>> tfr.result_type(tfr.int8, tfr.uint8)
    dtype('int16')
    >>> tfr.result_type(tfr.float32, 1.5)
    dtype('float32')
    """
    if not arrays_and_dtypes:
        raise ArgumentError("result_type: takes at least one tensor, dtype or number")
    numbers = [example(entry) for entry in arrays_and_dtypes if type(entry) in PYTHON_NUMBERS]
    strong = [dtype_of(entry) for entry in arrays_and_dtypes if type(entry) not in PYTHON_NUMBERS]
    if not strong:
        return dtypes.promote(*map(dtypes.of_scalar, numbers))
    result = dtypes.promote(*strong)
    # one number decides: the one of the largest kind
    kinds = [NUMBERS_BY_KIND.index(type(number)) for number in numbers]
    return dtypes.weak(numbers[kinds.index(max(kinds))], result) if numbers else result


def promote_types(type1: DTypeLike, type2: DTypeLike, /) -> DType:
    """Return the dtype that two dtypes promote to.

    The table of the Array API standard; kinds that it does not mix, such as int64 with float32,
    become as the page on dtypes tells.

    >>> tfr.promote_types("int32", "float32")
    dtype('float32')
    """
    return dtypes.promote(as_dtype(type1), as_dtype(type2))


def can_cast(from_: ArrayLike | DTypeLike, to: DTypeLike, casting: Casting = "safe") -> bool:
    """Whether promotion turns `from_`, a dtype or tensor, into `to`: whether `to` is what both promote to.

    That is the rule "safe"; the others are NumPy's "no" and "equiv" (only equal ones), "same_kind" and "unsafe".

    >>> tfr.can_cast(tfr.int8, tfr.int32), tfr.can_cast(tfr.float64, tfr.float32)
    (True, False)
    """
    target = as_dtype(to)
    return castable(dtype_of(from_), target, choice("can_cast", "casting", casting, CASTINGS))


def isdtype(dtype: DTypeLike, kind: DTypeLike | tuple[DTypeLike, ...]) -> bool:
    """Whether `dtype` is `kind`: another dtype, a category, or any of a tuple of these.

    Categories: "bool", "signed integer", "unsigned integer", "integral", "real floating" (with float16 and bfloat16),
    "complex floating", "numeric". ArgumentError for any other name.

    >>> tfr.isdtype(tfr.bfloat16, "real floating")
    True
    """
    checked = as_dtype(dtype)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return any(checked in _members(group) for group in kinds)


def _members(kind: Any) -> frozenset[DType]:
    if not isinstance(kind, str):
        return frozenset({as_dtype(kind)})
    if kind not in KINDS:
        raise ArgumentError(
            f"isdtype: there is no kind {kind!r}",
            suggestions=("one of " + ", ".join(map(repr, KINDS)),),
        )
    return KINDS[kind]
