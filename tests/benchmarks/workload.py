"""Workloads as data: what is computed, from what, by whom, and how fast it should be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from tests.benchmarks.goals import Goal

# run(namespace of the peer, *inputs in the peer's own arrays) -> result
Run = Callable[..., Any]


class Unit(Enum):
    """What is measured; less is better."""

    SECONDS = "s"
    BYTES = "B"


@dataclass(frozen=True)
class Loop:
    """A run that takes the same step many times; who compiles, compiles the step.

    `start(namespace, *inputs)` makes the first value, from which each step makes the next.
    """

    step: Run
    times: int
    start: Run = lambda _, value: value


@dataclass(frozen=True)
class Turns:
    """Several runs in turn, each of some of the inputs, finished and dropped before the next; the last one's result.

    Who compiles, compiles each of them.
    """

    runs: tuple[tuple[Run, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Yardstick:
    """What a goal compares with beside the contestants, measured in turn with them."""

    name: str
    peer: str
    run: Run | Loop | Turns
    same_result: bool = False  # as the contestants', and checked like theirs


@dataclass(frozen=True)
class Case:
    """One line of the table: the same work by each contestant, under the peer's name.

    With `measures_itself`, a run returns what it measured instead of a result. `comparable` makes of results, as arrays
    of NumPy's, what all contestants should have in common where they draw numbers of their own.
    """

    title: str
    runs: Mapping[str, Run | Loop | Turns]
    goals: tuple[Goal, ...] = ()
    yardsticks: tuple[Yardstick, ...] = ()
    unit: Unit = Unit.SECONDS
    measures_itself: bool = False
    turns: int | None = None  # at most, where they take long and differ little
    comparable: Callable[[list[Any]], list[Any]] = list


@dataclass(frozen=True)
class Workload:
    """Cases that share their inputs."""

    name: str
    doc: str
    cases: tuple[Case, ...]
    setup: Callable[[], tuple[Any, ...]] = tuple  # the inputs, as NumPy arrays
    tolerance: float = 1e-5  # of results, relative to the largest element


def by(peers: str, run: Run | Loop | Turns) -> dict[str, Run | Loop | Turns]:
    """Return `run` for each of the peers, named with commas between."""
    return dict.fromkeys(peers.split(", "), run)


def by_hand(name: str) -> dict[str, Run | Loop | Turns]:
    """Return the run of the Numba function of that name in `by_hand`."""
    return {"Numba": lambda functions, *inputs: getattr(functions, name)(*inputs)}


def chosen(workloads: Iterable[Workload], names: Iterable[str] | None) -> list[Workload]:
    """Return the workloads called `names`, all for None; ValueError if there is none of a name."""
    known = {workload.name: workload for workload in workloads}
    if names is None:
        return list(known.values())
    wanted = [name.strip().upper() for name in names]
    if unknown := [name for name in wanted if name not in known]:
        raise ValueError(f"there is no workload {unknown[0]}: one of {', '.join(known)}")
    return [known[name] for name in known if name in wanted]
