"""Scatters that combine have the same bits in compiled kernels and in NumPy: those of one value after the other."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import config
from tensorframe.backends.llvm import lowering
from tensorframe.errors import IndexingError
from tensorframe.kernel.forms import scatter
from tensorframe.runtime.plan_cache import PLANS
from tests.kernel.interpreted import interpreting, kernels_of

pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")

NAMES = ["sum", "prod", "max", "min"]
REAL = ["bool", "int8", "uint16", "int64", "float16", "bfloat16", "float32", "float64"]
# widths of rows, how many of them, and how many values
SIZES = [((), 10, 3000), ((5,), 400, 30), ((1,), 3, 1), ((700,), 10, 300), ((2, 65), 400, 30)]


@pytest.fixture(autouse=True)
def _planned():
    with config.override(small_size=0, small_nodes=0):
        yield


def drawn(shape, dtype, seed=0):
    """Small numbers, among them zeros of both signs."""
    random = np.random.default_rng(seed)
    numbers = random.integers(-2, 3, shape) * random.choice([1, -1, 0.5], shape)
    if np.dtype(dtype).kind == "c":
        numbers = numbers + 1j * random.standard_normal(shape)
    return numbers.astype(np.dtype(dtype))


def on(device, *operands):
    return [tfr.asarray(each, device=device) for each in operands]


def added(device, x, key, values):
    moved = [tfr.asarray(i, device=device) if isinstance(i, np.ndarray) else i for i in key]
    return tfr.index_add(*on(device, x), tuple(moved), *on(device, values)).numpy()


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("dtype", "name"),
    [(dtype, name) for dtype in REAL for name in NAMES] + [("complex64", "sum")],
)
def test_kernels_and_numpy_have_the_same_bits(dtype, name):
    for width, segments, count in SIZES:
        numbers = np.random.default_rng(1).integers(-segments, segments, count)
        values = drawn((count, *width), dtype)
        results = [
            getattr(tfr, f"segment_{name}")(*on(device, values, numbers), segments).numpy()
            for device in ("llvm", "numpy")
        ]
        assert results[0].tobytes() == results[1].tobytes(), (width, segments)


def test_values_are_added_one_after_the_other():
    x, values = np.float64([1, 0, 0]), np.float64([1e16, 1, 1, -1e16, 3])
    found = added("llvm", x, (np.array([0, 0, 1, 0, 2]),), values)
    assert found.tolist() == [((1 + 1e16) + 1) - 1e16, 1, 3]


def test_elements_that_look_like_numbers_of_accumulators():
    """Where few are pointed to, an element says in its own bits which accumulator it has."""
    x = np.arange(900, dtype=np.uint32).view(np.float32)  # hardly more than zero
    numbers = np.array([5, 0, 1, 5, 899, 2, 0])
    values = np.float32([1, 2, 4, 8, 16, np.nan, 32])
    expected = x.astype(np.float64)
    np.add.at(expected, numbers, values)
    found = added("llvm", x, (numbers,), values)
    assert found.tobytes() == expected.astype(np.float32).tobytes()


@pytest.mark.parametrize("device", ["llvm", "numpy"])
@pytest.mark.parametrize("dtype", ["int64", "float64", "float32"])
def test_a_tensor_may_be_its_own_values_and_indices(device, dtype):
    """Its memory could be given up, but is read while elements change."""
    numbers = np.random.default_rng(0).integers(0, 600, 600)
    x, i = on(device, np.arange(600, dtype=dtype), numbers)
    expected = np.arange(600, dtype=dtype) * 2
    np.add.at(expected, numbers, np.arange(600, dtype=dtype) * 2)
    y = x * 2
    y = tfr.index_add(y, i, y)  # no other reference
    assert y.numpy().tolist() == expected.tolist()
    j = i * 1
    j = tfr.index_add(j, j, 1)
    expected = numbers.copy()
    np.add.at(expected, numbers, 1)
    assert j.numpy().tolist() == expected.tolist()


def test_numpy_combines_where_accumulators_would_take_too_much_memory(monkeypatch):
    from tensorframe.backends.llvm import scatter as programs

    x, values = drawn((900, 3), "float32"), drawn((50, 3), "float32", seed=1)
    numbers = np.arange(50) % 7
    first = added("llvm", x, (numbers,), values)
    monkeypatch.setattr(programs, "_MOST_SCRATCH", 100)
    PLANS.clear()
    assert added("llvm", x, (numbers,), values).tobytes() == first.tobytes()
    PLANS.clear()


KEYS = [
    ((7,), lambda i: (i(7, 200),)),
    ((6, 9), lambda i: (slice(None), i(9, 20))),
    ((4, 5, 6), lambda i: (i(4, 8)[:, None], slice(None), i(6, 3))),
    ((4, 5, 6), lambda i: (slice(None), i(5, 8)[:, None], i(6, 3))),
    ((4, 5, 6), lambda i: (i(4, 8), i(5, 1), slice(None, None, -1))),
    ((90, 5), lambda i: (np.array(3), slice(1, None))),
    ((90, 5), lambda i: (i(90, 9, np.int8),)),
]


@pytest.mark.parametrize("number", range(len(KEYS)))
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_any_axes_and_layouts(number, dtype):
    shape, made = KEYS[number]
    random = np.random.default_rng(number)
    key = made(lambda size, count, kind=np.int64: random.integers(-size, size, count).astype(kind))
    x = drawn(shape, dtype, seed=1)
    values = drawn(x[key].shape, dtype, seed=2)
    expected = x.copy()
    np.add.at(expected, key, values)  # sums of small halves are exact
    for order in "CF":
        found = added("llvm", np.asarray(x, order=order), key, np.asarray(values, order=order))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
        assert found.tobytes() == added("numpy", x, key, values).tobytes()


@pytest.mark.parametrize("blocks", [1, 3])
def test_blocks_of_columns_have_the_bits_of_one(blocks, monkeypatch):
    values = np.random.default_rng(0).standard_normal((50, 40)).astype("f4")
    numbers = np.random.default_rng(1).integers(0, 30, 50)
    first = added("numpy", np.ones((30, 40), "f4"), (numbers,), values)
    monkeypatch.setattr(scatter, "_SHARE", 2000 // blocks)
    monkeypatch.setattr(scatter, "_COLUMNS", 40 // blocks)
    lowering.forget()
    PLANS.clear()
    for rows in (30, 900):  # accumulators for all elements, and for those pointed to
        found = added("llvm", np.ones((rows, 40), "f4"), (numbers,), values)
        assert found[:30].tobytes() == first.tobytes()
        assert (found[30:] == 1).all()
    lowering.forget()


@pytest.mark.parametrize("rows", [5, 60])
@pytest.mark.parametrize("dtype", ["int16", "float32", "complex64"])
def test_kernels_stay_within_bounds(rows, dtype):
    x, values = drawn((rows, 2), dtype), drawn((7, 2), dtype, seed=1)
    key = (np.array([0, 4, -1, 0, 3, 3, 0]),)
    with interpreting():
        found = added("llvm", x, key, values)
    assert found.tobytes() == added("numpy", x, key, values).tobytes()


def test_a_scatter_is_a_copy_and_a_kernel():
    x, values, i = on("llvm", np.ones((9, 4), "f4"), np.ones((3, 4), "f4"), np.array([0, 8, 0]))
    copy, kernel = kernels_of(tfr.index_add(x, i, values))
    assert len(copy.inputs) == len(copy.outputs) == 1
    assert kernel.notes == ("scatter_add: float32",)
    assert "scatter_add: float32" in tfr.index_add(x, i, values).explain(source=True)


@pytest.mark.parametrize("device", ["llvm", "cpu"])
def test_an_index_out_of_bounds_changes_nothing(device):
    x, values, i = on(device, np.ones(5000, "f4"), np.ones(3, "f4"), np.array([0, 5000, 1]))
    with pytest.raises(
        IndexingError, match="index 5000 is out of bounds for axis 0 with size 5000"
    ):
        tfr.index_add(x * 2, i, values).numpy()
    assert x.numpy().sum() == 5000


def test_memory_that_is_given_up_is_combined_with_in_place():
    x, values, i = on("llvm", np.ones((900, 4), "f4"), np.ones((3, 4), "f4"), np.array([0, 8, 0]))
    made = tfr.index_add(tfr.exp(x * 0), i, values)
    expected = 2 * 900 * 4 * 4 + 3 * 4 * 4 + 3 * 8
    # threads have accumulators besides
    assert expected <= tfr.estimate(made).peak[tfr.Device("llvm")] < expected + 900 * 4
    assert made.numpy()[:9, 0].tolist() == [3, 1, 1, 1, 1, 1, 1, 1, 2]
