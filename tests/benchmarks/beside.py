"""Workloads beside an earlier commit: `python -m tests.benchmarks.beside COMMIT [--devices cpu,wgpu] [--only W1,W2]`.

Both packages run the workloads of this checkout, each device and workload in processes of their own, by turns: now,
before, now, before. What counts is the least time of processors that a call took, in all threads together, since
others may use the machine. Where now is slower by more than 5 %, the last column says so, and the command fails.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from subprocess import run
from tempfile import TemporaryDirectory
from time import process_time

from tensorframe.backends.registry import VARIABLE, backend_of, default_device
from tests.benchmarks.calls import Call, call_of
from tests.benchmarks.changes import NOTICED
from tests.benchmarks.effort import Effort
from tests.benchmarks.fresh import ROOT, output
from tests.benchmarks.goals import OURS
from tests.benchmarks.peers import PEERS
from tests.benchmarks.quantities import quantity
from tests.benchmarks.suite import WORKLOADS
from tests.benchmarks.tables import Table
from tests.benchmarks.workload import Unit, Workload, chosen

# those that measure time in their own process
TIMED = tuple(
    workload
    for workload in WORKLOADS
    if any(case.unit is Unit.SECONDS and not case.measures_itself for case in workload.cases)
)
EFFORT = Effort(rounds=5, seconds=1.0, warm_calls=3, warm_seconds=0.5)
DEVICES = ("cpu", "opencl", "wgpu")
HEAD = ["workload", "device", "before", "now", "now / before", ""]

Seconds = dict[str, float]  # by the title of a case


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


def measure(workload: Workload, effort: Effort = EFFORT) -> Seconds:
    """Return the least seconds of processors for each case that works here."""
    peer = next(peer for peer in PEERS if peer.name == OURS)
    device = default_device()
    wait = partial(backend_of(device).synchronize, device)
    inputs = workload.setup()
    least: Seconds = {}
    for case in workload.cases:
        if OURS not in case.runs or case.measures_itself or case.unit is not Unit.SECONDS:
            continue
        try:
            call = _finished(call_of(peer, case.runs[OURS], inputs), wait)
            effort.warm_up(call)
            least[case.title] = min(_seconds(call, effort))
        except Exception as error:  # an earlier package lacks what a later one has
            sys.stderr.write(f"{workload.name} {case.title}: {error}\n")
    return least


def _finished(call: Call, wait: Call) -> Call:
    """Return a call that ends when the device has done it."""

    def both() -> None:
        call()
        wait()

    return both


def _seconds(call: Call, effort: Effort) -> Iterator[float]:
    """Yield the seconds of one call, several times."""
    start, turns = process_time(), 0
    while turns < effort.rounds or process_time() - start < effort.seconds:
        begun, calls = process_time(), 0
        while calls == 0 or process_time() - begun < effort.sample:
            call()
            calls += 1
        yield (process_time() - begun) / calls
        turns += 1


def compare(
    workload: Workload, device: str, roots: Sequence[str], turns: int
) -> Iterator[tuple[str, list[float]]]:
    """Yield the cases of a workload, with the seconds of each checkout."""
    least: list[Seconds] = [{} for _ in roots]
    for _ in range(turns):
        for known, root in zip(least, roots, strict=True):
            for title, seconds in _in_process(workload, device, root).items():
                known[title] = min(seconds, known.get(title, seconds))
    for title in least[0]:
        if all(title in known for known in least):
            yield title, [known[title] for known in least]


def _in_process(workload: Workload, device: str, root: str) -> Seconds:
    module = ["-m", "tests.benchmarks.beside", "--measure", workload.name]
    printed = output(module, "", root=root, settings={VARIABLE: device})
    found: Seconds = json.loads(printed.splitlines()[-1])
    return found


def row(title: str, device: str, now: float, before: float) -> list[str]:
    """Return the row of a case."""
    verdict = "slower" if now > (1 + NOTICED) * before else ""
    times = [quantity(seconds, Unit.SECONDS) for seconds in (before, now)]
    return [title, device, *times, f"{now / before:.2f}", verdict]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 if something has become slower."""
    parser = argparse.ArgumentParser(prog="tests.benchmarks.beside", description=__doc__)
    option = parser.add_argument
    option("commit", nargs="?", help="the earlier one")
    option("--devices", default=",".join(DEVICES), metavar="cpu,wgpu")
    option("--only", metavar="W1,W2", help="workloads (all that measure time in one process)")
    option("--turns", type=int, default=2, help="processes for each checkout")
    option("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        sys.stdout.write(f"{json.dumps(measure(*chosen(TIMED, [options.measure])))}\n")
        return 0
    if not options.commit:
        parser.error("an earlier commit is needed")
    rows = []
    with checkouts(options.commit) as roots:
        for workload in chosen(TIMED, options.only and options.only.split(",")):
            for device in options.devices.split(","):
                for title, seconds in compare(workload, device, roots, options.turns):
                    rows.append(row(f"{workload.name} {title}", device, *seconds))
                    sys.stderr.write(f"{' '.join(rows[-1])}\n")
    sys.stdout.write(f"{Table('', HEAD, rows, range(2, 5))}\n")
    return int(any(cells[-1] for cells in rows))


if __name__ == "__main__":
    sys.exit(main())
