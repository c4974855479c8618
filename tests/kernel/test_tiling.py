"""Operands that are contiguous along different axes: tiles, and the copies that reshapes make of them."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.kernel.forms import tiles as tiling
from tensorframe.kernel.ir import Allocate
from tests.kernel.interpreted import interpreted, kernels_of


def array(*shape, dtype="float32", seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) * 50).astype(dtype)


def on_llvm(values):
    return tfr.asarray(values, device="llvm")


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr(tiling, "_SIDE", 4)
    monkeypatch.setattr(tiling, "_NARROW", 3)
    monkeypatch.setattr(tiling, "_AREA", 8)


def check(tensor, expected):
    assert tfr.explain(tensor).kernels == 1
    (found,) = interpreted(tensor)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(tensor.numpy(), expected)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(9, 13), (8, 4), (2, 11), (11, 2)])
def test_a_tensor_and_a_transposed_one(small_tiles, dtype, shape):
    x, y = array(*shape, dtype=dtype), array(*shape[::-1], dtype=dtype, seed=1)
    tensor = on_llvm(x) + on_llvm(y).T
    (kernel,) = kernels_of(tensor)
    assert any(isinstance(statement, Allocate) for statement in kernel.body) == (min(shape) > 2)
    check(tensor, x + y.T)


def test_axes_around_those_of_the_tiles(small_tiles):
    x, y = array(3, 7, 5, 6), array(3, 6, 5, 7, seed=1)
    check(on_llvm(x) + tfr.permute_dims(on_llvm(y), (0, 3, 2, 1)), x + y.transpose(0, 3, 2, 1))


def test_rows_that_run_backwards(small_tiles):
    x, y = array(9, 10), array(10, 9, seed=1)
    check(on_llvm(x) + on_llvm(y)[::-1, ::-1].T, x + y[::-1, ::-1].T)


def test_pieces_are_not_copied(small_tiles):
    x, y = array(9, 10), array(8, 7, seed=1)
    padded = tfr.pad(on_llvm(y), ((1, 1), (1, 1)))
    check(on_llvm(x) + padded.T * 2, x + np.pad(y, 1).T * 2)


def test_a_reshape_decides_where_elements_are(small_tiles):
    x = array(6, 5, 7)
    check(
        tfr.reshape(tfr.permute_dims(on_llvm(x), (2, 1, 0)) * 2, (7, 30)),
        (x * 2).transpose(2, 1, 0).reshape(7, 30),
    )


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "complex64"])
@pytest.mark.parametrize("device", ["llvm", "cpu"])
def test_a_reshape_copies_only_where_strides_cannot_say_it(dtype, device):
    x = array(130, 520).astype(dtype)
    tensor = tfr.asarray(x, device=device)
    assert np.shares_memory(tfr.reshape(tensor, (520, 130)).numpy(), tensor.numpy())
    for _ in range(3):
        turned = tfr.reshape(tensor.T, (260, 260))
        assert not np.shares_memory(turned.numpy(), tensor.numpy())
        np.testing.assert_array_equal(turned.numpy(), x.T.reshape(260, 260))
