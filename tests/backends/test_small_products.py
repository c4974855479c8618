"""Products of half precision and bytes: read as they are, summed wide, the same bits however they are made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import config
from tensorframe.backends import host_pool
from tensorframe.backends.llvm.engine import missing
from tensorframe.backends.numpy.products import small_product
from tensorframe.backends.numpy.products.small_product import FEW, SmallProduct
from tests.backends.devices import FOUND, holds

SMALL = ["float16", "bfloat16", "int8", "uint8"]
HOSTS = ["numpy", "cpu", *([] if missing() else ["llvm"])]
# rows, terms, columns: few rows, few columns, blocks of both, odd sizes
SIZES = [(1, 700, 90), (200, 300, 1), (7, 640, 50), (33, 1300, 129), (3, 40, 5)]


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    """Small integers, whose products and sums are exact in every dtype that they are summed in."""
    return (
        np.random.default_rng(seed)
        .integers(0, 5, shape)
        .astype(np.dtype(tfr.dtypes.as_dtype(dtype)))
    )


def has(device: str, dtype: str) -> bool:
    return device not in FOUND or holds(device, dtype)


def wanted(x: np.ndarray, y: np.ndarray, dtype: str) -> np.ndarray:
    exact = x.astype(np.int64) @ y.astype(np.int64)
    return exact.astype(np.dtype(tfr.dtypes.as_dtype(dtype)))


def operands(device: str, dtype: str, sizes: tuple[int, int, int]) -> tuple[np.ndarray, ...]:
    rows, terms, columns = sizes
    return numbers((rows, terms), dtype), numbers((columns, terms), dtype, seed=1)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("device", [*HOSTS, *FOUND])
@pytest.mark.parametrize("dtype", SMALL)
def test_every_layout_and_size_gives_the_exact_product(device: str, dtype: str) -> None:
    if not has(device, dtype):
        pytest.skip(f"{device} holds no {dtype}")
    for sizes in SIZES if device in HOSTS else SIZES[:3]:
        x, turned = operands(device, dtype, sizes)
        expected = wanted(x, turned.T, dtype)
        left, right = tfr.asarray(x, device=device), tfr.asarray(turned, device=device)
        rows = tfr.asarray(np.ascontiguousarray(turned.T), device=device)
        np.testing.assert_array_equal((left @ right.mT).numpy(), expected)
        np.testing.assert_array_equal((left @ rows).numpy(), expected)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("device", [*HOSTS, *FOUND])
@pytest.mark.parametrize("dtype", SMALL)
def test_a_wider_result_takes_no_copy_of_a_factor(device: str, dtype: str) -> None:
    if not has(device, dtype):
        pytest.skip(f"{device} holds no {dtype}")
    x, turned = operands(device, dtype, (2, 640, 50))
    left, right = tfr.asarray(x, device=device), tfr.asarray(turned, device=device)
    for product in (
        left.astype("float32") @ right.astype("float32").mT,
        left.astype("float32") @ right.mT,
        tfr.asarray(x.astype(np.float32), device=device) @ right.mT,
    ):
        steps = product.explain().steps
        names = [op.op.name for step in steps if step.region for op in step.region.ops]
        assert "cast" not in names, product.explain()
        assert product.dtype == np.float32
        np.testing.assert_array_equal(product.numpy(), wanted(x, turned.T, "float32"))


@pytest.mark.parametrize("device", [*HOSTS, *FOUND])
def test_integers_wrap_unless_another_dtype_is_preferred(device: str) -> None:
    if not has(device, "int8"):
        pytest.skip(f"{device} holds no int8")
    x = np.full((2, 900), -128, np.int8)
    y = np.full((900, 70), -128, np.int8)
    left, right = tfr.asarray(x, device=device), tfr.asarray(y, device=device)
    np.testing.assert_array_equal((left @ right).numpy(), x @ y)
    summed = tfr.matmul(left, right, preferred_dtype="int32")
    assert summed.dtype == np.int32
    assert (summed.numpy() == 900 * 2**14).all()
    assert (tfr.matmul(left, right, preferred_dtype="float32").numpy() == 900 * 2.0**14).all()
    assert (tfr.matmul(left, right, preferred_dtype="int64").numpy() == 900 * 2**14).all()


def test_a_preferred_dtype_holds_the_operands() -> None:
    x = tfr.ones((2, 2), dtype="float32")
    with pytest.raises(
        tfr.errors.DTypeError, match="preferred_dtype=int32 does not hold every float32"
    ):
        tfr.matmul(x, x, preferred_dtype="int32")
    with pytest.raises(tfr.errors.DTypeError, match="float16 does not hold"):
        tfr.matmul(x, x, preferred_dtype="float16")


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("rows", [2, 40])
def test_sums_of_bytes_are_exact_at_their_extremes(dtype: str, rows: int) -> None:
    low, high = tfr.dtypes.LIMITS[np.dtype(dtype)]
    largest = np.full((rows, 3000), low or high, dtype)
    other = np.full((3000, 70), low or high, dtype)
    found = tfr.matmul(largest, other, preferred_dtype="int32").numpy()
    assert (found == 3000 * (low or high) ** 2).all()


@pytest.mark.parametrize("dtype", SMALL)
@pytest.mark.parametrize("rows", [1, 5, 70])
def test_the_bits_are_the_same_for_any_threads_and_fused_or_not(dtype: str, rows: int) -> None:
    generator = np.random.default_rng(0)
    x = tfr.asarray(generator.standard_normal((rows, 1500)) * 3).astype(dtype)
    y = tfr.asarray(generator.standard_normal((1500, 1100)) * 3).astype(dtype)
    tfr.compute(x, y)
    for right in (y, tfr.asarray(np.ascontiguousarray(y.numpy().T)).mT):
        found = []
        for threads, fuse in ((1, True), (3, True), (2, False)):
            with config.override(threads=threads, fuse=fuse):
                found += [(-(x @ right)).numpy(), -((x @ right).numpy())]
        for other in found[1:]:
            np.testing.assert_array_equal(found[0].astype(np.float64), other.astype(np.float64))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8"])
def test_a_row_has_the_same_bits_among_others(dtype: str) -> None:
    if missing():
        pytest.skip("there are no kernels")
    generator = np.random.default_rng(0)
    x = tfr.asarray(generator.standard_normal((FEW, 900)).astype(np.float32))
    y = tfr.asarray(generator.standard_normal((900, 300)) * 9).astype(dtype)
    together = (x @ y).numpy()
    for row in range(0, FEW, 5):
        np.testing.assert_array_equal((x[row : row + 1] @ y).numpy()[0], together[row])


@pytest.mark.parametrize("dtype", SMALL)
@pytest.mark.parametrize("rows", [1, 300])
def test_no_array_of_the_factors_in_another_dtype_is_made(
    dtype: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = numbers((rows, 2048), dtype), numbers((2048, 2048), dtype, seed=1)
    largest = []
    empty = host_pool.empty

    def counted(shape, dtype, *rest, **options):
        largest.append(int(np.prod(shape)) * np.dtype(dtype).itemsize)
        return empty(shape, dtype, *rest, **options)

    monkeypatch.setattr(host_pool, "empty", counted)
    product = SmallProduct(x, y, x.dtype).array()
    assert max(largest) <= max(product.nbytes, 4 * 1024 * 512)


def test_an_epilogue_joins_blocks_and_views_lead_to_the_factor() -> None:
    x = tfr.asarray(numbers((300, 256), "float32"))
    weight = tfr.asarray(numbers((256, 200), "float16").T.copy())
    found = tfr.maximum(x @ weight.mT.astype("float32") - 500, 0)
    plan = found.explain()
    assert plan.library_calls == 1, plan
    assert plan.kernels == 0, plan
    exact = numbers((300, 256), "float32") @ numbers((256, 200), "float16").astype(np.float32)
    np.testing.assert_array_equal(found.numpy(), np.maximum(exact - 500, 0))
    row = tfr.asarray(numbers((256,), "float32"))
    scores = tfr.exp(weight @ row / 1000)
    np.testing.assert_allclose(
        scores.numpy(), np.exp(weight.numpy().astype(np.float32) @ row.numpy() / 1000), rtol=1e-6
    )


def test_stacks_broadcast_and_empty_ones_are_zero() -> None:
    shapes = [
        ((3, 4, 1, 700), (700, 80)),
        ((3, 1, 5, 700), (1, 4, 700, 80)),
        ((2, 9, 700), (2, 700, 6)),
    ]
    shapes += [((2, 0), (0, 3)), ((0, 5), (5, 3)), ((700,), (2, 700, 80)), ((2, 80, 700), (700,))]
    for left, right in shapes:
        x, y = numbers(left, "int8"), numbers(right, "int8", seed=1)
        np.testing.assert_array_equal((tfr.asarray(x) @ tfr.asarray(y)).numpy(), x @ y)
        half = tfr.asarray(x.astype(np.float16)) @ tfr.asarray(y.astype(np.float16))
        np.testing.assert_array_equal(half.numpy(), (x.astype(np.int64) @ y).astype(np.float16))


def test_infinities_and_nan_stay_where_they_are() -> None:
    x = np.ones((2, 333), np.float32)
    y = np.ones((333, 130), np.float16)
    y[3, 7], y[332, 129], y[100, 128] = np.inf, np.nan, -np.inf
    for right in (tfr.asarray(y), tfr.asarray(np.ascontiguousarray(y.T)).mT):
        found = (tfr.asarray(x) @ right).numpy()
        np.testing.assert_array_equal(found, np.matmul(x, y.astype(np.float32)))


def test_gradients_of_products_with_half_weights_pass_through() -> None:
    weight = tfr.asarray(numbers((700, 80), "float16"))
    x = tfr.asarray(numbers((4, 700), "float32"))
    gradient = tfr.grad(lambda x: tfr.sum(x @ weight))(x)
    expected = np.broadcast_to(weight.numpy().astype(np.float32).sum(1), (4, 700))
    np.testing.assert_array_equal(gradient.numpy(), expected)


@pytest.mark.parametrize("features", ["no avx512", "no avx"])
@pytest.mark.parametrize("matrix", SMALL)
def test_older_processors_compute_the_same(features: str, matrix: str) -> None:
    if missing():
        pytest.skip("there are no kernels")
    import struct

    from tensorframe.backends.llvm.compile import object_code
    from tensorframe.backends.llvm.load import PROTOTYPE, Placed
    from tensorframe.backends.llvm.target import target, target_machine
    from tensorframe.codegen.llvm.thin_products import COLUMNS, DOTS, DOTS_SLOTS, print_thin

    dropped = {"+avx512f", "+avx512vl", "+avx512bw", "+avx512dq"}
    dropped |= {"+avx2", "+fma", "+f16c"} if features == "no avx" else set()
    machine = replace(target(), features=target().features - dropped)
    total = np.dtype(np.float32)
    layout = str(target_machine().target_data)
    text = print_thin(machine, layout, numbers((1,), matrix).dtype, total)
    placed = Placed("tested", object_code(text), [DOTS, COLUMNS])
    vectors = np.zeros((5, 48), np.float32)
    vectors[:, :37] = numbers((5, 37), "float32")
    weights = numbers((37, 23), matrix, seed=1)
    for name, array in ((COLUMNS, weights), (DOTS, np.ascontiguousarray(weights.T))):
        result = np.zeros((5, 32), np.float32)
        addresses = [one.ctypes.data for one in (array, vectors, result)]
        steps = [array.strides[0], vectors.strides[0], result.strides[0], 37, 5]
        call = PROTOTYPE(placed.addresses[name])
        call(0, 23, struct.pack(f"={len(DOTS_SLOTS)}q", *addresses, *steps), b"")
        np.testing.assert_array_equal(result[:, :23], vectors[:, :37] @ weights.astype(np.float32))


def test_few_multiplications_are_not_worth_a_kernel() -> None:
    assert small_product._LITTLE > 16**3
    product = SmallProduct(numbers((3, 8), "int8"), numbers((8, 3), "int8"), np.dtype(np.int8))
    assert product._kernels is None
    assert len(product.blocks) == 1


def test_threads_that_come_first_share_the_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    if missing():
        pytest.skip("there are no kernels")
    from concurrent.futures import ThreadPoolExecutor

    from tensorframe.backends.llvm import thin_product

    monkeypatch.setattr(thin_product, "_known", {})
    pair = np.dtype(np.int8), np.dtype(np.float32)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: thin_product.functions(*pair), range(8)))
    assert all(one is found[0] for one in found)
