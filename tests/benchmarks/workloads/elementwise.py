"""Elementwise workloads: large, small, transposed, and Black-Scholes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.goals import UNDER_JIT, at_most, faster, no_slower
from tests.benchmarks.workload import Case, Workload, by, by_hand

Arrays = tuple[Any, ...]


def normal(*shape: int, seed: int = 0) -> Any:
    """Return normally distributed float32."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def formula(xp: Any, a: Any, b: Any) -> Any:
    """Seven ops and a negation."""
    return xp.exp(-a * a) * xp.sin(b) + a / (1 + b * b)


def formula_as_text(numexpr: Any, a: Any, b: Any) -> Any:
    """The same as numexpr takes it."""
    return numexpr.evaluate("exp(-a*a)*sin(b)+a/(1+b*b)", {"a": a, "b": b})


SOLO = "NumPy, torch, torch.compile, JAX, tinygrad, PyTensor"
FORMULA = by(f"tensorframe, {SOLO}", formula) | by("numexpr", formula_as_text)

EXPRESSION = Workload(
    "W1",
    "`exp(-a*a)*sin(b) + a/(1+b*b)` on 4 million float32: fusion.",
    (
        Case(
            "expression, 4 M",
            FORMULA | by("Dask", formula) | by_hand("expression"),
            (faster(1.3),),
        ),
    ),
    lambda: (normal(4_000_000), normal(4_000_000, seed=1)),
)


def small() -> Arrays:
    """Inputs of 16 elements."""
    return normal(16), normal(16, seed=1)


SMALL = Workload(
    "W9",
    "The same expression on 16 elements: recorded and computed at each call, so the fixed costs.",
    (
        Case(
            "expression, 16 elements",
            FORMULA | by("tfr.jit", formula) | by_hand("small_expression"),
            (at_most(15e-6), at_most(5.5e-6, by=UNDER_JIT)),
        ),
    ),
    small,
)


def transposed(_: Any, a: Any, b: Any) -> Any:
    """A transpose and a broadcast along the other axis."""
    return a.T * 2 + b[:, None]


def transposed_as_text(numexpr: Any, a: Any, b: Any) -> Any:
    """The same as numexpr takes it."""
    return numexpr.evaluate("a*2+b", {"a": a.T, "b": b[:, None]})


TRANSPOSED = Workload(
    "W7",
    "`a.T*2 + b[:, None]` on 2048x2048 float32: strides; the result may be laid out as its input is.",
    (
        Case(
            "transposed, 2048x2048",
            by(f"tensorframe, {SOLO}, Dask", transposed)
            | by("numexpr", transposed_as_text)
            | by_hand("transposed"),
            (no_slower(),),
        ),
    ),
    lambda: (normal(2048, 2048), normal(2048, seed=1)),
)


def black_scholes(xp: Any, erf: Any, *market: Any) -> Arrays:
    """Prices of European calls and puts (Black and Scholes 1973)."""
    price, strike, years, rate, volatility = market
    deviation = volatility * xp.sqrt(years)
    d1 = (xp.log(price / strike) + (rate + volatility * volatility / 2) * years) / deviation
    d2 = d1 - deviation
    discounted = strike * xp.exp(-rate * years)
    below1, below2 = (0.5 + 0.5 * erf(d * 0.5**0.5) for d in (d1, d2))
    call = price * below1 - discounted * below2
    return call, call - price + discounted


def with_own_erf(xp: Any, *market: Any) -> Arrays:
    """Most have one."""
    return black_scholes(xp, xp.erf, *market)


def with_erf_of_scipy(xp: Any, *market: Any) -> Arrays:
    """NumPy has no erf."""
    from scipy.special import erf

    return black_scholes(xp, erf, *market)


def with_erf_of_scipy_in_pieces(dask: Any, *market: Any) -> Arrays:
    """Dask runs SciPy's on each piece."""
    from scipy.special import erf

    return black_scholes(dask, lambda x: dask.map_blocks(erf, x, dtype=x.dtype), *market)


def with_erf_of_jax(jax: Any, *market: Any) -> Arrays:
    """JAX keeps it beside SciPy's other functions."""
    from jax.scipy.special import erf

    return black_scholes(jax, erf, *market)


def market() -> Arrays:
    """Price, strike, years, rate, volatility of two million options."""
    ranges = ((10, 50), (10, 50), (0.5, 2), (0.01, 0.05), (0.1, 0.5))
    generator = np.random.default_rng(0)
    return tuple(generator.uniform(low, high, 2_000_000) for low, high in ranges)


BLACK_SCHOLES = Workload(
    "W6",
    "Black-Scholes calls and puts of 2 million options in float64, with log, exp, sqrt and erf "
    "(of SciPy, for NumPy and Dask): two results from one plan. tinygrad's erf is too coarse to take part.",
    (
        Case(
            "Black-Scholes, 2 M",
            by("tensorframe, torch, torch.compile, PyTensor", with_own_erf)
            | by("NumPy", with_erf_of_scipy)
            | by("Dask", with_erf_of_scipy_in_pieces)
            | by("JAX", with_erf_of_jax)
            | by_hand("black_scholes"),
            (faster(4.0),),
        ),
    ),
    market,
    tolerance=1e-10,
)
