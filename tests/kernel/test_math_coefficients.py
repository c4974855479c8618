"""The coefficients of vector math are the ones that their derivations print."""

import importlib
import sys
from pathlib import Path

import pytest

DERIVATIONS = Path(__file__).parents[2] / "docs" / "derive"
sys.path.insert(0, str(DERIVATIONS))  # the derivations share a module there
remez = importlib.import_module("remez")

NAMES = [
    "error_function",
    "exponential",
    "hyperbolic",
    "inverse_trigonometric",
    "logarithm",
    "portable",
    "powers",
    "roots",
    "trigonometric",
]
CASES = [
    pytest.param(name, one, id=f"{name}-{one.name}")
    for name in NAMES
    for one in importlib.import_module(name).PIECES
]


@pytest.fixture(autouse=True)
def digits():
    """Those of the derivations, whichever other module has been imported since."""
    with remez.mp.workdps(40):
        yield


def committed(name, piece):
    """The coefficients that the formulas use, that of the lowest power first."""
    found = getattr(importlib.import_module(f"tensorframe.kernel.math.{name}"), piece.name)
    return found[::-1]


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("name", "piece"), CASES)
def test_coefficients_follow_from_those_before_them(name, piece):
    """A few of each: the program itself derives all of them, which takes its time."""
    found = committed(name, piece)
    assert len(found) == len(piece.powers)
    for at in {0, len(found) // 2, len(found) - 2, len(found) - 1}:
        if at >= len(piece.fixed):
            assert remez.next_coefficient(piece, found[:at]) == found[at]


# what a step of Newton's method squares, and what float64 computes for float32
ENOUGH = {"ROOT_32": 3e-5, "ROOT_64": 2e-9, "LOG2_SLOPE": 3e-12, "EXP2": 5e-11}


@pytest.mark.parametrize(("name", "piece"), CASES)
def test_polynomials_are_good_to_half_a_last_place(name, piece):
    error = remez.largest_error(piece, committed(name, piece))
    assert error < ENOUGH.get(piece.name, remez.np.finfo(piece.dtype).epsneg / 2)


@pytest.mark.parametrize(
    ("name", "constant"),
    [
        pytest.param(name, one, id=f"{name}-{one.name}")
        for name in NAMES
        for one in getattr(importlib.import_module(name), "CONSTANTS", [])
    ],
)
def test_constants_are_the_ones_derived(name, constant):
    module = importlib.import_module(f"tensorframe.kernel.math.{name}")
    assert getattr(module, constant.name) == tuple(remez.summands(constant))


def test_the_first_guess_of_a_root_is_the_one_that_its_polynomial_is_for():
    derived = importlib.import_module("roots").SHIFT
    assert float(derived) == importlib.import_module("tensorframe.kernel.math.roots").SHIFT
