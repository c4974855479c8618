"""What tests of calls share: operands, the functions that a call runs, and options under which all gets a plan."""

import sys
from collections.abc import Callable

import numpy as np

import tensorframe as tfr

PLANNED = {"small_size": 0, "small_nodes": 0}


SIZES = [10, 10_000]


def operands(size):
    generator = np.random.default_rng(0)
    return [tfr.asarray(generator.standard_normal(size).astype(np.float32)) for _ in range(2)]


def frames(call: Callable[[], object]) -> int:
    """The functions of Python that a call runs, once it has run often; one in thousands looks at what was recorded."""
    for _ in range(40):
        call()
    return min(_frames(call) for _ in range(3))


def _frames(call: Callable[[], object]) -> int:
    count = -2  # those of the test itself

    def note(_frame, event, _argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count
