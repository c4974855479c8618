"""Order: elements as unsigned integers that sort as they do, NaN behind all others whichever way.

Keys have all bits of a word. Ordinals are the same in as few bits as elements of the dtype need: a key without the bits
that no element differs in from those of its sign.
"""

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


def ordinal_bits(dtype: DType) -> int:
    """Return how many bits the ordinals of a dtype have."""
    if dtype == bool_:
        return 1
    return 8 * key_dtype(dtype).itemsize - _spare(dtype) if dtype in FLOAT else 8 * dtype.itemsize


def ordinal_of(x: Expr) -> Expr:
    """Return the ordinal of an element; zeros of either sign differ."""
    key = key_of(x, descending=False, one_zero=False)
    if x.dtype in FLOAT:
        return key >> _spare(x.dtype) if _spare(x.dtype) else key
    return key - _least(x.dtype) if _least(x.dtype) else key


def element_at(ordinal: Expr, dtype: DType) -> Expr:
    """Return the element that has an ordinal."""
    key = ordinal
    if dtype in FLOAT and _spare(dtype):
        # bits that were left out are zeros, which are ones in keys of negative numbers
        negative = ordinal < 1 << (ordinal_bits(dtype) - 1)
        key = (ordinal << _spare(dtype)) | where(
            negative, literal((1 << _spare(dtype)) - 1, ordinal.dtype), 0
        )
    elif dtype not in FLOAT and _least(dtype):
        key = ordinal + _least(dtype)
    return element_of(key, dtype, descending=False)


def _spare(dtype: DType) -> int:
    """Return how many bits of the fraction that a float is computed with it does not have."""
    return FORMAT[wide_of(dtype)].fraction - FORMAT[dtype].fraction


def _least(dtype: DType) -> int:
    """Return the key of the smallest integer."""
    if dtype.kind != "i":
        return 0
    return (1 << (8 * key_dtype(dtype).itemsize - 1)) - (1 << (8 * dtype.itemsize - 1))
