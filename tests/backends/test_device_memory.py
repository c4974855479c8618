"""Memory of devices: blocks are used again, counted, and within a limit; running out leaves everything usable."""

import gc
import threading

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.device.memory import Pool, rounded
from tensorframe.backends.device.queue import Queue
from tensorframe.backends.registry import backend_of
from tests.backends.test_device_rows import DEVICES


class Counting(Queue):
    """A device that hands out numbers for buffers, up to so many bytes."""

    def __init__(self, capacity=1 << 40):
        super().__init__()
        self.capacity, self.held, self.flushed = capacity, {}, 0

    def allocate(self, nbytes):
        if sum(self.held.values()) + nbytes > self.capacity:
            raise MemoryError("the device is full")
        buffer = max(self.held, default=0) + 1
        self.held[buffer] = nbytes
        return buffer

    def release(self, buffer):
        del self.held[buffer]

    def flush(self):
        self.flushed += 1

    def refuse(self, *_):
        raise AssertionError("a pool only allocates and releases")

    write = read = copy = source = build = launch = synchronize = refuse


Counting.__abstractmethods__ = frozenset()


def test_a_freed_block_is_used_again():
    queue = Counting()
    pool = Pool(queue)
    first = pool.block(1000)
    buffer = first.buffer
    del first
    assert pool.statistics.pooled == rounded(1000)
    assert pool.block(990).buffer == buffer
    assert pool.statistics.allocations == 1


class Finalised:
    """A buffer that gives its memory up when it is collected, as those of bindings do."""

    usable = True

    def __del__(self):
        self.usable = False


def test_a_block_in_cyclic_garbage_comes_back_with_a_buffer_that_can_be_used(monkeypatch):
    monkeypatch.setattr(Counting, "allocate", lambda *_: Finalised())
    pool = Pool(Counting())
    cycle = [pool.block(512)]
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert pool.statistics.pooled == 512
    assert pool.block(512).buffer.usable


def test_blocks_in_use_are_never_handed_out_twice():
    pool = Pool(Counting())
    held = [pool.block(512) for _ in range(20)]
    assert len({one.buffer for one in held}) == 20


@pytest.mark.parametrize("nbytes", [1, 255, 256, 257, 1000, 4097, 1 << 20, (1 << 20) + 1, 10**9])
def test_sizes_waste_little(nbytes):
    assert nbytes <= rounded(nbytes) <= max(1.25 * nbytes, nbytes + 256)


def test_what_is_kept_is_given_back_before_memory_runs_out():
    queue = Counting(capacity=3 * rounded(10_000))
    pool = Pool(queue)
    small = [pool.block(10_000) for _ in range(3)]
    del small
    large = pool.block(20_000)
    assert large.nbytes >= 20_000
    assert queue.flushed == 1
    assert pool.statistics.pooled == 0


def test_a_limit_counts_what_is_kept_and_in_use():
    pool = Pool(Counting())
    pool.budget.set(2 * rounded(4096))
    first, second = pool.block(4096), pool.block(4096)
    with pytest.raises(MemoryError, match="limit"):
        pool.block(4096)
    del second
    third = pool.block(4096)
    assert first.buffer != third.buffer


def test_the_peak_is_what_was_in_use_at_once():
    pool = Pool(Counting())
    for _ in range(5):
        pool.block(4096)
    assert pool.statistics.peak == rounded(4096)
    assert pool.statistics.in_use == 0


def test_threads_share_a_pool():
    pool = Pool(Counting())
    failures = []

    def work(seed):
        drawn = np.random.default_rng(seed)
        held = {}
        for _ in range(300):
            block = pool.block(int(drawn.integers(1, 5000)))
            if block.buffer in held:
                failures.append(block.buffer)
            held[block.buffer] = block
            if len(held) > 8:
                held.popitem()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert not failures
    assert pool.statistics.in_use == 0


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


@pytest.fixture
def pool(device):
    gc.collect()
    place = tfr.Device(device)
    found = backend_of(place).open_device(place).pool
    yield found
    found.budget.set(None)


def test_tensors_give_their_memory_back(device, pool):
    before = pool.statistics.in_use
    x = (tfr.ones(100_000, dtype="float32", device=device) * 2).compute()
    assert pool.statistics.in_use >= before + 400_000
    del x
    gc.collect()
    assert pool.statistics.in_use == before


def test_running_out_of_memory_says_so_and_leaves_everything_usable(device, pool):
    x = tfr.asarray(np.arange(100_000, dtype=np.float32), device=device).compute()
    big = tfr.reshape(x, (-1, 1)) + x[:2000]
    pool.trim()
    pool.budget.set(pool.statistics.in_use + 1_000_000)
    with pytest.raises(tfr.errors.OutOfMemoryError, match="float32"):
        big.compute()
    assert np.array_equal((x + 1).numpy(), np.arange(100_000, dtype=np.float32) + 1)
    pool.budget.set(None)
    assert tfr.sum(big[:3, :4]).item() == sum(range(3)) * 4 + sum(range(4)) * 3
