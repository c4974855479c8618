"""The call of a case in a library, and what it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter, process_time
from typing import Any

import numpy as np

from tests.benchmarks.functions.cases import Case

Call = Callable[[], Any]
Clock = Callable[[], float]

# Seconds before measuring, in which kernels are compiled, and of a sample.
WARM, SAMPLE = 0.15, 0.002
SAMPLES = 7
# What a call takes at least: clocks of processors' time may not have moved.
_SHORTEST = 1e-7


def _put(target: Any, where: Any, value: Any) -> Any:
    """Return a copy of `target` with a value assigned, which no library can leave out."""
    return _changed(target, lambda copy: copy.__setitem__(where, value))


def _changed(target: Any, change: Callable[[Any], object]) -> Any:
    """Return a copy of `target` on which a function that changes its argument was called."""
    if isinstance(target, np.ndarray):
        target = target.copy()
    else:
        import tensorframe as tfr  # not in a process of NumPy's

        target = tfr.asarray(target, copy=True)
    change(target)
    return target


def _computed(parts: Sequence[Any]) -> Sequence[Any]:
    import tensorframe as tfr

    tfr.compute(*[part for part in parts if isinstance(part, tfr.Tensor)])
    return parts


def call_of(case: Case, namespace: Any, given: dict[str, Any]) -> Call:
    """Return the call of a case in a namespace, and of `compute` where it gives tensors.

    NameErrors are for who calls.
    """
    names = {**given, "xp": namespace, "put": _put, "changed": _changed}
    call: Call = eval(f"lambda: {case.text}", names)
    with np.errstate(all="ignore"):
        value = call()
    if case.is_there:
        return call
    if hasattr(
        value, "compute"
    ):  # written out: another function around it costs half as much as it does
        computed: Call = eval(f"lambda: ({case.text}).compute()", names)
        return computed
    parts = value if isinstance(value, tuple | list) else ()
    if parts and all(hasattr(part, "compute") for part in parts):
        from tensorframe import compute  # not in a process of NumPy's

        return lambda: compute(*call())
    if any(hasattr(part, "compute") for part in parts):
        return lambda: _computed(call())
    return call


def warmed(call: Call, clock: Clock) -> float:
    """Call until everything is compiled, and return what a call takes by then: the first may have compiled it."""
    begin = before = clock()
    calls: list[float] = []
    while before - begin < WARM or len(calls) < 2:
        call()
        now = clock()
        calls.append(now - before)
        before = now
    return max(min(calls), _SHORTEST)


def timed(call: Call, seconds: float, clock: Clock) -> float:
    """Return what a call takes, of a sample of those that take so many seconds each."""
    count = max(1, int(SAMPLE / seconds))
    begin = clock()
    for _ in range(count):
        call()
    return (clock() - begin) / count


ELAPSED: Clock = perf_counter
PROCESSORS: Clock = process_time
