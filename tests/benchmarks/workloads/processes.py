"""Workloads in processes of their own: starting, and peak memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tests.benchmarks.fresh import peak_bytes, seconds, seconds_again
from tests.benchmarks.goals import OURS, Goal, at_most
from tests.benchmarks.workload import Case, Run, Unit, Workload
from tests.benchmarks.workloads.programs import CHAINS, FILLED, FIRST_RESULTS, KEEPERS

MODULES = {
    OURS: "tensorframe",
    "NumPy": "numpy",
    "numexpr": "numexpr",
    "Numba": "numba",
    "JAX": "jax.numpy",
    "torch": "torch",
    "Dask": "dask.array",
    "tinygrad": "tinygrad",
    "PyTensor": "pytensor.tensor",
}


def in_fresh_process(measure: Callable[[str], float], program: str) -> Run:
    """Return a run that measures `program`; it has no use for this process's modules."""
    return lambda _: measure(program)


def _case(
    title: str, measure: Callable[[str], float], programs: Mapping[str, str], *goals: Goal
) -> Case:
    runs = {name: in_fresh_process(measure, program) for name, program in programs.items()}
    return Case(title, runs, goals, measures_itself=True, turns=3)


IMPORTS = {name: f"import {module}" for name, module in MODULES.items()}
KEPT = {name: FIRST_RESULTS[name] for name in KEEPERS}

STARTING = Workload(
    "W12",
    "Importing the library in a fresh process, NumPy included; and from there to the first result of the expression "
    "of W1 on a million elements, with empty caches, and in a second process with what the first one left there.",
    (
        _case("import", seconds, IMPORTS, at_most(0.11)),
        _case("first result, cold cache", seconds, FIRST_RESULTS, at_most(1.0)),
        _case("first result, warm cache", seconds_again, KEPT, at_most(0.4)),
    ),
)

ELEMENTS = 250_000_000
IN_AND_OUT = 2 * 4 * ELEMENTS


def memory_of_chain(program: str, start: str, _: Any) -> float:
    """Return what the arrays took: the peak, less that of `start`, which is the same on next to nothing."""
    loaded = peak_bytes(FILLED.format(elements=1000) + start)
    return peak_bytes(FILLED.format(elements=ELEMENTS) + program) - loaded


# everybody's compiler is loaded in both, so ours has to be asked for where there is next to nothing to do: by the name
# that an older checkout knows, too
STARTS = CHAINS | {OURS: CHAINS[OURS].replace("copy=False", 'copy=False, device="numba"')}


MEMORY = Workload(
    "W13",
    "Peak memory of a chain of 20 ops on 1 GB of float32 in a fresh process, by the system's own count, less that of "
    "the same chain on 1000 elements, compiled too; input and output alone are 2 GB.",
    (
        Case(
            "memory of 20 ops on 1 GB",
            {peer: partial(memory_of_chain, CHAINS[peer], STARTS[peer]) for peer in CHAINS},
            (at_most(1.05 * IN_AND_OUT),),
            unit=Unit.BYTES,
            measures_itself=True,
            turns=1,
        ),
    ),
)
