"""The command line: `python -m tests.benchmarks [--only W1,W9] [--peers torch,JAX] [--quick] [--json PATH] ...`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.benchmarks import report
from tests.benchmarks.changes import changes
from tests.benchmarks.effort import Effort
from tests.benchmarks.first_call import COLD, first_calls
from tests.benchmarks.header import BUSY_BEFORE, Header
from tests.benchmarks.kept import lines_with_memory_kept
from tests.benchmarks.line import Line
from tests.benchmarks.machine import Others, load_average
from tests.benchmarks.measure import measured
from tests.benchmarks.peers import PEERS, Peer, present
from tests.benchmarks.suite import WORKLOADS
from tests.benchmarks.workload import Workload, chosen

# Plans of different kinds, whose first calls are measured: those of another axis would take as long.
FIRST_CALLS = ("W1", "W2", "W5", "W6", "W11")
# Workloads with large results or temporaries, for which it matters whether freed memory is kept.
KEPT = ("W1", "W2", "W4", "W5", "W6", "W7", "W8", "W10")


def command_line() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(prog="tests.benchmarks", description=__doc__)
    option = parser.add_argument
    option("--only", type=_names, metavar="W1,W9", help="workloads to run (all)")
    option("--peers", type=_names, metavar="torch,JAX", help="peers beside NumPy (all)")
    option("--quick", action="store_true", help="fewer runs: numbers to develop by")
    option(
        "--first-calls",
        type=_names,
        metavar="W1,W5",
        help=f"workloads whose first calls are measured, in fresh processes ({','.join(FIRST_CALLS)}; none if --quick)",
    )
    option(
        "--kept",
        type=_names,
        metavar="W1,W2",
        help=f"workloads that run once more while freed memory is kept ({','.join(KEPT)}; none if --quick)",
    )
    option("--json", type=Path, metavar="PATH", help="write everything that was measured")
    option("--markdown", type=Path, metavar="PATH", help="write the page with the tables")
    option("--compare", type=Path, metavar="PATH", help="say what differs from an earlier --json")
    option("--list", action="store_true", help="say what the workloads are, and run nothing")
    return parser


def _names(text: str) -> list[str]:
    return text.split(",")


def main() -> int:
    """Run, report; 1 if a result was wrong."""
    parser = command_line()
    options = parser.parse_args()
    try:
        workloads = chosen(WORKLOADS, options.only)
        peers = present(PEERS, options.peers)
    except ValueError as error:
        parser.error(str(error))
    if options.list:
        print("\n".join(f"{workload.name}: {workload.doc}" for workload in workloads))
        return 0
    if (load := load_average()) is not None and load > BUSY_BEFORE:
        print(f"the machine is busy: load average {load:.2f}", file=sys.stderr)
    effort = Effort.quick() if options.quick else Effort.full()
    first = options.first_calls or (() if options.quick else FIRST_CALLS)
    kept = options.kept or (() if options.quick else KEPT)
    header = Header.now(PEERS, peers, effort)
    others = Others()
    lines: list[Line] = []
    for told in run(workloads, peers, effort, first, lines):
        print(told, file=sys.stderr)
        write(options, header.after(others), lines, workloads)
    again = lines_with_memory_kept(
        [workload for workload in workloads if workload.name in kept], options
    )
    write(options, header.after(others), lines, workloads, again)
    print(report.body(header.after(others), lines, again))
    if options.compare:
        print(f"\n## Changes\n\n{changes(options.compare, lines)}")
    return 1 if report.failures(lines) else 0


def run(
    workloads: Sequence[Workload],
    peers: Sequence[Peer],
    effort: Effort,
    first: Sequence[str],
    lines: list[Line],
) -> Iterator[str]:
    """Fill `lines`, and say what was measured as it goes; first calls come last, with no peer beside them."""
    measurements = []
    for workload in workloads:
        for line in measured(workload, peers, effort):
            lines.append(line)
            measurements.append((workload, line))
            yield f"{line.workload} {line.title}: {values(line.best)}"
    for workload, line in measurements:
        if workload.name not in first:
            continue
        line.first = first_calls(workload, line, peers, effort)
        if line.first:
            cold = {name: calls[COLD] for name, calls in line.first.items()}
            yield f"{line.workload} {line.title}, first calls: {values(cold)}"


def values(found: dict[str, float]) -> str:
    """Return what each contestant took, in the order of the table."""
    return ", ".join(f"{name} {value:.3g}" for name, value in found.items())


def write(
    options: argparse.Namespace,
    header: Header,
    lines: Sequence[Line],
    workloads: Sequence[Workload],
    kept: Sequence[Line] = (),
) -> None:
    """Write what was measured so far: a run that is interrupted leaves its figures."""
    if options.json:
        options.json.write_text(report.as_json(header, lines), encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(
            report.markdown(header, lines, workloads, kept), encoding="utf-8"
        )


if __name__ == "__main__":
    sys.exit(main())
