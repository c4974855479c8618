"""Limits of memory hold through long programs, on every device, and where the system itself sets them."""

import json
import sys

import pytest

from tests.stress.scale import on_some_devices, program, scale

linux = pytest.mark.skipif(
    sys.platform != "linux", reason="Linux tells the most that was in memory"
)


@linux
@on_some_devices("cpu", "opencl", more=["dask"])
def test_a_long_random_program_never_takes_more_than_its_limit(device):
    on_host = device in ("cpu", "llvm", "numpy", "dask")
    steps = scale(400 if on_host else 100, 10_000)
    done = program(
        "under_a_limit", device, steps, scale(256 if on_host else 32, 256), 5, timeout=7200
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["most"] <= found["limit"]
    assert found["refused"] > 0  # it was near the limit,
    assert found["ran"] > 0.8 * steps  # and went on


@linux
@pytest.mark.parametrize("device", ["cpu", "numpy"])
def test_a_process_with_a_limit_of_its_own_is_refused_and_not_killed(device):
    """RLIMIT_AS: addresses that are not there are a MemoryError wherever anybody asks for one."""
    done = program("under_rlimit", device)
    assert done.stdout.split() == ["refused", "before", "the", "first", "step", "499999500000.0"]
