"""Products of half precision by tensor cores: CUDA's text run as C++ on the processor, and its machine code's shape."""

from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.device.product import TiledProduct
from tensorframe.graph.region import Region, RegionOp
from tensorframe.kernel import ir
from tensorframe.kernel.ir.interpret import run_groups
from tensorframe.ops.contraction import MATMUL

pytest.importorskip("cupy", reason="the backend speaks to GPUs through CuPy")

from tensorframe.backends.cuda import libraries, queue
from tests.backends import host_gpu

needs_compiler = pytest.mark.skipif(
    host_gpu.COMPILER is None, reason="kernels are compiled by the system's C++ compiler here"
)
LANES = 64  # two warps
HALVES = ("float16", "bfloat16")
# rows, inner axis, columns: those of one tile, with edges on each side, of several turns, of a stack
SHAPES = [(16, 16, 16), (50, 70, 41), (33, 7, 16), (100, 129, 65)]


@pytest.fixture
def gpu(monkeypatch):
    """One GPU with warps, and without libraries."""
    monkeypatch.setattr(libraries, "CALLS", {})
    with (
        tfr.config.override(small_size=0, small_nodes=0),
        host_gpu.host_gpu(lanes=LANES) as found,
    ):
        yield found


@pytest.fixture
def texts(monkeypatch):
    """The texts of kernels that are built meanwhile."""
    found = []
    build = queue.CudaQueue.build

    def noting(self, kernel):
        found.append(queue.print_kernel(kernel, queue.DIALECT).source)
        return build(self, kernel)

    monkeypatch.setattr(queue.CudaQueue, "build", noting)
    return found


def by_tensor_cores(texts):
    return [text for text in texts if "multiply_tiles_" in text.partition("__launch_bounds__")[2]]


def agree(found, left, right, dtype):
    """Products of half precision are exact in float32, and what sums round is bounded."""
    exact = left.astype(np.float64) @ right.astype(np.float64)
    most = np.abs(left.astype(np.float64)) @ np.abs(right.astype(np.float64))
    of_sums = left.shape[-1] * 2.0**-24 * most
    rounded = ml_dtypes.finfo(dtype).eps / 2 * (np.abs(exact) + of_sums)
    assert found.dtype == np.dtype(dtype)
    assert np.all(np.abs(found.astype(np.float64) - exact) <= of_sums + rounded + 1e-7)


def drawn(shape, dtype, seed=0):
    values = np.random.default_rng(seed).standard_normal(shape)
    return values.astype(np.dtype(dtype))


@needs_compiler
@pytest.mark.parametrize("dtype", [tfr.float16, tfr.bfloat16], ids=HALVES)
def test_products_are_right_whatever_way_their_factors_lie(gpu, texts, dtype):
    for number, (rows, length, columns) in enumerate(SHAPES):
        left, right = drawn((rows, length), dtype), drawn((length, columns), dtype, 1)
        turned = number % 2 == 1
        x = tfr.asarray(left.T.copy() if turned else left, device="cuda")
        y = tfr.asarray(right.T.copy() if turned else right, device="cuda")
        found = (x.mT if turned else x) @ (y.mT if turned else y)
        agree(found.numpy(), left, right, dtype)
    assert (
        len({*by_tensor_cores(texts)}) == 2
    )  # sizes are arguments, the ways that factors lie are not


@needs_compiler
def test_stacks_windows_and_what_is_done_to_a_product(gpu, texts):
    left, right = drawn((3, 40, 36), tfr.bfloat16), drawn((36, 30), tfr.bfloat16, 1)
    x, y = tfr.asarray(left, device="cuda"), tfr.asarray(right, device="cuda")
    agree((x @ y).numpy(), left, right, tfr.bfloat16)
    # an odd first element: nothing is a multiple of sixteen bytes
    window = tfr.asarray(np.pad(right, ((1, 0), (3, 0))), device="cuda")[1:, 3:]
    agree((x @ window).numpy(), left, right, tfr.bfloat16)
    bias = tfr.asarray(drawn((30,), tfr.bfloat16, 2), device="cuda")
    expected = (x @ y).numpy() + bias.numpy()
    np.testing.assert_array_equal((x @ y + bias).numpy(), expected)
    assert by_tensor_cores(texts)


@needs_compiler
def test_few_results_of_long_rows_are_made_in_parts(gpu, texts):
    left, right = drawn((16, 2100), tfr.float16), drawn((2100, 17), tfr.float16, 1)
    found = tfr.asarray(left, device="cuda") @ tfr.asarray(right, device="cuda")
    agree(found.numpy(), left, right, tfr.float16)
    assert by_tensor_cores(texts)


@needs_compiler
def test_other_products_are_made_by_threads(gpu, texts):
    x = tfr.asarray(drawn((20, 20), tfr.bfloat16), device="cuda")
    tfr.compute(x[:5] @ x, x[:, ::2] @ x[::2, ::2], x.astype("float32") @ x)
    assert texts
    assert not by_tensor_cores(texts)


def test_the_interpreter_says_what_such_a_kernel_means():
    rows, length, columns = 20, 40, 17
    left, right = drawn((rows, length), tfr.bfloat16), drawn((length, columns), tfr.bfloat16, 1)
    bfloat16 = left.dtype
    product = RegionOp(MATMUL, (), (0, 1), (rows, columns), bfloat16)
    region = Region((((rows, length), bfloat16), ((length, columns), bfloat16)), (product,), (2,))
    traits = queue.Traits(
        ir.WARP, np.dtype(np.float64), True, 1, {}, 1 << 30, tile_products=frozenset({bfloat16})
    )
    device = SimpleNamespace(traits=traits, tunings=None)
    (launch,) = TiledProduct(region).built(device, [(length, 1), (columns, 1), (0, 0)]).launches
    bits = [one.reshape(-1).view(np.uint16) for one in (left, right)]
    found = np.zeros(rows * columns, bfloat16)
    memory = dict(zip((*launch.kernel.inputs, *launch.kernel.outputs), (*bits, found), strict=True))
    sizes = dict(zip(launch.kernel.sizes, launch.numbers, strict=True))
    run_groups(launch.kernel, launch.total, memory, sizes, groups=2, lanes=ir.WARP)
    agree(found.reshape(rows, columns), left, right, tfr.bfloat16)
