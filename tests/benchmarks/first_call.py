"""First calls: what a contestant takes to its first result in a fresh process, with cold caches and with warm ones.

`python -m tests.benchmarks.first_call WORKLOAD CASE PEER SECONDS` is such a process: it makes the inputs, imports the
library, prints how long the first call took, and goes on calling for SECONDS, so that there is something to keep.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from tempfile import TemporaryDirectory
from time import perf_counter

from tests.benchmarks.calls import call_of
from tests.benchmarks.effort import Effort
from tests.benchmarks.fresh import output
from tests.benchmarks.line import Line
from tests.benchmarks.peers import PEERS, Peer
from tests.benchmarks.workload import Workload

COLD, WARM = "cold", "warm"


def first_calls(
    workload: Workload, line: Line, peers: Iterable[Peer], effort: Effort
) -> dict[str, dict[str, float]]:
    """Return the least seconds of several processes for each contestant on a line, by state of the caches."""
    number = next(index for index, case in enumerate(workload.cases) if case.title == line.title)
    if workload.cases[number].measures_itself or not effort.first_calls:
        return {}
    found: dict[str, dict[str, float]] = {}
    for peer in peers:
        if peer.compiles and peer.name in line.best:
            try:
                found[peer.name] = _least(workload, number, peer, effort)
            except RuntimeError as error:
                line.failures[f"{peer.name}, first call"] = str(error)
    return found


def _least(workload: Workload, number: int, peer: Peer, effort: Effort) -> dict[str, float]:
    rounds = [_cold_and_warm(workload, number, peer, effort) for _ in range(effort.first_calls)]
    return {state: min(one[state] for one in rounds) for state in rounds[0]}


def _cold_and_warm(workload: Workload, number: int, peer: Peer, effort: Effort) -> dict[str, float]:
    def process(warm_up: float) -> float:
        module = ["-m", "tests.benchmarks.first_call"]
        arguments = [workload.name, str(number), peer.name, str(warm_up)]
        return float(output([*module, *arguments], caches).splitlines()[-1])

    with TemporaryDirectory() as caches:
        if not peer.keeps:
            return {COLD: process(0)}
        return {COLD: process(effort.warm_seconds), WARM: process(0)}


def main(workload_name: str, number: str, peer_name: str, warm_up: str) -> None:
    """Print the seconds of the first call."""
    from tests.benchmarks.suite import WORKLOADS

    workload = next(one for one in WORKLOADS if one.name == workload_name)
    peer = next(one for one in PEERS if one.name == peer_name)
    call = call_of(peer, workload.cases[int(number)].runs[peer_name], workload.setup())
    start = perf_counter()
    call()
    print(perf_counter() - start, flush=True)  # noqa: T201 - read by the process that started this one
    Effort(rounds=0, seconds=0, warm_seconds=float(warm_up)).warm_up(call)


if __name__ == "__main__":
    main(*sys.argv[1:])
