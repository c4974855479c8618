"""What every program does with the step that its library has: runs it on the same data, and measures it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

import numpy as np

NETWORKS = ("mlp", "cnn", "gpt")
LETTERS, LENGTH, WIDTH, HEADS, LAYERS = 65, 64, 128, 4, 4
# Seconds of steps before those that count, and while they do.
_SECONDS = 4.0

Array = np.ndarray[Any, Any]
Step = Callable[[], Any]


def data(network: str) -> tuple[Array, Array]:
    """Return a batch: 256 rows, 64 pictures or 12 texts, each with its labels."""
    random = np.random.default_rng(0)
    if network == "gpt":
        drawn = random.integers(0, LETTERS, (12, LENGTH + 1))
        return drawn[:, :-1].copy(), drawn[:, 1:].copy()
    shape = (256, 784) if network == "mlp" else (64, 1, 28, 28)
    return random.standard_normal(shape).astype(np.float32), random.integers(0, 10, shape[0])


def measure(prepare: Callable[[str, Array, Array], Step]) -> None:
    """Print what the process was asked for: seconds of processor time of a step, or of the first one; or nothing."""
    _, network, what = sys.argv
    step = prepare(network, *data(network))
    began = process_time()
    step()
    first = process_time() - began
    if what == "first":
        sys.stdout.write(f"{first}\n")
    elif what == "step":
        _run(step)
        sys.stdout.write(f"{min(_run(step))}\n")
    else:  # for whoever looks at its memory
        for _ in range(10):
            step()


def _run(step: Step) -> list[float]:
    """Return the processor time of each step within a few seconds."""
    seconds: list[float] = []
    until = perf_counter() + _SECONDS
    while perf_counter() < until or len(seconds) < 5:
        began = process_time()
        step()
        seconds.append(process_time() - began)
    return seconds
