"""Generators with NumPy's method names, on the same random words as the functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorframe.dtypes import DTypeLike
from tensorframe.errors import DTypeError
from tensorframe.frontend.array_like import ArrayLike, ShapeLike
from tensorframe.frontend.random import continuous, discrete, distributions, multivariate, sampling
from tensorframe.frontend.random.keys import Key, Stream
from tensorframe.frontend.random.seeding import key_of
from tensorframe.frontend.tensor import Tensor

if TYPE_CHECKING:
    from numpy.random import BitGenerator

    from tensorframe.frontend.random.seeding import Seed

__all__ = ["Generator", "default_rng"]


class Generator:
    """Draws from a stream of its own; each call goes on where the last one stopped.

    Methods, their order of arguments and defaults are those of `numpy.random.Generator`, but floating results have
    the default real dtype, and the numbers are others.

    >>> rng = tfr.random.default_rng(0)
    >>> rng.normal(size=(2, 3)).shape
    (2, 3)
    """

    __slots__ = ("_stream",)

    def __init__(self, bit_generator: Key | BitGenerator) -> None:
        self._stream = Stream(key_of(bit_generator))

    def random(self, size: ShapeLike | None = None, dtype: DTypeLike | None = None) -> Tensor:
        """Uniform numbers from 0 to below 1."""
        return distributions.uniform(size, dtype=dtype, key=self._stream)

    def uniform(
        self, low: ArrayLike = 0.0, high: ArrayLike = 1.0, size: ShapeLike | None = None
    ) -> Tensor:
        """Uniform numbers from `low` to below `high`."""
        return distributions.uniform(size, low, high, key=self._stream)

    def standard_normal(
        self, size: ShapeLike | None = None, dtype: DTypeLike | None = None
    ) -> Tensor:
        """Normal numbers of mean 0 and standard deviation 1."""
        return distributions.normal(size, dtype=dtype, key=self._stream)

    def normal(
        self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: ShapeLike | None = None
    ) -> Tensor:
        """Normal numbers of mean `loc` and standard deviation `scale`."""
        return distributions.normal(size, loc, scale, key=self._stream)

    def exponential(self, scale: ArrayLike = 1.0, size: ShapeLike | None = None) -> Tensor:
        """Exponential numbers of mean `scale`."""
        return distributions.exponential(size, scale, key=self._stream)

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: ShapeLike | None = None,
        dtype: DTypeLike | None = None,
        endpoint: bool = False,
    ) -> Tensor:
        """Integers from `low` to below `high`, or from 0 to below `low`."""
        sizes = () if size is None else size
        return sampling.integers(low, high, sizes, dtype=dtype, endpoint=endpoint, key=self._stream)

    def permutation(self, x: ArrayLike, axis: int = 0) -> Tensor:
        """The integers below `x`, or the slices of a tensor, in random order."""
        return sampling.permutation(x, axis=axis, key=self._stream)

    def shuffle(self, x: ArrayLike, axis: int = 0) -> None:
        """Put the slices of a tensor in random order: its handle moves to the new values, nobody else's changes."""
        if not isinstance(x, Tensor):
            hint = "x = rng.permutation(x)"
            raise DTypeError(
                f"shuffle: takes a Tensor, got {type(x).__name__}", suggestions=(hint,)
            )
        x._rebind(self.permutation(x, axis).node)

    def choice(
        self,
        a: ArrayLike,
        size: ShapeLike | None = None,
        replace: bool = True,
        p: ArrayLike | None = None,
        axis: int = 0,
    ) -> Tensor:
        """Random integers below `a`, or random slices of a tensor, with weights `p`."""
        sizes = () if size is None else size
        return sampling.choice(a, sizes, replace, p, axis=axis, key=self._stream)

    def permuted(self, x: ArrayLike, axis: int | None = None) -> Tensor:
        """The elements in random order: of each line along `axis` by itself, of all of them if it is None."""
        return sampling.permuted(x, axis, key=self._stream)

    def bytes(self, length: int) -> bytes:
        """Random bytes."""
        return self.integers(0, 256, length, dtype="uint8").tobytes()

    def standard_exponential(
        self, size: ShapeLike | None = None, dtype: DTypeLike | None = None
    ) -> Tensor:
        """Exponential numbers of mean 1."""
        return distributions.exponential(size, dtype=dtype, key=self._stream)

    def standard_gamma(self, shape: ShapeLike, size: ShapeLike | None = None) -> Tensor:
        """Numbers of the gamma distribution with this shape parameter and scale 1."""
        return continuous.standard_gamma(shape, size=size, key=self._stream)

    def gamma(
        self, shape: ShapeLike, scale: ArrayLike = 1.0, size: ShapeLike | None = None
    ) -> Tensor:
        """Numbers of the gamma distribution: their mean is `shape * scale`."""
        return continuous.gamma(shape, scale, size=size, key=self._stream)

    def beta(self, a: ArrayLike, b: ArrayLike, size: ShapeLike | None = None) -> Tensor:
        """Numbers from 0 to 1 of the beta distribution: their mean is `a / (a + b)`."""
        return continuous.beta(a, b, size=size, key=self._stream)

    def chisquare(self, df: ArrayLike, size: ShapeLike | None = None) -> Tensor:
        """Sums of the squares of `df` standard normal numbers."""
        return continuous.chisquare(df, size=size, key=self._stream)

    def noncentral_chisquare(
        self, df: ArrayLike, nonc: ArrayLike, size: ShapeLike | None = None
    ) -> Tensor:
        """Numbers of the chi-square distribution with `df` degrees of freedom that is shifted by `nonc`."""
        return continuous.noncentral_chisquare(df, nonc, size=size, key=self._stream)

    def f(self, dfnum: ArrayLike, dfden: ArrayLike, size: ShapeLike | None = None) -> Tensor:
        """Quotients of two chi-square numbers, each over its degrees of freedom."""
        return continuous.f(dfnum, dfden, size=size, key=self._stream)

    def noncentral_f(
        self, dfnum: ArrayLike, dfden: ArrayLike, nonc: ArrayLike, size: ShapeLike | None = None
    ) -> Tensor:
        """Numbers of the F distribution whose numerator is shifted by `nonc`."""
        return continuous.noncentral_f(dfnum, dfden, nonc, size=size, key=self._stream)

    def standard_t(self, df: ArrayLike, size: ShapeLike | None = None) -> Tensor:
        """Numbers of Student's t distribution with `df` degrees of freedom."""
        return continuous.standard_t(df, size=size, key=self._stream)

    def standard_cauchy(self, size: ShapeLike | None = None) -> Tensor:
        """Numbers of the Cauchy distribution: quotients of two standard normal numbers."""
        return continuous.standard_cauchy(size=size, key=self._stream)

    def laplace(
        self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: ShapeLike | None = None
    ) -> Tensor:
        """Numbers of the Laplace distribution: their distance from `loc` is exponential, with mean `scale`."""
        return continuous.laplace(loc, scale, size=size, key=self._stream)

    def logistic(
        self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: ShapeLike | None = None
    ) -> Tensor:
        """Numbers of the logistic distribution around `loc`."""
        return continuous.logistic(loc, scale, size=size, key=self._stream)

    def gumbel(
        self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: ShapeLike | None = None
    ) -> Tensor:
        """Numbers of the Gumbel distribution: largest ones of many exponential numbers."""
        return continuous.gumbel(loc, scale, size=size, key=self._stream)

    def lognormal(
        self, mean: ArrayLike = 0.0, sigma: ArrayLike = 1.0, size: ShapeLike | None = None
    ) -> Tensor:
        """Numbers whose logarithms are normal, with this mean and standard deviation."""
        return continuous.lognormal(mean, sigma, size=size, key=self._stream)

    def rayleigh(self, scale: ArrayLike = 1.0, size: ShapeLike | None = None) -> Tensor:
        """Lengths of vectors in the plane whose parts are normal, with standard deviation `scale`."""
        return continuous.rayleigh(scale, size=size, key=self._stream)

    def weibull(self, a: ArrayLike, size: ShapeLike | None = None) -> Tensor:
        """Numbers of the Weibull distribution with shape `a`: exponential ones to the power of `1 / a`."""
        return continuous.weibull(a, size=size, key=self._stream)

    def pareto(self, a: ArrayLike, size: ShapeLike | None = None) -> Tensor:
        """Numbers of the Pareto II (Lomax) distribution with shape `a`."""
        return continuous.pareto(a, size=size, key=self._stream)

    def power(self, a: ArrayLike, size: ShapeLike | None = None) -> Tensor:
        """Numbers from 0 to 1 with the density `a * x**(a - 1)`."""
        return continuous.power(a, size=size, key=self._stream)

    def triangular(
        self, left: ArrayLike, mode: ArrayLike, right: ArrayLike, size: ShapeLike | None = None
    ) -> Tensor:
        """Numbers from `left` to `right` whose density rises up to `mode` and falls from there."""
        return continuous.triangular(left, mode, right, size=size, key=self._stream)

    def vonmises(self, mu: ArrayLike, kappa: ArrayLike, size: ShapeLike | None = None) -> Tensor:
        """Angles around `mu`, the closer to it the larger `kappa` is."""
        return continuous.vonmises(mu, kappa, size=size, key=self._stream)

    def wald(self, mean: ArrayLike, scale: ArrayLike, size: ShapeLike | None = None) -> Tensor:
        """Numbers of the inverse Gaussian distribution."""
        return continuous.wald(mean, scale, size=size, key=self._stream)

    def poisson(self, lam: ArrayLike = 1.0, size: ShapeLike | None = None) -> Tensor:
        """Numbers of events (integers) where `lam` are expected."""
        return discrete.poisson(lam, size=size, key=self._stream)

    def binomial(self, n: ArrayLike, p: ArrayLike, size: ShapeLike | None = None) -> Tensor:
        """Numbers of successes (integers) in `n` trials that succeed with probability `p`."""
        return discrete.binomial(n, p, size=size, key=self._stream)

    def negative_binomial(
        self, n: ArrayLike, p: ArrayLike, size: ShapeLike | None = None
    ) -> Tensor:
        """Numbers of failures (integers) before `n` successes, which have probability `p`."""
        return discrete.negative_binomial(n, p, size=size, key=self._stream)

    def geometric(self, p: ArrayLike, size: ShapeLike | None = None) -> Tensor:
        """Numbers of trials (integers) up to the first success, which has probability `p`."""
        return discrete.geometric(p, size=size, key=self._stream)

    def hypergeometric(
        self, ngood: ArrayLike, nbad: ArrayLike, nsample: ArrayLike, size: ShapeLike | None = None
    ) -> Tensor:
        """Numbers of good ones (integers) among `nsample` that are taken without putting any back."""
        return discrete.hypergeometric(ngood, nbad, nsample, size=size, key=self._stream)

    def logseries(self, p: ArrayLike, size: ShapeLike | None = None) -> Tensor:
        """Integers of the logarithmic series distribution."""
        return discrete.logseries(p, size=size, key=self._stream)

    def zipf(self, a: ArrayLike, size: ShapeLike | None = None) -> Tensor:
        """Integers of Zipf's distribution: `k` is as likely as `k**-a`."""
        return discrete.zipf(a, size=size, key=self._stream)

    def dirichlet(self, alpha: ArrayLike, size: ShapeLike | None = None) -> Tensor:
        """Rows of numbers that add up to one, of the Dirichlet distribution."""
        return multivariate.dirichlet(alpha, size=size, key=self._stream)

    def multinomial(self, n: int, pvals: ArrayLike, size: ShapeLike | None = None) -> Tensor:
        """Rows of how often each result came out in `n` trials."""
        return multivariate.multinomial(n, pvals, size=size, key=self._stream)

    def multivariate_hypergeometric(
        self, colors: ArrayLike, nsample: int, size: ShapeLike | None = None
    ) -> Tensor:
        """Rows of how many of each colour are among `nsample`."""
        return multivariate.multivariate_hypergeometric(
            colors, nsample, size=size, key=self._stream
        )

    def multivariate_normal(
        self, mean: ArrayLike, cov: ArrayLike, size: ShapeLike | None = None
    ) -> Tensor:
        """Rows of numbers that are normal together."""
        return multivariate.multivariate_normal(mean, cov, size=size, key=self._stream)

    def spawn(self, n_children: int) -> list[Generator]:
        """New generators, independent of this one and of each other."""
        return [Generator(stream) for stream in self._stream.spawn(n_children)]


def default_rng(seed: Seed | Generator = None) -> Generator:
    """Return a generator for a seed or key; without one, each process gets another.

    Seeds are integers from 0 to 2**64 - 1, sequences of integers, and NumPy's `SeedSequence` and generators of bits.

    >>> tfr.random.default_rng(3).integers(0, 10, 4).shape
    (4,)
    """
    return seed if isinstance(seed, Generator) else Generator(key_of(seed))
