"""Workloads that draw random numbers: walks, and the price of an option by simulation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.goals import faster, within
from tests.benchmarks.workload import Case, Run, Workload, Yardstick, by_hand

PATHS, STEPS = 100_000, 64
SHAPE = (PATHS, STEPS)
PARTS = "drawn first"
# spot and strike, rate, volatility, years
SPOT, STRIKE, RATE, VOLATILITY, YEARS = 100.0, 105.0, 0.03, 0.2, 1.0
DRIFT = (RATE - VOLATILITY**2 / 2) * YEARS / STEPS
DEVIATION = VOLATILITY * (YEARS / STEPS) ** 0.5


def drawn(xp: Any, _: Any) -> Any:
    """Draw from the library's own stream: another matrix in each call."""
    return xp.random.normal(SHAPE)


def drawn_and_stored(tensorframe: Any, _: Any) -> Any:
    """The same as a kernel of its own."""
    return tensorframe.random.normal(SHAPE).compute()


def drawn_by_numpy(numpy: Any, seed: Any) -> Any:
    """NumPy's fastest."""
    return numpy.random.default_rng(int(seed[0])).standard_normal(SHAPE, numpy.float32)


def drawn_by_jax(jax: Any, seed: Any) -> Any:
    """JAX takes its key from the seed, which is an argument: a constant would be drawn by the compiler."""
    from jax.random import normal

    return normal(seed, SHAPE, jax.float32)


def drawn_by_torch(torch: Any, _: Any) -> Any:
    """From PyTorch's own stream."""
    return torch.randn(SHAPE)


def drawn_by_dask(dask: Any, _: Any) -> Any:
    """In pieces of rows."""
    return dask.random.standard_normal(SHAPE, chunks=(PATHS // 4, STEPS)).astype(np.float32)


def drawn_by_tinygrad(tensor: Any, _: Any) -> Any:
    """From tinygrad's own stream."""
    return tensor.randn(*SHAPE)


DRAWN: dict[str, Run] = {
    "tensorframe": drawn,
    "tfr.jit": drawn,
    "NumPy": drawn_by_numpy,
    "JAX": drawn_by_jax,
    "torch": drawn_by_torch,
    "torch.compile": drawn_by_torch,
    "Dask": drawn_by_dask,
    "tinygrad": drawn_by_tinygrad,
}


def summed_up(name: str, xp: Any, draws: Any) -> Any:
    """Sum along the rows, under the name that each library has for it."""
    if name in ("tensorframe", "tfr.jit"):
        return xp.cumulative_sum(draws, axis=1)
    return draws.cumsum(1)


def walk(name: str, draw: Run) -> Run:
    """Return the run that draws and sums up."""
    return lambda xp, seed: summed_up(name, xp, draw(xp, seed))


def price(name: str, draw: Run) -> Run:
    """Return the run that prices an Asian call: its payoff depends on the mean along the path."""

    def run(xp: Any, seed: Any) -> Any:
        walks = summed_up(name, xp, draw(xp, seed) * DEVIATION + DRIFT)
        # tinygrad's functions are methods
        prices = (walks.exp() if name == "tinygrad" else xp.exp(walks)) * SPOT
        gains = prices.mean(1) - STRIKE
        return (gains * (gains > 0)).mean() * float(np.exp(-RATE * YEARS))

    return run


def deviations(results: list[Any]) -> list[Any]:
    """Return what walks have in common, whoever drew the steps: the standard deviation after each of them."""
    return [result.std(0) for result in results]


WALKS = Workload(
    "W27",
    f"{PATHS:,} random walks of {STEPS} steps: normal float32 drawn and summed up along the rows. Everybody draws "
    f"other numbers, so what is compared is their deviation after each step. `{PARTS}` is what the two kernels take "
    "apart: fusion must not cost more.",
    (
        Case(
            "random walks, 100,000x64",
            {name: walk(name, draw) for name, draw in DRAWN.items()} | by_hand("random_walks"),
            (faster(2.0), within(1.15, PARTS)),
            (Yardstick(PARTS, "tensorframe", walk("tensorframe", drawn_and_stored)),),
            comparable=deviations,
        ),
    ),
    lambda: (np.array([0, 1], np.uint32),),
    tolerance=0.03,
)

PRICES = Workload(
    "W28",
    f"The price of an Asian call by Monte Carlo: {PATHS:,} paths of {STEPS} steps, their means, one number. "
    "Everybody draws other numbers, so prices agree to a few hundredths.",
    (
        Case(
            "Monte Carlo price",
            {name: price(name, draw) for name, draw in DRAWN.items()} | by_hand("asian_call"),
            (faster(2.0),),
        ),
    ),
    lambda: (np.array([0, 1], np.uint32),),
    tolerance=0.05,
)
