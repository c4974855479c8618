"""NumPy's own names that mean the same for tensors: types, settings, text, and what is asked of shapes and dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorframe.errors import ArgumentError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.operands import operand
from tensorframe.frontend.protocols.ufuncs import through_numpy
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import normalize_axes

# what `isinstance(x, np.ndarray)` asks for in a program that was written for NumPy
ndarray = Tensor
dtype = np.dtype
generic = np.generic
number = np.number
integer = np.integer
signedinteger = np.signedinteger
unsignedinteger = np.unsignedinteger
inexact = np.inexact
floating = np.floating
complexfloating = np.complexfloating
byte = np.byte
ubyte = np.ubyte
short = np.short
ushort = np.ushort
intc = np.intc
uintc = np.uintc
int_ = np.int_
uint = np.uint
intp = np.intp
uintp = np.uintp
long = np.long
ulong = np.ulong
longlong = np.longlong
ulonglong = np.ulonglong
half = np.half
single = np.single
double = np.double
csingle = np.csingle
cdouble = np.cdouble

euler_gamma = np.euler_gamma
True_ = np.True_
False_ = np.False_
s_ = np.s_
index_exp = np.index_exp
exceptions = np.exceptions
ndindex = np.ndindex

base_repr = np.base_repr
binary_repr = np.binary_repr
errstate = np.errstate
format_float_positional = np.format_float_positional
format_float_scientific = np.format_float_scientific
get_printoptions = np.get_printoptions
geterr = np.geterr
isscalar = np.isscalar
issubdtype = np.issubdtype
iterable = np.iterable
printoptions = np.printoptions
set_printoptions = np.set_printoptions
seterr = np.seterr
typename = np.typename

__all__ = [
    "False_",
    "True_",
    "array2string",
    "array_repr",
    "array_str",
    "base_repr",
    "binary_repr",
    "byte",
    "cdouble",
    "complexfloating",
    "csingle",
    "double",
    "dtype",
    "errstate",
    "euler_gamma",
    "exceptions",
    "floating",
    "format_float_positional",
    "format_float_scientific",
    "generic",
    "get_printoptions",
    "geterr",
    "half",
    "index_exp",
    "inexact",
    "int_",
    "intc",
    "integer",
    "intp",
    "isscalar",
    "issubdtype",
    "iterable",
    "long",
    "longlong",
    "ndarray",
    "ndim",
    "ndindex",
    "number",
    "printoptions",
    "s_",
    "set_printoptions",
    "seterr",
    "shape",
    "short",
    "signedinteger",
    "single",
    "size",
    "typename",
    "ubyte",
    "uint",
    "uintc",
    "uintp",
    "ulong",
    "ulonglong",
    "unsignedinteger",
    "ushort",
    "vectorize",
]


def shape(a: ArrayLike) -> tuple[int, ...]:
    """The size of each axis of a tensor, or of what `asarray` makes of an object.

    >>> tfr.shape([[1, 2, 3]])
    (1, 3)
    """
    return operand(a).shape


def ndim(a: ArrayLike) -> int:
    """The number of axes of a tensor, or of what `asarray` makes of an object.

    >>> tfr.ndim([[1, 2, 3]])
    2
    """
    return operand(a).ndim


def size(a: ArrayLike, axis: int | Sequence[int] | None = None) -> int:
    """The number of elements, along `axis` if one is named.

    The shape says it: a Python integer (an axis may be negative), without computing anything.

    >>> tfr.size([[1, 2, 3]]), tfr.size([[1, 2, 3]], 1)
    (3, 3)
    """
    tensor = operand(a)
    result = 1
    for dimension in normalize_axes("size", axis, tensor.ndim):
        result *= tensor.shape[dimension]
    return result


def array_repr(
    arr: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The text that `repr` gives, with NumPy's options if there are any. Computes the elements.

    >>> tfr.array_repr(np.asarray([1, 2]))
    'array([1, 2])'
    """
    return _text("array_repr", np.array_repr, arr, max_line_width, precision, suppress_small)


def array_str(
    a: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The text that `str` gives, with NumPy's options if there are any. Computes the elements.

    >>> tfr.array_str(tfr.asarray([1.0, 2.0]), precision=2)
    '[1. 2.]'
    """
    return _text("array_str", np.array_str, a, max_line_width, precision, suppress_small)


def _text(name: str, function: Any, value: Any, *options: Any) -> str:
    if isinstance(value, Tensor) and all(option is None for option in options):
        return repr(value) if name == "array_repr" else str(value)
    try:
        return str(function(np.asarray(operand(value)), *options))
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name}: {error}") from error


def array2string(a: ArrayLike, *args: Any, **options: Any) -> str:
    """The elements as text, with the options of NumPy's function of this name. Computes the elements.

    >>> tfr.array2string(tfr.asarray([1.5, 2.25]), separator=", ")
    '[1.5 , 2.25]'
    """
    try:
        return np.array2string(np.asarray(operand(a)), *args, **options)
    except (TypeError, ValueError, AttributeError) as error:
        raise ArgumentError(f"array2string: {error}") from error


class vectorize(np.vectorize):  # noqa: N801 - NumPy's name
    """A function of numbers called for each element, by Python: NumPy's class, giving tensors.

    `elementwise` calls a function once, and makes it one operation.

    >>> tfr.vectorize(lambda a, b: max(a, b) - 1)(tfr.asarray([1, 5]), 3).tolist()
    [2, 4]
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the function gives for each element."""
        return through_numpy(super().__call__, args, kwargs)
