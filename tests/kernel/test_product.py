"""Kernels of products, interpreted: NumPy's results for few threads, whatever the tile, in the bounds of operands."""

from types import SimpleNamespace

import numpy as np
import pytest

from tensorframe.backends.device.product import InParts, TiledProduct
from tensorframe.backends.device.queue import Traits
from tensorframe.codegen.c import print_kernel
from tensorframe.codegen.opencl import dialect
from tensorframe.graph.region import Region, RegionOp
from tensorframe.kernel.groups.algorithms import blocking
from tensorframe.kernel.groups.algorithms.blocking import blocking_of, chunk_of
from tensorframe.kernel.groups.algorithms.tunings import Tunings
from tensorframe.kernel.ir import Allocate, Barrier, CopyNeighbours, If, Loop, ReadNeighbours
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.elementwise import ADD, MAXIMUM
from tensorframe.ops.movement import PERMUTE
from tests.kernel.interpreted import run_built


def queue(lanes, double_buffer=0, **ahead):
    traits = Traits(
        lanes=lanes,
        widest=np.dtype(np.float64),
        wide_index=True,
        max_groups=1 << 16,
        held={},
        max_block=1 << 40,
        double_buffer=double_buffer,
        **ahead,
    )
    return SimpleNamespace(traits=traits, tunings=Tunings())


def run(form, arrays, lanes=4, double_buffer=0, **ahead):
    """The only output of a form for these operands, and its kernels; `ahead` is how tiles are read ahead."""
    strides = [tuple(step // array.itemsize for step in array.strides) for array in arrays]
    strides = [form.strides(index, one) for index, one in enumerate(strides)]
    strides += [()] * (len(form.region.inputs) - len(strides))
    built = form.built(queue(lanes, double_buffer, **ahead), strides)
    (value,) = form.original.outputs
    shape, dtype = form.original.shape_of(value), form.original.dtype_of(value)
    (layout,) = built.layouts
    back = [layout.index(axis) for axis in range(len(shape))]
    found = np.zeros([shape[axis] for axis in layout], dtype).transpose(back)
    operands = {f"x{index}": array for index, array in enumerate(arrays)} | {"y0": found}
    run_built(built, operands)
    return found, [launch.kernel for launch in built.launches]


def product(*arrays, chunk=0):
    """The form of a product alone."""
    x, y = arrays
    shape, dtype = np.matmul(x, y).shape, x.dtype
    if chunk:
        shape = (-(-x.shape[-1] // chunk), *shape)
    inputs = tuple((array.shape, array.dtype) for array in arrays)
    return TiledProduct(Region(inputs, (RegionOp(MATMUL, (), (0, 1), shape, dtype),), (2,)), chunk)


def some(*shape, dtype=np.float64, seed=0):
    generator = np.random.default_rng(seed)
    found = generator.integers(-3, 4, shape)
    return (
        found + 1j * generator.integers(-3, 4, shape) if np.dtype(dtype).kind == "c" else found
    ).astype(dtype)


@pytest.fixture(params=[1, 1 << 20], ids=["large tiles", "small tiles"])
def tiles(request, monkeypatch):
    """How many tiles are enough."""
    monkeypatch.setattr(blocking, "_ENOUGH_TILES", request.param)


SHAPES = [
    ((5, 7), (7, 9)),
    ((9, 17), (17, 10)),
    ((1, 3), (3, 11)),
    ((11, 3), (3, 1)),
    ((2, 3, 5), (5, 4)),
    ((3, 1, 5), (5, 4)),
    ((2, 1, 3, 5), (3, 5, 2)),
]


@pytest.mark.usefixtures("tiles")
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_every_shape(left, right):
    x, y = some(*left), some(*right, seed=1)
    found, _ = run(product(x, y), [x, y])
    np.testing.assert_array_equal(found, np.matmul(x, y))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "complex64"])
@pytest.mark.parametrize("lanes", [1, 2, 8])
def test_every_kind_of_number(dtype, lanes):
    x, y = some(3, 5, dtype=dtype), some(5, 6, dtype=dtype, seed=1)
    found, _ = run(product(x, y), [x, y], lanes)
    np.testing.assert_array_equal(found, np.matmul(x, y))


@pytest.mark.parametrize("dtype", ["int32", "complex64"])
def test_views(dtype):
    x, y = some(9, 12, dtype=dtype), some(6, 10, dtype=dtype, seed=1)
    x, y = x[::-2, 1:7].T, y.T[:, :5][::2]
    found, _ = run(product(x, y), [x, y])
    np.testing.assert_array_equal(found, np.matmul(x, y))


@pytest.mark.parametrize(("left", "right"), SHAPES[::3])
def test_tiles_that_are_read_ahead(left, right):
    x, y = some(*left), some(*right, seed=1)
    found, (kernel,) = run(product(x, y), [x, y], double_buffer=1 << 14)
    np.testing.assert_array_equal(found, np.matmul(x, y))
    # one before the turns, and one in each
    assert len(list(barriers(kernel.body))) == 2


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "complex64"])
def test_views_that_are_read_ahead(dtype):
    x, y = some(19, 8, dtype=dtype), some(12, 19, dtype=dtype, seed=1)
    x, y = x[::-1, 1:6].T, y.T[:, ::3]
    for lanes in (1, 8):
        found, _ = run(product(x, y), [x, y], lanes, double_buffer=1 << 14)
        np.testing.assert_array_equal(found, np.matmul(x, y))


def at_once_in(body):
    """The statements of a kernel that read several elements at once."""
    for one in body:
        if isinstance(one, CopyNeighbours | ReadNeighbours):
            yield one
        elif isinstance(one, Loop | If):
            yield from at_once_in(one.body)


@pytest.mark.parametrize("dtype", ["int32", "float64"])
@pytest.mark.parametrize("turned", ["", "left", "right", "left right"])
@pytest.mark.parametrize("way", ["copies", "neighbours"])
def test_tiles_that_are_read_by_neighbours(monkeypatch, dtype, turned, way):
    """Whichever way factors lie, past the edge on each side, and in parts of the inner axis that end anywhere."""
    monkeypatch.setattr(blocking, "_ENOUGH_TILES", 1)
    x, y = some(9, 21, dtype=dtype), some(21, 10, dtype=dtype, seed=1)
    left = x.T.copy().T if "left" in turned else x
    right = y.T.copy().T if "right" in turned else y
    for chunk in (0, 16):
        form = product(x, y, chunk=chunk)
        found, (kernel,) = run(form, [left, right], double_buffer=1 << 14, **{way: True})
        np.testing.assert_array_equal(found.sum(0) if chunk else found, np.matmul(x, y))
        assert len(list(at_once_in(kernel.body))) >= 4
        assert len(list(barriers(kernel.body))) == 2


@pytest.mark.parametrize("way", ["copies", "neighbours"])
def test_only_neighbours_of_the_accumulated_dtype_are_read_at_once(monkeypatch, way):
    monkeypatch.setattr(blocking, "_ENOUGH_TILES", 1)
    whole, few = some(16, 16, dtype="float32"), some(2, 16, dtype="float32", seed=1)
    for x, y, sides in (
        (whole, whole, 2),
        (whole, whole[::2, ::-1], 1),
        (few, whole, 2),  # along the inner axis, of which tiles have enough
        (few.T.copy().T, whole, 1),  # a tile of two rows has no four neighbours
        (whole.astype("int16"), whole.astype("int16"), 0),
        (whole.astype("complex64"), whole.astype("complex64"), 0),
    ):
        y = y[:, : x.shape[1]].T if y.shape[0] != x.shape[1] else y
        found, (kernel,) = run(product(x, y), [x, y], 8, 1 << 14, **{way: True})
        np.testing.assert_array_equal(found, np.matmul(x, y))
        # threads read either factor so, a device copies both
        assert any(at_once_in(kernel.body)) == (sides > 0 if way == "neighbours" else sides == 2)


def test_tiles_that_memory_holds_once_are_not_read_ahead():
    x, y = some(3, 5), some(5, 4, seed=1)
    shared = []
    for memory in (0, 300, 1 << 14):
        _, (kernel,) = run(product(x, y), [x, y], double_buffer=memory)
        sizes = [one.count.value.real for one in kernel.body if isinstance(one, Allocate)]
        shared.append(sum(sizes))
    assert shared[0] == shared[1]
    assert shared[0] < shared[2] <= (1 << 14) // 8


def test_parts_of_the_inner_axis():
    x, y = some(2, 3, 21), some(21, 2, seed=1)
    found, _ = run(product(x, y, chunk=8), [x, y])
    for index, first in enumerate((0, 8, 16)):
        part = slice(first, first + 8)
        np.testing.assert_array_equal(found[index], np.matmul(x[..., part], y[part]))


@pytest.mark.parametrize("shape", [(3, 1), (4,), (2, 1, 1), (3, 4)])
def test_what_is_read_besides_is_read_in_its_bounds(shape):
    """One element for each row, or column, is read outside the other loop: where the last tile ends, there is none."""
    x, y, z = some(2, 3, 5), some(5, 4, seed=1), some(*shape, seed=2)
    inputs = tuple((one.shape, one.dtype) for one in (x, y, z))
    ops = (
        RegionOp(MATMUL, (), (0, 1), (2, 3, 4), x.dtype),
        RegionOp(ADD, (), (3, 2), (2, 3, 4), x.dtype),
    )
    found, _ = run(TiledProduct(Region(inputs, ops, (4,))), [x, y, z])
    np.testing.assert_array_equal(found, np.matmul(x, y) + z)


def test_what_follows_is_in_the_same_kernel():
    x, y, z = some(2, 3, 5), some(5, 4, seed=1), some(4, 3, seed=2)
    inputs = tuple((one.shape, one.dtype) for one in (x, y, z))
    ops = (
        RegionOp(MATMUL, (), (0, 1), (2, 3, 4), x.dtype),
        RegionOp(PERMUTE, ((0, 2, 1),), (3,), (2, 4, 3), x.dtype),
        RegionOp(ADD, (), (4, 2), (2, 4, 3), x.dtype),
        RegionOp(MAXIMUM, (), (5, 4), (2, 4, 3), x.dtype),
    )
    found, kernels = run(TiledProduct(Region(inputs, ops, (6,))), [x, y, z])
    turned = np.matmul(x, y).swapaxes(1, 2)
    np.testing.assert_array_equal(found, np.maximum(turned + z, turned))
    assert len(kernels) == 1


def barriers(body):
    for statement in body:
        if isinstance(statement, Barrier):
            yield statement
        elif isinstance(statement, Loop | If):
            yield from barriers(statement.body)


def test_a_tile_waits_twice_for_each_step():
    x, y = some(9, 40), some(40, 10, seed=1)
    _, (kernel,) = run(product(x, y), [x, y])
    assert len(list(barriers(kernel.body))) == 2


def test_c_rounds_a_product_with_the_sum_that_it_is_added_to():
    x, y = some(9, 40, dtype="float32"), some(40, 10, dtype="float32", seed=1)
    _, (kernel,) = run(product(x, y), [x, y])
    assert "= multiply_add_float32(" in kernel_text(kernel)
    _, (whole,) = run(product(x.astype(int), y.astype(int)), [x.astype(int), y.astype(int)])
    assert "multiply_add" not in kernel_text(whole)


def kernel_text(kernel):
    return print_kernel(kernel, dialect(double=True)).source


@pytest.mark.parametrize("lanes", [1, 4, 64, 128, 256])
def test_tiles_fit_the_threads_and_the_result(lanes):
    for stack in (1, 9, 1000):
        for rows in (1, 3, 64, 5000):
            for columns in (1, 17, 4096):
                one = blocking_of(stack, rows, columns, lanes)
                assert one.rows * one.down == one.height < 2 * rows
                assert one.columns * one.across == one.width < 2 * columns
                assert one.threads <= lanes
                assert one.rows * one.columns <= 16


def test_large_tiles_for_large_products():
    assert blocking_of(1, 4096, 4096, 256) == blocking.Blocking(64, 64, 4, 4)
    assert blocking_of(1, 100, 100, 256).threads == 256


def test_an_inner_axis_is_cut_for_few_results_only():
    assert chunk_of(1 << 20, 1 << 20) == 1 << 20
    assert chunk_of(100, 1000) == 1000
    chunk = chunk_of(100, 100_000)
    assert chunk % 16 == 0
    assert 512 <= chunk < 1024


def test_few_results_are_two_kernels():
    made = []
    one = RegionOp(MATMUL, (), (0, 1), (3, 4), np.dtype(np.float32))
    inputs = (((3, 5000), one.dtype), ((5000, 4), one.dtype))
    InParts(Region(inputs, (one,), (2,)), 10, 512, lambda region, form: made.append(region))
    products, added = made
    assert [op.op.name for op in products.ops] == ["matmul"]
    assert [op.op.name for op in added.ops] == ["sum", "reshape"]
    assert added.shape_of(added.outputs[0]) == (3, 4)


@pytest.mark.parametrize(
    ("left", "right", "result", "words"),
    [
        ("int8", "int8", "int8", True),
        ("uint8", "int8", "int8", True),
        ("uint8", "uint8", "uint8", True),
        ("int8", "int8", "int32", True),
        ("int8", "int8", "int16", True),
        ("uint8", "uint8", "int32", False),  # whose bytes have no signs
        ("int8", "int8", "int64", False),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_bytes_are_multiplied_four_at_a_time(tiles, left, right, result, words, turned):
    generator = np.random.default_rng(0)
    x, y = [
        np.frombuffer(generator.bytes(rows * 71), dtype).reshape(rows, 71)
        for rows, dtype in ((5, left), (6, right))
    ]
    y = np.ascontiguousarray(y.T) if turned else y.T
    inputs = tuple((array.shape, array.dtype) for array in (x, y))
    dtype = np.dtype(result)
    op = RegionOp(MATMUL, (dtype,), (0, 1), (5, 6), dtype)
    found, kernels = run(TiledProduct(Region(inputs, (op,), (2,))), [x, y])
    exact = x.astype(np.int64) @ y.astype(np.int64)
    np.testing.assert_array_equal(found, exact.astype(result))
    text = print_kernel(kernels[0], dialect(double=True)).source
    assert ("dot4_uint32(left" in text) is words
