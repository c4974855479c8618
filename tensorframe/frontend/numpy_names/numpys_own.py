"""NumPy's names for what tensors are not: text, dates, records, masked arrays, matrices, and its machinery.

They are NumPy's own classes and functions, and give its arrays and scalars. Its functions among them take tensors, as
all functions of NumPy do, and give tensors where the result holds numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tensorframe.dtypes import DTypeLike
from tensorframe.errors import ArgumentError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.convert import asarray
from tensorframe.frontend.dtypes.casting import Casting
from tensorframe.frontend.manipulation.joining import vstack
from tensorframe.frontend.tensor import Tensor

ScalarType = np.ScalarType
asmatrix = np.asmatrix
bmat = np.bmat
broadcast = np.broadcast
busday_count = np.busday_count
busday_offset = np.busday_offset
busdaycalendar = np.busdaycalendar
bytes_ = np.bytes_
character = np.character
clongdouble = np.clongdouble
common_type = np.common_type
datetime64 = np.datetime64
datetime_as_string = np.datetime_as_string
datetime_data = np.datetime_data
flatiter = np.flatiter
flexible = np.flexible
frompyfunc = np.frompyfunc
fromregex = np.fromregex
get_include = np.get_include
getbufsize = np.getbufsize
geterrcall = np.geterrcall
info = np.info
is_busday = np.is_busday
isfortran = np.isfortran
isnat = np.isnat
little_endian = np.little_endian
longdouble = np.longdouble
matrix = np.matrix
may_share_memory = np.may_share_memory
memmap = np.memmap
min_scalar_type = np.min_scalar_type
mintypecode = np.mintypecode
nditer = np.nditer
nested_iters = np.nested_iters
object_ = np.object_
recarray = np.recarray
record = np.record
sctypeDict = np.sctypeDict  # noqa: N816 - NumPy's name
setbufsize = np.setbufsize
seterrcall = np.seterrcall
shares_memory = np.shares_memory
show_config = np.show_config
show_runtime = np.show_runtime
str_ = np.str_
timedelta64 = np.timedelta64
typecodes = np.typecodes
ufunc = np.ufunc
void = np.void


# what a requirement may be called; a tensor has all of them but one
_REQUIREMENTS = {
    *("A", "ALIGNED", "C", "CONTIGUOUS", "C_CONTIGUOUS", "E", "ENSUREARRAY", "O", "OWNDATA"),
    *("F", "FORTRAN", "F_CONTIGUOUS"),
}


def require(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    requirements: str | Sequence[str] | None = None,
    *,
    like: ArrayLike | None = None,
) -> Tensor:
    """Return `a` as a tensor, which has all that NumPy can require of memory but that others write to it.

    ArgumentError for `"W"`: nobody writes to a tensor's memory from outside.

    >>> tfr.require([1, 2], "float32", ["C", "A"]).dtype
    dtype('float32')
    """
    names = [requirements] if isinstance(requirements, str) else requirements or ()
    for name in names:
        if str(name).upper() not in _REQUIREMENTS:
            raise ArgumentError(
                f"require: {name!r} is nothing that a tensor can be",
                suggestions=("x.numpy(copy=True), an array of your own to write to",),
            )
    return asarray(a, dtype, like=like)


def row_stack(
    tup: Iterable[ArrayLike], *, dtype: DTypeLike | None = None, casting: Casting = "same_kind"
) -> Tensor:
    """Join tensors along the first axis, vectors as rows: NumPy's older name of `vstack`.

    >>> tfr.row_stack([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    return vstack(tup, dtype=dtype, casting=casting)


__all__ = [
    "ScalarType",
    "asmatrix",
    "bmat",
    "broadcast",
    "busday_count",
    "busday_offset",
    "busdaycalendar",
    "bytes_",
    "character",
    "clongdouble",
    "common_type",
    "datetime64",
    "datetime_as_string",
    "datetime_data",
    "flatiter",
    "flexible",
    "frompyfunc",
    "fromregex",
    "get_include",
    "getbufsize",
    "geterrcall",
    "info",
    "is_busday",
    "isfortran",
    "isnat",
    "little_endian",
    "longdouble",
    "matrix",
    "may_share_memory",
    "memmap",
    "min_scalar_type",
    "mintypecode",
    "nditer",
    "nested_iters",
    "object_",
    "recarray",
    "record",
    "require",
    "row_stack",
    "sctypeDict",
    "setbufsize",
    "seterrcall",
    "shares_memory",
    "show_config",
    "show_runtime",
    "str_",
    "timedelta64",
    "typecodes",
    "ufunc",
    "void",
]
