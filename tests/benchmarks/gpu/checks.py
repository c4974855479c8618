"""What a device computes is right before it is timed: conformance, random programs, the array standard's own tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from time import monotonic

import tensorframe as tfr
from tensorframe.backends.registry import backend_of
from tensorframe.testing.conformance import checks
from tensorframe.testing.random_graph import check
from tests.array_api.__main__ import measured

EXAMPLES, WORKERS = 5, "8"


class FailedError(AssertionError):
    """A check that found something wrong, or could not be made."""


def conforms(device: tfr.Device, seconds: float) -> str:
    """Every operation of every dtype beside NumPy: all checks in an order of chance, as far as there is time."""
    tried = checks(backend_of(device), seeds=0)  # random programs are a check of their own
    Random(0).shuffle(tried)
    end, failures, done = monotonic() + seconds, list[str](), 0
    for check_one in tried:
        if done and monotonic() > end:
            break
        try:
            check_one()
        except Exception as error:
            failures.append(f"{check_one}: {type(error).__name__}: {error}")
        done += 1
    said = f"{done - len(failures)} of {done} conformance checks passed, of {len(tried)}."
    if failures:
        raise FailedError("\n".join([said, *failures]))
    return said


def random_programs(device: tfr.Device, seconds: float) -> str:
    """As many random programs as there is time for, one at least."""
    end = monotonic() + seconds
    for seed in count():
        if seed and monotonic() > end:
            return f"{seed} random programs agree with NumPy."
        try:
            check(seed, device=str(device))
        except AssertionError as error:
            raise FailedError(str(error)) from error
    raise AssertionError("count() does not end")


def array_api(device: tfr.Device, seconds: float) -> str:
    """The array standard's tests, from the checkout that ARRAY_API_TESTS names."""
    suite = os.environ.get("ARRAY_API_TESTS")
    if not suite:
        raise FailedError("the Array API suite did not run: ARRAY_API_TESTS names no checkout")
    try:
        ended = measured(Path(suite), str(device), EXAMPLES, (1,), WORKERS, seconds)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        raise FailedError(f"the Array API suite did not end: {error}") from error
    said = ", ".join([f"{number} {how}" for how, number in sorted(ended.items())])
    if ended.get("failed") or ended.get("errors"):
        raise FailedError(f"the Array API suite: {said}")
    return f"The Array API suite, {EXAMPLES} examples for each property: {said}."


# each with the share of the time that it may take
CHECKS: dict[str, tuple[Callable[[tfr.Device, float], str], float]] = {
    "conformance": (conforms, 0.2),
    "programs": (random_programs, 0.05),
    "array-api": (array_api, 0.3),
}
