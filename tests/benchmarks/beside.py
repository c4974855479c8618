"""Workloads beside an earlier commit: `python -m tests.benchmarks.beside COMMIT [--devices cpu,wgpu] [--only W1,W2]`.

Workloads that measure themselves, in processes of their own or in bytes, are compared where `--only` names them.
With `--scale`, those of a GPU (`tests.benchmarks.gpu`) with their sizes divided: devices of software take minutes else.

Both packages run the workloads of this checkout, each device and workload in processes of their own. These live side by
side and measure by turns, now, before, before, now, some hundredths of a second each: the machine may become slower or
faster by half from one second to the next, which such turns hardly notice. What counts is the median of the ratios, by
the clock; that of the processors' time is beside it, since others may use the machine. Of a case that measures itself
that is all of the time it took, with what it does not count, such as the start of Python. Where now is slower by more
than 5 %, the last column says so, and the command fails.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from subprocess import run
from tempfile import TemporaryDirectory
from time import perf_counter

from tests.benchmarks.changes import NOTICED
from tests.benchmarks.effort import Effort
from tests.benchmarks.fresh import ROOT
from tests.benchmarks.quantities import quantity
from tests.benchmarks.scaled import scaled
from tests.benchmarks.served import Seconds, Served, answers_alone, serve, served
from tests.benchmarks.suite import WORKLOADS
from tests.benchmarks.tables import Table
from tests.benchmarks.workload import Unit, Workload, chosen

MODULE = "tests.benchmarks.beside"
SECONDS = Unit.SECONDS
# those that measure time in their own process, which are compared where none are named
TIMED = tuple(
    workload
    for workload in WORKLOADS
    if any(case.unit is SECONDS and not case.measures_itself for case in workload.cases)
)
# a turn is as long as the sample, or a call
EFFORT = Effort(rounds=7, seconds=3.0, sample=0.04, warm_calls=3, warm_seconds=0.5)
DEVICES = ("cpu", "opencl", "wgpu")
HEAD = ["workload", "device", "before", "now", "now / before", "processors", ""]

Pair = tuple[Seconds, Seconds]  # now, before


@contextmanager
def checkouts(commit: str) -> Iterator[tuple[str, str]]:
    """Make folders with the package as it is and as it was, both beside the tests of this checkout."""
    git = partial(run, cwd=ROOT, check=True, capture_output=True)
    with TemporaryDirectory() as folder:
        earlier = Path(folder) / "checkout"
        git(["git", "worktree", "add", "--detach", str(earlier), commit])
        try:
            yield (
                str(_linked(Path(folder) / "now", ROOT)),
                str(_linked(Path(folder) / "before", earlier)),
            )
        finally:
            git(["git", "worktree", "remove", "--force", str(earlier)])


def _linked(folder: Path, package: Path) -> Path:
    folder.mkdir()
    (folder / "tensorframe").symlink_to(package / "tensorframe")
    (folder / "tests").symlink_to(ROOT / "tests")
    return folder


def compare(
    workload: Workload,
    device: str,
    roots: Sequence[str],
    effort: Effort = EFFORT,
    options: Sequence[str] = (),
) -> Iterator[tuple[str, list[Pair]]]:
    """Yield the cases that work in both checkouts, now and before, with what a call took in each turn of both."""
    with ExitStack() as stack:
        both = [
            stack.enter_context(served(MODULE, workload, device, root, *options)) for root in roots
        ]
        # bytes differ little, and take long
        most = {case.title: case.turns for case in workload.cases if case.unit is not SECONDS}
        for title, seconds in both[0].cases.items():
            if title in both[1].cases:
                calls = max(round(effort.sample / max(seconds, both[1].cases[title])), 1)
                turns = effort.at_most(most.get(title))
                yield title, list(_pairs(partial(_turn, both, title, calls), turns))


def _turn(both: Sequence[Served], title: str, calls: int, first: int) -> Pair:
    """Let each measure once, that of number `first` before the other."""
    measured = {number: both[number].measured(title, calls) for number in (first, 1 - first)}
    return measured[0], measured[1]


def _pairs(turn: Callable[[int], Pair], effort: Effort) -> Iterator[Pair]:
    start, turns = perf_counter(), 0
    while turns < effort.rounds or perf_counter() - start < effort.seconds:
        yield turn(turns % 2)
        turns += 1


def row(title: str, device: str, pairs: Sequence[Pair], unit: Unit = SECONDS) -> list[str]:
    """Return the row of a case: medians of times, or bytes, and of the ratios in each turn."""
    times = [quantity(median(pair[place].clock for pair in pairs), unit) for place in (1, 0)]
    ratios = [median(now[kind] / before[kind] for now, before in pairs) for kind in range(2)]
    verdict = "slower" if ratios[0] > 1 + NOTICED else ""
    return [title, device, *times, *[f"{ratio:.2f}" for ratio in ratios], verdict]


def _chosen(scale: float, names: str | None) -> Sequence[Workload]:
    """Return the workloads of these names, with commas between; of a GPU's lines also by their first word."""
    if not scale:
        return chosen(WORKLOADS if names else TIMED, names and names.split(","))
    lines = list(scaled(scale))
    exact = [line for line in lines if line.name == names]
    wanted = names.upper().split(",") if names else ()
    return exact or [line for line in lines if not names or line.name.split()[0] in wanted]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 if something has become slower."""
    parser = argparse.ArgumentParser(prog="tests.benchmarks.beside", description=__doc__)
    option = parser.add_argument
    option("commit", nargs="?", help="the earlier one")
    option("--devices", default=",".join(DEVICES), metavar="cpu,wgpu")
    option("--only", metavar="W1,W2", help="workloads (all that measure time in one process)")
    option("--seconds", type=float, default=EFFORT.seconds, help="for each case, at least")
    option("--scale", type=float, default=0.0, help="divides the sizes of a GPU's workloads")
    option("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        (workload,) = _chosen(options.scale, options.measure)
        serve(workload, EFFORT, sys.stdin, answers_alone())
        return 0
    if not options.commit:
        parser.error("an earlier commit is needed")
    effort = replace(EFFORT, seconds=options.seconds)
    rows = []
    with checkouts(options.commit) as roots:
        for workload in _chosen(options.scale, options.only):
            for device in options.devices.split(","):
                scale = ("--scale", str(options.scale))
                units = {case.title: case.unit for case in workload.cases}
                for title, pairs in compare(workload, device, roots, effort, scale):
                    named = f"{workload.name} {title}"
                    rows.append(row(named, device, pairs, units[title]))
                    sys.stderr.write(f"{' '.join(rows[-1])}\n")
    sys.stdout.write(f"{Table('', HEAD, rows, range(2, 6))}\n")
    return int(any(cells[-1] for cells in rows))


if __name__ == "__main__":
    sys.exit(main())
