"""The same run while the C library keeps memory that is freed, in a process of its own.

Left alone, glibc gives large pieces back to the system now and then, and whether a temporary array is new memory, which
the system has to clear, is a matter of luck: it made 7 or 35 ms of the same expression in PyTorch. Users run it so, and
so do the tables; this one says what the luck was worth.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.fresh import KEEPING, output
from tests.benchmarks.line import Line
from tests.benchmarks.workload import Unit, Workload


def lines_with_memory_kept(
    workloads: Sequence[Workload], options: argparse.Namespace
) -> list[Line]:
    """Return the lines of workloads that hold large arrays in the process that measures; none without glibc."""
    names = [
        workload.name
        for workload in workloads
        if not all(case.measures_itself for case in workload.cases)
    ]
    if not names or platform.libc_ver()[0] != "glibc":
        return []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "kept.json"
        arguments = ["-m", "tests.benchmarks", "--only", ",".join(names), "--json", str(path)]
        arguments += ["--first-calls", "none", "--kept", "none"]
        if options.peers:
            arguments += ["--peers", ",".join(options.peers)]
        if options.quick:
            arguments.append("--quick")
        output(arguments, "", settings=KEEPING)
        found = json.loads(path.read_text(encoding="utf-8"))["lines"]
    return [
        Line(one["workload"], one["title"], Unit(one["unit"]), best=one["best"]) for one in found
    ]
