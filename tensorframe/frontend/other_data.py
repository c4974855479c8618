"""Data that tensors do not hold: text, dates, records and objects stay NumPy's, and NumPy computes on them.

A program for NumPy has a few arrays of words or records among its numbers. A function of this list that is given such
data, or a dtype of it, hands its arguments to NumPy's function of the same name: what comes back is a tensor where it
holds numbers, and an array of NumPy's where it does not. `asarray` is not among them: it makes tensors, or raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from types import FunctionType
from typing import Any, Final

import numpy as np

from tensorframe.dtypes import ANY
from tensorframe.errors import ArgumentError, DTypeError

Function = Callable[..., Any]

# functions of order, equality and position, which mean something to any data, and those that make arrays
TAKING_ANY_DATA: Final = frozenset(
    """
    arange argmax argmin argpartition argsort array array2string array_equal array_equiv array_repr array_split
    array_str asanyarray append atleast_1d atleast_2d atleast_3d block broadcast_to can_cast column_stack concat
    concatenate copy count_nonzero delete diff dot dstack empty empty_like expand_dims fill_diagonal flip
    frombuffer fromfile fromiter full full_like genfromtxt hstack insert intersect1d isin isreal isrealobj
    iscomplex iscomplexobj lexsort loadtxt max mean median meshgrid min ndim nonzero ones outer partition
    promote_types ptp ravel repeat reshape resize result_type roll savetxt searchsorted select setdiff1d setxor1d
    shape size sort split squeeze stack swapaxes sum take take_along_axis tensordot tile transpose union1d unique
    unique_all unique_counts unique_inverse unique_values vstack where zeros zeros_like
    """.split()  # noqa: SIM905 - a table reads better than a hundred quoted names
)


def taking_any_data(functions: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some public functions that users call in another form: NumPy's take over for other data.

    Names of one function, such as `max` and `amax`, stay names of one function.
    """
    known = {
        function: with_numpys(function, getattr(np, name))
        for name, function in functions.items()
        if name in TAKING_ANY_DATA
    }
    return {
        name: known[function]
        for name, function in functions.items()
        if isinstance(function, FunctionType) and function in known
    }


def with_numpys(function: Function, theirs: Function) -> Function:
    """Return a function that hands data which tensors do not hold to NumPy's; all other errors stay."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except (DTypeError, ArgumentError) as error:
            if options.get("device") is not None or not any(map(is_other, (args, options))):
                raise
            refused = error
        from tensorframe.frontend.protocols.ufuncs import through_numpy

        try:
            return through_numpy(theirs, args, options)
        except Exception:  # of any kind: NumPy has no use for them either, and our words help more
            raise refused from None

    return call


def is_other(value: Any) -> bool:
    """Whether `value` is, names or has among its parts what tensors do not hold."""
    if isinstance(value, str | bytes | np.str_ | np.bytes_):
        return True
    if isinstance(value, np.ndarray | np.generic | np.dtype):
        return hasattr(value, "mask") or getattr(value, "dtype", value) not in ANY
    if isinstance(value, list | tuple):
        return any(map(is_other, value))
    if isinstance(value, dict):
        return any(map(is_other, value.values()))
    if isinstance(value, type):
        return value in (object, str, bytes) or (
            issubclass(value, np.generic) and np.dtype(value) not in ANY
        )
    return False


__all__: list[str] = []
