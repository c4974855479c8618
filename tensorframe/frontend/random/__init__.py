"""The namespace `tfr.random`: random numbers that depend on a key alone.

Each function takes a `key` (the same key, the same values), or draws from a generator that `seed` restarts. Functions
record, and the words are made where the values are needed; small draws that a loop repeats are made ahead of time, many
at once. Words, and the numbers made of them, have the same bits on every device.
"""

from __future__ import annotations

from numpy.random import (
    MT19937,
    PCG64,
    PCG64DXSM,
    SFC64,
    BitGenerator,
    Philox,
    SeedSequence,
)

from tensorframe.frontend.random.by_size import (
    bytes,
    rand,
    randint,
    randn,
    random,
    random_sample,
    ranf,
    sample,
    shuffle,
    standard_exponential,
    standard_normal,
)
from tensorframe.frontend.random.continuous import (
    beta,
    chisquare,
    f,
    gamma,
    gumbel,
    laplace,
    logistic,
    lognormal,
    noncentral_chisquare,
    noncentral_f,
    pareto,
    power,
    rayleigh,
    standard_cauchy,
    standard_gamma,
    standard_t,
    triangular,
    vonmises,
    wald,
    weibull,
)
from tensorframe.frontend.random.discrete import (
    binomial,
    geometric,
    hypergeometric,
    logseries,
    negative_binomial,
    poisson,
    zipf,
)
from tensorframe.frontend.random.distributions import bernoulli, exponential, normal, uniform
from tensorframe.frontend.random.generator import Generator, default_rng
from tensorframe.frontend.random.keys import Key, key, split
from tensorframe.frontend.random.multivariate import (
    dirichlet,
    multinomial,
    multivariate_hypergeometric,
    multivariate_normal,
)
from tensorframe.frontend.random.random_state import RandomState
from tensorframe.frontend.random.sampling import choice, integers, permutation, permuted
from tensorframe.frontend.random.seeding import get_state, seed, set_state

__all__ = [
    "MT19937",
    "PCG64",
    "PCG64DXSM",
    "SFC64",
    "BitGenerator",
    "Generator",
    "Key",
    "Philox",
    "RandomState",
    "SeedSequence",
    "bernoulli",
    "beta",
    "binomial",
    "bytes",
    "chisquare",
    "choice",
    "default_rng",
    "dirichlet",
    "exponential",
    "f",
    "gamma",
    "geometric",
    "get_state",
    "gumbel",
    "hypergeometric",
    "integers",
    "key",
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
    "normal",
    "pareto",
    "permutation",
    "permuted",
    "poisson",
    "power",
    "rand",
    "randint",
    "randn",
    "random",
    "random_sample",
    "ranf",
    "rayleigh",
    "sample",
    "seed",
    "set_state",
    "shuffle",
    "split",
    "standard_cauchy",
    "standard_exponential",
    "standard_gamma",
    "standard_normal",
    "standard_t",
    "triangular",
    "uniform",
    "vonmises",
    "wald",
    "weibull",
    "zipf",
]
