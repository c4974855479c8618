"""Polynomials by their coefficients, the highest power first: values, derivatives, fits, and NumPy's arithmetic.

Values, sums, derivatives and fits are formulas. Products, quotients and roots depend on which coefficients are zero,
and are computed at once, by NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.backends.silence import silenced
from tensorframe.dtypes import BITWISE, COMPLEX, as_dtype
from tensorframe.errors import ArgumentError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.creation.ranges import positions
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.fast_paths.exact_functions import exact
from tensorframe.frontend.linalg.contractions import conjugated, matrix_transpose, outer
from tensorframe.frontend.linalg.decompositions import inv, lstsq
from tensorframe.frontend.manipulation.joining import concat, stack
from tensorframe.frontend.manipulation.views import atleast_1d, part_of
from tensorframe.frontend.operands import (
    converted,
    expanded,
    filled,
    flattened,
    floating,
    operand,
    promoted,
    reshaped,
    with_axes,
)
from tensorframe.frontend.parameters import choice, count, flag
from tensorframe.frontend.protocols.ufuncs import through_numpy
from tensorframe.frontend.reductions.elementary import sum as total
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.holding import holds
from tensorframe.ops.elementwise import EQUAL, REAL_PART, SQRT, WHERE

# NumPy's class of polynomials, whose arithmetic is its own
poly1d = np.poly1d

__all__ = [
    "poly",
    "poly1d",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "roots",
    "vander",
]


def _are_objects(*values: Any) -> bool:
    """Whether one of several polynomials is an object of NumPy's, whose arithmetic is its own."""
    return any(isinstance(value, np.poly1d) for value in values)


def _by_class(function: Any, *args: Any) -> Any:
    """Return what NumPy's function gives for objects of its class."""
    return function(*args)


def _coefficients(name: str, value: Any) -> Tensor:
    tensor = operand(value)
    if tensor.ndim > 1:
        raise ShapeError(f"{name}: takes a vector of coefficients, got shape {tensor.shape}")
    return with_axes(tensor, 1)


def polyval(p: ArrayLike, x: ArrayLike) -> Any:
    """The values of a polynomial at `x`, of any shape, by Horner's scheme.

    >>> tfr.polyval(tfr.asarray([3, 0, 1]), tfr.asarray([2, 5])).tolist()
    [13, 76]
    """
    if _are_objects(p, x):
        return _by_class(np.polyval, p, x)
    # a number is an array of NumPy's by itself: integers are int64, which hold more than narrow coefficients do
    points = operand(x) if isinstance(x, int) else x
    coefficients, points = promoted(_coefficients("polyval", p), points)
    values: Any = points * 0
    for place in range(coefficients.size):
        values = values * points + reshaped(part_of(coefficients, 0, place, 1), ())
    result: Tensor = values
    return result


def _aligned(name: str, a1: Any, a2: Any) -> tuple[Any, Any]:
    """Return coefficients of two polynomials as vectors of one length, with zeros for the powers that one lacks."""
    pair = promoted(_coefficients(name, a1), _coefficients(name, a2))
    size = max(tensor.size for tensor in pair)
    first, second = (
        concat([filled((size - tensor.size,), False, dtypes.bool_, tensor.device), tensor])
        if tensor.size < size
        else tensor
        for tensor in pair
    )
    return first, second


@exact(np.polyadd, 2)
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Any:
    """The coefficients of the sum of two polynomials.

    Coefficients begin with that of the highest power, as in NumPy; the shorter polynomial is padded
    in front.

    >>> tfr.polyadd(tfr.asarray([1, 2]), tfr.asarray([9, 5, 4])).tolist()
    [9, 6, 6]
    """
    if _are_objects(a1, a2):
        return _by_class(np.polyadd, a1, a2)
    first, second = _aligned("polyadd", a1, a2)
    result: Tensor = first + second
    return result


@exact(np.polysub, 2)
def polysub(a1: ArrayLike, a2: ArrayLike) -> Any:
    """The coefficients of the difference of two polynomials.

    Coefficients begin with that of the highest power; the shorter polynomial is padded in front.

    >>> tfr.polysub(tfr.asarray([2, 10, -2]), tfr.asarray([3, 10, -4])).tolist()
    [-1, 0, 2]
    """
    if _are_objects(a1, a2):
        return _by_class(np.polysub, a1, a2)
    first, second = _aligned("polysub", a1, a2)
    result: Tensor = first - second
    return result


def polymul(a1: ArrayLike, a2: ArrayLike) -> Any:
    """The coefficients of the product of two polynomials, without leading zeros. Computes at once.

    >>> tfr.polymul([1, 2, 3], [9, 5, 1]).tolist()
    [9, 23, 38, 17, 3]
    """
    if _are_objects(a1, a2):
        return _by_class(np.polymul, a1, a2)
    pair = (_coefficients("polymul", a1), _coefficients("polymul", a2))
    return _by_numpy(np.polymul, *pair)


def polydiv(u: ArrayLike, v: ArrayLike) -> Any:
    """The coefficients of the quotient and the rest of two polynomials. Computes at once.

    >>> [part.tolist() for part in tfr.polydiv([3.0, 5.0, 2.0], [2.0, 1.0])]
    [[1.5, 1.75], [0.25]]
    """
    if _are_objects(u, v):
        return _by_class(np.polydiv, u, v)
    pair = floating(_coefficients("polydiv", u), _coefficients("polydiv", v))
    if not pair[1].size:
        raise ShapeError("polydiv: the divisor has no coefficients")
    quotient, rest = through_numpy(np.polydiv, tuple(pair), {})
    return quotient, rest


def roots(p: ArrayLike) -> Tensor:
    """The roots of a polynomial: the eigenvalues of its companion matrix. Computes at once.

    >>> sorted(tfr.roots([1.0, -3.0, 2.0]).tolist())
    [1.0, 2.0]
    """
    (coefficients,) = floating(_coefficients("roots", p))
    return _by_numpy(np.roots, coefficients)


def poly(seq_of_zeros: ArrayLike) -> Tensor:
    """The coefficients of the polynomial with these roots, or with a square matrix's eigenvalues. Computes at once.

    >>> tfr.poly([1.0, 2.0]).tolist()
    [1.0, -3.0, 2.0]
    """
    (zeros,) = floating(seq_of_zeros)
    if zeros.ndim > 2 or (zeros.ndim == 2 and zeros.shape[0] != zeros.shape[1]):
        raise ShapeError(f"poly: takes a vector or a square matrix, got shape {zeros.shape}")
    return _by_numpy(np.poly, atleast_1d(zeros))


def _by_numpy(function: Any, *tensors: Any) -> Tensor:
    result: Tensor = operand(through_numpy(function, tensors, {}))
    return result


def polyder(p: ArrayLike, m: int = 1) -> Any:
    """The coefficients of the derivative of order `m`.

    Coefficients begin with that of the highest power; there are `m` fewer of them in the result.

    >>> tfr.polyder(tfr.asarray([1, 1, 1, 1])).tolist()
    [3, 2, 1]
    """
    if _are_objects(p):
        return _by_class(np.polyder, p, m)
    result: Any = _beside_powers(_coefficients("polyder", p))
    for _ in range(count("polyder", "m", m)):
        if not result.size:
            break
        powers = result.size - 1 - positions(result.size, result.device)
        result = part_of(result * converted(powers, result.dtype), 0, 0, result.size - 1)
    derivative: Tensor = result
    return derivative


def _beside_powers(tensor: Tensor) -> Tensor:
    """Return numbers in the dtype of their products with int64, in which powers are counted."""
    return converted(tensor, dtypes.promote(tensor.dtype, as_dtype("int64")))


def _few_integrated(p: Any) -> Any:
    """Return what `polyint` gives of floats, in their dtype: NumPy's computes in float64."""
    result = np.zeros(p.size + 1, p.dtype)
    np.divide(p, np.arange(p.size, 0, -1, dtype=p.dtype), result[:-1])
    return result


@exact(_few_integrated, 1, besides=COMPLEX)  # quotients of these are rounded otherwise in NumPy
def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Any:
    """The coefficients of the antiderivative of order `m`; `k` are its constants, in the order of integration.

    >>> tfr.polyint(tfr.asarray([3.0, 2.0, 1.0])).tolist()
    [1.0, 1.0, 1.0, 0.0]
    """
    if _are_objects(p):
        return _by_class(np.polyint, p, m, k)
    order = count("polyint", "m", m)
    (result,) = floating(_coefficients("polyint", p))
    constants = flattened(converted(operand(0.0 if k is None else k), result.dtype))
    if constants.size == 1:
        constants = expanded(constants, (order,))
    if constants.size < order:
        raise ShapeError(f"polyint: {constants.size} constants for {order} integrations")
    for place in range(order):
        powers: Any = result.size - converted(positions(result.size, result.device), result.dtype)
        result = concat([result / powers, part_of(constants, 0, place, 1)])
    return result


@silenced
def _few_powers(x: Any, count: Any = None, increasing: Any = False) -> Any:
    """Return what `vander` gives, in the dtype of `x`: NumPy's computes in float64."""
    work = np.promote_types(x.dtype, np.int64) if x.dtype in BITWISE else x.dtype
    matrix = np.empty((len(x), len(x) if count is None else count), work)
    powers = matrix if increasing else matrix[:, ::-1]
    powers[:, :1] = 1
    powers[:, 1:] = x[:, None]
    np.multiply.accumulate(powers[:, 1:], axis=1, out=powers[:, 1:])
    return matrix


@exact(_few_powers, 3, besides=COMPLEX)  # products of these are rounded by layout in NumPy
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Tensor:
    """The matrix of the powers of a vector as columns, `N` of them (as many as elements if None), falling.

    >>> tfr.vander(tfr.asarray([1, 2, 3]), 3).tolist()
    [[1, 1, 1], [4, 2, 1], [9, 3, 1]]
    """
    tensor: Any = operand(x)
    if tensor.ndim != 1:
        raise ShapeError(f"vander: takes a vector, got shape {tensor.shape}")
    tensor = _beside_powers(tensor)
    size = tensor.size if N is None else count("vander", "N", N)
    if not size:
        return filled((tensor.size, 0), 0, tensor.dtype, tensor.device)
    columns = [filled(tensor.shape, 1, tensor.dtype, tensor.device)]
    while len(columns) < size:
        columns.append(columns[-1] * tensor)
    return stack(columns if flag("vander", "increasing", increasing) else columns[::-1], axis=1)


def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Any:
    """The coefficients of the polynomial of degree `deg` that is closest to the points, by least squares.

    `y` is a vector, or has one set of values in each column. `w` are weights of the differences. `full` gives the sums
    of squares, the rank, singular values and cutoff as well, `cov` the covariance matrix of the coefficients, scaled
    unless it is "unscaled". Computed in float64, where the device holds it.

    >>> [round(c, 3) for c in tfr.polyfit(tfr.asarray([0.0, 1.0, 2.0]), tfr.asarray([1.0, 3.0, 5.0]), 1).tolist()]
    [2.0, 1.0]
    """
    degree = count("polyfit", "deg", deg)
    is_real = operand(x).dtype not in COMPLEX
    points, values = floating(x, y)
    if points.ndim != 1 or points.size == 0 or values.ndim not in (1, 2):
        raise ShapeError(f"polyfit: takes points x of a vector, got {points.shape}, {values.shape}")
    if values.shape[0] != points.size:
        raise ShapeError(f"polyfit: {points.size} points, but values of shape {values.shape}")
    own = values.dtype
    work = _wide(own, points)
    points, values = converted(points, work), converted(values, work)
    cutoff = points.size * float(np.finfo(_real_of(own)).eps) if rcond is None else rcond
    matrix: Any = vander(points, degree + 1)
    if w is not None:
        weights = converted(operand(w), work)
        if weights.shape != points.shape:
            raise ShapeError(f"polyfit: {points.size} points, but weights of {weights.shape}")
        matrix = matrix * weights[:, None]
        values = values * (weights[:, None] if values.ndim == 2 else weights)
    length = apply(SQRT, total(matrix * conjugated(matrix), axis=0))
    length = apply(WHERE, apply(EQUAL, length, 0), 1, length)
    solution, residuals, rank, singular = lstsq(matrix / length, values, cutoff)
    result: Any = solution / (length[:, None] if solution.ndim == 2 else length)
    fitted = converted(result, own)
    if full:
        return fitted, residuals, rank, singular, cutoff
    if cov is False or cov is None:
        return fitted
    covariance = _covariance(matrix / length, length, residuals, values, cov)
    return fitted, converted(covariance, dtypes.real_of(own) if is_real else own)


def _wide(dtype: Any, points: Tensor) -> Any:
    wide = as_dtype("complex128" if dtype in COMPLEX else "float64")
    return wide if holds(points.device, wide) else dtype


def _real_of(dtype: Any) -> Any:
    real = dtypes.real_of(dtype)
    return real if real not in dtypes.NARROW else as_dtype("float32")


def _covariance(matrix: Any, length: Any, residuals: Any, values: Tensor, cov: Any) -> Any:
    """Return the covariance of coefficients: the inverse of the normal matrix, times the variance of the points."""
    base: Any = inv(matrix_transpose(matrix) @ matrix) / outer(length, length)
    if isinstance(cov, str):
        choice("polyfit", "cov", cov, ("unscaled",))
        factor: Any = 1.0
    else:
        points, terms = matrix.shape
        if points <= terms:
            raise ArgumentError(
                f"polyfit: {points} points are too few to estimate the covariance of {terms} numbers",
                suggestions=('cov="unscaled"',),
            )
        factor = apply(REAL_PART, residuals) / float(points - terms)
    return base * factor if values.ndim == 1 else base[:, :, None] * factor
