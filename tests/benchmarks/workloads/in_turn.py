"""Several expressions on arrays of several sizes in turn: somebody has to find memory for each result."""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import Any

from tests.benchmarks.calls import call_of
from tests.benchmarks.fresh import KEEPING, output
from tests.benchmarks.goals import OURS, no_slower, within
from tests.benchmarks.peers import PEERS
from tests.benchmarks.workload import Case, Run, Turns, Workload, Yardstick, by
from tests.benchmarks.workloads.elementwise import formula, formula_as_text, normal

SIZES = (1_000_000, 4_000_000, 12_000_000)
# Seconds of calls before and while a process measures itself.
_SECONDS = 3.0


def scaled(_: Any, a: Any, b: Any) -> Any:
    """Two ops."""
    return a + b * 2


def scaled_as_text(numexpr: Any, a: Any, b: Any) -> Any:
    """The same as numexpr takes it."""
    return numexpr.evaluate("a+b*2", {"a": a, "b": b})


def two_results(_: Any, a: Any, b: Any) -> Any:
    """Two results of the same inputs."""
    return a + b, a - b


def two_results_as_text(numexpr: Any, a: Any, b: Any) -> Any:
    """The same as numexpr takes it, which has one result for each expression."""
    both = {"a": a, "b": b}
    return numexpr.evaluate("a+b", both), numexpr.evaluate("a-b", both)


def nine(*expressions: Run) -> Turns:
    """Return each expression on each size, a size after the other."""
    pairs = [(2 * number, 2 * number + 1) for number in range(len(SIZES))]
    return Turns(tuple([(expression, pair) for pair in pairs for expression in expressions]))


EXPRESSIONS = nine(formula, scaled, two_results)


def arrays() -> tuple[Any, ...]:
    """Two arrays of each size."""
    return tuple([normal(size, seed=seed) for size in SIZES for seed in range(2)])


def alone(_: Any, *, keeping: bool) -> float:
    """Return what the loop takes us in a process of its own, whose C library keeps what is freed or does not."""
    settings = KEEPING if keeping else {}
    return float(output(["-m", __name__], "", settings=settings).splitlines()[-1])


def main() -> None:
    """Print the best time of a turn through all expressions."""
    ours = next(peer for peer in PEERS if peer.name == OURS)
    call = call_of(ours, EXPRESSIONS, arrays())
    start, best = perf_counter(), float("inf")
    while perf_counter() - start < 2 * _SECONDS:
        before = perf_counter()
        call()
        if perf_counter() - start > _SECONDS:
            best = min(best, perf_counter() - before)
    print(best)  # noqa: T201 - read by the process that started this one


IN_TURN = Workload(
    "W26",
    "W1's expression, `a + b*2`, and `a + b` with `a - b`, on 1, 4 and 12 million float32 in turn, each result dropped "
    "before the next: half of the time may go into memory that the system has to clear. Once more in a process of its "
    "own, beside one whose C library is told to keep what is freed.",
    (
        Case(
            "nine expressions in turn",
            by("tensorframe, NumPy, torch, torch.compile, JAX", EXPRESSIONS)
            | by("numexpr", nine(formula_as_text, scaled_as_text, two_results_as_text)),
            (no_slower(),),
        ),
        Case(
            "nine expressions in turn, alone",
            {OURS: partial(alone, keeping=False)},
            (within(1.05, of="freed memory kept"),),
            (Yardstick("freed memory kept", OURS, partial(alone, keeping=True)),),
            measures_itself=True,
            turns=3,
        ),
    ),
    arrays,
)

if __name__ == "__main__":
    main()
