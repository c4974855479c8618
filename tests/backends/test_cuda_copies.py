"""Copies of CUDA on their stream: what they wait for, what waits for them, and what does neither.

Streams of this GPU work only when somebody waits for them, or at random times. No GPU has run this.
"""

import gc

import numpy as np
import pytest

import tensorframe as tfr

pytest.importorskip("cupy", reason="the backend speaks to GPUs through CuPy")

from tensorframe.backends.cuda import libraries, staging
from tensorframe.backends.device import memory
from tensorframe.backends.registry import backend_of
from tensorframe.runtime.execution import executor, throttling
from tensorframe.runtime.plan_cache import PLANS
from tests.backends import host_gpu
from tests.backends.late_gpu import LateEvent, late_gpu

pytestmark = pytest.mark.skipif(
    host_gpu.COMPILER is None, reason="kernels are compiled by the system's C++ compiler here"
)
CUDA = tfr.Device("cuda")
SIZE = 100  # more bytes than the smallest block has


@pytest.fixture(autouse=True)
def planned(monkeypatch):
    monkeypatch.setattr(libraries, "CALLS", {})
    monkeypatch.setattr(staging, "_PIECE", 64)  # so that an array is several
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


@pytest.fixture
def gpu(monkeypatch):
    with late_gpu(monkeypatch) as late:
        yield late


def queue():
    return backend_of(CUDA).open_device(CUDA).queue


def numbers(seed):
    return np.random.default_rng(seed).integers(0, 99, SIZE).astype(np.float32)


def on_gpu(array):
    return tfr.asarray(array, device="cuda").compute(wait=False)


def test_a_result_is_read_before_the_device_has_done_what_came_later(gpu):
    x = on_gpu(numbers(0))
    early = (x + 1).compute(wait=False)
    late = (early * 2).compute(wait=False)  # which reads the early one's memory
    np.testing.assert_array_equal(early.numpy(), numbers(0) + 1)
    assert early.is_ready
    assert not late.is_ready
    np.testing.assert_array_equal(late.numpy(), (numbers(0) + 1) * 2)


def test_that_holds_of_large_plans_whose_devices_are_waited_for(gpu, monkeypatch):
    monkeypatch.setattr(executor, "can_take_long", lambda _plan: True)
    monkeypatch.setattr(throttling, "_paces", {})
    PLANS.clear()
    x = on_gpu(numbers(0))
    early, late = [(x * factor).compute(wait=False) for factor in (2, 3)]
    assert throttling._paces[CUDA]._given
    np.testing.assert_array_equal(early.numpy(), numbers(0) * 2)
    assert early.compute().is_ready
    assert not late.is_ready
    PLANS.clear()


def test_an_upload_waits_for_no_kernel(gpu):
    late = (on_gpu(numbers(0)) + 1).compute(wait=False)
    gc.collect()
    x = on_gpu(numbers(1))  # more pieces than there are: their copies have to be done
    assert not late.is_ready
    assert queue().stream not in queue().copies.waited
    np.testing.assert_array_equal(x.numpy(), numbers(1))


def pointer(tensor):
    return tensor.node.storage.handle.block.buffer.ptr


def test_blocks_take_turns_so_that_uploads_overlap_with_kernels(gpu):
    """The third upload has to wait for the kernel that reads the first: two blocks have come to be there."""
    pointers, sums = [], []
    for seed in range(4):
        x = on_gpu(numbers(seed))
        pointers.append(pointer(x))
        sums.append(tfr.sum(x).compute(wait=False))
        del x
        gc.collect()
        assert (queue().stream in queue().copies.waited) == (seed >= 2)
    assert pointers[2:] == pointers[:2]
    assert pointers[0] != pointers[1]
    for seed, tensor in enumerate(sums):
        assert tensor.item() == numbers(seed).sum()


def test_an_upload_waits_where_there_is_no_room_for_a_second_block(gpu):
    x = on_gpu(numbers(0))
    first = pointer(x)
    sums = (x + 1).compute(wait=False)
    del x
    gc.collect()
    backend_of(CUDA).open_device(CUDA).pool.budget.spare = 0
    again = on_gpu(numbers(1))
    assert pointer(again) == first
    assert queue().stream in queue().copies.waited
    np.testing.assert_array_equal(again.numpy(), numbers(1))
    np.testing.assert_array_equal(sums.numpy(), numbers(0) + 1)


def test_what_a_library_was_given_comes_before_any_copy(gpu):
    x = on_gpu(numbers(0))
    tfr.synchronize("cuda")
    assert queue()._timeline.behind(queue()._timeline.given) is None
    with queue().lock, queue().for_libraries():
        queue().stream.give(lambda: None)
    x.numpy()
    assert queue().copies.waited[-1] is queue().stream
    assert not queue().stream.pending


def test_launches_record_no_events(gpu):
    x = on_gpu(numbers(0))
    x = (x + 1).compute()
    before = LateEvent.recorded_in_all
    for _ in range(20):
        x = (x + 1).compute(wait=False)
    assert LateEvent.recorded_in_all - before == 20  # one each for who hands results over
    marks = queue()._timeline._marks
    assert len(marks) <= 21
    tfr.synchronize("cuda")
    assert not marks


@pytest.mark.parametrize("seed", range(12))
def test_values_do_not_depend_on_when_streams_work(monkeypatch, seed):
    generator = np.random.default_rng(seed)
    monkeypatch.setattr(memory, "_TURNS", seed % 2 * 2)  # without turns uploads wait more often
    with late_gpu(monkeypatch, seed):
        there = [(on_gpu(numbers(at)), numbers(at)) for at in range(3)]
        for step in range(40):
            pick = int(generator.integers(len(there)))
            tensor, right = there[pick]
            action = generator.integers(5)
            if action == 0:
                there.append((on_gpu(numbers(step)), numbers(step)))
            elif action == 1:
                there.append(((tensor + 1).compute(wait=False), right + 1))
            elif action == 2:
                summed = tfr.cumulative_sum(tensor % 7).compute(wait=False)
                there.append((summed, (right % 7).cumsum(dtype=np.float32)))
            elif action == 3:
                np.testing.assert_array_equal(tensor.numpy(), right)
            elif len(there) > 1:
                del there[pick]
            del tensor
            if not step % 8:
                gc.collect()
        for tensor, right in there:
            np.testing.assert_array_equal(tensor.numpy(), right)


@pytest.mark.parametrize("seed", range(3))
def test_replays_do_not_depend_on_when_streams_work(monkeypatch, seed):
    """A gather among the steps: its mark is written before, and read after, every call."""

    def several(x, index):
        for _ in range(4):
            x = tfr.cumulative_sum(x % 5)
        return tfr.take(x, index) + tfr.cumulative_sum(x)

    def expected(x, index):
        for _ in range(4):
            x = (x % 5).cumsum(dtype=np.float32)
        return x[index] + x.cumsum(dtype=np.float32)

    step = tfr.jit(several)
    index = np.arange(SIZE)[::-1].copy()
    with late_gpu(monkeypatch, seed):
        places = on_gpu(index)
        for call in range(14):
            found = step(on_gpu(numbers(call)), places)
            np.testing.assert_array_equal(found.numpy(), expected(numbers(call), index))


def test_an_interrupt_between_two_pieces_leaves_nothing_that_kernels_overtake(gpu, monkeypatch):
    x = on_gpu(numbers(0))
    tfr.synchronize("cuda")
    block = x.node.storage.handle.block
    waits = LateEvent.synchronize

    def interrupted(event):
        if queue().copies.pending:
            raise KeyboardInterrupt
        waits(event)

    with monkeypatch.context() as patched:
        patched.setattr(LateEvent, "synchronize", interrupted)
        with pytest.raises(KeyboardInterrupt), queue().lock:
            queue().write(block.buffer, 0, numbers(1).view(np.uint8))
    assert queue().copies.pending
    queue().stream.synchronize()
    assert not queue().copies.pending
