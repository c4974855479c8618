"""Products of a large matrix with one vector: NumPy's values, the same bits however many rows and threads there are."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import config
from tensorframe.backends.llvm.compiled_calls import compiled_product
from tensorframe.backends.llvm.engine import missing
from tensorframe.backends.numpy.products.product import Compiled, Product
from tests.runtime.replays.test_bound_replay import is_bound

pytestmark = pytest.mark.skipif(bool(missing()), reason="there are no kernels")

ROWS, INNER = 1030, 517


def numbers(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> np.ndarray:
    """Small integers, of which every sum is exact."""
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(dtype)


def normal(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("features", ["all", "no avx512", "no avx"])
def test_every_length_and_processor(features: str, dtype: str) -> None:
    from tensorframe.backends.llvm.compile import object_code
    from tensorframe.backends.llvm.load import PROTOTYPE, Placed
    from tensorframe.backends.llvm.target import target, target_machine
    from tensorframe.codegen.llvm.thin_products import COLUMNS, DOTS, DOTS_SLOTS, print_thin

    dropped = {"+avx512f", "+avx512vl", "+avx512bw", "+avx512dq"} if features != "all" else set()
    dropped |= {"+avx2", "+fma"} if features == "no avx" else set()
    machine = replace(target(), features=target().features - dropped)
    layout, kind = str(target_machine().target_data), np.dtype(dtype)
    text = print_thin(machine, layout, kind, kind)
    placed = Placed("tested", object_code(text), [DOTS, COLUMNS])
    call = PROTOTYPE(placed.addresses[DOTS])
    for inner in (1, 3, 8, 37, 64, 131):
        matrix, vectors = numbers((9, inner + 5), dtype), numbers((5, inner), dtype, seed=1)
        result = np.full((5, 11), np.nan, dtype)
        arrays = (matrix, vectors, result)
        given = [array.ctypes.data for array in arrays] + [array.strides[0] for array in arrays]
        call(2, 9, struct.pack(f"={len(DOTS_SLOTS)}q", *given, inner, 5), b"")
        np.testing.assert_array_equal(result[:, 2:9], vectors @ matrix[2:, :inner].T)
        assert np.isnan(result[:, [0, 1, 9, 10]]).all()
    call = PROTOTYPE(placed.addresses[COLUMNS])
    for inner, start, stop in ((1, 0, 1), (3, 2, 9), (8, 5, 69), (9, 1, 38), (37, 3, 134)):
        matrix, vectors = numbers((inner, 140), dtype), numbers((5, inner), dtype, seed=1)
        result = np.full((5, 140), np.nan, dtype)
        arrays = (matrix, vectors, result)
        given = [array.ctypes.data for array in arrays] + [array.strides[0] for array in arrays]
        call(start, stop, struct.pack(f"={len(DOTS_SLOTS)}q", *given, inner, 5), b"")
        np.testing.assert_array_equal(result[:, start:stop], vectors @ matrix[:, start:stop])
        assert np.isnan(result[:, :start]).all()
        assert np.isnan(result[:, stop:]).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("is_row", [True, False])
@pytest.mark.parametrize("order", ["C", "F"])
def test_values_are_those_of_numpy(order: Any, dtype: str, *, is_row: bool) -> None:
    matrix, vector = normal((ROWS, INNER), dtype), normal((INNER,), dtype, seed=1)
    matrix = np.asarray(matrix, order=order)
    factors = (vector[None], matrix.T) if is_row else (matrix, vector[:, None])
    product = compiled_product(*factors)
    assert isinstance(product, Compiled)
    exact = np.matmul(*[factor.astype(np.float64) for factor in factors])
    size = np.abs(matrix).astype(np.float64) @ np.abs(vector)
    error = np.abs(product.array() - exact).reshape(-1) / size
    assert error.max() < 8 * np.finfo(dtype).eps
    scattered = np.full((2 * ROWS,), np.nan, dtype)[::2].reshape(product.shape)
    assert product.array(scattered) is scattered
    np.testing.assert_array_equal(scattered, product.array())


@pytest.mark.parametrize("order", ["C", "F"])
def test_bits_depend_on_the_row_and_the_vector_alone(order: Any) -> None:
    matrix, vector = normal((2 * ROWS, INNER)), normal((1, INNER), seed=1)
    matrix = np.asarray(matrix, order=order)
    expected = compiled_product(vector, matrix.T).array()
    for threads in (1, 2, 5):
        with config.override(threads=threads):
            np.testing.assert_array_equal(compiled_product(vector, matrix.T).array(), expected)
    part = compiled_product(vector, matrix[7 : 7 + ROWS].T)
    assert isinstance(part, Compiled)
    np.testing.assert_array_equal(part.array(), expected[:, 7 : 7 + ROWS])
    spread = np.zeros((2 * ROWS + 5, INNER + 3), np.float32, order)[: 2 * ROWS, :INNER]
    spread[...] = matrix
    apart = np.repeat(vector, 2, axis=1)[:, ::2]
    np.testing.assert_array_equal(compiled_product(apart, spread.T).array(), expected)


def test_other_products_are_made_elsewhere() -> None:
    matrix, vector = normal((ROWS, INNER)), normal((1, INNER), seed=1)
    for x, y in (
        (vector, matrix[:100].T),  # it stays in a cache
        (vector[:, :4], np.ascontiguousarray(matrix[:, :4]).T),
        (
            vector,
            matrix.repeat(2, axis=0).repeat(2, axis=1)[::2, ::2].T,
        ),  # no elements lie together
        (np.concatenate([vector, vector]), matrix.T),
        (vector.astype(np.complex64), matrix.T.astype(np.complex64)),
        (normal((1, 1 << 20)), normal((1 << 20, 1))),
    ):
        assert type(compiled_product(x, y)) is Product


@pytest.mark.parametrize("device", ["cpu", "llvm"])
def test_bits_are_the_same_however_a_step_comes_about(device: str) -> None:
    """With an epilogue, without one, recorded again in each call, or bound to memory that stays."""
    shapes = ((ROWS, INNER), (INNER, ROWS), (1, ROWS))
    given = [normal(shape, seed=seed) for seed, shape in enumerate(shapes)]
    first, second, bias = [tfr.asarray(array, device=device) for array in given]

    def step(x: tfr.Tensor) -> tuple[tfr.Tensor, ...]:
        hidden = x @ first.mT
        after = tfr.maximum(hidden + bias, 0.0) @ second.mT
        weights = tfr.softmax(after, axis=-1)
        return hidden, weights, tfr.argmax(weights, axis=-1)

    jitted = tfr.jit(step)
    for call in range(12):
        x = normal((1, INNER), seed=call)
        results = [value.numpy() for value in jitted(tfr.asarray(x, device=device))]
        recorded = [value.numpy() for value in step(tfr.asarray(x, device=device))]
        for value, expected in zip(results, recorded, strict=True):
            np.testing.assert_array_equal(value, expected)
        np.testing.assert_array_equal(results[0], compiled_product(x, given[0].T).array())
    assert is_bound(jitted)


@pytest.mark.parametrize("device", ["cpu", "llvm"])
def test_a_vector_without_a_second_axis_has_the_same_product(device: str) -> None:
    matrix, vector = normal((ROWS, INNER)), normal((INNER,), seed=1)
    expected = compiled_product(matrix, vector[:, None]).array()[:, 0]
    m, v = tfr.asarray(matrix, device=device), tfr.asarray(vector, device=device)
    turned = tfr.asarray(np.ascontiguousarray(matrix.T), device=device)
    across = compiled_product(vector[None], np.ascontiguousarray(matrix.T)).array()[0]
    np.testing.assert_array_equal(tfr.vecmat(v, turned).numpy(), across)
    np.testing.assert_array_equal((turned.mT @ v).numpy(), across)

    def step(v: tfr.Tensor) -> tuple[tfr.Tensor, ...]:
        after = tfr.matvec(m, v)
        return after, v @ m.mT, tfr.matvec(m, v) * 2 + 1, tfr.exp(v * 0) * v @ m.mT

    jitted = tfr.jit(step)
    for _ in range(4):
        for after, row, scaled, other in (step(v), jitted(v)):
            np.testing.assert_array_equal(after.numpy(), expected)
            np.testing.assert_array_equal(row.numpy(), expected)
            np.testing.assert_array_equal(scaled.numpy(), expected * 2 + 1)
            np.testing.assert_array_equal(other.numpy(), expected)


def test_a_tall_matrix_is_read_along_with_a_vector_and_packed_for_none() -> None:
    """Tiles would fill a panel of columns with one: ten times as much work, and the matrix is more than a cache."""
    matrix, vector = normal((3000, 1000)), normal((1000, 1), seed=1)
    product = compiled_product(matrix, vector)
    assert isinstance(product, Compiled)
    expected = matrix.astype(np.float64) @ vector
    np.testing.assert_allclose(product.array(), expected, rtol=0, atol=1e-3)
    assert type(compiled_product(matrix[::2, ::2], vector[::2])) is Product
