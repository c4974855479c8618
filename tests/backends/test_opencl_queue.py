"""OpenCL's queue: what its marks wait for, and what they cost."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import backend_of
from tensorframe.graph.device import Device
from tests.backends.devices import FOUND

pytestmark = pytest.mark.skipif("opencl" not in FOUND, reason="OpenCL is not here")


@pytest.fixture
def queue():
    """The queue of the device."""
    device = Device("opencl")
    return backend_of(device).open_device(device).queue


def test_the_mark_of_a_kernel_is_its_own_event(queue, monkeypatch):
    import pyopencl as cl

    x = tfr.asarray(np.arange(6, dtype=np.float32), device="opencl")
    markers = []
    monkeypatch.setattr(cl, "enqueue_marker", markers.append)
    for count in range(3):
        y = (x + count).compute(wait=False)
        tfr.synchronize("opencl")
        assert y.is_ready
    assert not markers


def test_a_mark_waits_for_copies_as_well(queue):
    with queue.lock:
        source, target = queue.allocate(8), queue.allocate(8)
        queue.write(source, 0, np.arange(8, dtype=np.uint8))
        queue.copy(source, 0, target, 0, 8)
        mark = queue.mark()
        mark.wait()
        assert mark.is_done()
        assert queue.read(target, 0, 8).tolist() == list(range(8))
        queue.release(source)
        queue.release(target)
