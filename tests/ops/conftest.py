"""Every op, on every engine of host memory.

Devices have theirs in tests/backends/test_device_rows.py: in fewer kernels, since theirs take long to compile.
"""

import pytest

import tensorframe as tfr
from tensorframe.backends.registry import devices

ENGINES = [
    str(info.device)
    for info in devices()
    if info.capabilities.executes and info.capabilities.host_memory
    if str(info.device) != "cpu"  # it is the others by turns
]


@pytest.fixture(params=ENGINES, autouse=True)
def engine(request):
    """The engine that new tensors live on."""
    with tfr.use_backend(request.param):
        yield request.param
