"""Assignments by index on devices of kernels, by the kernels that make the values: one launch, and NumPy's results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import IndexingError
from tests.backends.counts import counted
from tests.backends.devices import FOUND, on_every_device

Make = Callable[[Any, Any, list[Any]], tuple[Any, Any]]


@pytest.fixture(autouse=True)
def plans() -> Iterator[None]:
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


def values(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype) % 50


def rows(x: Any, y: Any, indices: list[Any]) -> tuple[Any, Any]:
    """All that is made is assigned to rows, and nobody else reads it."""
    x[indices[0]] = y * 2 + 1
    return x, None


def parts(x: Any, y: Any, indices: list[Any]) -> tuple[Any, Any]:
    """Some of what is made is assigned, and all of it is needed besides."""
    made = y * 2 + 1
    x[indices[0]] = made[:, 1:4]
    return x, made


def points(x: Any, y: Any, indices: list[Any]) -> tuple[Any, Any]:
    """Two axes are indexed: neighbours along the one between stay neighbours."""
    made = y * 2 + 1
    x[indices[0], :, indices[1]] = made[1:]
    return x, made


def turned(x: Any, y: Any, indices: list[Any]) -> tuple[Any, Any]:
    """What is made is in another order in memory than what is assigned."""
    made = y.mT * 2 + 1
    x[indices[0]] = made
    return x, made


def joined(x: Any, y: Any, indices: list[Any]) -> tuple[Any, Any]:
    """Pieces of what is made come from several places."""
    concat = np.concatenate if isinstance(y, np.ndarray) else tfr.concat
    made = concat([y * 2, y + 1], axis=1)
    x[indices[0]] = made[:, 1:]
    return x, made


CASES: list[tuple[Make, tuple[int, ...], tuple[int, ...], list[Any]]] = [
    (rows, (7, 4), (3, 4), [[5, 0, 2]]),
    (rows, (7, 4), (4, 4), [[5, -2, 5, 6]]),  # the third stays, of one position
    (rows, (7, 4), (1, 4), [[3]]),
    (rows, (7, 4), (1, 1, 4), [[[-1]]]),
    (rows, (3, 2, 4), (2, 2, 2, 4), [[[1, 2], [1, 0]]]),
    (parts, (5, 3), (4, 6), [[4, 4, 1, 4]]),
    (points, (4, 3, 5), (4, 3), [[1, 3, 1], [2, -1, 2]]),
    (points, (4, 3, 5), (4, 3), [[1], [2, 0, -3]]),
    (turned, (6, 4), (4, 3), [[0, 5, 1]]),
    (joined, (4, 5), (3, 3), [[3, 1, 3]]),
]


@on_every_device
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_what_is_made_is_assigned_by_its_kernel(device: str, case: Any) -> None:
    make, shape, given, indices = case
    dtype = "int32" if make is points else "float32"
    arrays = [np.array(index, np.int32) for index in indices]
    expected = make(values(*shape, dtype=dtype), values(*given, dtype=dtype), arrays)
    x, y = [tfr.asarray(values(*each, dtype=dtype), device=device) for each in (shape, given)]
    tensors = [tfr.asarray(index, device=device) for index in arrays]
    tfr.compute(x, y, *tensors)
    found = [each for each in make(x, y, tensors) if each is not None]
    plan = tfr.explain(*found)
    assert plan.kernels == 1
    for one, wanted in zip(tfr.compute(*found), expected, strict=False):
        np.testing.assert_array_equal(one.numpy(), wanted)


@on_every_device
def test_what_is_donated_is_written_in_place(device: str) -> None:
    """One launch, no copy, and memory for what is made alone."""

    @tfr.jit(updates=("x",), donate=True)
    def step(x: list[Any], y: tfr.Tensor, index: tfr.Tensor) -> tfr.Tensor:
        made = y * 2 + 1
        x[0][index] = made[:, 1:]
        return made

    x = [tfr.asarray(values(1000, 3), device=device)]
    y, expected = tfr.asarray(values(1, 4), device=device), values(1000, 3)
    for place in range(4):
        index = tfr.asarray(np.array([place], np.int32), device=device)
        tfr.compute(index)
        with counted(device) as counts:
            tfr.compute(step(x, y, index))
        expected[place] = (values(1, 4) * 2 + 1)[:, 1:]
    assert (counts["launch"], counts["copy"]) == (1, 0)
    assert counts["fresh"] < 1000
    np.testing.assert_array_equal(x[0].numpy(), expected)


@on_every_device
@pytest.mark.parametrize("wrong", [5, -6])
def test_indices_out_of_bounds_are_said(device: str, wrong: int) -> None:
    x, y = [tfr.asarray(values(*shape), device=device) for shape in ((5, 4), (2, 4))]
    index = tfr.asarray(np.array([0, wrong - 1], np.int32), device=device) + 1
    tfr.compute(x, y, index)
    x[index] = y * 2
    assert tfr.explain(x).kernels == 1
    with pytest.raises(IndexingError, match=f"{wrong} is out of bounds"):
        x.numpy()


@pytest.mark.parametrize("device", FOUND)
def test_what_cannot_be_one_kernel_is_several(device: str) -> None:
    """Values that are made of what they replace, indices that wait for them, and more than threads compare."""
    base, y = values(5, 4), values(2, 4)
    index = np.array([3, 1], np.int32)

    def tensors() -> list[tfr.Tensor]:
        made = [tfr.asarray(array, device=device) for array in (base, y, index)]
        tfr.compute(*made)
        return made

    x, given, where = tensors()
    x[where] = x[:2] + given
    expected = base.copy()
    expected[index] = base[:2] + y
    assert tfr.explain(x).kernels == 2
    np.testing.assert_array_equal(x.numpy(), expected)

    x, given, where = tensors()
    made = given + 1
    x[tfr.astype(made[:, 1] % 5, tfr.int32)] = made
    expected = base.copy()
    expected[((y + 1)[:, 1] % 5).astype(int)] = y + 1
    np.testing.assert_array_equal(x.numpy(), expected)

    x, given, where = tensors()
    many = np.arange(20) % 5
    given = tfr.asarray(values(20, 4), device=device)
    x[tfr.asarray(many, device=device)] = given * 3
    tfr.compute(given)
    assert tfr.explain(x).kernels == 2
    expected = base.copy()
    expected[many] = values(20, 4) * 3
    np.testing.assert_array_equal(x.numpy(), expected)
