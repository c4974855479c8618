"""Calls: a contestant's run with its inputs, as what the clock surrounds; and whether the result is right."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tests.benchmarks.libraries import parts
from tests.benchmarks.peers import Peer
from tests.benchmarks.workload import Loop, Run, Turns

Call = Callable[[], Any]


def call_of(peer: Peer, run: Run | Loop | Turns, inputs: tuple[Any, ...]) -> Call:
    """Return the call to measure, with everything that is not part of the work done."""
    namespace = peer.namespace  # ready before it is given anything
    given = tuple(map(peer.give, inputs))
    if isinstance(run, Loop):
        return _steps(peer, run, given)
    if isinstance(run, Turns):
        return _turns(peer, run, given)
    compiled, finish = peer.compiled(partial(run, namespace)), peer.finish
    return lambda: finish(compiled(*given))


def _steps(peer: Peer, loop: Loop, given: tuple[Any, ...]) -> Call:
    step, finish = peer.compiled(partial(loop.step, peer.namespace)), peer.finish

    def call() -> Any:
        value = loop.start(peer.namespace, *given)
        for _ in range(loop.times):
            value = step(value)
        return finish(value)

    return call


def _turns(peer: Peer, turns: Turns, given: tuple[Any, ...]) -> Call:
    namespace, finish = peer.namespace, peer.finish
    calls = [
        (peer.compiled(partial(run, namespace)), [given[number] for number in chosen])
        for run, chosen in turns.runs
    ]

    def call() -> Any:
        value = None
        for compiled, inputs in calls:
            value = None  # the one before is dropped first
            value = finish(compiled(*inputs))
        return value

    return call


def arrays(peer: Peer, result: Any) -> list[Any]:
    """Return copies of a result's arrays as NumPy's."""
    return [np.array(peer.take(part)) for part in parts(result)]


def compare(actual: list[Any], expected: list[Any], tolerance: float) -> None:
    """Raise AssertionError where results differ by more than `tolerance` of the largest element."""
    for ours, theirs in zip(actual, expected, strict=True):
        assert ours.shape == theirs.shape, f"shape {ours.shape} instead of {theirs.shape}"
        assert ours.dtype == theirs.dtype, f"{ours.dtype} instead of {theirs.dtype}"
        worst = float(np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs)))
        assert worst <= tolerance, f"off by {worst:.1e} of the largest element"
