"""Random programs with leaves in files and in memory, run under a quarter of the memory that they take."""

import sys
import tracemalloc
from contextlib import suppress
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

import tensorframe as tfr
from tensorframe import config
from tensorframe.backends.host_pool import pool
from tensorframe.files.ahead import WriteBehind
from tensorframe.graph.device import CPU
from tensorframe.runtime.evaluate import evaluate, plan_of
from tensorframe.runtime.streaming.assembled import Assembled
from tensorframe.runtime.streaming.out_of_core import run_stream
from tensorframe.runtime.streaming.planning import StreamPlan, plan_stream
from tensorframe.runtime.streaming.tiles import is_file
from tensorframe.schedule.capture import capture
from tensorframe.schedule.peak import growth
from tensorframe.schedule.pipeline import transform
from tensorframe.testing.draft import LARGE, DeclinedError, Draft
from tensorframe.testing.moves import MOVES
from tensorframe.testing.program import compiled

# Bytes of a program below which nothing is worth cutting.
LEAST = 1 << 18
# Bytes of Python's own objects, which tracemalloc counts too, and of what NumPy converts at a time: at most, while
# something is loaded, and in a tile that has run before.
OBJECTS = 1 << 20
BESIDE = 3 * 8 * np.getbufsize()


class SlowDisk(WriteBehind):
    """A disk that has no tile before the next is computed, so that what a stream takes is no matter of threads."""

    def write(self, made):
        super().write(made)
        self.last = made


class Outcome(NamedTuple):
    """How a program went: `refused` says why, `limit`, `projected` and `measured` are bytes."""

    seed: int
    refused: str = ""
    wrong: str = ""
    limit: int = 0
    projected: int = 0
    measured: int = 0
    tiles: int = 0

    @property
    def near(self):
        """Whether it took what was projected, to 1.3 times, but for Python's own objects and NumPy's."""
        return self.measured - BESIDE <= self.projected <= 1.3 * self.measured + BESIDE

    @property
    def failed(self):
        """Whether it has other bits, or took more than it was allowed."""
        return bool(self.wrong) or self.measured > self.limit + OBJECTS


def program_of(seed, moves=8):
    """The program of a seed, of large leaves."""
    draft = Draft(seed)
    draft.large, draft.limit = True, LARGE
    for _ in range(draft.random.randint(1, 3)):
        draft.leaf()
    kinds, weights = zip(*MOVES, strict=True)
    for _ in range(draft.random.randint(2, moves)):
        with suppress(DeclinedError):
            draft.random.choices(kinds, weights)[0](draft)
    return draft.program()


def lines(steps, names):
    variables = {"np": np, "inf": np.inf, "nan": np.nan, **names}
    with np.errstate(all="ignore"):
        exec(compiled("\n".join(step.source() for step in steps)), variables)
    return variables


def results_of(program, leaves):
    """The results that are not there yet."""
    rest = [step for step in program.steps if step.inputs]
    made = lines(rest, {"xp": tfr, **leaves})
    names = [f"v{result.variable}" for result in program.results]
    found = [made[name] for name in names if name not in leaves]
    tensors = [one for one in found if isinstance(one, tfr.Tensor) and one.device == CPU]
    return [one for one in tensors if one.node.inputs]  # what is not there yet


def leaves_of(program, folder, *, files):
    """The leaves: every other one in a file, if there are `files`."""
    made = lines([step for step in program.steps if not step.inputs], {"xp": tfr})
    leaves = {}
    for number, step in enumerate(step for step in program.steps if not step.inputs):
        name = f"v{step.target}"
        array = np.ascontiguousarray(made[name].numpy())
        leaves[name] = tfr.asarray(array)
        if files and number % 2 == 0 and array.size:
            tfr.save(folder / f"{name}.npy", array)
            leaves[name] = tfr.load(folder / f"{name}.npy")
    return leaves


def run(seed, folder, moves=8):
    """Run the program of a seed in memory, and again under a quarter of what that takes."""
    program = program_of(seed, moves)
    with config.override(small_size=0, small_nodes=0):
        wanted = results_of(program, leaves_of(program, folder, files=False))
        if not wanted:
            return Outcome(seed, refused="nothing to compute")
        evaluate([tensor.node for tensor in wanted])
        tensors = results_of(program, leaves_of(program, folder, files=True))
        return _stream(seed, tensors, [tensor.numpy() for tensor in wanted])


def _stream(seed, tensors, wanted):
    nodes = [tensor.node for tensor in tensors]
    request = capture(nodes, keep_held=False)
    in_memory, _ = growth(plan_of(request)).get(CPU, (0, 0))
    in_memory += sum(leaf.nbytes for leaf in request.leaves if is_file(leaf))
    if in_memory < LEAST:
        return Outcome(seed, refused="small")
    limit = in_memory // 4
    core = transform(request.snapshot())
    # where results count towards the limit, few programs have room for them
    kept = core if seed % 4 == 0 else ()
    planned = plan_stream(core, lambda _: limit, kept)
    if not isinstance(planned, StreamPlan):
        return Outcome(seed, refused=str(planned).partition(" (")[0], limit=limit)
    allocated_by(planned, core)  # kernels are made once
    core = transform(request.snapshot())
    planned = plan_stream(core, lambda _: limit, core if kept else ())
    measured, sinks = allocated_by(planned, core)
    measured += sum(sink.array.nbytes for sink in sinks) if kept else 0
    made = {node: sink.array for node, sink in zip(request.wanted, sinks, strict=True)}
    wrong = ""
    for place, (node, array) in enumerate(zip(nodes, wanted, strict=True)):
        if made[node].tobytes() != array.tobytes():
            wrong = f"result {place} of seed {seed} has other bits: {planned}"
    tiles = planned.stream.tiles
    return Outcome(seed, "", wrong, limit, _projected(planned), measured, tiles)


def _projected(planned):
    """The most bytes of a stream, and of those that run after it."""
    beside = 0 if planned.aside is None else _projected(planned.aside)
    return max(planned.peak[CPU], beside)


def allocated_by(planned, core):
    """The most bytes that a stream takes at once, and its results."""
    sinks = {root: Assembled(root) for root in core}
    tracemalloc.start()
    try:
        # memory is NumPy's while the pool is busy, and so traced; no tile prints a guard, which one in 64 would
        with (
            pool._lock,
            patch("tensorframe.runtime.streaming.tiled_execution.WriteBehind", SlowDisk),
            patch("tensorframe.runtime.guards.recognition.RUNS", sys.maxsize),
        ):
            run_stream(planned, sinks)
        _, traced = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return traced, [sinks[root] for root in core]


def peaks_of(seed, folder, moves=8):
    """What computing the program of a seed takes in memory, as it is projected and as it is measured, and its plan."""
    program = program_of(seed, moves)
    with config.override(small_size=0, small_nodes=0):
        leaves = leaves_of(program, folder, files=False)
        return peaks_in_memory(lambda: results_of(program, leaves))


def peaks_in_memory(make):
    """What computing tensors takes, as it is projected and as it is measured, and their plan."""
    measured = 0
    # kernels are made, and the plan is known, the second time: tracing a compiler takes ten times as long
    for is_traced in (False, True):
        nodes = [tensor.node for tensor in make()]
        if not nodes:
            return 0, 0, None
        plan = plan_of(capture(nodes, keep_held=False))  # a request that stays would hold values
        if not is_traced:
            evaluate(nodes)
            continue
        tracemalloc.start()  # garbage may stay: what was allocated before is not counted
        try:
            with pool._lock:  # memory is NumPy's then, and so traced
                evaluate(nodes)
            _, measured = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    projected, _ = growth(plan).get(CPU, (0, 0))
    return projected, measured, plan
