"""Fresh processes: what Python takes to start something, in seconds and in bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

# A process inherits the peak of the one that started it, so the measured one is the child of a small one.
_PEAK = """
import resource, subprocess, sys
subprocess.run([sys.executable, "-c", sys.stdin.read()], check=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(peak if sys.platform == "darwin" else peak * 1024)
"""

_SECONDS = """
from time import perf_counter
start = perf_counter()
{program}
print(perf_counter() - start)
"""


def seconds(program: str) -> float:
    """Return how long `program` runs in a new process, without the start of Python itself."""
    return float(_output(_SECONDS.format(program=program)))


def peak_bytes(program: str) -> float:
    """Return the most memory that was resident while `program` ran in a new process, as the system counts it."""
    return float(_output(_PEAK, program))


def _output(source: str, given: str = "") -> str:
    # as for users: what is imported was compiled by an earlier import
    unusual = {"PYTHONDONTWRITEBYTECODE", "PYTHONPROFILEIMPORTTIME"}
    done = subprocess.run(
        [sys.executable, "-c", source],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name not in unusual},
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2] or f"exit {done.returncode}")
    return done.stdout
