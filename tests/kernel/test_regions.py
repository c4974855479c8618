"""Kernels of whole expressions: NumPy's values, from one kernel where the loops are the same."""

from __future__ import annotations

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.kernel.forms import builder

RANDOM = np.random.default_rng(0)
REAL = RANDOM.standard_normal((30, 50)).astype(np.float32)
COMPLEX = (REAL + 1j * RANDOM.standard_normal((30, 50))).astype(np.complex64)
ROW = (RANDOM.standard_normal(50) + 1j).astype(np.complex64)


@pytest.fixture(autouse=True)
def compiled():
    with tfr.use_backend("llvm"):
        yield


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def normalised(x, axis):
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)


def normalised_tensor(x, axis):
    mean, variance = tfr.mean(x, axis=axis, keepdims=True), tfr.var(x, axis=axis, keepdims=True)
    return (x - mean) / tfr.sqrt(variance + 1e-5)


def one_kernel(tensor, expected, tolerance=1e-4):
    assert tfr.explain(tensor).kernels == 1
    found = tensor.numpy()
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("axis", [0, 1])
def test_rows_and_columns_take_several_passes_in_one_kernel(axis):
    x = tfr.asarray(REAL)
    one_kernel(tfr.softmax(x, axis=axis), softmax(REAL, axis))
    one_kernel(normalised_tensor(x, axis), normalised(REAL, axis))
    one_kernel(tfr.std(x, axis=axis), REAL.std(axis))


@pytest.mark.parametrize("axis", [0, 1])
def test_scans_run_with_what_is_around_them(axis):
    x = tfr.asarray(REAL)
    one_kernel(tfr.cumulative_sum(x * x, axis=axis) + 1, np.cumsum(REAL * REAL, axis) + 1)
    share = tfr.cumulative_sum(x, axis=axis) / tfr.sum(tfr.abs(x), axis=axis, keepdims=True)
    one_kernel(share, np.cumsum(REAL, axis) / np.abs(REAL).sum(axis, keepdims=True))
    highest = tfr.max(tfr.cumulative_sum(x, axis=axis), axis=axis)
    one_kernel(highest, np.cumsum(REAL, axis).max(axis))


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("holes", [False, True])
def test_positions_of_extremes(axis, holes):
    values = REAL.copy()
    if holes:
        values[3, 4] = values[7, 4] = np.nan
    x = tfr.asarray(values)
    one_kernel(tfr.argmax(x, axis=axis), np.argmax(values, axis=axis))
    one_kernel(tfr.argmin(x * 2, axis=axis), np.argmin(values * 2, axis=axis))


@pytest.mark.parametrize(("dtype", "beyond"), [("int8", 31), ("float32", 31), ("float64", 63)])
def test_positions_are_compared_in_as_few_bits_as_elements_allow(dtype, beyond):
    x = tfr.asarray(np.arange(40.0).reshape(4, 10), dtype=dtype)
    source = str(tfr.explain(tfr.argmax(x, axis=1), source=True))
    others = {31: 63, 63: 31}
    assert f"np.int{beyond + 1}({2**beyond - 1})" in source
    assert str(2 ** others[beyond] - 1) not in source
    assert tfr.argmax(x, axis=1).dtype == tfr.int64


def test_several_results_of_computed_data_are_one_kernel():
    x = tfr.asarray(np.tile(REAL, (10, 1)))
    expected = np.sin(np.tile(REAL, (10, 1)) * 2) + np.tile(REAL, (10, 1))

    def results():
        y = tfr.sin(x * 2) + x
        return [tfr.min(y), tfr.max(y), tfr.mean(y)]

    assert tfr.explain(*results()).kernels == 1
    found = results()
    tfr.compute(*found)
    wanted = [expected.min(), expected.max(), expected.mean()]
    np.testing.assert_allclose([t.item() for t in found], wanted, rtol=1e-5, atol=1e-6)


def test_groups_that_need_each_other_stay_apart():
    x = tfr.asarray(np.tile(REAL, (10, 1)))
    total = tfr.sum(x)
    scaled = x * total
    found = [total, tfr.max(scaled), scaled]
    tfr.compute(*found)
    expected = np.tile(REAL, (10, 1))
    np.testing.assert_allclose(scaled.numpy(), expected * expected.sum(), rtol=1e-4)


@pytest.mark.parametrize(
    ("tensor", "array"),
    [
        (lambda z, w: z * w + 2j, lambda z, w: z * w + np.complex64(2j)),
        (lambda z, w: z / w, lambda z, w: z / w),
        (lambda z, _: 1 / z, lambda z, _: 1 / z),
        (lambda z, _: tfr.conj(z.T) * 3, lambda z, _: np.conj(z.T) * np.float32(3)),
        (lambda z, _: tfr.sum(z * z, axis=0), lambda z, _: (z * z).sum(0)),
        (lambda z, _: tfr.sum(z), lambda z, _: z.sum()),
        (lambda z, _: abs(z) + 1, lambda z, _: np.abs(z) + 1),
        (lambda z, _: tfr.real(z) * 2 + tfr.imag(z), lambda z, _: z.real * 2 + z.imag),
        (lambda z, _: z[::2, ::-1] + 1, lambda z, _: z[::2, ::-1] + 1),
        (lambda z, _: z[:, 1:] - z[:, :-1], lambda z, _: z[:, 1:] - z[:, :-1]),
        (lambda z, _: tfr.where(tfr.real(z) > 0, z, -z), lambda z, _: np.where(z.real > 0, z, -z)),
        (lambda z, _: tfr.astype(tfr.real(z), "complex128"), lambda z, _: z.real + np.complex128()),
        (lambda z, _: tfr.cumulative_sum(z, axis=1), lambda z, _: np.cumsum(z, 1)),
    ],
    ids=[
        "product",
        "quotient",
        "reciprocal",
        "conjugate",
        "sum-of-rows",
        "sum",
        "magnitude",
        "parts",
        "flipped",
        "differences",
        "choice",
        "from-real",
        "scan",
    ],
)
def test_complex_numbers_are_pairs(tensor, array):
    one_kernel(tensor(tfr.asarray(COMPLEX), tfr.asarray(ROW)), np.asarray(array(COMPLEX, ROW)))


def test_any_and_all_know_when_they_are_done():
    values = np.zeros(300_000, np.float32)
    for place in (0, 150_000, 299_999):
        values[place] = 1
        x = tfr.asarray(values)
        assert tfr.any(x > 0.5).item()
        assert not tfr.all(x < 0.5).item()
        values[place] = 0
    assert not tfr.any(tfr.asarray(values) > 0.5).item()
    assert tfr.all(tfr.asarray(values) < 0.5).item()


def test_angles_beyond_the_quick_way_are_right_too():
    values = np.asarray([1.0, 1e6, 1e30, 0.5, -1e4] * 1000, np.float32)
    expected = np.sin(values.astype(np.float64)).astype(np.float32)
    for _ in range(6):  # after a few disappointments the general kernel runs at once
        np.testing.assert_allclose(
            (tfr.sin(tfr.asarray(values)) + 1).numpy(), expected + 1, rtol=1e-6
        )


def test_the_general_kernel_is_made_when_an_element_needs_it(monkeypatch):
    made = []

    def noted(statements):
        made.append(statements)
        return general(statements)

    general = builder.general
    monkeypatch.setattr(builder, "general", noted)
    values = np.linspace(-3, 3, 4999, dtype=np.float32)
    (tfr.cos(tfr.asarray(values)) - 2).numpy()
    assert not made
    values[77] = 1e8
    for _ in range(2):
        found = (tfr.cos(tfr.asarray(values)) - 2).numpy()
        assert abs(found[77] - (np.cos(np.float64(values[77])) - 2)) < 1e-6
        assert len(made) == 1
