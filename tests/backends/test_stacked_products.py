"""Products of few rows with each matrix of a stack: NumPy's values, bits of a row and a column alone, one call."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import config
from tensorframe.backends.bound import Bound
from tensorframe.backends.llvm import stacked_product
from tensorframe.backends.llvm.compiled_calls import compiled_product
from tensorframe.backends.llvm.engine import missing
from tensorframe.backends.llvm.stacked_product import StackedProduct
from tensorframe.backends.llvm.target import target
from tensorframe.backends.numpy.products.chain import ChainProgram
from tensorframe.backends.numpy.products.product import Product
from tests.runtime.replays.test_bound_replay import is_bound

pytestmark = pytest.mark.skipif(bool(missing()), reason="there are no kernels")


def numbers(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    """Small integers, of which every sum is exact."""
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(dtype)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def cache(places: int, heads: int, features: int, dtype: str = "float32") -> np.ndarray:
    """Keys and values of each place, as caches have them."""
    return numbers(2, places, 2 * heads, features, dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("features", ["all", "no avx512", "no avx"])
def test_every_number_of_rows_and_processor(
    features: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dropped = {"+avx512f", "+avx512vl", "+avx512bw", "+avx512dq"} if features != "all" else set()
    dropped |= {"+avx2", "+fma"} if features == "no avx" else set()
    here = target()
    machine = replace(here, features=here.features - dropped)
    monkeypatch.setattr(stacked_product, "target", lambda: machine)
    monkeypatch.setattr(stacked_product, "_known", {})
    held = cache(131, 3, 48, dtype)
    keys, values = held[:, :, :3], held[:, :, 3:]
    for rows in range(2, 8):
        for inner in (33, 48):
            x = numbers(2, 3, rows, 48, dtype=dtype, seed=rows)[..., :inner]
            y = keys.transpose(0, 2, 3, 1)[:, :, :inner]
            product = compiled_product(x, y)
            assert isinstance(product, StackedProduct)
            np.testing.assert_array_equal(product.array(), np.matmul(x, y))
        weights = numbers(2, 3, rows, 131, dtype=dtype, seed=rows)
        product = compiled_product(weights, values.transpose(0, 2, 1, 3))
        assert isinstance(product, StackedProduct)
        np.testing.assert_array_equal(
            product.array(), np.matmul(weights, values.transpose(0, 2, 1, 3))
        )


def factors(rows: int = 4) -> list[tuple[np.ndarray, np.ndarray]]:
    held = normal(2, 150, 6, 64)
    keys, values = held[:, :, :3].transpose(0, 2, 3, 1), held[:, :, 3:].transpose(0, 2, 1, 3)
    return [
        (normal(2, 3, rows, 64, seed=1), keys),
        (normal(2, 3, rows, 150, seed=2), values),
    ]


def test_bits_depend_on_row_and_column_alone() -> None:
    for x, y in factors(rows=7):
        product = compiled_product(x, y)
        expected = product.array()
        for threads in (1, 2, 5):
            with config.override(threads=threads):
                np.testing.assert_array_equal(product.array(), expected)
        for rows in (slice(1, 3), slice(0, 5), slice(3, 7)):
            part = compiled_product(x[:, :, rows], y)
            assert isinstance(part, StackedProduct)
            np.testing.assert_array_equal(part.array(), expected[:, :, rows])
        columns = slice(16, 144) if y.shape[-1] == 150 else slice(16, 64)
        if y.shape[-1] == 150:  # else there is too little of it
            part = compiled_product(x, y[..., columns])
            assert isinstance(part, StackedProduct)
            np.testing.assert_array_equal(part.array(), expected[..., columns])
        part = compiled_product(x[1:, ::2], y[1:, ::2])
        assert isinstance(part, StackedProduct)
        np.testing.assert_array_equal(part.array(), expected[1:, ::2])
        scattered = np.empty((*expected.shape, 2), np.float32)[..., 0]
        assert product.array(scattered) is scattered
        np.testing.assert_array_equal(scattered, expected)


def test_matrices_broadcast() -> None:
    for x, y in factors():
        expected = np.stack([compiled_product(x, one[None]).array() for one in y])
        assert isinstance(compiled_product(x[None], y[:, None]), StackedProduct)
        np.testing.assert_array_equal(compiled_product(x[None], y[:, None]).array(), expected)


def test_other_products_are_made_elsewhere() -> None:
    (x, y), (weights, values) = factors()
    for one, other in (
        (x[0, 0], y[0, 0]),  # a matrix alone
        (x[:, :, :1], y),  # a row of each
        (np.concatenate([x, x], axis=2), y),
        (x[..., ::2], y[:, :, ::2]),
        (x, y[..., :50]),  # small matrices
        (weights, values[..., :40]),  # no whole registers
        (x.astype(np.complex64), y.astype(np.complex64)),
    ):
        assert type(compiled_product(one, other)) is Product


@pytest.mark.parametrize("device", ["cpu", "llvm"])
@pytest.mark.parametrize("places", [256, 4096])
def test_a_step_of_attention_is_three_calls(
    device: str, places: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both products and what is between them, for any length of the cache, with the bits of a call without a replay."""
    held = normal(1, places, 4, 64)
    keys, values = [
        tfr.asarray(part.transpose(0, 2, 1, 3), device=device)
        for part in (held[:, :, :2], held[:, :, 2:])
    ]

    def attend(query: tfr.Tensor) -> tuple[tfr.Tensor, ...]:
        shape = (1, 8, 1, 64)
        first = tfr.nn.functional.scaled_dot_product_attention(
            tfr.reshape(query, shape), keys, values, enable_gqa=True
        )
        again = tfr.tanh(tfr.reshape(first, (1, 512)))
        second = tfr.nn.functional.scaled_dot_product_attention(
            tfr.reshape(again, shape), keys, values, enable_gqa=True
        )
        return second, tfr.argmax(tfr.reshape(second, (1, 512)), axis=-1)

    made: list[Bound | None] = []
    bind = ChainProgram.bind

    def binding(program: ChainProgram, *given: object) -> Bound | None:
        made.append(bind(program, *given))
        return made[-1]

    monkeypatch.setattr(ChainProgram, "bind", binding)
    jitted = tfr.jit(attend)
    for call in range(12):
        query = tfr.asarray(normal(1, 512, seed=call), device=device)
        for value, expected in zip(jitted(query), attend(query), strict=True):
            np.testing.assert_array_equal(value.numpy(), expected.numpy())
    assert is_bound(jitted)
    assert [len(each.calls) for each in made if each] == [3, 3]
