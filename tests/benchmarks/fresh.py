"""Fresh processes: what Python takes to start something, in seconds and in bytes, with caches of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

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
    """Return how long `program` runs in a new process, without the start of Python itself; its caches are empty."""
    with TemporaryDirectory() as caches:
        return _seconds(program, caches)


def seconds_again(program: str) -> float:
    """Return the same of a second process, which finds what the first one left in its caches."""
    with TemporaryDirectory() as caches:
        _seconds(program, caches)
        return _seconds(program, caches)


def peak_bytes(program: str) -> float:
    """Return the most memory that was resident while `program` ran in a new process, as the system counts it."""
    with TemporaryDirectory() as caches:
        return _last_number(output(["-c", _PEAK], caches, given=program))


def _seconds(program: str, caches: str) -> float:
    return _last_number(output(["-c", _SECONDS.format(program=program)], caches))


def _last_number(printed: str) -> float:
    # libraries may have something to say first
    return float(printed.splitlines()[-1])


# What has glibc keep memory that is freed: 32 MiB is the most that the second takes.
KEEPING = {"MALLOC_TRIM_THRESHOLD_": str(2**31 - 1), "MALLOC_MMAP_THRESHOLD_": str(32 << 20)}


def output(
    arguments: list[str],
    caches: str,
    given: str = "",
    root: str = "",
    settings: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return what Python prints when it is started with `arguments`; RuntimeError if it fails.

    Its packages are those of the checkout at `root`, this one where that is "", and its caches in the folder `caches`,
    or the user's.
    """
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=root or ROOT,
        env=environment(caches, root, settings),
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2] or f"exit {done.returncode}")
    return done.stdout


def environment(
    caches: str, root: str, settings: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Return the variables of a process with the packages of the checkout at `root` and its caches in `caches`."""
    # as for users: what is imported was compiled by an earlier import
    unusual = {"PYTHONDONTWRITEBYTECODE", "PYTHONPROFILEIMPORTTIME"}
    usual = {name: value for name, value in os.environ.items() if name not in unusual}
    usual["PYTHONPATH"] = root or str(ROOT)
    return {**usual, **(_cached_under(caches) if caches else {}), **settings}


def _cached_under(folder: str) -> dict[str, str]:
    """Return what has everybody keep what was compiled in `folder`."""
    return {
        "XDG_CACHE_HOME": folder,
        "CACHEDB": f"{folder}/tinygrad.db",
        "NUMBA_CACHE_DIR": f"{folder}/numba",
        "TENSORFRAME_CACHE_DIR": f"{folder}/tensorframe",
        "PYTENSOR_FLAGS": f"base_compiledir={folder}/pytensor",
        "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor",
        "TRITON_CACHE_DIR": f"{folder}/triton",
    }
