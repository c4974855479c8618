"""Complex numbers have NumPy's order: real parts, then imaginary ones, NaN first."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import DTypeError, ShapeError
from tests.backends.devices import FOUND

nan, inf = float("nan"), float("inf")
PARTS = [-inf, -2.0, -0.0, 0.0, 1.0, inf]
DRAW = np.random.default_rng(3)
TIES = DRAW.choice(PARTS, (3, 4, 5)) + 1j * DRAW.choice([-1.0, 0.0, 2.0], (3, 4, 5))
WITH_NAN = np.where(DRAW.random((3, 4, 5)) < 0.1, nan + 1j, TIES)
VALUES = {"ties": TIES, "nan": WITH_NAN, "strided": TIES[:, ::-2], "one": TIES[:1, :1, :1]}


@pytest.mark.parametrize("device", ["cpu", "numpy"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("values", VALUES)
def test_extremes_are_numpys(device, dtype, name, values):
    array = VALUES[values].astype(dtype)
    tensor = tfr.asarray(array, device=device)
    for axis in (None, 0, 1, -1) if name.startswith("arg") else (None, 0, -1, (0, 2), (1, 0)):
        for keepdims in (False, True):
            expected = getattr(np, name)(array, axis=axis, keepdims=keepdims)
            for actual in (
                getattr(tfr, name)(tensor, axis=axis, keepdims=keepdims),
                getattr(tensor, name)(axis=axis, keepdims=keepdims),
            ):
                assert actual.dtype == expected.dtype
                np.testing.assert_array_equal(actual.numpy(), expected)


@pytest.mark.parametrize("device", ["cpu", "numpy", *FOUND])
def test_comparisons_and_choices_are_numpys_on_every_device(device):
    parts = [-inf, -0.0, 0.0, 1.0, inf, nan]
    line = np.asarray([complex(real, imag) for real in parts for imag in (-1.0, 0.0, inf, nan)])
    array = line.astype("complex64")
    tensor = tfr.asarray(array, device=device)
    names = ["less", "less_equal", "greater", "greater_equal", "maximum", "minimum", "fmax", "fmin"]
    results = [getattr(tfr, name)(tensor[:, None], tensor) for name in names]
    for name, actual in zip(names, tfr.compute(*results), strict=True):
        with np.errstate(invalid="ignore"):
            expected = getattr(np, name)(array[:, None], array)
        assert actual.dtype == expected.dtype
        np.testing.assert_array_equal(actual.numpy(), expected, err_msg=name)


def test_complex_numbers_are_compared_with_others_and_clipped():
    z = tfr.asarray([1j, 1 + 1j, 2 - 1j])
    assert (z > 1).tolist() == [False, True, True]
    assert (z >= 1).tolist() == [False, True, True]
    assert tfr.maximum(z, tfr.asarray([1, 1, 3])).tolist() == [1, 1 + 1j, 3]
    assert tfr.clip(z, 1, 1 + 2j).tolist() == [1, 1 + 1j, 1 + 2j]
    assert np.fmin(z, nan).tolist() == z.tolist()
    with pytest.raises(DTypeError, match="remainder"):
        _ = z % 2


@pytest.mark.parametrize("name", ["nanmax", "nanmin"])
def test_nan_is_left_out_of_extremes(name):
    array = WITH_NAN.copy()
    array[0, 0] = nan
    for axis in (None, 0, (1, 2), -1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy warns of what is NaN alone
            expected = getattr(np, name)(array, axis=axis)
        np.testing.assert_array_equal(getattr(tfr, name)(tfr.asarray(array), axis), expected)


def test_selected_elements_have_extremes():
    z, chosen = tfr.asarray([1j, 5.0, 2 - 1j]), [True, False, True]
    assert tfr.max(z, where=chosen, initial=-9).item() == 2 - 1j
    assert tfr.min(z, initial=-1j, where=chosen).item() == -1j
    assert tfr.max(z, axis=0, initial=7).item() == 7


@pytest.mark.parametrize("size", [4, 5])
def test_medians_lie_in_the_middle_of_the_order(size):
    array = DRAW.integers(0, 3, (3, size, 1)) + 1j * DRAW.normal(size=(3, size, 1))
    for axis in (None, 1):
        np.testing.assert_allclose(tfr.median(tfr.asarray(array), axis), np.median(array, axis))
    array[0, 0] = nan
    assert np.isnan(tfr.median(tfr.asarray(array)).item())


def test_what_is_made_of_extremes_is_numpys():
    line = TIES[1, 2][np.isfinite(TIES[1, 2])]
    assert tfr.ptp(tfr.asarray(line)).item() == np.ptp(line)
    assert np.maximum.reduce(tfr.asarray(line)).item() == np.maximum.reduce(line)
    out = tfr.zeros((), dtype="complex128")
    assert tfr.max(tfr.asarray(line), out=out) is out
    assert out.item() == line.max()


def test_no_elements_have_no_extremes():
    with pytest.raises(ShapeError):
        tfr.max(tfr.zeros(0, dtype="complex64"))
    assert tfr.max(tfr.zeros((0, 3), dtype="complex64"), axis=1).shape == (0,)


def test_gradients_go_to_the_chosen_element():
    def largest(x):
        return tfr.real(tfr.max(x + 1j * x[::-1]))

    assert tfr.grad(largest)(tfr.asarray([1.0, 5.0, 3.0])).tolist() == [0.0, 1.0, 0.0]


BOOLS = np.array([True, False, True])


@pytest.mark.parametrize(
    "call",
    ["square(b)", "conj(b)", "power(b, b)", "remainder(b, True)", "abs(b)", "real(b)", "b ** b"],
)
def test_bools_are_the_smallest_integers_where_arithmetic_counts(call):
    expected = eval(call, {name: getattr(np, name) for name in dir(np)} | {"b": BOOLS})
    names = {name: getattr(tfr, name) for name in dir(tfr)} | {"b": tfr.asarray(BOOLS)}
    actual = eval(call, names)
    assert actual.dtype == expected.dtype
    assert actual.tolist() == expected.tolist()


def test_what_numpy_refuses_of_bools_stays_refused():
    b = tfr.asarray(BOOLS)
    for call in (lambda: -b, lambda: b - b, lambda: tfr.sign(b)):
        with pytest.raises(DTypeError, match="bool"):
            call()


def test_bytes_are_those_of_the_elements():
    x = tfr.asarray(np.array([3, 1, 2]))
    assert bytes(x) == x.numpy().tobytes()
    assert (tfr.add.identity, tfr.multiply.identity, tfr.maximum.identity) == (0, 1, None)


def test_partitions_of_complex_numbers_are_numpys():
    line = TIES[1][np.isfinite(TIES[1])][:7]
    for k in range(7):
        assert tfr.partition(tfr.asarray(line), k)[k].item() == np.sort(line)[k]
        assert line[tfr.argpartition(tfr.asarray(line), k)[k].item()] == np.sort(line)[k]
