"""The programs timed with NumPy and with tensorframe, by turns in one process.

    python -m tests.numpy_programs [name ...] [--rounds N] [--profile]

For each library the milliseconds of its second run and of its fastest one since, and the ratio of these. Processor time
is counted, of all threads, so a busy machine does not matter much.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

from tests.numpy_programs.loading import PROGRAMS, load


def milliseconds(program: Callable[[], Any]) -> float:
    """Return the processor time of one run, until all its results are computed."""
    began = process_time()
    for result in program().values():
        np.asarray(result)
    return (process_time() - began) * 1e3


def measured(name: str, rounds: int) -> tuple[list[float], list[float]]:
    """Return the times of a program's runs after its first one, with NumPy and with tensorframe."""
    programs = load(name, "numpy"), load(name, "tensorframe")
    times: tuple[list[float], list[float]] = ([], [])
    for run in range(rounds + 1):
        for program, taken in zip(programs, times, strict=True):
            taken.append(milliseconds(program))
            if not run:
                taken.clear()
    return times


def profiled(name: str, rounds: int) -> None:
    """Print where the runs of a program spend their time, once everything is compiled."""
    program = load(name, "tensorframe")
    for _ in range(rounds):
        program()
    profile = cProfile.Profile()
    profile.runcall(milliseconds, program)
    pstats.Stats(profile).sort_stats("tottime").print_stats(35)


def main() -> None:
    """Print a line for each program."""
    parser = argparse.ArgumentParser(prog="tests.numpy_programs", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    names = options.names or PROGRAMS
    if options.profile:
        for name in names:
            profiled(name, options.rounds)
        return
    print(
        f"{'':21}{'NumPy: second':>15}{'fastest':>9}{'ours: second':>15}{'fastest':>9}{'ratio':>7}"
    )
    for name in names:
        numpys, ours = measured(name, options.rounds)
        theirs, best = min(numpys), min(ours)
        print(
            f"{name:21}{numpys[0]:15.1f}{theirs:9.2f}{ours[0]:15.1f}{best:9.2f}{best / theirs:7.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
