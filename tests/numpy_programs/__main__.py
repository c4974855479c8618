"""The programs timed with NumPy and with tensorframe, by turns of two processes.

    python -m tests.numpy_programs [name ...] [--rounds N] [--profile]

For each library the milliseconds of its second run and of its fastest one since, and the ratio of these; the last
column is that of the processors' time, of all threads. Each library has a process of its own, as a user's program has:
in one with both, NumPy's arrays would lie in memory that the C library keeps because of ours, which halves the time.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats

from tests.numpy_programs.loading import PROGRAMS, load
from tests.numpy_programs.timing import LIBRARIES, measured, milliseconds


def profiled(name: str, rounds: int) -> None:
    """Print where the runs of a program spend their time, once everything is compiled."""
    program = load(name, LIBRARIES[1])
    for _ in range(rounds):
        milliseconds(program)
    profile = cProfile.Profile()
    profile.runcall(milliseconds, program)
    pstats.Stats(profile).sort_stats("tottime").print_stats(35)


def row(name: str, rounds: int) -> str:
    """Return the line of a program."""
    runs = measured(name, rounds)
    numpys, ours = (min(run.elapsed for run in library) for library in runs)
    processors = [min(run.processors for run in library) for library in runs]
    cells = (
        f"{runs[0][0].elapsed:15.1f}{numpys:9.2f}",
        f"{runs[1][0].elapsed:15.1f}{ours:9.2f}",
        f"{ours / numpys:7.2f}{processors[1] / processors[0]:12.2f}",
    )
    return f"{name:21}{''.join(cells)}"


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
    heads = f"{'NumPy: second':>15}{'fastest':>9}{'ours: second':>15}{'fastest':>9}"
    print(f"{'':21}{heads}{'ratio':>7}{'processors':>12}")
    for name in names:
        print(row(name, options.rounds), flush=True)


if __name__ == "__main__":
    main()
