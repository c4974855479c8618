"""Continuous distributions that the host draws, by the names of NumPy's generators; see `draws.py`."""

from __future__ import annotations

from tensorframe.dtypes import DTypeLike
from tensorframe.frontend.array_like import ArrayLike, ShapeLike
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.random.draws import drawn
from tensorframe.frontend.random.keys import Source
from tensorframe.frontend.random.repeated import repeated
from tensorframe.frontend.tensor import Tensor

__all__ = [
    "beta",
    "chisquare",
    "f",
    "gamma",
    "gumbel",
    "laplace",
    "logistic",
    "lognormal",
    "noncentral_chisquare",
    "noncentral_f",
    "pareto",
    "power",
    "rayleigh",
    "standard_cauchy",
    "standard_gamma",
    "standard_t",
    "triangular",
    "vonmises",
    "wald",
    "weibull",
]


@repeated
def standard_gamma(
    shape: ShapeLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the gamma distribution with this shape parameter and scale 1.

    Their mean is `shape`; times a scale they are those of `gamma`.

    >>> tfr.random.standard_gamma(shape=2.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (shape,)
    return drawn("standard_gamma", parameters, size, dtype=dtype, device=device, key=key)


@repeated
def gamma(
    shape: ShapeLike,
    scale: ArrayLike = 1.0,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the gamma distribution: their mean is `shape * scale`.

    Both parameters are above zero, and broadcast against each other and `size`.

    >>> tfr.random.gamma(shape=2.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (shape, scale)
    return drawn("gamma", parameters, size, dtype=dtype, device=device, key=key)


@repeated
def beta(
    a: ArrayLike,
    b: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers from 0 to 1 of the beta distribution: their mean is `a / (a + b)`.

    >>> tfr.random.beta(2.0, 3.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (a, b)
    return drawn("beta", parameters, size, dtype=dtype, device=device, key=key)


@repeated
def chisquare(
    df: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Sums of the squares of `df` standard normal numbers.

    Their mean is `df`, which need not be an integer: `2 * gamma(df / 2)`.

    >>> tfr.random.chisquare(3.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (df,)
    return drawn("chisquare", parameters, size, dtype=dtype, device=device, key=key)


@repeated
def noncentral_chisquare(
    df: ArrayLike,
    nonc: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the chi-square distribution with `df` degrees of freedom that is shifted by `nonc`.

    >>> tfr.random.noncentral_chisquare(3.0, 1.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (df, nonc)
    return drawn("noncentral_chisquare", parameters, size, dtype=dtype, device=device, key=key)


@repeated
def f(
    dfnum: ArrayLike,
    dfden: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Quotients of two chi-square numbers, each over its degrees of freedom.

    >>> tfr.random.f(2.0, 9.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (dfnum, dfden)
    return drawn("f", parameters, size, dtype=dtype, device=device, key=key)


@repeated
def noncentral_f(
    dfnum: ArrayLike,
    dfden: ArrayLike,
    nonc: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the F distribution whose numerator is shifted by `nonc`.

    The quotient of a noncentral and a central chi-square number, each divided by its degrees of
    freedom.

    >>> tfr.random.noncentral_f(2.0, 9.0, 1.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (dfnum, dfden, nonc)
    return drawn("noncentral_f", parameters, size, dtype=dtype, device=device, key=key)


@repeated
def standard_t(
    df: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of Student's t distribution with `df` degrees of freedom.

    With few degrees of freedom the tails are heavy; with many, they are nearly standard normal.

    >>> tfr.random.standard_t(5.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (df,)
    return drawn("standard_t", parameters, size, dtype=dtype, device=device, key=key)


@repeated
def standard_cauchy(
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the Cauchy distribution: quotients of two standard normal numbers.

    They have neither mean nor variance: large ones occur again and again.

    >>> tfr.random.standard_cauchy(size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = ()
    return drawn("standard_cauchy", parameters, size, dtype=dtype, device=device, key=key)


@repeated
def laplace(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the Laplace distribution: their distance from `loc` is exponential, with mean `scale`.

    >>> tfr.random.laplace(size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (loc, scale)
    return drawn("laplace", parameters, size, dtype=dtype, device=device, key=key)


@repeated
def logistic(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the logistic distribution around `loc`.

    Their variance is `(pi * scale)**2 / 3`; the tails are heavier than those of the normal
    distribution.

    >>> tfr.random.logistic(size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (loc, scale)
    return drawn("logistic", parameters, size, dtype=dtype, device=device, key=key)


@repeated
def gumbel(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the Gumbel distribution: largest ones of many exponential numbers.

    Their mean is `loc + 0.5772 * scale`; the mode is `loc`.

    >>> tfr.random.gumbel(size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (loc, scale)
    return drawn("gumbel", parameters, size, dtype=dtype, device=device, key=key)


@repeated
def lognormal(
    mean: ArrayLike = 0.0,
    sigma: ArrayLike = 1.0,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers whose logarithms are normal, with this mean and standard deviation.

    `exp` of normal numbers: always above zero, with the mean `exp(mean + sigma**2 / 2)`.

    >>> tfr.random.lognormal(size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (mean, sigma)
    return drawn("lognormal", parameters, size, dtype=dtype, device=device, key=key)


@repeated
def rayleigh(
    scale: ArrayLike = 1.0,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Lengths of vectors in the plane whose parts are normal, with standard deviation `scale`.

    >>> tfr.random.rayleigh(size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (scale,)
    return drawn("rayleigh", parameters, size, dtype=dtype, device=device, key=key)


@repeated
def weibull(
    a: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the Weibull distribution with shape `a`: exponential ones to the power of `1 / a`.

    >>> tfr.random.weibull(2.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (a,)
    return drawn("weibull", parameters, size, dtype=dtype, device=device, key=key)


@repeated
def pareto(
    a: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the Pareto II (Lomax) distribution with shape `a`.

    They begin at 0: add 1 and multiply by the least value for the classical Pareto distribution.

    >>> tfr.random.pareto(3.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (a,)
    return drawn("pareto", parameters, size, dtype=dtype, device=device, key=key)


@repeated
def power(
    a: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers from 0 to 1 with the density `a * x**(a - 1)`.

    The larger `a` is, the closer to 1 they are; `a=1` gives uniform numbers.

    >>> tfr.random.power(3.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (a,)
    return drawn("power", parameters, size, dtype=dtype, device=device, key=key)


@repeated
def triangular(
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers from `left` to `right` whose density rises up to `mode` and falls from there.

    >>> tfr.random.triangular(0.0, 1.0, 3.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (left, mode, right)
    return drawn("triangular", parameters, size, dtype=dtype, device=device, key=key)


@repeated
def vonmises(
    mu: ArrayLike,
    kappa: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Angles around `mu`, the closer to it the larger `kappa` is.

    They lie between -pi and pi; `kappa=0` makes all equally likely.

    >>> tfr.random.vonmises(0.0, 2.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (mu, kappa)
    return drawn("vonmises", parameters, size, dtype=dtype, device=device, key=key)


@repeated
def wald(
    mean: ArrayLike,
    scale: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the inverse Gaussian distribution.

    Times at which a random walk with drift first reaches a level: always above zero, `mean` on
    average.

    >>> tfr.random.wald(1.0, 2.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (mean, scale)
    return drawn("wald", parameters, size, dtype=dtype, device=device, key=key)
