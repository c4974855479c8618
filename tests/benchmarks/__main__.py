"""The command line: `python -m tests.benchmarks [--only W1,W9] [--quick] [--json PATH] [--markdown PATH]`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from tests.benchmarks import report
from tests.benchmarks.machine import BUSY, Header, Others, keep_freed_memory, load_average
from tests.benchmarks.measure import Effort, measured
from tests.benchmarks.peers import PEERS
from tests.benchmarks.suite import WORKLOADS
from tests.benchmarks.workload import chosen


def command_line() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(prog="tests.benchmarks", description=__doc__)
    option = parser.add_argument
    option("--only", metavar="W1,W9", help="workloads to run (all)")
    option("--quick", action="store_true", help="fewer runs: numbers to develop by, not to publish")
    option("--json", type=Path, metavar="PATH", help="write everything that was measured")
    option("--markdown", type=Path, metavar="PATH", help="write the page with the table")
    option("--list", action="store_true", help="say what the workloads are, and run nothing")
    return parser


def main() -> int:
    """Run, report; 1 if a result was wrong."""
    parser = command_line()
    options = parser.parse_args()
    try:
        workloads = chosen(WORKLOADS, options.only and options.only.split(","))
    except ValueError as error:
        parser.error(str(error))
    if options.list:
        print("\n".join(f"{one.name}: {one.doc}" for one in workloads))
        return 0
    if (load := load_average()) is not None and load > BUSY:
        print(f"the machine is busy: load average {load:.2f}", file=sys.stderr)
    effort = Effort.quick() if options.quick else Effort.full()
    header = replace(Header.now(PEERS), keeps_memory=keep_freed_memory())
    others = Others()
    peers = [peer for peer in PEERS if peer.is_installed]
    lines = []
    for workload in workloads:
        for line in measured(workload, peers, effort):
            print(f"{line.workload} {line.title}", file=sys.stderr)
            lines.append(line)
    header = replace(header, others=others.cores())
    print("\n".join(header.lines()), report.table(lines, list(header.versions)), sep="\n\n")
    if wrong := report.failures(lines):
        print(f"\nfailures:\n{wrong}")
    if options.json:
        options.json.write_text(report.as_json(header, lines), encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(report.markdown(header, lines, workloads), encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
