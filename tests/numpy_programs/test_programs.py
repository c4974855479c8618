"""Programs for NumPy, run unchanged but for the name that they import, give the same results."""

from __future__ import annotations

import numpy as np
import pytest

import tensorframe as tfr
from tests.numpy_programs.loading import PROGRAMS, load


def same(expected, actual):
    expected, actual = np.asarray(expected), np.asarray(actual)
    assert expected.shape == actual.shape
    if expected.dtype.kind in "fc":
        np.testing.assert_allclose(actual, expected, rtol=2e-3, atol=2e-3)
    else:
        np.testing.assert_array_equal(actual, expected)


def test_there_are_ten():
    assert len(PROGRAMS) == 10


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_gives_what_it_gives_with_numpy(program):
    expected, actual = load(program, "numpy")(), load(program, "tensorframe")()
    assert list(expected) == list(actual)
    for name, value in expected.items():
        try:
            same(value, actual[name])
        except AssertionError as error:
            raise AssertionError(f"{program}: {name}: {error}") from error


def test_double_precision_is_as_exact_as_numpys():
    before = tfr.get_default_dtype()
    tfr.set_default_dtype("float64")
    try:
        for program in ("n_body", "kalman_filter", "spectral_solver"):
            expected, actual = load(program, "numpy")(), load(program, "tensorframe")()
            for name, value in expected.items():
                np.testing.assert_allclose(
                    np.asarray(actual[name]), np.asarray(value), rtol=1e-8, atol=1e-8
                )
    finally:
        tfr.set_default_dtype(before)
