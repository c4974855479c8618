"""Covariance and correlation between variables."""

from __future__ import annotations

from typing import Any

from tensorframe import dtypes
from tensorframe.dtypes import DType, DTypeLike
from tensorframe.errors import DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.elementwise.limits import clip
from tensorframe.frontend.fast_paths.memoization import memoized
from tensorframe.frontend.manipulation.diagonals import diagonal
from tensorframe.frontend.manipulation.joining import concat
from tensorframe.frontend.operands import converted, operand, reshaped, weakly
from tensorframe.frontend.parameters import number
from tensorframe.frontend.reductions.elementary import sum as total
from tensorframe.frontend.reductions.statistics import working_dtype
from tensorframe.frontend.tensor import Tensor
from tensorframe.ops.elementwise import CONJ, IMAG, REAL_PART, SQRT

__all__ = ["corrcoef", "cov"]


def _observations(x: Any, y: Any, rowvar: bool, dtype: DTypeLike | None) -> tuple[Tensor, DType]:
    """Return variables as rows in the working dtype, and the dtype of the result."""
    given = weakly((x,) if y is None else (x, y))
    both = concat([_rows(tensor, rowvar) for tensor in given], axis=0)
    if dtype is not None:
        both = converted(both, dtypes.float_of(dtypes.as_dtype(dtype)))
    return converted(both, working_dtype(both.dtype)), dtypes.float_of(both.dtype)


def _rows(tensor: Tensor, rowvar: bool) -> Tensor:
    if tensor.ndim > 2:
        raise ShapeError(f"cov: takes variables as a vector or a matrix, got shape {tensor.shape}")
    if tensor.ndim < 2:
        return reshaped(tensor, (1, tensor.size))
    return tensor if rowvar else tensor.mT


def _weights(fweights: Any, aweights: Any, count: int, dtype: DType) -> Tensor | None:
    """Return the product of the weights given, None if there are none."""
    result = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        weights = operand(given)
        if weights.shape != (count,):
            raise ShapeError(f"cov: {name} of shape {weights.shape} for {count} observations")
        if name == "fweights" and weights.dtype not in dtypes.INTEGER:
            raise DTypeError(
                f"cov: fweights count repetitions, so they are integers, got {weights.dtype}"
            )
        weights = operand(given, dtype=dtypes.real_of(dtype))
        result = weights if result is None else result * weights
    return result


@memoized
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Covariance matrix of variables: the rows of `m` and `y` (their columns unless `rowvar`), observed together.

    Divides by n - 1, by n with `bias`, by n - `ddof` if that is given. `fweights` (integers) says how often each
    observation was made, `aweights` how much it counts. One variable gives a 0-d tensor. The result has the dtype
    `dtype` if given; integers give the default real dtype.

    >>> tfr.cov(tfr.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    values, own = _observations(m, y, rowvar, dtype)
    count = values.shape[1]
    weights = _weights(fweights, aweights, count, values.dtype)
    correction = int(not bias) if ddof is None else number("cov", "ddof", ddof)
    if weights is None:
        deviations = values - total(values, axis=1, keepdims=True) / float(count)
        weighted: Tensor = deviations
        divisor: Any = float(max(count - correction, 0))
    else:
        mass = total(weights)
        deviations = values - total(values * weights, axis=1, keepdims=True) / mass
        weighted = deviations * weights
        divisor = _divisor(weights, aweights, mass, correction)
    result = (weighted @ apply(CONJ, deviations.mT)) / divisor
    return converted(reshaped(result, ()) if values.shape[0] == 1 else result, own)


def _divisor(weights: Tensor, aweights: Any, mass: Tensor, correction: float) -> Tensor:
    """Return what sums of weighted products are divided by: the effective number of observations."""
    if aweights is None or correction == 0:
        return mass - correction
    importance = operand(aweights, dtype=weights.dtype)
    return mass - correction * total(weights * importance) / mass


@memoized
def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, *, dtype: DTypeLike | None = None
) -> Tensor:
    """Matrix of the correlation coefficients of variables: their covariance over their standard deviations.

    Arguments and dtypes as for `cov`; NaN for a variable that is constant.

    >>> tfr.corrcoef(tfr.asarray([[0.0, 1.0, 2.0], [3.0, 2.0, 1.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    values, own = _observations(x, y, rowvar, dtype)
    covariance = cov(values)
    if covariance.ndim == 0:
        return converted(covariance / covariance, own)
    scale = apply(SQRT, apply(REAL_PART, diagonal(covariance)))
    result = covariance / scale[:, None] / scale[None, :]
    # rounding may step over one
    if own in dtypes.COMPLEX:
        result = clip(apply(REAL_PART, result), -1, 1) + 1j * clip(apply(IMAG, result), -1, 1)
    else:
        result = clip(result, -1, 1)
    return converted(result, own)
