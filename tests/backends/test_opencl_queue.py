"""OpenCL's queues: what marks wait for, and what they cost; copies beside kernels, and through pinned memory."""

from contextlib import contextmanager
from threading import Thread
from unittest.mock import Mock

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.device.uses import Uses
from tensorframe.backends.registry import backend_of
from tensorframe.errors import KernelError
from tensorframe.graph.device import Device
from tests.backends.devices import FOUND

pytestmark = pytest.mark.skipif("opencl" not in FOUND, reason="OpenCL is not here")


@pytest.fixture
def queue(monkeypatch):
    """The queue of the device, which no user has: an earlier test may have had it."""
    device = Device("opencl")
    found = backend_of(device).open_device(device).queue
    monkeypatch.setattr(found, "_is_shared", False)
    return found


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


@contextmanager
def held_back(queue):
    """Have kernels that are given to the device in this block not begin before its end."""
    import pyopencl as cl

    gate = cl.UserEvent(queue._context)
    with queue.lock:
        cl.enqueue_barrier(queue._queue, wait_for=[gate])
    try:
        yield
    finally:
        gate.set_status(cl.command_execution_status.COMPLETE)


def in_time(work):
    """What a function returns in another thread, which must not wait for what is held back."""
    results = []
    thread = Thread(target=lambda: results.append(work()), daemon=True)
    thread.start()
    thread.join(30)
    assert results, "it waits for what came later"
    return results[0]


def waiting(work):
    """A thread that calls a function, and has to wait."""
    thread = Thread(target=work, daemon=True)
    thread.start()
    thread.join(0.2)
    assert thread.is_alive()
    return thread


class Failed:
    """The event of a command that has failed."""

    command_execution_status = -14

    def wait(self):
        import pyopencl as cl

        failure = {"code": self.command_execution_status, "routine": "clWaitForEvents", "what": ""}
        raise cl.RuntimeError(
            Mock(**{f"{name}.return_value": said for name, said in failure.items()})
        )


@pytest.fixture
def failing(queue):
    """Has every kernel that is given to the device in a block fail."""
    import pyopencl as cl

    @contextmanager
    def failing():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cl, "enqueue_nd_range_kernel", lambda *_: Failed())
            yield

    yield failing
    queue._queue.finish()
    queue._uses, queue._latest = Uses(), None  # no driver waits for those events


def on_device(array):
    return tfr.asarray(array, device="opencl").compute(wait=False)


@pytest.fixture(params=[None, True], ids=["as usual", "pinned"])
def pinned(request, monkeypatch):
    """Whether copies go through pinned memory, in pieces of which there are several."""
    from tensorframe.backends.opencl import copies

    monkeypatch.setattr(copies, "_PIECE", 1 << 10)
    tfr.backends.configure("opencl", pinned=request.param)
    yield request.param
    monkeypatch.undo()
    tfr.backends.configure("opencl", pinned=None)


def test_reading_waits_for_no_kernel_that_came_later(queue, pinned):
    early = (on_device(np.arange(3001, dtype=np.float32)) + 1).compute()
    with held_back(queue):
        late = (early * 2).compute(wait=False)  # which reads the same memory
        read = in_time(early.numpy)
        assert not late.is_ready
    np.testing.assert_array_equal(read, np.arange(1, 3002))
    np.testing.assert_array_equal(late.numpy(), np.arange(1, 3002) * 2)


def test_an_upload_into_new_memory_waits_for_no_kernel(queue, pinned):
    early = on_device(np.arange(3001, dtype=np.float32))
    data = np.random.default_rng(0).integers(0, 256, 70_001, np.uint8)

    def copied():
        with queue.lock:
            buffer = queue.allocate(data.nbytes)
            queue.write(buffer, 0, data)
            read = queue.read(buffer, 0, data.nbytes)
            queue.release(buffer)
        return read

    with held_back(queue):
        late = (early * 2).compute(wait=False)
        np.testing.assert_array_equal(in_time(copied), data)
        assert not late.is_ready
    np.testing.assert_array_equal(late.numpy(), np.arange(3001) * 2)


def test_an_upload_into_memory_that_a_kernel_reads_waits_for_it(queue, pinned):
    x, other = [on_device(np.arange(count, dtype=np.float32)) for count in (9001, 77)]
    buffer = x.node.storage.handle.block.buffer

    def write():
        with queue.lock:
            queue.write(buffer, 0, np.full(9001, 7, np.float32).view(np.uint8))

    with held_back(queue):
        late = (x + 1).compute(wait=False)
        latest = (other + 2).compute(wait=False)  # or the copy could be in the order of kernels
        thread = waiting(write)
    thread.join(30)
    np.testing.assert_array_equal(latest.numpy(), np.arange(2, 79))
    np.testing.assert_array_equal(late.numpy(), np.arange(1, 9002))
    np.testing.assert_array_equal(x.numpy(), np.full(9001, 7))


def test_copies_are_in_order_with_what_the_user_gives_the_queue(queue, monkeypatch):
    import pyopencl as cl
    import pyopencl.array

    monkeypatch.setattr(queue, "_is_shared", False)
    x = on_device(np.arange(77, dtype=np.float32))
    native = tfr.backends.native_device("opencl")
    theirs = pyopencl.array.to_device(native, np.zeros(100, np.float32))
    ours = tfr.from_native(theirs)
    assert ours.tolist() == [0] * 100
    results = []

    def read():
        with queue.lock:
            results.append(queue.read(theirs.data, 0, 400).view(np.float32).tolist())

    with held_back(queue):
        cl.enqueue_fill_buffer(native, theirs.data, np.float32(5), 0, 400)
        latest = (x + 1).compute(wait=False)  # which is seen, unlike that
        thread = waiting(read)
    thread.join(30)
    assert results == [[5] * 100]
    np.testing.assert_array_equal(latest.numpy(), np.arange(1, 78))


@pytest.mark.parametrize("nbytes", [1, 1000, 1024, 5000])
def test_bytes_arrive_through_pinned_memory(queue, pinned, nbytes):
    data = np.random.default_rng(nbytes).integers(0, 256, nbytes, np.uint8)
    with queue.lock:
        buffer = queue.allocate(nbytes + 8)
        queue.write(buffer, 8, data)
        np.testing.assert_array_equal(queue.read(buffer, 8, nbytes), data)
        np.testing.assert_array_equal(
            queue.read(buffer, 8 + nbytes // 2, 1), data[nbytes // 2][None]
        )
        queue.release(buffer)
    assert bool(queue._copies._pieces) == bool(pinned)


def test_where_nothing_may_be_pinned_the_driver_copies(queue, pinned, monkeypatch):
    import pyopencl as cl

    from tensorframe.backends.opencl import copies

    def refused(*_):
        raise cl.MemoryError("map", cl.status_code.MAP_FAILURE, "")

    monkeypatch.setattr(copies, "_Piece", refused)
    data = np.arange(5000, dtype=np.int32)
    np.testing.assert_array_equal(on_device(data).numpy(), data)
    assert not queue._copies._pieces


def test_two_threads_replay_upload_and_read(queue, pinned):
    """Each has values of its own: what one waits for must not be what the other holds."""

    def several(x, index):
        for _ in range(3):
            x = tfr.cumulative_sum(x % 5)
        return tfr.take(x, index) + tfr.cumulative_sum(x)

    def expected(x, index):
        for _ in range(3):
            x = (x % 5).cumsum(dtype=np.float32)
        return x[index] + x.cumsum(dtype=np.float32)

    step = tfr.jit(several)
    finished, index = [], np.arange(500)[::-1].copy()

    def work(number):
        places = on_device(index)
        generator = np.random.default_rng(number)
        earlier = []
        for _ in range(40):
            array = generator.integers(0, 99, 500).astype(np.float32)
            earlier.append((step(on_device(array), places), array))
            if generator.random() < 0.5:
                result, given = earlier.pop(0)
                np.testing.assert_array_equal(result.numpy(), expected(given, index))
            if generator.random() < 0.1:
                tfr.synchronize("opencl")
        for result, given in earlier:
            np.testing.assert_array_equal(result.numpy(), expected(given, index))
        finished.append(number)

    with tfr.config.override(small_size=0, small_nodes=0):
        threads = [Thread(target=work, args=(number,), daemon=True) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(100)
    assert sorted(finished) == [0, 1]


@pytest.mark.parametrize(
    "read", [tfr.Tensor.compute, tfr.compute, tfr.Tensor.numpy], ids=["compute", "all", "numpy"]
)
def test_a_kernel_that_has_failed_has_no_values(queue, failing, read):
    x = on_device(np.arange(6, dtype=np.float32))
    bad = tfr.sqrt(x)  # the recording
    with failing(), pytest.raises(KernelError, match="the recording"):
        read(bad)
    good = x + 1
    assert good.tolist() == [1, 2, 3, 4, 5, 6]
    for again in (read, tfr.Tensor.compute, tfr.Tensor.numpy):
        with pytest.raises(KernelError, match="the recording"):
            again(bad)
    tfr.synchronize("opencl")  # of what somebody was told


def test_waiting_for_the_device_tells_of_a_failed_kernel_once(queue, failing):
    x = on_device(np.arange(6, dtype=np.float32))
    for is_told in (True, False):
        with failing():
            bad = tfr.sqrt(x).compute(wait=False)  # the recording
        if is_told:
            with pytest.raises(KernelError, match="the recording"):
                bad.compute()
        with pytest.raises(KernelError, match="the recording"):
            tfr.synchronize("opencl")
        tfr.synchronize("opencl")


def test_memory_that_a_failed_kernel_wrote_is_as_good_as_new(queue, failing):
    with queue.lock:
        buffer = queue.allocate(4)
        with failing():
            queue.launch((Mock(), 1, 0), 1, (buffer,), None)
        with pytest.raises(KernelError):
            queue.read(buffer, 0, 4)
        with pytest.raises(KernelError):
            queue.synchronize()
        queue.synchronize()
        queue.write(buffer, 0, np.arange(4, dtype=np.uint8))
        assert queue.read(buffer, 0, 4).tolist() == [0, 1, 2, 3]
        queue.release(buffer)
