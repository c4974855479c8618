"""Workloads in processes of their own: starting, and peak memory."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.benchmarks.fresh import peak_bytes, seconds
from tests.benchmarks.workload import Case, Run, Unit, Workload

MODULES = {"tensorframe": "tensorframe", "NumPy": "numpy", "numexpr": "numexpr", "torch": "torch"}


def in_fresh_process(measure: Any, program: str) -> Run:
    """Return a run that measures `program`; it has no use for this process's modules."""
    return lambda _: measure(program)


_INPUTS = """
import numpy
a = numpy.linspace(-3, 3, 1_000_000, dtype=numpy.float32)
b = a[::-1].copy()
"""
_EXPRESSION = "exp(-a*a)*sin(b)+a/(1+b*b)"
FIRST_RESULTS = {
    "tensorframe": f"""
from tensorframe import asarray, exp, sin
a, b = asarray(a), asarray(b)
({_EXPRESSION}).compute()
""",
    "NumPy": f"from numpy import exp, sin\n{_EXPRESSION}",
    "numexpr": f"import numexpr\nnumexpr.evaluate('{_EXPRESSION}')",
    "torch": f"""
from torch import exp, from_numpy, sin
a, b = from_numpy(a), from_numpy(b)
{_EXPRESSION}
""",
}

STARTING = Workload(
    "W12",
    "Importing the library in a fresh process, NumPy included; and from there to the first result of the "
    "expression of W1, on a million elements.",
    (
        Case(
            "import",
            {
                peer: in_fresh_process(seconds, f"import {module}")
                for peer, module in MODULES.items()
            },
            measures_itself=True,
            at_most=0.11,
        ),
        Case(
            "import and first result",
            {
                peer: in_fresh_process(seconds, _INPUTS + program)
                for peer, program in FIRST_RESULTS.items()
            },
            measures_itself=True,
        ),
    ),
)

ELEMENTS = 250_000_000
_FILLED = """
import numpy
x = numpy.empty({elements}, numpy.float32)
x.fill(0.5)
half = numpy.float32(0.5)
"""
_CHAIN = """
y = x
for _ in range(10):
    y = sin(y) + half
"""
CHAINS = {
    "tensorframe": f"""
from tensorframe import asarray, sin
x = asarray(x, copy=False)
{_CHAIN}
y.compute()
""",
    "NumPy": f"from numpy import sin\n{_CHAIN}",
    "numexpr": """
from numexpr import evaluate
text = "x"
for _ in range(10):
    text = f"(sin({text}) + half)"
y = evaluate(text)
""",
    "torch": f"""
from torch import from_numpy, sin
x = from_numpy(x)
half = 0.5
{_CHAIN}
""",
}


def memory_of_chain(program: str, _: Any) -> float:
    """Return what the arrays took: the peak, less that of the same program on next to nothing."""
    start = peak_bytes(_FILLED.format(elements=1000) + program)
    return peak_bytes(_FILLED.format(elements=ELEMENTS) + program) - start


MEMORY = Workload(
    "W13",
    "Peak memory of a chain of 20 ops on 1 GB of float32 in a fresh process, by the system's own count; input and "
    "output alone are 2 GB.",
    (
        Case(
            "memory of 20 ops on 1 GB",
            {peer: partial(memory_of_chain, program) for peer, program in CHAINS.items()},
            unit=Unit.BYTES,
            measures_itself=True,
            at_most=1.1 * 2 * 4 * ELEMENTS,
        ),
    ),
)
