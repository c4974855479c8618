"""Whether a call of ours and one of NumPy's give the same: values, NaN, signs of zeros, shapes, dtypes, or an error."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import tensorframe as tfr
from tensorframe.dtypes import BITWISE, FLOATING, NARROW, DType, float_of
from tests.values.cases import Case
from tests.values.special import Arguments, Array

Outcome = list[Array] | Exception


class Mismatch(NamedTuple):
    """What two calls gave that is not the same, and in words how it differs."""

    arguments: Arguments
    actual: Outcome
    expected: Outcome
    words: str
    wrong: Array | None = None  # which elements of the only result differ


def mismatches(case: Case, dtype: DType, *, largest: bool = False) -> Iterator[Mismatch]:
    """Yield how our results differ from NumPy's, for all arrays that `case` takes in `dtype`, or the largest alone."""
    inputs = list(case.inputs(dtype))
    if largest:
        inputs = [max(inputs, key=lambda arrays: sum(array.size for array in arrays))]
    for arguments in inputs:
        common = tfr.result_type(*arguments) if arguments else dtype
        found = mismatch(case, arguments, common) if common in case.dtypes else None
        if found is not None:
            yield found


def mismatch(case: Case, arguments: Arguments, common: DType) -> Mismatch | None:
    """Return how our result differs from NumPy's, None if it does not.

    Operands of several dtypes reach NumPy in the one that they promote to here, which is documented to be another at
    times; half precision reaches it as float32, which it rounds less often.
    """
    with np.errstate(all="ignore"):
        operands = plain(arguments, common, case)
    expected = outcome(case.reference or case.call, np, operands)
    actual = outcome(case.call, tfr, tuple(tfr.asarray(array) for array in arguments))
    words, wrong = _compared(actual, expected, case, common, arguments)
    return Mismatch(arguments, actual, expected, words, wrong) if words else None


def plain(arguments: Arguments, common: DType, case: Case) -> Arguments:
    """Return the arrays that NumPy is called with."""
    if case.dtype == "first":
        return tuple(_exact(array) for array in arguments)
    if case.as_float and common in BITWISE:
        common = np.dtype(np.float32)
    return tuple(_exact(array.astype(common)) for array in arguments)


def _exact(array: Array) -> Array:
    return array.astype(np.float32) if array.dtype in NARROW else array


def outcome(call: Callable[..., Any], namespace: Any, arguments: tuple[Any, ...]) -> Outcome:
    """Return the results of a call as arrays, or what it raised."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return _arrays(call(namespace, *arguments))
        except Exception as error:
            return error


def _arrays(result: Any) -> list[Array]:
    if isinstance(result, tuple | list):
        return [array for one in result for array in _arrays(one)]
    return [np.asarray(result)]


def _compared(
    actual: Outcome, expected: Outcome, case: Case, dtype: DType, arguments: Arguments
) -> tuple[str, Array | None]:
    if isinstance(actual, Exception) or isinstance(expected, Exception):
        both = isinstance(actual, tfr.errors.TensorFrameError) and isinstance(expected, Exception)
        return ("" if both else f"{_shown(actual)} instead of {_shown(expected)}"), None
    if len(actual) != len(expected):
        return f"{len(actual)} results instead of {len(expected)}", None
    for ours, theirs in zip(actual, expected, strict=True):
        first = arguments[0].dtype if arguments else dtype
        wanted = first if case.dtype == "first" else expected_dtype(theirs.dtype, dtype, case)
        words, wrong = _differing(ours, theirs, wanted, case)
        if words:
            return words, wrong if len(actual) == 1 else None
    return "", None


def expected_dtype(numpy: DType, operand: DType, case: Case) -> DType:
    """Return our dtype where NumPy's is `numpy`, of operands in `operand`."""
    if case.dtype == "numpy" or numpy not in FLOATING:
        return numpy
    if case.dtype == "own":
        return float_of(operand)
    if operand in NARROW and numpy == np.float32:
        return operand
    if operand in BITWISE:
        return np.dtype(np.float32 if numpy.kind == "f" else np.complex64)
    return numpy


def _shown(result: Outcome) -> str:
    return repr(result) if isinstance(result, Exception) else ", ".join(map(str, result))


def _differing(
    actual: Array, expected: Array, dtype: DType, case: Case
) -> tuple[str, Array | None]:
    if actual.shape != expected.shape:
        return f"shape {actual.shape} instead of {expected.shape}", None
    if actual.dtype != dtype:
        return f"{actual.dtype} instead of {dtype}", None
    with np.errstate(all="ignore"):
        wrong = ~same_elements(actual, expected.astype(dtype), case)
    if not wrong.any():
        return "", None
    at = tuple(np.argwhere(wrong)[0].tolist())
    return f"{actual[at]!r} instead of {expected[at]!r} at {at}, one of {int(wrong.sum())}", wrong


def same_elements(actual: Array, expected: Array, case: Case) -> Array:
    """Return which elements are the same, up to the rounding that `case` allows."""
    if actual.dtype.kind == "c":
        real, imag = (
            same_elements(getattr(actual, part), getattr(expected, part), case)
            for part in ("real", "imag")
        )
        infinite = ~(np.isfinite(actual) | np.isfinite(expected))
        return real & imag | (infinite & (not case.parts))
    if actual.dtype in BITWISE:
        return np.asarray(actual == expected)
    ours, theirs = actual.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(theirs)
    size = max(1.0, abs(theirs[finite]).max(initial=0.0)) if case.scaled else abs(theirs)
    near = finite & (abs(ours - theirs) <= case.ulp * float(tfr.finfo(actual.dtype).eps) * size)
    found = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs)) | near
    if case.zeros:
        zero = (ours == 0) & (theirs == 0)
        found &= ~zero | (np.signbit(ours) == np.signbit(theirs))
    return np.asarray(found)
