"""Distributions that NumPy's generators draw, recorded like any op, and drawn by the host when values are needed.

The numbers are those of NumPy's `Generator` on its Philox bit generator, under our key and counter: a function of these
alone, so they have the same bits on every device. Other releases of NumPy may draw other ones. They have no gradients.
"""

from __future__ import annotations

from typing import Any

from tensorframe.backends.registry import resolve_device
from tensorframe.dtypes import as_dtype
from tensorframe.errors import ArgumentError, ShapeError
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.dispatch import handle_on, placed
from tensorframe.frontend.indexing.searching import take_along_axis
from tensorframe.frontend.operands import converted, flattened, operand, reshaped
from tensorframe.frontend.ordering.sorting import argsort
from tensorframe.frontend.parameters import integer
from tensorframe.frontend.random.distributions import real_dtype
from tensorframe.frontend.random.keys import Source, reserved
from tensorframe.frontend.random.words import halves, lanes, positions
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import CPU
from tensorframe.graph.holding import default_on, require
from tensorframe.graph.record import record
from tensorframe.graph.shape import Shape, as_shape, broadcast, normalize_axis
from tensorframe.ops.random import DRAW

__all__ = [
    "beta",
    "binomial",
    "chisquare",
    "dirichlet",
    "f",
    "gamma",
    "geometric",
    "gumbel",
    "hypergeometric",
    "laplace",
    "logistic",
    "lognormal",
    "logseries",
    "multinomial",
    "multivariate_hypergeometric",
    "multivariate_normal",
    "negative_binomial",
    "noncentral_chisquare",
    "noncentral_f",
    "pareto",
    "permuted",
    "poisson",
    "power",
    "rayleigh",
    "standard_cauchy",
    "standard_gamma",
    "standard_t",
    "triangular",
    "vonmises",
    "wald",
    "weibull",
    "zipf",
]

_FLOAT64 = as_dtype("float64")
_INT64 = as_dtype("int64")
_UINT64 = as_dtype("uint64")


def _drawn(
    name: str,
    parameters: tuple[Any, ...],
    size: Any,
    *,
    dtype: Any,
    device: OnDevice,
    key: Source,
    counts: bool = False,
    row: Shape | None = None,
) -> Tensor:
    """Return what a distribution draws: numbers of the shape `size`, or that of the parameters; a `row` for each."""
    place = resolve_device(device)
    wanted = default_on(place, _INT64) if counts and dtype is None else dtype
    target = as_dtype(wanted) if counts else real_dtype(name, dtype)
    require(name, place, target)
    given = [converted(operand(value), _FLOAT64) for value in parameters]
    sizes = _sizes(name, size, given if row is None else [])
    shape = sizes if row is None else (*sizes, *row)
    count = 1
    for length in shape:
        count *= length
    number, counter = reserved(key, max(count, 1))
    inputs = (
        *halves(number, CPU),
        *halves(counter, CPU),
        *[placed(tensor.node, CPU) for tensor in given],
    )
    values = record(DRAW, inputs, name, sizes, shape, _INT64 if counts else _FLOAT64)
    return Tensor(placed(converted(handle_on(values), target).node, place))


def _sizes(name: str, size: Any, parameters: list[Tensor]) -> Shape:
    own = broadcast(name, *[tensor.shape for tensor in parameters]) if parameters else ()
    if size is None:
        return own
    sizes = as_shape(size)
    if broadcast(name, sizes, own) != sizes:
        raise ShapeError(f"{name}: parameters of shape {own} do not broadcast to shape {sizes}")
    return sizes


def standard_gamma(
    shape: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the gamma distribution with this shape parameter and scale 1.

    >>> tfr.random.standard_gamma(shape=2.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (shape,)
    return _drawn("standard_gamma", parameters, size, dtype=dtype, device=device, key=key)


def gamma(
    shape: Any,
    scale: Any = 1.0,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the gamma distribution: their mean is `shape * scale`.

    >>> tfr.random.gamma(shape=2.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (shape, scale)
    return _drawn("gamma", parameters, size, dtype=dtype, device=device, key=key)


def beta(
    a: Any,
    b: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers from 0 to 1 of the beta distribution: their mean is `a / (a + b)`.

    >>> tfr.random.beta(2.0, 3.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (a, b)
    return _drawn("beta", parameters, size, dtype=dtype, device=device, key=key)


def chisquare(
    df: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Sums of the squares of `df` standard normal numbers.

    >>> tfr.random.chisquare(3.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (df,)
    return _drawn("chisquare", parameters, size, dtype=dtype, device=device, key=key)


def noncentral_chisquare(
    df: Any,
    nonc: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the chi-square distribution with `df` degrees of freedom that is shifted by `nonc`.

    >>> tfr.random.noncentral_chisquare(3.0, 1.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (df, nonc)
    return _drawn("noncentral_chisquare", parameters, size, dtype=dtype, device=device, key=key)


def f(
    dfnum: Any,
    dfden: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Quotients of two chi-square numbers, each over its degrees of freedom.

    >>> tfr.random.f(2.0, 9.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (dfnum, dfden)
    return _drawn("f", parameters, size, dtype=dtype, device=device, key=key)


def noncentral_f(
    dfnum: Any,
    dfden: Any,
    nonc: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the F distribution whose numerator is shifted by `nonc`.

    >>> tfr.random.noncentral_f(2.0, 9.0, 1.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (dfnum, dfden, nonc)
    return _drawn("noncentral_f", parameters, size, dtype=dtype, device=device, key=key)


def standard_t(
    df: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of Student's t distribution with `df` degrees of freedom.

    >>> tfr.random.standard_t(5.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (df,)
    return _drawn("standard_t", parameters, size, dtype=dtype, device=device, key=key)


def standard_cauchy(
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the Cauchy distribution: quotients of two standard normal numbers.

    >>> tfr.random.standard_cauchy(size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = ()
    return _drawn("standard_cauchy", parameters, size, dtype=dtype, device=device, key=key)


def laplace(
    loc: Any = 0.0,
    scale: Any = 1.0,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the Laplace distribution: their distance from `loc` is exponential, with mean `scale`.

    >>> tfr.random.laplace(size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (loc, scale)
    return _drawn("laplace", parameters, size, dtype=dtype, device=device, key=key)


def logistic(
    loc: Any = 0.0,
    scale: Any = 1.0,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the logistic distribution around `loc`.

    >>> tfr.random.logistic(size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (loc, scale)
    return _drawn("logistic", parameters, size, dtype=dtype, device=device, key=key)


def gumbel(
    loc: Any = 0.0,
    scale: Any = 1.0,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the Gumbel distribution: largest ones of many exponential numbers.

    >>> tfr.random.gumbel(size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (loc, scale)
    return _drawn("gumbel", parameters, size, dtype=dtype, device=device, key=key)


def lognormal(
    mean: Any = 0.0,
    sigma: Any = 1.0,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers whose logarithms are normal, with this mean and standard deviation.

    >>> tfr.random.lognormal(size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (mean, sigma)
    return _drawn("lognormal", parameters, size, dtype=dtype, device=device, key=key)


def rayleigh(
    scale: Any = 1.0,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Lengths of vectors in the plane whose parts are normal, with standard deviation `scale`.

    >>> tfr.random.rayleigh(size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (scale,)
    return _drawn("rayleigh", parameters, size, dtype=dtype, device=device, key=key)


def weibull(
    a: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the Weibull distribution with shape `a`: exponential ones to the power of `1 / a`.

    >>> tfr.random.weibull(2.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (a,)
    return _drawn("weibull", parameters, size, dtype=dtype, device=device, key=key)


def pareto(
    a: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the Pareto II (Lomax) distribution with shape `a`.

    >>> tfr.random.pareto(3.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (a,)
    return _drawn("pareto", parameters, size, dtype=dtype, device=device, key=key)


def power(
    a: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers from 0 to 1 with the density `a * x**(a - 1)`.

    >>> tfr.random.power(3.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (a,)
    return _drawn("power", parameters, size, dtype=dtype, device=device, key=key)


def triangular(
    left: Any,
    mode: Any,
    right: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers from `left` to `right` whose density rises up to `mode` and falls from there.

    >>> tfr.random.triangular(0.0, 1.0, 3.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (left, mode, right)
    return _drawn("triangular", parameters, size, dtype=dtype, device=device, key=key)


def vonmises(
    mu: Any,
    kappa: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Angles around `mu`, the closer to it the larger `kappa` is.

    >>> tfr.random.vonmises(0.0, 2.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (mu, kappa)
    return _drawn("vonmises", parameters, size, dtype=dtype, device=device, key=key)


def wald(
    mean: Any,
    scale: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the inverse Gaussian distribution.

    >>> tfr.random.wald(1.0, 2.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (mean, scale)
    return _drawn("wald", parameters, size, dtype=dtype, device=device, key=key)


def poisson(
    lam: Any = 1.0,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of events (integers) where `lam` are expected.

    >>> tfr.random.poisson(4.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (lam,)
    return _drawn("poisson", parameters, size, dtype=dtype, device=device, key=key, counts=True)


def binomial(
    n: Any,
    p: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of successes (integers) in `n` trials that succeed with probability `p`.

    >>> tfr.random.binomial(10, 0.5, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (n, p)
    return _drawn("binomial", parameters, size, dtype=dtype, device=device, key=key, counts=True)


def negative_binomial(
    n: Any,
    p: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of failures (integers) before `n` successes, which have probability `p`.

    >>> tfr.random.negative_binomial(3, 0.5, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (n, p)
    return _drawn(
        "negative_binomial", parameters, size, dtype=dtype, device=device, key=key, counts=True
    )


def geometric(
    p: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of trials (integers) up to the first success, which has probability `p`.

    >>> tfr.random.geometric(0.5, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (p,)
    return _drawn("geometric", parameters, size, dtype=dtype, device=device, key=key, counts=True)


def hypergeometric(
    ngood: Any,
    nbad: Any,
    nsample: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of good ones (integers) among `nsample` that are taken without putting any back.

    >>> tfr.random.hypergeometric(5, 5, 3, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (ngood, nbad, nsample)
    return _drawn(
        "hypergeometric", parameters, size, dtype=dtype, device=device, key=key, counts=True
    )


def logseries(
    p: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Integers of the logarithmic series distribution.

    >>> tfr.random.logseries(0.5, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (p,)
    return _drawn("logseries", parameters, size, dtype=dtype, device=device, key=key, counts=True)


def zipf(
    a: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Integers of Zipf's distribution: `k` is as likely as `k**-a`.

    >>> tfr.random.zipf(2.0, size=(2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    parameters = (a,)
    return _drawn("zipf", parameters, size, dtype=dtype, device=device, key=key, counts=True)


def dirichlet(
    alpha: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Rows of numbers that add up to one, of the Dirichlet distribution with the parameters `alpha`.

    >>> tfr.random.dirichlet([1.0, 2.0, 3.0], 2, key=tfr.random.key(1)).sum(axis=1).numpy().round(3)
    array([1., 1.], dtype=float32)
    """
    row = _vector("dirichlet", "alpha", alpha)
    return _drawn("dirichlet", (alpha,), size, dtype=dtype, device=device, key=key, row=row)


def permuted(x: Any, axis: int | None = None, *, key: Source = None) -> Tensor:
    """The elements in random order: of each line along `axis` by itself, of all of them if it is None.

    >>> sorted(tfr.random.permuted([[1, 2], [3, 4]], key=tfr.random.key(1)).numpy().ravel().tolist())
    [1, 2, 3, 4]
    """
    tensor = operand(x)
    flat = flattened(tensor) if axis is None else tensor
    along = normalize_axis("permuted", -1 if axis is None else axis, flat.ndim)
    words: Any = [converted(lane, _UINT64) for lane in lanes(positions(flat.shape, CPU), 2, key)]
    order = argsort(words[0] << 32 | words[1], axis=along)
    result = take_along_axis(flat, order.to_device(flat.device), along)
    return reshaped(result, tensor.shape)


def _vector(name: str, parameter: str, value: Any) -> Shape:
    shape = operand(value).shape
    if len(shape) != 1:
        raise ShapeError(f"{name}: {parameter} is a vector, got shape {shape}")
    return shape


def multinomial(
    n: int,
    pvals: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Rows of how often each of several results came out (integers) in `n` trials, with the probabilities `pvals`.

    >>> tfr.random.multinomial(20, [0.5, 0.5], 3, key=tfr.random.key(1)).sum(axis=1).tolist()
    [20, 20, 20]
    """
    row = _vector("multinomial", "pvals", pvals)
    trials = integer("multinomial", "n", n)
    return _drawn(
        "multinomial",
        (trials, pvals),
        size,
        dtype=dtype,
        device=device,
        key=key,
        counts=True,
        row=row,
    )


def multivariate_hypergeometric(
    colors: Any,
    nsample: int,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Rows of how many of each colour (integers) are among `nsample` that are taken without putting any back.

    >>> tfr.random.multivariate_hypergeometric([4, 6], 5, 3, key=tfr.random.key(1)).sum(axis=1).tolist()
    [5, 5, 5]
    """
    name = "multivariate_hypergeometric"
    row = _vector(name, "colors", colors)
    taken = integer(name, "nsample", nsample)
    return _drawn(
        name,
        (colors, taken),
        size,
        dtype=dtype,
        device=device,
        key=key,
        counts=True,
        row=row,
    )


def multivariate_normal(
    mean: Any,
    cov: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Rows of numbers that are normal together, with this mean and covariance matrix.

    >>> tfr.random.multivariate_normal([0.0, 9.0], [[1.0, 0.5], [0.5, 1.0]], 4, key=tfr.random.key(1)).shape
    (4, 2)
    """
    row = _vector("multivariate_normal", "mean", mean)
    if operand(cov).shape != (*row, *row):
        raise ArgumentError(f"multivariate_normal: cov has shape {(*row, *row)} for this mean")
    return _drawn(
        "multivariate_normal", (mean, cov), size, dtype=dtype, device=device, key=key, row=row
    )
