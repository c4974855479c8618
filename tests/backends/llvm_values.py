"""Values that kernels of each dtype are tried on, and machines that make elements or vectors of them."""

from dataclasses import replace

import ml_dtypes
import numpy as np

from tensorframe.backends.llvm.target import target
from tensorframe.kernel.ir import (
    INDEX,
    argument,
    literal,
)

HALVES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
F4 = np.dtype(np.float32)
FLOATS = ["float32", "float64"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED
COUNT = argument("count")


def number(value, dtype):
    return literal(value, np.dtype(dtype))


def size(value):
    return literal(value, INDEX)


def floats(dtype):
    info = np.finfo(dtype)
    magnitudes = [0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 7.25, 1e5, np.inf, np.nan]
    magnitudes += [float(info.max), float(info.tiny), float(info.smallest_subnormal), 2.0**31]
    return np.array(magnitudes + [-one for one in magnitudes], dtype)


def integers(dtype):
    info = np.iinfo(dtype)
    return np.array([0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.min, info.min + 1], dtype)


def same(found, expected):
    """Equal bit by bit, but for the bits of NaN."""
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


def operands_of(dtype):
    if np.dtype(dtype) == bool:
        return np.array([False, True])
    return floats(dtype) if dtype in FLOATS else integers(dtype)


# LLVM's passes make vectors of loops over elements, or they are printed as vectors: that compiles anywhere
_MASKS = frozenset({"+avx512vl", "+avx512bw", "+avx512dq", "+fma"})
MACHINES = {
    "elements": replace(target(), features=target().features - _MASKS),
    "vectors": replace(
        target(), triple="x86_64-unknown-linux-gnu", features=target().features | _MASKS
    ),
}
assert [one.has_masks for one in MACHINES.values()] == [False, True]
