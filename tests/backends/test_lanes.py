"""Sums and products have the bits that lengths give them, in compiled kernels of every form and on NumPy arrays."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import config
from tensorframe.backends.numpy.lanes import _piece, lane_prod, lane_sum
from tensorframe.codegen.llvm.target import Target
from tensorframe.runtime.plan_cache import PLANS

pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")

LENGTHS = [*range(71), 127, 128, 129, 130, 1023, 1024, 1025, 1026, 4095, 4096, 4097, 66_000]
FLOATS = ["float32", "float64", "float16", "bfloat16"]


@pytest.fixture(autouse=True)
def _planned():
    with config.override(small_size=0, small_nodes=0):
        yield


def drawn(shape, dtype="float32"):
    return np.random.default_rng(3).standard_normal(shape).astype(np.dtype(dtype))


def layouts(x):
    """The same values in other orders of memory, and with gaps."""
    here = tfr.asarray(x, device="llvm")
    yield here
    yield tfr.asarray(np.asfortranarray(x), device="llvm")
    yield tfr.asarray(np.ascontiguousarray(np.repeat(x, 2, axis=-1)), device="llvm")[..., ::2]


def same(found, expected):
    return found.numpy().tobytes() == np.ascontiguousarray(expected).tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_length(dtype):
    for length in LENGTHS:
        x = drawn(length, dtype)
        assert same(tfr.sum(tfr.asarray(x, device="llvm")), lane_sum(x, (0,))), length
        rows = drawn((3, length), dtype) if length < 5000 else x[None]
        for layout in layouts(rows):
            assert same(tfr.sum(layout, axis=1), lane_sum(rows, (1,))), length
            assert same(tfr.sum(layout.T, axis=0), lane_sum(rows.T, (0,))), length


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_every_length(dtype):
    for length in [*range(2, 20), 31, 32, 33, 41, 64, 71, 100]:
        x = drawn(length, dtype) / 2 + 1
        assert same(tfr.prod(tfr.asarray(x, device="llvm")), lane_prod(x, (0,))), length


@pytest.mark.parametrize("length", [2, 5, 8, 13, 32, 43, 64, 100, 1000, 1030])
def test_arrays_in_any_layout(length):
    x = drawn((3, length))
    y = x.T[..., None]
    for joined in (lane_sum, lane_prod):
        expected = np.stack([joined(row, (0,)) for row in x])
        backwards = np.ascontiguousarray(x[:, ::-1])[:, ::-1]
        for rows in [x, np.asfortranarray(x), backwards, np.repeat(x, 2, axis=1)[:, ::2]]:
            assert joined(rows, (1,)).tobytes() == expected.tobytes()
            assert joined(rows.T, (0,)).tobytes() == expected.tobytes()
            assert all(joined(rows[i], (0,)) == expected[i] for i in range(3))
        assert joined(y, (0,)).tobytes() == joined(y, (0, 2)).tobytes() == expected.tobytes()


class Counted(np.ndarray):
    """An array that counts the calls of NumPy that it takes part in."""

    calls = 0

    def __array_ufunc__(self, ufunc, method, *operands, out=(), **options):
        Counted.calls += 1
        options |= {"out": tuple(each.view(np.ndarray) for each in out)} if out else {}
        plain = [each.view(np.ndarray) for each in operands]
        found = getattr(ufunc, method)(*plain, **options)
        return found.view(Counted) if isinstance(found, np.ndarray) else found


@pytest.mark.parametrize(("length", "calls"), [(8, 0), (16, 1), (20, 2), (32, 2), (1000, 4)])
def test_small_sums_take_few_calls(length, calls):
    x = drawn(length)
    Counted.calls = 0
    found = _piece(np.add, x.view(Counted))
    assert found == lane_sum(x, (0,))
    assert Counted.calls == calls


@pytest.mark.parametrize("dtype", FLOATS)
def test_every_dtype(dtype):
    x = drawn((100, 40), dtype)
    dtype = tfr.asarray(x[:1]).dtype
    for axis in (0, 1):
        for layout in layouts(x):
            assert same(tfr.sum(layout, axis=axis), lane_sum(x, (axis,)))
            assert same(
                tfr.prod(layout / 2 + 1, axis=axis), lane_prod((layout / 2 + 1).numpy(), (axis,))
            )


@pytest.fixture
def _no_masks(monkeypatch):
    """A processor that loads no vectors under masks: LLVM takes these loads apart, and makes vectors of other loops."""
    monkeypatch.setattr(Target, "has_masks", property(lambda _: False))
    PLANS.clear()
    yield
    PLANS.clear()


@pytest.mark.usefixtures("_no_masks")
def test_processors_without_masks():
    for shape in [(40, 75), (1030, 20), (3, 1)]:
        x = drawn(shape)
        for axes in [(0,), (1,), (0, 1)]:
            for layout in layouts(x):
                assert same(tfr.sum(layout, axis=axes), lane_sum(x, axes)), (shape, axes)


def test_complex_numbers():
    x = drawn((50, 70)) + 1j * drawn((70, 50)).T
    x = x.astype("complex64")
    for axis in (0, 1):
        for layout in layouts(x):
            assert same(tfr.sum(layout, axis=axis), lane_sum(x, (axis,)))


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        *[((17, 31, 23), axes) for axes in [(0, 1, 2), (0, 1), (0, 2), (1, 2), (0,), (1,), (2,)]],
        *[((300, 500), axes) for axes in [(0, 1), (0,), (1,)]],
        *[((40_001, 3), axes) for axes in [(0, 1), (0,), (1,)]],
        *[((70, 300, 20), axes) for axes in [(0, 1), (0, 2), (0, 1, 2)]],
        ((1, 300, 1, 5), (0, 1, 2)),
        ((600, 2000), (0, 1)),
        ((3, 100_000), (0, 1)),
    ],
)
def test_every_set_of_axes(shape, axes):
    x = drawn(shape)
    for layout in layouts(x):
        assert same(tfr.sum(layout, axis=axes), lane_sum(x, axes))


def test_beside_anything_else():
    """Other reductions, outputs and scans in the same kernel, and operands that are computed, change nothing."""
    for shape in [(40, 1300), (1300, 40)]:
        x = drawn(shape)
        for layout in layouts(x):
            for axis in (0, 1):
                y = layout * 3 + 1
                found = [
                    tfr.sum(y, axis=axis),
                    tfr.max(y, axis=axis),
                    tfr.cumulative_sum(y, axis=axis),
                ]
                tfr.compute(*found, y)
                expected = lane_sum(x * np.float32(3) + np.float32(1), (axis,))
                assert same(found[0], expected), (shape, axis)


def test_of_pieces():
    """Loops that are cut where an operand begins or ends."""
    x = drawn((50, 90))
    for layout in layouts(x):
        joined = tfr.concat([layout, layout * 2], axis=1)
        assert same(tfr.sum(joined, axis=1), lane_sum(np.concatenate([x, x * 2], 1), (1,)))
        joined = tfr.concat([layout, layout * 2], axis=0)
        assert same(tfr.sum(joined, axis=0), lane_sum(np.concatenate([x, x * 2], 0), (0,)))
        assert same(tfr.sum(joined), lane_sum(np.concatenate([x, x * 2], 0), (0, 1)))


def test_of_a_reshape():
    x = drawn((60, 64))
    for layout in layouts(x):
        turned = tfr.reshape(layout.T * 2, (48, 80))
        expected = (x.T * 2).reshape(48, 80)
        for axes in [(0,), (1,), (0, 1)]:
            assert same(tfr.sum(turned, axis=axes), lane_sum(expected, axes))


def test_zeros_keep_no_sign_but_that_of_one_element():
    assert not np.signbit(lane_sum(np.full(5, -0.0, np.float32), (0,)))
    assert same(tfr.sum(tfr.asarray(np.full(5, -0.0), device="llvm")), np.float64(0.0))
    one = np.full((3, 1), -0.0)
    assert same(tfr.sum(tfr.asarray(one, device="llvm"), axis=1), lane_sum(one, (1,)))
