"""Large graphs: what recording and planning cost for each node."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from tests.benchmarks.goals import Goal, at_most, within
from tests.benchmarks.workload import Case, Run, Workload, Yardstick, by

Build = Callable[[Any, int], Any]

# as large tensors are: long graphs of small ones are computed while they are recorded, and never planned
PLANNED = {"small_size": 0, "small_nodes": 0}
# caches get smaller beside the graph: this is how much longer a node may take among four times as many
LINEAR = 1.25


def chain(tensorframe: Any, nodes: int) -> Any:
    """Elementwise ops in a row."""
    x = y = tensorframe.asarray(np.ones(16, np.float32))
    for _ in range(nodes // 4):
        x = tensorframe.sin(x * 0.5 + y) - y
    return x


def layers(tensorframe: Any, nodes: int) -> Any:
    """Sums between elementwise ops, so that many steps are needed: six nodes each."""
    x = tensorframe.asarray(np.ones((4, 16), np.float32))
    for _ in range(nodes // 6):
        y = tensorframe.tanh(x * 0.5)
        x = x + y / (tensorframe.sum(y, axis=1, keepdims=True) + 2.0)
    return x


def recording(build: Build, nodes: int) -> Run:
    """Return what times recording a graph, per node."""

    def run(tensorframe: Any) -> float:
        with tensorframe.config.override(**PLANNED):
            start = perf_counter()
            graph = build(tensorframe, nodes)
            taken = perf_counter() - start
        del graph
        return taken / nodes

    return run


def planning(build: Build, nodes: int, *, warm: bool) -> Run:
    """Return what times making the plan of a graph, or finding it again for an equal one, per node."""

    def run(tensorframe: Any) -> float:
        plans_kept = 1 if warm else 0
        with tensorframe.config.override(plan_cache=plans_kept, **PLANNED):
            if warm:
                tensorframe.explain(build(tensorframe, nodes))
            graph = build(tensorframe, nodes)
            start = perf_counter()
            tensorframe.explain(graph)
            return (perf_counter() - start) / nodes

    return run


def computing(build: Build, nodes: int) -> Run:
    """Return what times recording, planning and running a graph, per node."""

    def run(tensorframe: Any) -> float:
        with tensorframe.config.override(plan_cache=0):
            start = perf_counter()
            build(tensorframe, nodes).compute()
            return (perf_counter() - start) / nodes

    return run


def _case(title: str, run: Run, *goals: Goal, beside: tuple[Yardstick, ...] = ()) -> Case:
    return Case(title, by("tensorframe", run), goals, beside, measures_itself=True)


FEW = "10,000 nodes"

GRAPHS = Workload(
    "W14",
    "Graphs of 10,000 nodes, per node: recording, planning the first time (cold), finding the plan of an equal "
    "graph again (warm); a chain of elementwise ops, and layers with a sum in each. A graph of four times as many "
    "nodes takes as long per node where the work is linear.",
    (
        _case("record a chain, 10,000", recording(chain, 10_000)),
        _case("plan it, cold", planning(chain, 10_000, warm=False), at_most(40e-6)),
        _case("plan it, warm", planning(chain, 10_000, warm=True)),
        _case("plan layers, 10,000, cold", planning(layers, 10_000, warm=False), at_most(40e-6)),
        _case(
            "plan layers, 40,000, cold",
            planning(layers, 40_000, warm=False),
            within(LINEAR, of=FEW),
            beside=(Yardstick(FEW, "tensorframe", planning(layers, 10_000, warm=False)),),
        ),
        _case("compute a chain, 100,000", computing(chain, 100_000)),
    ),
)
