"""Products in blocks: NumPy's values, the same bits for any number of threads, no copies, and BLAS left as it was."""

from __future__ import annotations

import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorframe as tfr
from tensorframe import config
from tensorframe.backends.numpy.products import blas, grid
from tensorframe.backends.numpy.products.contraction import matmul
from tensorframe.backends.numpy.products.grid import Index, blocks
from tensorframe.backends.numpy.products.product import Product


def blas_threads() -> list[int]:
    return [one.threads() for one in blas._libraries(per_thread=False)]


def stack(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random(shape, dtype=np.float32) - 0.5


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks so small that small products have many."""
    for name in ("_WORTH_SHARING", "_LEAST", "_PLENTY"):
        monkeypatch.setattr(grid, name, 1)
    monkeypatch.setattr(grid, "_ROWS", 8)


SHAPES = [
    ((60, 50), (50, 70)),
    ((1, 50), (50, 70)),
    ((60, 50), (50, 1)),
    ((12, 33, 20), (12, 20, 31)),
    ((1, 9, 5, 8), (2, 1, 8, 7)),
    ((3, 4, 5, 8), (8, 7)),
    ((5, 8), (3, 4, 8, 7)),
    ((2, 6, 5, 8), (2, 1, 8, 7)),
    ((0, 5, 8), (1, 8, 7)),
    ((2, 0, 8), (8, 7)),
    ((2, 5, 0), (0, 7)),
]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_products_in_blocks_are_numpys(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = stack(*left), stack(*right, seed=1)
    product = Product(x, y)
    if x.size and y.size:
        assert len(product.blocks) > 4
    np.testing.assert_allclose(product.array(), np.matmul(x, y), rtol=1e-5, atol=1e-5)
    found = np.full(product.shape, np.nan, np.float32)
    product.each(found.__setitem__)
    np.testing.assert_array_equal(found, product.array())


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.swapaxes(-1, -2),
        lambda x: x[..., ::-1],
        lambda x: x[..., ::2],
        lambda x: x.transpose(1, 2, 0),
        lambda x: x.transpose(2, 0, 1),
        lambda x: np.broadcast_to(x[:1], x.shape),
        lambda x: np.broadcast_to(x[..., :1], x.shape),
        lambda x: x.swapaxes(0, 1)[:, ::-1],
    ],
    ids=["transposed", "reversed", "stepped", "turned", "turned back", "one", "wide", "mixed"],
)
def test_operands_may_lie_in_any_way(view) -> None:
    x = view(stack(10, 12, 14))
    y = stack(x.shape[0], x.shape[2], 9, seed=1)
    np.testing.assert_allclose(Product(x, y).array(), np.matmul(x, y), rtol=1e-5, atol=1e-5)
    y, x = x, stack(x.shape[0], 9, x.shape[1])
    np.testing.assert_allclose(Product(x, y).array(), np.matmul(x, y), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(Product(x, y[0]).array(), np.matmul(x, y[0]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("left", "right"),
    [((11, 96, 96), (11, 96, 96)), ((300, 200), (200, 300)), ((4, 200_000), (200_000, 3))],
)
def test_the_number_of_threads_does_not_change_the_bits(
    left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    x, y = stack(*left), stack(*right, seed=1)
    results = []
    for threads in (1, 2, 5, 16):
        with config.override(threads=threads):
            results.append(matmul(x, y))
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


def test_a_long_inner_axis_is_added_up_in_parts() -> None:
    x = stack(1, 1_000_000)
    assert len(grid.runs(1_000_000, 1)) == 16
    exact = float((x.astype(np.float64) ** 2).sum())
    assert matmul(x[0], x[0]) == pytest.approx(exact, rel=1e-6)
    out = np.empty((1, 1), np.float32)
    assert Product(x, x.T).array(out) is out


def test_blas_has_one_thread_in_a_product_and_its_own_afterwards() -> None:
    before = blas_threads()
    seen: list[int] = []

    def multiply() -> None:
        product = Product(stack(300, 300), stack(300, 300))
        product.each(lambda _index, _block: seen.extend(blas_threads()))

    callers = [threading.Thread(target=multiply) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert set(seen) == {1}
    assert blas_threads() == before


@pytest.mark.parametrize("rows", [20_000, 50_001])
def test_tall_narrow_products_leave_the_setting_of_blas_alone(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y, out = stack(rows, 4), stack(4, 5, seed=1), np.empty((rows, 5), np.float32)
    shared: list[int] = []
    monkeypatch.setattr(blas, "_set_threads", lambda *_: shared.append(1))
    np.testing.assert_allclose(matmul(x, y), x.astype(np.float64) @ y, rtol=1e-4, atol=1e-6)
    assert Product(x, y).array(out) is out
    np.testing.assert_array_equal(out, matmul(x, y))
    assert not shared


def peak_of(x: np.ndarray, y: np.ndarray) -> int:
    matmul(x, y)
    tracemalloc.start()
    try:
        matmul(x, y)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (lambda x: x.swapaxes(-1, -2), lambda y: y.swapaxes(-1, -2)),
        (lambda x: x.transpose(1, 0, 2), lambda y: y.transpose(1, 2, 0)),
        (lambda x: np.broadcast_to(x[:1], x.shape), lambda y: y),
        (lambda x: x, lambda y: y[0].T),
    ],
    ids=["transposed", "heads beside each other", "broadcast", "one matrix"],
)
def test_views_are_not_copied(left, right) -> None:
    x, y = left(stack(64, 64, 64)), right(stack(64, 64, 64))
    assert peak_of(x, y) < 1.2 * x.nbytes  # the result


def test_what_blas_takes_as_it_lies() -> None:
    x = stack(6, 7, 8)
    assert blas.takes(x)
    assert blas.takes(x.swapaxes(-1, -2))
    assert blas.takes(x.transpose(1, 0, 2))
    assert blas.takes(x[:, ::2, :3])
    assert blas.takes(x[..., :1])
    assert not blas.takes(x[..., ::2])
    assert not blas.takes(x.transpose(1, 2, 0)[..., :1, :].repeat(2, -2)[..., ::-1])
    assert not blas.takes(np.broadcast_to(x[..., :1], x.shape))
    assert blas.takes(blas.ready(x[..., ::2]))
    assert blas.ready(x) is x


def covered(batch: tuple[int, ...], rows: int, columns: int, found: list[Index]) -> np.ndarray:
    count = np.zeros((*batch, rows, columns), int)
    for index in found:
        count[index] += 1
    return count


@given(
    st.lists(st.integers(0, 5), max_size=2).map(tuple),
    st.integers(0, 700),
    st.integers(0, 10**6),
    st.integers(0, 700),
)
def test_blocks_cover_the_result_once(
    batch: tuple[int, ...], rows: int, inner: int, columns: int
) -> None:
    found = blocks(batch, rows, inner, columns)
    assert (covered(batch, rows, columns, found) == 1).all()


def test_blocks_are_whole_rows_unless_that_leaves_few() -> None:
    assert blocks((), 4096, 384, 1536)[0] == (slice(0, 256), slice(0, 1536))
    assert len(blocks((), 2048, 2048, 2048)) == 16
    assert len(blocks((), 30, 30, 30)) == 1
    assert len(blocks((32, 12), 128, 32, 128)) == 32
    assert len(blocks((), 1, 4096, 4096)) > 4


class Library:
    """A BLAS library in which every thread has a setting of its own, as where OpenMP makes the threads."""

    def __init__(self) -> None:
        self.settings: dict[int, int] = {}

    def threads(self) -> int:
        return self.settings.get(threading.get_ident(), 8)

    def set_threads(self, count: int) -> None:
        self.settings[threading.get_ident()] = count


def test_threads_with_settings_of_their_own_are_limited_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    library = Library()
    own = blas._Library(library.threads, library.set_threads, per_thread=True)
    monkeypatch.setattr(blas, "_libraries", lambda per_thread: (own,) if per_thread else ())
    product = Product(stack(300, 300), stack(300, 300))
    seen: list[int] = []
    with config.override(threads=3):
        product.each(lambda _index, _block: seen.append(library.threads()))
    assert set(seen) == {1}
    assert set(library.settings.values()) == {8}


def test_a_blas_without_control_shares_out_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "_libraries", lambda per_thread: ())
    x = stack(300, 300)
    product = Product(x, x)
    assert len(product.blocks) == 1
    np.testing.assert_array_equal(product.array(), np.matmul(x, x))


TURNED = [
    ((40, 300), (300, 500), (1, 0)),
    ((600, 300), (300, 500), (1, 0)),
    ((3, 40, 70), (3, 70, 90), (0, 2, 1)),
    ((40, 70), (3, 70, 90), (0, 2, 1)),
    ((3, 40, 70), (70,), (1, 0)),  # the axes that change places are not both of a matrix
    ((70,), (3, 70, 90), (1, 0)),
    ((2, 3, 40, 70), (70, 90), (0, 1, 3, 2)),
    ((2, 3, 4, 5), (2, 3, 5, 6), (0, 3, 2, 1)),
]


@pytest.mark.parametrize("device", ["cpu", "numpy", "llvm"])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize(("left", "right", "axes"), TURNED, ids=str)
def test_a_permuted_product_has_the_bits_of_the_product(left, right, axes, dtype, device):
    """Whatever follows, and however it is evaluated: a product of transposed factors would round otherwise."""
    generator = np.random.default_rng(0)
    x, y = (generator.standard_normal(shape).astype(dtype) for shape in (left, right))
    x, y = (tfr.asarray(values * dtype_unit(dtype), device=device) for values in (x, y))
    product = (x @ y).compute().numpy().transpose(axes)
    b = generator.standard_normal(product.shape).astype(dtype)
    other = tfr.asarray(b, device=device)

    def permuted(x, y, other):
        view = tfr.permute_dims(x @ y, axes)
        return view, tfr.permute_dims(x @ y, axes) * 0.5 + other

    for found in (permuted(x, y, other), tfr.jit(permuted)(x, y, other)):
        for result, expected in zip(found, (product, product * np.float32(0.5) + b), strict=True):
            np.testing.assert_array_equal(result.numpy(), expected)
    rows = tfr.max(tfr.abs(tfr.permute_dims(x @ y, axes) - other), axis=-1, keepdims=True)
    np.testing.assert_allclose(rows.numpy(), np.abs(product - b).max(-1, keepdims=True), rtol=1e-6)


LYING = {
    "as they are": lambda x: x,
    "transposed": lambda x: (x.mT + 0).compute().mT,
    "reversed": lambda x: x[..., ::-1],
    "every second": lambda x: tfr.repeat(x, 2, axis=-1).compute()[..., ::2],
    "one row": lambda x: tfr.broadcast_to(x[..., :1, :], x.shape),
}


@pytest.mark.parametrize("device", ["cpu", "numpy"])
@pytest.mark.parametrize("lies", LYING)
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((40, 64), (64, 50)),
        ((2, 8, 100), (100, 8)),
        ((2, 40, 100), (1, 100, 8)),
        ((3, 1, 2, 513), (2, 513, 3)),
        ((5, 20), (1, 20, 9)),
        ((4, 2, 1, 2), (2, 300)),
        ((3, 16, 20), (3, 20, 12)),
    ],
    ids=str,
)
def test_a_small_product_has_the_bits_of_one_in_a_plan(left, right, lies, device):
    """Many matrices times one are one tall matrix times it, whether or not there is a plan."""
    generator = np.random.default_rng(0)
    x, y = (
        LYING[lies](tfr.asarray(generator.standard_normal(shape), device=device)).compute()
        for shape in (left, right)
    )
    product = (x @ y).numpy()
    for function, expected in (
        (lambda x, y: x @ y, product),
        (lambda x, y: (x @ y) * 2, product * 2),
        (lambda x, y: (x @ y).mT + 1, product.swapaxes(-1, -2) + 1),
    ):
        np.testing.assert_array_equal(tfr.jit(function)(x, y).numpy(), expected)


def dtype_unit(dtype: str) -> complex:
    """Return a number that leaves no part of a complex number zero."""
    return 1 + 0.5j if np.dtype(dtype).kind == "c" else 1.0


@pytest.mark.parametrize("stack", [(), (3,)])
def test_the_gradient_of_a_transposed_weight_is_one_product(stack):
    """Its rows lie as those of the weight do, since it is recorded as the product of transposed factors."""
    x, w = tfr.ones((*stack, 5, 7)), tfr.ones((*stack, 4, 7))
    gradient = tfr.grad(lambda w: tfr.sum((x @ w.mT) ** 2) / 2)(w)
    assert gradient.node.op.name == "matmul"
    np.testing.assert_array_equal(gradient.numpy(), np.full(w.shape, 35.0))
