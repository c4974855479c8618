"""Distributions of vectors that the host draws, by the names of NumPy's generators; see `draws.py`."""

from __future__ import annotations

from tensorframe.dtypes import DTypeLike
from tensorframe.errors import ArgumentError
from tensorframe.frontend.array_like import ArrayLike, ShapeLike
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.operands import operand
from tensorframe.frontend.parameters import integer
from tensorframe.frontend.random.draws import drawn, vector_of
from tensorframe.frontend.random.keys import Source
from tensorframe.frontend.random.repeated import repeated
from tensorframe.frontend.tensor import Tensor

__all__ = [
    "dirichlet",
    "multinomial",
    "multivariate_hypergeometric",
    "multivariate_normal",
]


@repeated
def dirichlet(
    alpha: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Rows of numbers that add up to one, of the Dirichlet distribution with the parameters `alpha`.

    >>> tfr.random.dirichlet([1.0, 2.0, 3.0], 2, key=tfr.random.key(1)).sum(axis=1).numpy().round(3)
    array([1., 1.], dtype=float32)
    """
    row = vector_of("dirichlet", "alpha", alpha)
    return drawn("dirichlet", (alpha,), size, dtype=dtype, device=device, key=key, row=row)


@repeated
def multinomial(
    n: int,
    pvals: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Rows of how often each of several results came out (integers) in `n` trials, with the probabilities `pvals`.

    >>> tfr.random.multinomial(20, [0.5, 0.5], 3, key=tfr.random.key(1)).sum(axis=1).tolist()
    [20, 20, 20]
    """
    row = vector_of("multinomial", "pvals", pvals)
    trials = integer("multinomial", "n", n)
    return drawn(
        "multinomial",
        (trials, pvals),
        size,
        dtype=dtype,
        device=device,
        key=key,
        counts=True,
        row=row,
    )


@repeated
def multivariate_hypergeometric(
    colors: ArrayLike,
    nsample: int,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Rows of how many of each colour (integers) are among `nsample` that are taken without putting any back.

    >>> tfr.random.multivariate_hypergeometric([4, 6], 5, 3, key=tfr.random.key(1)).sum(axis=1).tolist()
    [5, 5, 5]
    """
    name = "multivariate_hypergeometric"
    row = vector_of(name, "colors", colors)
    taken = integer(name, "nsample", nsample)
    return drawn(
        name,
        (colors, taken),
        size,
        dtype=dtype,
        device=device,
        key=key,
        counts=True,
        row=row,
    )


@repeated
def multivariate_normal(
    mean: ArrayLike,
    cov: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Rows of numbers that are normal together, with this mean and covariance matrix.

    >>> tfr.random.multivariate_normal([0.0, 9.0], [[1.0, 0.5], [0.5, 1.0]], 4, key=tfr.random.key(1)).shape
    (4, 2)
    """
    row = vector_of("multivariate_normal", "mean", mean)
    if operand(cov).shape != (*row, *row):
        raise ArgumentError(f"multivariate_normal: cov has shape {(*row, *row)} for this mean")
    return drawn(
        "multivariate_normal", (mean, cov), size, dtype=dtype, device=device, key=key, row=row
    )
