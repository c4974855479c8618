"""Discrete distributions that the host draws, by the names of NumPy's generators; see `draws.py`."""

from __future__ import annotations

from tensorframe.dtypes import DTypeLike
from tensorframe.frontend.array_like import ArrayLike, ShapeLike
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.random.draws import drawn
from tensorframe.frontend.random.keys import Source
from tensorframe.frontend.random.repeated import repeated
from tensorframe.frontend.tensor import Tensor

__all__ = [
    "binomial",
    "geometric",
    "hypergeometric",
    "logseries",
    "negative_binomial",
    "poisson",
    "zipf",
]


@repeated
def poisson(
    lam: ArrayLike = 1.0,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of events (integers) where `lam` are expected.

    Mean and variance are both `lam`, which must not be negative and broadcasts against `size`.

    >>> tfr.random.poisson(4.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (lam,)
    return drawn("poisson", parameters, size, dtype=dtype, device=device, key=key, counts=True)


@repeated
def binomial(
    n: ArrayLike,
    p: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of successes (integers) in `n` trials that succeed with probability `p`.

    Their mean is `n * p`; both parameters broadcast against each other and `size`.

    >>> tfr.random.binomial(10, 0.5, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (n, p)
    return drawn("binomial", parameters, size, dtype=dtype, device=device, key=key, counts=True)


@repeated
def negative_binomial(
    n: ArrayLike,
    p: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of failures (integers) before `n` successes, which have probability `p`.

    Their mean is `n * (1 - p) / p`; `n` may be any positive number.

    >>> tfr.random.negative_binomial(3, 0.5, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (n, p)
    return drawn(
        "negative_binomial", parameters, size, dtype=dtype, device=device, key=key, counts=True
    )


@repeated
def geometric(
    p: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of trials (integers) up to the first success, which has probability `p`.

    >>> tfr.random.geometric(0.5, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (p,)
    return drawn("geometric", parameters, size, dtype=dtype, device=device, key=key, counts=True)


@repeated
def hypergeometric(
    ngood: ArrayLike,
    nbad: ArrayLike,
    nsample: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of good ones (integers) among `nsample` that are taken without putting any back.

    >>> tfr.random.hypergeometric(5, 5, 3, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (ngood, nbad, nsample)
    return drawn(
        "hypergeometric", parameters, size, dtype=dtype, device=device, key=key, counts=True
    )


@repeated
def logseries(
    p: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Integers of the logarithmic series distribution.

    `k` from 1 up has the probability `-p**k / (k * log(1 - p))`.

    >>> tfr.random.logseries(0.5, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (p,)
    return drawn("logseries", parameters, size, dtype=dtype, device=device, key=key, counts=True)


@repeated
def zipf(
    a: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Integers of Zipf's distribution: `k` is as likely as `k**-a`.

    `k` runs from 1 up, and `a` must be above 1; long tails make large integers common.

    >>> tfr.random.zipf(2.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (a,)
    return drawn("zipf", parameters, size, dtype=dtype, device=device, key=key, counts=True)
