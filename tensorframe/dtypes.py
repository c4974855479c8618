"""Data types: NumPy dtype objects, their categories, and promotion as data."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final, Literal

import numpy as np

from tensorframe.errors import DTypeError, OutOfRangeError
from tensorframe.formats import FORMATS, Format

DType = np.dtype[Any]
# what names a dtype: checkers and editors know the names, and NumPy's short ones in any byte order
DTypeName = Literal[
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bfloat16", "float16",
    "float32", "float64", "complex64", "complex128", "int", "uint", "float", "complex", "single", "double", "half",
    "intp", "uintp", "long", "longlong", "?", "b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "e", "f", "d", "F", "D",
    "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16",
    "<i2", "<i4", "<i8", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16",
    ">i2", ">i4", ">i8", ">u2", ">u4", ">u8", ">f2", ">f4", ">f8", ">c8", ">c16",
]  # fmt: skip
DTypeLike = DTypeName | DType | type[Any]

# how each dtype is stored, computed and converted; all that follows is made of these
FORMAT: Final[dict[DType, Format]] = {entry.dtype: entry for entry in FORMATS}

BY_NAME: Final[dict[str, DType]] = {
    dtype.name: dtype for dtype in sorted(FORMAT, key=lambda dtype: (dtype.kind, dtype.itemsize))
}

bool_: Final[DType] = BY_NAME["bool"]
int8: Final[DType] = BY_NAME["int8"]
int16: Final[DType] = BY_NAME["int16"]
int32: Final[DType] = BY_NAME["int32"]
int64: Final[DType] = BY_NAME["int64"]
uint8: Final[DType] = BY_NAME["uint8"]
uint16: Final[DType] = BY_NAME["uint16"]
uint32: Final[DType] = BY_NAME["uint32"]
uint64: Final[DType] = BY_NAME["uint64"]
float16: Final[DType] = BY_NAME["float16"]
SCALE: Final[DType] = float16  # of quantised matrices, where a device has it
bfloat16: Final[DType] = BY_NAME["bfloat16"]
float32: Final[DType] = BY_NAME["float32"]
float64: Final[DType] = BY_NAME["float64"]
complex64: Final[DType] = BY_NAME["complex64"]
complex128: Final[DType] = BY_NAME["complex128"]


def _of_kind(kind: str) -> frozenset[DType]:
    return frozenset([dtype for dtype, how in FORMAT.items() if how.kind == kind])


BOOL: Final = _of_kind("bool")
SIGNED: Final = _of_kind("signed")
UNSIGNED: Final = _of_kind("unsigned")
INTEGER: Final = SIGNED | UNSIGNED
FLOAT: Final = _of_kind("float")
COMPLEX: Final = _of_kind("complex")
FLOATING: Final = FLOAT | COMPLEX
REAL: Final = INTEGER | FLOAT
NUMERIC: Final = REAL | COMPLEX
BITWISE: Final = BOOL | INTEGER
ANY: Final = BOOL | NUMERIC

_WIDE: Final = {dtype: BY_NAME[how.wide] for dtype, how in FORMAT.items() if how.wide}
# what exists in memory only: computed in a wider dtype, and rounded after every op
NARROW: Final = frozenset(_WIDE)
# what products read as it is, whatever they are summed in: elements of one byte, and those of half precision
SMALL: Final = NARROW | frozenset([dtype for dtype in INTEGER if dtype.itemsize == 1])
# what other libraries add to NumPy, which stores it and computes with it, but sorts and prints nothing of it
ADDED: Final = frozenset([dtype for dtype in FORMAT if dtype.isbuiltin != 1])

# one object per dtype, so that `is` compares them; byte order is part of equality, names are not looked up
_EXACT: Final[dict[DType, DType]] = {dtype: dtype for dtype in ANY}

# smallest and largest value of the integer dtypes
LIMITS: Final = {dtype: (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)) for dtype in INTEGER}

# Each dtype's scalar type, and from which absolute value to which it takes a number without a warning of NumPy's: all
# that fit where there are no fractions, normal numbers of real dtypes, none of complex ones.
_SCALARS: Final = {
    **{dtype: (dtype.type, 0.0, math.inf) for dtype in BITWISE},
    **{dtype: (dtype.type, FORMAT[dtype].normal, FORMAT[dtype].largest) for dtype in FLOAT},
    **{dtype: (dtype.type, math.inf, 0.0) for dtype in COMPLEX},
}

# What each set is called in error messages.
CATEGORY_NAMES: Final = {
    BOOL: "bool",
    INTEGER: "integer",
    FLOAT: "real floating",
    COMPLEX: "complex floating",
    FLOATING: "floating",
    REAL: "real numeric",
    BOOL | REAL: "real numeric or bool",
    NUMERIC: "numeric",
    BITWISE: "integer or bool",
    ANY: "any",
}

_REAL_OF: Final = {dtype: BY_NAME[FORMAT[dtype].part] for dtype in COMPLEX}
_COMPLEX_OF: Final = {
    dtype: complex64 if FORMAT[dtype].fraction <= FORMAT[float32].fraction else complex128
    for dtype in FLOAT
}


def as_dtype(dtype: Any) -> DType:
    """Return the dtype object for `dtype`: one of ours, a NumPy dtype or scalar type, a name, or a class of Python's.

    `bool`, `int`, `float` and `complex` name bool, int64, float64 and complex128, whatever Python's numbers become.

    >>> tfr.dtypes.as_dtype("float32") is tfr.dtypes.float32
    True
    >>> tfr.dtypes.as_dtype(float)
    dtype('float64')
    """
    if isinstance(dtype, np.dtype) and dtype in _EXACT:
        return _EXACT[dtype]
    # ml_dtypes adds its dtypes to NumPy, but not under the names that users type
    if isinstance(dtype, str) and dtype in BY_NAME:
        return BY_NAME[dtype]
    if isinstance(dtype, type):  # NumPy takes ten times as long to say what it names
        return _of_class(dtype)
    if dtype is None:
        raise DTypeError("a dtype is needed, got None")
    return _told_by_numpy(dtype)


def _told_by_numpy(dtype: Any) -> DType:
    try:
        native = np.dtype(dtype).newbyteorder("=")
    except (TypeError, ValueError, SyntaxError) as error:
        raise DTypeError(f"{dtype!r} is not a dtype", suggestions=_names_hint()) from error
    if native not in ANY:
        raise DTypeError(f"tensorframe has no dtype {native}", suggestions=_conversions(native))
    return BY_NAME[native.name]


_of_class = lru_cache(128)(_told_by_numpy)


# What turns arrays of a kind that tensors do not have into numbers.
_CONVERSIONS: Final = {
    "O": "array.astype('float64'), if its elements are numbers",
    "M": "array.astype('int64'), which counts its units since 1970",
    "m": "array.astype('int64'), which counts its units",
    "f": "array.astype('float64')",
    "c": "array.astype('complex128')",
}


def _conversions(native: np.dtype[Any]) -> tuple[str, ...]:
    if native.names:
        return (f"array[{native.names[0]!r}], and likewise each field of numbers",)
    known = _CONVERSIONS.get(native.kind)
    return _names_hint() if known is None else (known, *_names_hint())


def _names_hint() -> tuple[str, ...]:
    return ("one of " + ", ".join(BY_NAME),)


class _Defaults:
    """The dtypes that Python numbers take when nothing else decides."""

    real: DType = float32


def default_float() -> DType:
    """Return the dtype of new real floating tensors: float32 unless `set_default_dtype` changed it."""
    return _Defaults.real


def default_complex() -> DType:
    """Return the complex dtype of the default precision."""
    return _COMPLEX_OF[_Defaults.real]


def default_int() -> DType:
    """Return the dtype of new integer tensors: int64."""
    return int64


def set_default_dtype(dtype: DTypeLike | None) -> None:
    """Set the dtype that Python floats become: a real floating dtype.

    Functions that are given no `dtype`, such as `zeros` and `linspace`, use it from then on, in all
    threads.

    >>> tfr.set_default_dtype("float64")
    >>> tfr.asarray([1.5]).dtype
    dtype('float64')
    >>> tfr.set_default_dtype("float32")
    """
    default = as_dtype(dtype)
    if default not in FLOAT:
        raise DTypeError(f"the default dtype must be real floating, got {default}")
    _Defaults.real = default


def get_default_dtype() -> DType:
    """Return the dtype that Python floats become.

    Float32, unless `set_default_dtype` or the options say otherwise; functions without a `dtype`
    use it.

    >>> tfr.get_default_dtype() == tfr.asarray([1.5, 2.5]).dtype
    True
    """
    return _Defaults.real


def real_of(dtype: DType) -> DType:
    """Return the dtype of the real part: itself unless complex."""
    return _REAL_OF.get(dtype, dtype)


def complex_of(dtype: DType) -> DType:
    """Return the complex dtype whose parts hold `dtype`; integers take the default precision."""
    if dtype in COMPLEX:
        return dtype
    return _COMPLEX_OF.get(dtype) or default_complex()


def wide_of(dtype: DType) -> DType:
    """Return the dtype that values are computed in: itself unless it is narrow."""
    return _WIDE.get(dtype, dtype)


def float_of(dtype: DType) -> DType:
    """Return `dtype` if floating, else the default real dtype: what `sin` of an integer gives."""
    return dtype if dtype in FLOATING else _Defaults.real


def _promote(first: DType, second: DType) -> DType:
    """One cell of the promotion table.

    The Array API standard's table, and where it is silent: an integer or bool takes the floating operand's dtype
    (as in PyTorch and JAX: float32 data stay float32 when indices join in); floating ones take the least that holds
    both, so float16 with bfloat16 is float32; uint64 with a signed integer is float64, as in NumPy.
    """
    if first == second:
        return first
    for wide, other in ((first, second), (second, first)):
        if wide in FLOATING and other in BITWISE:
            return wide
    if {first, second} <= FLOAT:
        return _least_above(first, second)
    if {first, second} <= FLOATING:
        return _COMPLEX_OF[_least_above(real_of(first), real_of(second))]
    return BY_NAME[np.promote_types(first, second).name]


def _least_above(first: DType, second: DType) -> DType:
    """Return the smallest floating dtype that holds every number of both."""
    both = FORMAT[first], FORMAT[second]
    exponent, fraction = max(form.exponent for form in both), max(form.fraction for form in both)
    holding = [
        dtype
        for dtype in FLOAT
        if FORMAT[dtype].exponent >= exponent and FORMAT[dtype].fraction >= fraction
    ]
    return min(holding, key=lambda dtype: (dtype.itemsize, FORMAT[dtype].exponent))


PROMOTION: Final[dict[tuple[DType, DType], DType]] = {
    (first, second): _promote(first, second) for first in ANY for second in ANY
}


def promote(*dtypes: DType) -> DType:
    """Return the dtype that operands of these dtypes are computed in.

    >>> tfr.dtypes.promote(tfr.dtypes.int32, tfr.dtypes.float32)
    dtype('float32')
    """
    result = dtypes[0]
    for dtype in dtypes[1:]:
        result = PROMOTION[result, dtype]
    return result


def weak(value: complex, dtype: DType) -> DType:
    """Return the dtype of the Python number `value` beside a tensor of `dtype`: the tensor's, if its kind can hold it.

    Source: the Array API standard's "mixing arrays with Python scalars", and NEP 50.
    """
    if isinstance(value, bool) or (isinstance(value, int) and dtype not in BOOL):
        return dtype
    if isinstance(value, int):
        return default_int()
    if isinstance(value, float):
        return float_of(dtype)
    return complex_of(dtype)


def of_scalar(value: complex) -> DType:
    """Return the dtype of a tensor made of the Python number `value` alone."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return default_int() if -(2**63) <= value < 2**63 else uint64
    return default_float() if isinstance(value, float) else default_complex()


def check_fits(
    value: complex, dtype: DType, remedy: str = "x.astype(tfr.{}) before combining them"
) -> None:
    """Raise OutOfRangeError if the Python integer `value` is outside the range of the integer `dtype`.

    `remedy` is what to try, with a place for the name of a dtype that holds the number and all that `dtype` holds.
    """
    if dtype in LIMITS:
        low, high = LIMITS[dtype]
        if not low <= value.real <= high:
            message = f"the Python integer {value} is outside the range of {dtype}"
            wider = _least_integer(min(low, int(value.real)), max(high, int(value.real)))
            hint = remedy.format(wider or float64)
            if wider is None:
                hint += ": no integer dtype holds both, and float64 rounds beyond 2**53"
            raise OutOfRangeError(message, suggestions=(hint,))


def _least_integer(low: int, high: int) -> DType | None:
    """Return the smallest integer dtype that holds `low` to `high`, unsigned rather than signed; None if none does."""
    holding = [dtype for dtype in LIMITS if LIMITS[dtype][0] <= low and high <= LIMITS[dtype][1]]
    return min(holding, key=lambda dtype: (dtype.itemsize, dtype.kind != "u"), default=None)


# sizes of numbers that every dtype of their kind holds, beside NaN
_WHATEVER_THE_DTYPE = (0, math.inf)


def as_scalar(value: complex, dtype: DType) -> np.generic:
    """Return a Python number as NumPy holds it in `dtype`; what is too large for a floating one becomes infinite."""
    kind, smallest, largest = _SCALARS[dtype]
    size = abs(value)
    if smallest <= size <= largest or size in _WHATEVER_THE_DTYPE or math.isnan(size):
        return kind(value)  # type: ignore[no-any-return]
    # saying not to warn takes longer than the rest
    with np.errstate(all="ignore"):
        return kind(value)  # type: ignore[no-any-return]


def category_name(accepted: frozenset[DType]) -> str:
    """Return the name of a set of dtypes for messages."""
    known = CATEGORY_NAMES.get(accepted)
    return known or ", ".join(sorted(dtype.name for dtype in accepted))
