"""Conditions under which a program has the same bits as when it ran first, and the comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

import numpy as np

import tensorframe as tfr
from tensorframe import config
from tensorframe.backends.cpu import choice
from tensorframe.errors import TracingError
from tensorframe.runtime.eager import calls
from tensorframe.runtime.guards import recognition
from tensorframe.runtime.plan_cache import PLANS
from tests.bits.programs import Leaves, Program

Bits = list[bytes]

# graphs of every size get a plan, as large ones do
PLANNED = {"small_size": 0, "small_nodes": 0}
# graphs of every size run op by op, as small ones do
SMALL = {"small_size": 1 << 40, "small_nodes": 10_000}
# large ones get a plan, small ones do not, as users have it
USUAL = {name: getattr(config.Options(), name) for name in SMALL}


def evaluated(results: list[tfr.Tensor]) -> Bits:
    """The bytes of results that are computed together."""
    tfr.compute(*results)
    return [one.numpy().tobytes() for one in results]


def first(program: Program, device: str) -> Bits:
    """The bits to compare with: a run that holds nothing else."""
    with config.override(**PLANNED):
        return evaluated(program.run(program.placed(device), []))


def _with(**options: Any) -> Callable[[Program, Leaves], Bits]:
    def run(program: Program, leaves: Leaves) -> Bits:
        with config.override(**options):
            return evaluated(program.run(leaves, []))

    return run


def _tenth(program: Program, leaves: Leaves) -> Bits:
    for _ in range(8):
        tfr.compute(*program.run(leaves, []))
    return evaluated(program.run(leaves, []))


def _recognized(**options: Any) -> Callable[[Program, Leaves], Bits]:
    """Return a run in which lines are recognised after their second evaluation, not their 64th."""

    def run(program: Program, leaves: Leaves) -> Bits:
        before, recognition.RUNS = recognition.RUNS, 2
        try:
            with config.override(**options):
                for _ in range(3):
                    results = [one.numpy().tobytes() for one in program.run(leaves, [])]
        finally:
            recognition.RUNS = before
        return results

    return run


def _held(program: Program, leaves: Leaves) -> Bits:
    beside: list[Any] = []
    return evaluated(program.run(leaves, beside))


def _computed_before(program: Program, leaves: Leaves) -> Bits:
    """What is made on the way has been evaluated, on its own."""
    beside: list[Any] = []
    results = program.run(leaves, beside)
    for one in beside:
        for each in one.values() if isinstance(one, dict) else [one]:
            if isinstance(each, tfr.Tensor):
                each.compute()
    return evaluated(results)


def _often(**options: Any) -> Callable[[Program, Leaves], Bits]:
    """Return a run in which what each call does on the way has given way to a kernel, or a plan, as after thousands."""

    def run(program: Program, leaves: Leaves) -> Bits:
        before, calls._OFTEN = calls._OFTEN, 8
        PLANS.clear()  # they count their calls
        try:
            with config.override(**options):
                for _ in range(10):
                    results = _computed_before(program, leaves)
        finally:
            calls._OFTEN = before
            PLANS.clear()
        return results

    return run


def _turned(program: Program, leaves: Leaves) -> Bits:
    """The same values, whose memory is laid out the other way round."""
    arrays = {name: (np.array(one.numpy(), order="F"), one.device) for name, one in leaves.items()}
    turned = {name: tfr.asarray(one, device=place) for name, (one, place) in arrays.items()}
    return evaluated(program.run(turned, []))


def _one_by_one(program: Program, leaves: Leaves) -> Bits:
    return [one.numpy().tobytes() for one in program.run(leaves, [])]


def _op_by_op(program: Program, leaves: Leaves) -> Bits:
    """As graphs of a few small tensors are: no plan is made where none has to be."""
    with config.override(**SMALL):
        return evaluated(program.run(leaves, []))


def _beginning(enough: int) -> Callable[[Program, Leaves], Bits]:
    """Return a run in which the cpu goes from NumPy to kernels of exact ops after so many operations."""

    def run(program: Program, leaves: Leaves) -> Bits:
        before = choice.ENOUGH
        PLANS.clear()  # they keep which engine runs
        choice.ENOUGH = enough
        try:
            return evaluated(program.run(leaves, []))
        finally:
            choice.ENOUGH = before
            PLANS.clear()

    return run


def _jitted(program: Program, leaves: Leaves) -> Bits | None:
    try:
        return evaluated(list(tfr.jit(lambda leaves: program.run(leaves, []))(leaves)))
    except TracingError:
        return None


# what depends on neither the program nor its values: point 1 of the contract
SAME_PROGRAM: dict[str, Callable[[Program, Leaves], Bits | None]] = {
    "tenth time": _tenth,
    "recognised": _recognized(),
    "kernels at once": _beginning(-1),
    "NumPy where it may": _beginning(1 << 60),
    "1 thread": _with(threads=1),
    "2 threads": _with(threads=2),
    "16 threads": _with(threads=16),
}
# another way to the same results: point 2
ANOTHER_WAY: dict[str, Callable[[Program, Leaves], Bits | None]] = {
    "unfused": _with(fuse=False),
    "held": _held,
    "computed before": _computed_before,
    "one by one": _one_by_one,
    "op by op": _op_by_op,
    "op by op, recognised": _recognized(**SMALL),
    "call by call, often": _often(**USUAL),
    "op by op, call by call, often": _often(**SMALL),
    "another layout": _turned,
    "jit": _jitted,
}


def differences(program: Program, device: str, expected: Bits, conditions: Any) -> Iterator[str]:
    """Yield what has other bits under which condition."""
    with config.override(**PLANNED):
        leaves = program.placed(device)
        for name, run in conditions.items():
            found = run(program, leaves)
            if found is not None:
                for at, (one, other) in enumerate(zip(found, expected, strict=True)):
                    if one != other:
                        yield f"{device}: {program.name}, result {at}, {name}"


def sliced(program: Program, device: str) -> Iterator[str]:
    """Yield results of which a part has other bits than the whole has there."""
    with config.override(**PLANNED):
        leaves = program.placed(device)
        whole = program.run(leaves, [])
        tfr.compute(*whole)
        for at, one in enumerate(whole):
            for index in _windows(one.shape):
                part = program.run(leaves, [])[at][index].numpy()
                if part.tobytes() != np.ascontiguousarray(one.numpy()[index]).tobytes():
                    yield f"{device}: {program.name}, result {at}, sliced by {index}"


def _windows(shape: tuple[int, ...]) -> list[tuple[slice, ...]]:
    """Two parts of a result: the middle, and a few elements of each axis."""
    if not shape or 0 in shape:
        return []
    middle = tuple([slice(size // 3, size // 3 + max(size // 3, 1)) for size in shape])
    few = tuple([slice(0, min(size, 5)) for size in shape])
    return [middle, few]


def violations(program: Program, device: str) -> Iterator[str]:
    """Yield what breaks the contract.

    How results come about may change products and what libraries compute. On the cpu, squared distances from a mean are
    summed in one pass or in two, by what else a kernel computes.
    """
    expected = first(program, device)
    yield from differences(program, device, expected, SAME_PROGRAM)
    free = program.distances and device in ("cpu", "llvm")
    if not program.library and not free:
        yield from differences(program, device, expected, ANOTHER_WAY)
        yield from sliced(program, device)


def digests(chosen: list[Program], device: str) -> dict[str, str]:
    """Return what tells the bits of programs from others."""
    return {one.name: sha256(b"".join(first(one, device))).hexdigest() for one in chosen}
