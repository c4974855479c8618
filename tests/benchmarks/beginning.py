"""The beginning of a process: importing a library and its first calls, with caches that are empty.

`python -m tests.benchmarks.beginning WORKLOAD CASE PEER CALLS` is such a process: it makes the inputs, and prints how
many seconds after the import of the library began each of so many calls was done.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from tempfile import TemporaryDirectory
from time import perf_counter

from tests.benchmarks.calls import call_of
from tests.benchmarks.fresh import output
from tests.benchmarks.peers import PEERS
from tests.benchmarks.workload import Workload

# Processes of which the best counts, call by call.
_PROCESSES = 2


@cache
def marks(workload: str, case: str, peer: str, calls: int) -> tuple[float, ...]:
    """Return the seconds from the start of the import to the end of each call, the least of several processes."""
    arguments = ["-m", "tests.benchmarks.beginning", workload, case, peer, str(calls)]
    rounds = []
    for _ in range(_PROCESSES):
        with TemporaryDirectory() as caches:
            rounds.append(json.loads(output(arguments, caches).splitlines()[-1]))
    return tuple(min(column) for column in zip(*rounds, strict=True))


def main(workload_name: str, title: str, peer_name: str, calls: str) -> None:
    """Print the marks of one process."""
    from tests.benchmarks.suite import WORKLOADS

    workload: Workload = next(one for one in WORKLOADS if one.name == workload_name)
    case = next(one for one in workload.cases if one.title == title)
    peer = next(one for one in PEERS if one.name == peer_name)
    inputs = workload.setup()
    start = perf_counter()
    call = call_of(peer, case.runs[peer_name], inputs)
    done = []
    for _ in range(int(calls)):
        call()
        done.append(perf_counter() - start)
    print(json.dumps(done), flush=True)  # noqa: T201 - read by the process that started this one


if __name__ == "__main__":
    main(*sys.argv[1:])
