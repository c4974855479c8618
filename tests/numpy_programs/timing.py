"""Programs that run in a process for each library, by turns, and what that takes."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.connection import Connection
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np

from tests.benchmarks.asking import asked, questions
from tests.numpy_programs.loading import load

LIBRARIES = ("numpy", "tensorframe")


class Milliseconds(NamedTuple):
    """What one run took, until all its results are computed: by the clock, and of processors."""

    elapsed: float
    processors: float


def milliseconds(program: Callable[[], Any]) -> Milliseconds:
    """Run a program once."""
    processors, began = process_time(), perf_counter()
    for result in program().values():
        np.asarray(result)
    elapsed = perf_counter() - began
    return Milliseconds(elapsed * 1e3, (process_time() - processors) * 1e3)


def serve(name: str, library: str, connection: Connection) -> None:
    """Run a program each time that somebody asks for it, and answer what that took."""
    program = load(name, library)
    for _ in questions(connection):
        connection.send(milliseconds(program))


def measured(name: str, rounds: int) -> list[list[Milliseconds]]:
    """Return what a program's runs after its first one take, with NumPy and with tensorframe."""
    with asked(serve, name, LIBRARIES[0]) as numpys, asked(serve, name, LIBRARIES[1]) as ours:
        turns = [(numpys(None), ours(None)) for _ in range(rounds + 1)]
    return [list(runs) for runs in zip(*turns[1:], strict=True)]
