"""The projected peak is a bound: what a computation takes, libraries' own copies included, is no more, and hardly less.

A part of the cases in every run, all of them with STRESS=1.
"""

import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import backend_of
from tests.backends.test_device_rows import DEVICES
from tests.frontend.high_water import CASES
from tests.stress.scale import IS_FULL

ROOT = Path(__file__).parents[2]
MIB = 1 << 20
# Python's own objects, compilers' and threads' memory: nobody counts it for a plan, but the check before it runs does
OWN = 2 * MIB
FEW = [
    "elementwise",
    "a large intermediate",
    "a vector beside its sum",
    "a vector beside its scan",
    "argmax of columns",
    "argmax of a broadcast view",
    "sines of what is sorted",
    "sort descending",
    "argsort",
    "product in half precision",
    "product of slices in half precision",
    "product of integers",
    "product with an epilogue",
    "product by tiles",
    "broadcast product",
    "fft along two axes",
    "rfft of a vector",
    "inverse fft",
    "hfft",
    "svd",
    "singular values of a stack",
    "inverses of a stack",
    "solutions of a stack",
    "eigenvalues beside vectors",
    "index_add",
    "tile",
    "gradient",
    "convolution of half precision",
    "convolution's gradient by the kernel",
]
# what kernels of devices do not do in place
ON_DEVICES = {
    "elementwise": lambda x, i: tfr.exp(x) * 2 + 1,
    "sum": lambda x, i: tfr.sum(x * x),
    "product": lambda x, i: tfr.reshape(x, (512, -1)) @ tfr.reshape(x, (-1, 512)),
    "sort": lambda x, i: tfr.sort(x),
    "argsort": lambda x, i: tfr.argsort(x),
    "median": lambda x, i: tfr.median(x),
    "index_add": lambda x, i: tfr.index_add(x, i, x),
    "rows sorted": lambda x, i: tfr.sort(tfr.reshape(x, (-1, 512)), axis=1),
}
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


def test_calls_of_lapack_are_projected_with_copies_in_double_precision_and_with_results_that_nobody_takes():
    x = tfr.zeros((1000, 40, 30), dtype="float32").compute()
    in_double = 1000 * 40 * 30 * 8
    found = tfr.estimate(tfr.linalg.svdvals(x)).peak[tfr.Device("cpu")]
    assert in_double * 1.5 <= found <= 1.7 * in_double  # the operand, and its copy
    left, values, right = tfr.linalg.svd(x, full_matrices=False)
    alone = tfr.estimate(values).peak[tfr.Device("cpu")]
    assert alone == tfr.estimate(left, values, right).peak[tfr.Device("cpu")]


@pytest.mark.sweep(5)
@pytest.mark.parametrize("device", [name for name in DEVICES if not name.startswith("dask")])
def test_the_projected_peak_of_a_device_is_a_bound(device):
    place = tfr.Device(device)
    r = np.random.default_rng(3)
    x = tfr.asarray(r.random(1 << 18, dtype=np.float32), device=device).compute()
    i = tfr.asarray(r.permutation(1 << 18).astype(np.int32), device=device).compute()
    off = {}
    pool = backend_of(place).open_device(place).pool
    for name, make in ON_DEVICES.items():
        y = make(x, i)
        found = tfr.estimate(y)
        gc.collect()
        tfr.memory.trim(device)
        tfr.memory.reset_peak(device)
        before = pool.statistics.in_use
        y.compute()
        taken = found.inputs.get(place, 0) + pool.statistics.peak - before
        projected = found.peak.get(place, 0)
        # blocks have sizes of three significant bits, and what reductions make in parts has one
        if not taken <= 1.01 * projected + 4096 or not projected <= 1.3 * taken:
            off[name] = (projected, taken)
    assert off == {}
