"""Operands that lie in memory in every way NumPy knows: kernels read them where they are, and write nothing to them."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.testing.compare import assert_close
from tests.kernel.blocks import small_blocks

pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")

SHAPE = (6, 5, 8)
DTYPES = ["bool", "int16", "bfloat16", "float64", "complex64"]


def drawn(shape, dtype):
    return np.random.default_rng(4).integers(0, 2 if dtype == "bool" else 9, shape).astype(dtype)


def in_bytes(dtype, offset):
    """Elements that begin `offset` bytes after an aligned place."""
    count = int(np.prod(SHAPE))
    memory = np.zeros(count * dtype.itemsize + 64, np.uint8)
    start = -memory.ctypes.data % 32 + offset
    found = memory[start : start + count * dtype.itemsize].view(dtype).reshape(SHAPE)
    found[...] = drawn(SHAPE, dtype)
    return found


def in_records(dtype):
    """A field of records whose other fields make its elements no whole steps apart."""
    records = np.zeros(SHAPE, [("before", "u1"), ("field", dtype), ("after", "u2")])
    records["field"] = drawn(SHAPE, dtype)
    return records["field"]


def read_only(dtype):
    found = drawn(SHAPE, dtype)
    found.flags.writeable = False
    return found


LAYOUTS = {
    "in C order": lambda dtype: drawn(SHAPE, dtype),
    "in Fortran's order": lambda dtype: np.asfortranarray(drawn(SHAPE, dtype)),
    "permuted": lambda dtype: drawn((8, 6, 5), dtype).transpose(1, 2, 0),
    "backwards": lambda dtype: drawn(SHAPE, dtype)[::-1, :, ::-1],
    "every other": lambda dtype: drawn((12, 5, 16), dtype)[::2, :, 1::2],
    "every other backwards": lambda dtype: drawn((6, 15, 8), dtype)[:, ::-3],
    "broadcast rows": lambda dtype: np.broadcast_to(drawn((1, 5, 8), dtype), SHAPE),
    "broadcast columns": lambda dtype: np.broadcast_to(drawn((6, 5, 1), dtype), SHAPE),
    "one element": lambda dtype: np.broadcast_to(drawn((), dtype), SHAPE),
    "inside a larger one": lambda dtype: drawn((9, 7, 11), dtype)[2:-1, 1:-1, 3:],
    "read-only": read_only,
    "unaligned": lambda dtype: in_bytes(dtype, 1),
    "aligned to two bytes": lambda dtype: in_bytes(dtype, 2),
    "a field of records": in_records,
}
OPS = {
    "map": lambda xp, x: xp.where(x == x, x, x),
    "two operands": lambda xp, x: xp.equal(x[1:], x[:-1]),
    "rows": lambda xp, x: xp.any(x, axis=2),
    "columns": lambda xp, x: xp.any(x, axis=0),
    "everything": lambda xp, x: xp.all(x),
    "joined": lambda xp, x: xp.concat([xp.where(x == x, x, x), xp.flip(x, axis=1)], axis=1),
    "taken": lambda xp, x: xp.take(x, xp.asarray(np.array([3, 0])), axis=1) == 1,
}


def check(layout, dtype):
    x = LAYOUTS[layout](tfr.dtypes.as_dtype(dtype))
    before = x.tobytes()
    with tfr.use_backend("llvm"):
        for name, op in OPS.items():
            assert_close(op(tfr, tfr.asarray(x, copy=False)), op(np, x), name=name)
    assert x.tobytes() == before


@pytest.mark.sweep(4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_of_every_kind_of_element(layout, dtype):
    check(layout, dtype)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_where_loops_are_cut_up(layout):
    with small_blocks():
        check(layout, "float32")
