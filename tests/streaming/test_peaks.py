"""The projected peak of a stream is a bound, and near: of what is allocated, and of the pages that a process has."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.runtime.streaming.planning import StreamPlan, plan_stream
from tests.streaming.peaks import PROGRAMS, projected
from tests.streaming.programs import allocated_by, peaks_in_memory
from tests.streaming.runs import core_of, in_memory, tensors_of

ROOT = Path(__file__).parents[2]
MIB = 1 << 20
LIMIT = 8 * MIB
# Python's own objects
OBJECTS = MIB // 4
# by how much more is projected at most: scans are so by NumPy, which runs a plan first and takes more than kernels
MORE = {"scan": 1.6}


@pytest.fixture(scope="module")
def values():
    return np.random.default_rng(0).standard_normal((1 << 15, 256), dtype=np.float32)


@pytest.fixture(scope="module")
def source(values, tmp_path_factory):
    name = tmp_path_factory.mktemp("source") / "x.npy"
    np.save(name, values)
    return name


def traced(make, source, room):
    """What a stream is projected to take, what is allocated while it runs, its bytes, and its tiles."""
    most, made = 0, []
    for _ in range(2):  # kernels are compiled the first time
        core = core_of(tensors_of(make(tfr.load(source))))
        planned = plan_stream(core, lambda _: room, ())
        assert isinstance(planned, StreamPlan), planned
        most, sinks = allocated_by(planned, core)
        made = [sink.array.tobytes() for sink in sinks]
    return projected(planned), most, made, planned.stream.tiles


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_allocated_is_what_is_projected(name, source, values):
    there, most, made, tiles = traced(PROGRAMS[name], source, LIMIT)
    assert tiles > 1
    assert there <= LIMIT
    assert most - OBJECTS <= there <= MORE.get(name, 1.3) * most + OBJECTS
    assert made == in_memory([PROGRAMS[name](tfr.asarray(values))])


def test_a_tile_alone_is_read_once_and_waits_for_none(values, tmp_path):
    part = values[: 1 << 12]
    np.save(tmp_path / "part.npy", part)
    there, most, made, tiles = traced(PROGRAMS["map"], tmp_path / "part.npy", 1 << 40)
    assert tiles == 1
    assert there <= 2 * part.nbytes + MIB
    assert most - OBJECTS <= there <= 1.1 * most + OBJECTS
    assert made == in_memory([PROGRAMS["map"](tfr.asarray(part))])


def test_what_is_made_of_carried_values_in_the_end_is_not_beside_tiles(source, values):
    y = tfr.asarray(values[: 1 << 14])
    room = 16 * MIB

    def make(x):
        return x + 1, y < tfr.max(x, axis=0)

    there, most, made, tiles = traced(make, source, room)
    assert tiles > 1
    assert there <= room
    assert most - OBJECTS <= there <= 1.3 * most + OBJECTS
    assert made == in_memory(make(tfr.asarray(values)))


def test_where_one_result_ends_the_larger_ones_of_the_tile_before_are_written_meanwhile(
    source, values
):
    def make(x):
        x = x[:3000]
        return tfr.asin(x), tfr.repeat(tfr.concat([x, x, x]), 2, axis=-1)

    there, most, made, tiles = traced(make, source, 14 * MIB)
    assert tiles > 1
    assert most - OBJECTS <= there <= 1.3 * most + OBJECTS
    assert made == in_memory(make(tfr.asarray(values)))


def test_a_tile_that_has_replaced_elements_is_projected(source, values):
    def make(x):
        y = tfr.asarray(x[:8000], copy=True)
        y[4100:4103] = -3
        return y, tfr.cumulative_sum((-y).astype("float64"), axis=1)

    there, most, made, tiles = traced(make, source, 14 * MIB)
    assert tiles > 5
    assert most - OBJECTS <= there <= 1.3 * most + OBJECTS
    assert made == in_memory(make(tfr.asarray(values)))


RESHAPING = {
    "isfinite": tfr.isfinite,
    "any": lambda y: tfr.any(y > 3, axis=1),
    "cumulative_sum": lambda y: tfr.cumulative_sum(y, axis=1),
    "argmax": lambda y: tfr.argmax(y, axis=1),
}


@pytest.mark.parametrize("name", RESHAPING)
def test_what_is_reshaped_of_a_broadcast_view_that_a_step_reads_is_copied_and_projected(name):
    x = tfr.asarray(np.ones((1 << 17, 2)))

    def make():
        y = tfr.repeat(tfr.cumulative_sum(x, axis=0), 3, axis=1)
        return RESHAPING[name](y), tfr.reshape(y, (-1,))[5:]

    there, most, plan = peaks_in_memory(make)
    assert any(step.name.startswith("reshape ") and name in step.name for step in plan.steps)
    assert most - OBJECTS <= there <= 1.3 * most + OBJECTS


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells the most that was in memory")
def test_a_process_grows_by_what_is_projected_and_stays_below_its_limit(tmp_path):
    """256 MB from file to file within 160 MiB."""
    rows, source = 1 << 18, tmp_path / "x.npy"
    mapped = np.lib.format.open_memmap(source, "w+", np.float32, (rows, 256))
    block = np.random.default_rng(1).standard_normal((1 << 12, 256), dtype=np.float32)
    for start in range(0, rows, len(block)):
        mapped[start : start + len(block)] = block
    del mapped
    names = ["map", "roll", "part of what is sorted", "standardise", "variance"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.streaming.peaks", source, "160", *names],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = {name: figures for name, *figures in map(json.loads, done.stdout.splitlines())}
    assert list(found) == names
    # beside the stream's own: Python's objects, stacks, and blocks of the pool that may be free
    off = {
        name: (there, grown, own)
        for name, (there, grown, own) in found.items()
        if not 16 * MIB < there <= 1.3 * grown + 4 * MIB
        or grown > 1.1 * there + 4 * MIB
        or own > 160 * MIB
    }
    assert off == {}
