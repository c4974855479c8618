"""What tests of memory share: devices whose memory is limited, and computations that take much of it."""

import gc

import numpy as np

import tensorframe as tfr
from tests.backends.test_device_rows import DEVICES

MIB = 1 << 20
# without a cluster, whose workers have limits of their own, tasks of Dask run in this process
HOST = ["cpu", "numpy", "llvm", *(["dask"] if "dask" in tfr.backends.available() else [])]
LIMITED = DEVICES


def counted(device):
    """What counts towards the limit once nothing is kept."""
    tfr.ones(8, device=device).compute()  # opens it
    gc.collect()
    tfr.memory.trim(device)
    return tfr.memory.stats()[device].counted


def leaf(device, count=1 << 20):
    return tfr.asarray(np.arange(count, dtype=np.float32), device=device)


def larger(x):
    """A result of 64 MiB of an operand of 4."""
    return tfr.reshape(x, (-1, 1)) + x[:16]
