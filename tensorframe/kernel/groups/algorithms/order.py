"""Order: elements as unsigned integers that sort as they do, NaN behind all others whichever way."""

from __future__ import annotations

from tensorframe.dtypes import FLOAT, FORMAT, DType, bool_, int32, uint32, uint64, wide_of
from tensorframe.kernel.ir import Expr, literal
from tensorframe.kernel.ir.formula import bitcast, cast, equal, where
from tensorframe.kernel.math.scalars import converted


def key_dtype(dtype: DType) -> DType:
    """Return the dtype of the keys of elements."""
    return uint64 if dtype.itemsize == 8 else uint32


def last_key(dtype: DType) -> Expr:
    """Return the key that nothing comes after."""
    keys = key_dtype(dtype)
    return literal(2 ** (8 * keys.itemsize) - 1, keys)


def key_of(x: Expr, *, descending: bool, one_zero: bool) -> Expr:
    """Return the key of an element; with `one_zero` zeros of either sign have the same."""
    dtype = x.dtype
    keys = key_dtype(dtype)
    sign = 1 << (8 * keys.itemsize - 1)
    if dtype not in FLOAT:
        wide = dtype if dtype.itemsize == keys.itemsize else int32 if dtype.kind == "i" else uint32
        bits = bitcast(converted(x, wide), keys)
        key = bits ^ sign if dtype.kind == "i" else bits
        return ~key if descending else key
    bits = bitcast(converted(x, wide_of(dtype)), keys)
    size = bits & (sign - 1)
    if one_zero:
        bits = where(equal(size, 0), 0, bits)
    key = where(bits >= sign, ~bits, bits | sign)
    return where(
        size > FORMAT[wide_of(dtype)].infinity, last_key(dtype), ~key if descending else key
    )


def element_of(key: Expr, dtype: DType, *, descending: bool) -> Expr:
    """Return the element that has a key."""
    if descending:
        key = ~key
    sign = 1 << (8 * key.dtype.itemsize - 1)
    if dtype in FLOAT:
        bits = where(key >= sign, key ^ sign, ~key)
        return cast(bitcast(bits, wide_of(dtype)), dtype)
    if dtype == bool_:
        return converted(key, bool_)
    if dtype.kind == "u":
        return cast(key, dtype)
    signed = bitcast(key ^ sign, dtype if dtype.itemsize == 8 else int32)
    return cast(signed, dtype)
