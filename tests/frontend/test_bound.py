"""The projected peak is a bound: what a computation takes, libraries' own copies included, is no more, and hardly less.

A part of the cases in every run, all of them with STRESS=1.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.frontend.high_water import CASES
from tests.stress.scale import IS_FULL

ROOT = Path(__file__).parents[2]
MIB = 1 << 20
# Python's own objects, compilers' and threads' memory: nobody counts it for a plan, but the check before it runs does
OWN = 2 * MIB
FEW = [
    "elementwise",
    "a large intermediate",
    "sort descending",
    "argsort",
    "product of integers",
    "product with an epilogue",
    "product by tiles",
    "broadcast product",
    "fft along two axes",
    "rfft of a vector",
    "svd",
    "index_add",
    "tile",
    "gradient",
]
linux = pytest.mark.skipif(
    sys.platform != "linux", reason="Linux tells the most that was in memory"
)


@linux
@pytest.mark.parametrize("device", ["numpy", "llvm", "cpu"] if IS_FULL else ["numpy", "cpu"])
def test_the_projected_peak_is_a_bound(device):
    if device != "numpy":
        pytest.importorskip("llvmlite")
    done = subprocess.run(
        [sys.executable, "-m", "tests.frontend.high_water", device, *([] if IS_FULL else FEW)],
        cwd=ROOT,
        # memory that is freed goes back at once
        env=os.environ
        | {
            "PYTHONPATH": str(ROOT),
            "MALLOC_MMAP_THRESHOLD_": "65536",
            "MALLOC_ARENA_MAX": "1",
            "OPENBLAS_NUM_THREADS": "2",
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    found = {name: figures for name, *figures in map(json.loads, done.stdout.splitlines())}
    assert list(found) == (list(CASES) if IS_FULL else FEW)
    low = {n: f for n, f in found.items() if f[0] + OWN < f[1] + f[2]}
    high = {n: f for n, f in found.items() if f[0] > 1.3 * (f[1] + f[2]) + OWN}
    assert (low, high) == ({}, {})
