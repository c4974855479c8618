"""The coefficients of the error functions are the ones that their derivation prints."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from tensorframe.backends.numpy import special

SOURCE = Path(__file__).parents[2] / "docs" / "derive" / "erf.py"
SPECIFICATION = importlib.util.spec_from_file_location("derive_erf", SOURCE)
assert SPECIFICATION is not None
assert SPECIFICATION.loader is not None
derive = importlib.util.module_from_spec(SPECIFICATION)
sys.modules["derive_erf"] = derive  # dataclasses look their module up
SPECIFICATION.loader.exec_module(derive)


@pytest.mark.parametrize("piece", derive.PIECES, ids=lambda piece: piece.name)
def test_coefficients_are_derived(piece):
    derived = [float(piece.dtype(float(one))) for one in derive.least_squares(piece)]
    assert tuple(derived) == getattr(special, piece.name)


@pytest.mark.parametrize("piece", derive.PIECES, ids=lambda piece: piece.name)
def test_polynomials_are_good_to_a_fraction_of_the_last_place(piece):
    error = derive.largest_error(piece, derive.least_squares(piece))
    assert error < 0.2 * derive.np.finfo(piece.dtype).eps
