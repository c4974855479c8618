"""Streaming: files of several gigabytes in a process that may have 512 MB, beside reading and writing them alone.

`python -m tests.benchmarks.workloads.streaming --size "4 GB"` prints what each program takes, and the most memory.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from tests.benchmarks.fresh import output
from tests.benchmarks.goals import OURS, within
from tests.benchmarks.tables import Table
from tests.benchmarks.workload import Case, Workload, Yardstick

SIZE, LIMIT = "4 GB", "512 MB"
UNITS = {"MB": 10**6, "GB": 10**9, "MiB": 1 << 20, "GiB": 1 << 30}
# Bytes that are read and written at once where nothing is computed.
_BLOCK = 64 << 20
_MODULE = "tests.benchmarks.workloads.streaming"
FOLDER = Path(tempfile.gettempdir(), "tensorframe-benchmark-streams")

READS = ("sum", "mean", "variance", "expression and sum")
MAP = "map from file to file"
# program -> what the disk takes for it
YARDSTICKS = {**dict.fromkeys(READS, "read alone"), MAP: "read and written alone"}
TURNS = 3


def file_of(size: str) -> Path:
    """Return a file of so many bytes of float32, which is written once."""
    number, unit = size.split()
    count = int(float(number) * UNITS[unit]) // 4
    path = FOLDER / f"{count}.npy"
    if not path.exists():
        FOLDER.mkdir(exist_ok=True)
        block = np.random.default_rng(0).standard_normal(1 << 24, dtype=np.float32)
        made = np.lib.format.open_memmap(path, "w+", np.float32, (count,))
        for start in range(0, count, len(block)):
            made[start : start + len(block)] = block[: count - start]
        made.flush()
    return path


def leave_cache(path: Path) -> None:
    """Have the system forget what it knows of a file, so that a disk is read."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def compute(program: str, path: Path, target: Path) -> None:
    """Run one of the programs."""
    import tensorframe as tfr

    with tfr.memory.limit(LIMIT):
        x = tfr.load(path)
        if program == MAP:
            tfr.save(target, x * 2 + 1)
            return
        reductions: dict[str, Callable[[Any], Any]] = {
            "sum": tfr.sum,
            "mean": tfr.mean,
            "variance": tfr.var,
            "expression and sum": lambda x: tfr.sum(tfr.exp(-x * x) * tfr.sin(x) + x / (1 + x * x)),
        }
        reductions[program](x).item()


def start() -> None:
    """Load what takes as long for files of any size: what is imported, and what the first kernel needs."""
    import tensorframe as tfr

    tfr.sum(tfr.ones((1 << 14,), dtype="float32")).item()


def copy(path: Path, target: Path, *, write: bool) -> None:
    """Read a file block by block, and write it if that is wanted."""
    buffer = bytearray(_BLOCK)
    with path.open("rb", buffering=0) as source, target.open("wb", buffering=0) as sink:
        position = 0
        while count := source.readinto(buffer):
            os.posix_fadvise(source.fileno(), position, count, os.POSIX_FADV_DONTNEED)
            position += count
            if write:
                sink.write(memoryview(buffer)[:count])
                os.fdatasync(sink.fileno())


def timed(program: str, size: str) -> tuple[float, int]:
    """Return the seconds that a program takes in this process, without its start, and the most bytes that it had."""
    path = file_of(size)
    target = FOLDER / f"{os.getpid()}.npy"
    alone = program.endswith("alone")
    if not alone:
        start()
    leave_cache(path)
    began = perf_counter()
    if alone:
        copy(path, target, write="written" in program)
    else:
        compute(program, path, target)
    took = perf_counter() - began
    target.unlink(missing_ok=True)
    return took, most_memory()


def most_memory() -> int:
    """Return the most bytes that this process had, and not those of the process that started it, if Linux tells."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) << 10


def in_process(_: Any, *, program: str) -> float:
    """Return the seconds that a program takes in a process of its own."""
    return float(output(["-m", _MODULE, "--program", program], "").split()[0])


def table(size: str = SIZE) -> Table:
    """Return the seconds and the most memory of all programs, each in a process of its own.

    A disk's speed changes from one minute to the next, so each program runs after its yardstick, `TURNS` times.
    """
    file_of(size)  # whoever runs first does not pay for it
    rows = []
    for program, alone in YARDSTICKS.items():
        turns = sorted(_turn(program, alone, size) for _ in range(TURNS))
        times, beside, seconds, most = turns[TURNS // 2]
        rows.append(
            [program, f"{beside:.2f} s", f"{seconds:.2f} s", f"{times:.2f}x", f"{most >> 20} MiB"]
        )
    head = [f"{size} of float32 within {LIMIT}", "disk alone", "in all", "", "most memory"]
    return Table("", head, rows, range(1, 5))


def _turn(program: str, alone: str, size: str) -> tuple[float, float, float, int]:
    """Return how many times as long as its yardstick a program takes, the seconds of both, and its most bytes."""
    beside, _ = _measured(alone, size)
    seconds, most = _measured(program, size)
    return seconds / beside, beside, seconds, most


def _measured(program: str, size: str) -> tuple[float, int]:
    seconds, most = output(["-m", _MODULE, "--size", size, "--program", program], "").split()
    return float(seconds), int(most)


def main() -> None:
    """Print the seconds and the most bytes of one program, or the table of all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default=SIZE, help=f"of the file (default {SIZE})")
    parser.add_argument("--program", default="", help="one of them, in this process")
    options = parser.parse_args()
    if options.program:
        seconds, most = timed(options.program, options.size)
        print(seconds, most)  # noqa: T201 - read by the process that started this one
        return
    print(table(options.size))  # noqa: T201


def _alone(program: str) -> tuple[Yardstick, ...]:
    return (Yardstick(program, OURS, partial(in_process, program=program)),)


STREAMS = Workload(
    "W24",
    f"The sum, the mean, the variance, and W1's expression with a sum, of a file of {SIZE} in a process that may have "
    f"{LIMIT}; and a map from file to file. Beside it what reading takes, and reading and writing, from a cold cache.",
    (
        *[
            Case(
                f"{program} of {SIZE}",
                {OURS: partial(in_process, program=program)},
                (within(1.11, of="read alone"),),
                _alone("read alone"),
                measures_itself=True,
                turns=1,
            )
            for program in READS
        ],
        Case(
            f"{MAP}, {SIZE}",
            {OURS: partial(in_process, program=MAP)},
            (within(1.25, of="read and written alone"),),
            _alone("read and written alone"),
            measures_itself=True,
            turns=1,
        ),
    ),
)

if __name__ == "__main__":
    main()
