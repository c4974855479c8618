"""The pool of host memory: blocks are used again, never under anybody's feet, within a bound, and not for ever."""

import gc
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends import host_pool
from tensorframe.backends.host_pool import BOUND, SMALLEST, Pool, owns_memory

ROOT = Path(__file__).parents[2]
FLOAT = np.dtype(np.float32)
COUNT = SMALLEST // 4  # elements of the smallest block
posix = pytest.mark.skipif(os.name == "nt", reason="Windows gives no pages back, and does not fork")


@pytest.fixture
def pool():
    return Pool()


def address(array):
    return array.__array_interface__["data"][0]


def test_a_block_is_used_again_once_its_array_is_gone(pool):
    first = pool.empty((COUNT,), FLOAT)
    where = address(first)
    second = pool.empty((COUNT,), FLOAT)
    assert address(second) != where
    del first
    assert address(pool.empty((COUNT,), FLOAT)) == where
    assert pool.statistics.allocations == 2


def test_of_equal_blocks_the_one_that_was_freed_last_is_used_first(pool):
    """It is in the cache still."""
    arrays = [pool.empty((COUNT,), FLOAT) for _ in range(3)]
    places = [address(array) for array in arrays]
    for number in (1, 0, 2):
        arrays[number] = None
    assert [address(pool.empty((COUNT,), FLOAT)) for _ in range(2)] == [places[2]] * 2
    arrays = [pool.empty((COUNT,), FLOAT) for _ in range(3)]
    assert [address(array) for array in arrays] == [places[number] for number in (2, 0, 1)]


def test_as_many_blocks_as_a_step_of_training_frees_serve_the_next_one(pool):
    for _ in range(3):
        arrays = [pool.empty((COUNT,), FLOAT) for _ in range(100)]
        del arrays
    assert pool.statistics.allocations == 100


def test_a_block_is_found_among_many_by_its_size(pool, monkeypatch):
    """As many as a step of training frees: to look at each took ten times as long as to lend one."""
    arrays = [pool.empty((COUNT + 5_000 * number,), FLOAT) for number in range(200)]
    random.Random(0).shuffle(arrays)
    arrays.clear()
    pool.pooled()
    sizes = [block.size for block in pool._free]
    assert sizes == sorted(sizes)
    looked_at = []
    size_of = host_pool._size
    monkeypatch.setattr(host_pool, "_size", lambda block: looked_at.append(block) or size_of(block))
    array = pool.empty((COUNT + 5_000 * 100,), FLOAT)
    (block,) = pool._lent
    assert block.size == min(size for size in sizes if size >= array.nbytes)
    assert len(looked_at) <= 16


@posix
def test_small_results_leave_large_blocks_alone(pool):
    """A large block that served a small array lost its pages, and the next large one had to get them again."""
    for _ in range(3):
        arrays = [pool.empty((8 * COUNT,), FLOAT) for _ in range(2)]
        del arrays[0]
        small = pool.empty((COUNT,), FLOAT)
        touched = [block.touched for block in (*pool._free, *pool._lent)]
        assert sorted(touched) == [4 * COUNT, 32 * COUNT, 32 * COUNT]
        del small, arrays
    assert pool.statistics.allocations == 3


def test_small_arrays_are_numpys(pool):
    assert pool.empty((COUNT - 1,), FLOAT).flags.owndata
    assert not pool.empty((COUNT,), FLOAT).flags.owndata
    assert owns_memory(pool.empty((COUNT,), FLOAT))
    assert not owns_memory(pool.empty((COUNT,), FLOAT)[1:])
    assert pool.statistics.allocations == 1


@pytest.mark.parametrize("layout", [None, (1, 0, 2), (2, 1, 0), (1, 2, 0)])
@pytest.mark.parametrize("length", [5, COUNT], ids=["NumPy's memory", "the pool's"])
def test_arrays_are_laid_out_as_asked(pool, layout, length):
    shape = (3, length, 2)
    array = pool.empty(shape, FLOAT, layout)
    order = (0, 1, 2) if layout is None else layout
    assert array.shape == shape
    assert array.transpose(order).flags.c_contiguous
    assert owns_memory(array)  # or no result could be written over it
    array[...] = 1  # writable throughout
    assert array.sum() == array.size


KEEPERS = {
    "array": lambda array: array,
    "view": lambda array: array[5:10],
    "view of a view": lambda array: array[5:100].reshape(5, 19)[1:],
    "other dtype": lambda array: array.view(np.int32)[:3],
    "memoryview": memoryview,
    "part of a memoryview": lambda array: memoryview(array)[7:9],
    "dlpack": lambda array: array.__dlpack__(),
    "numpy from dlpack": np.from_dlpack,
    "frombuffer": lambda array: np.frombuffer(array, np.uint8)[:1],
    "ctypes": lambda array: array.ctypes.data_as(__import__("ctypes").c_void_p),
    "tensor": lambda array: tfr.asarray(array, copy=False),
    "iterator": lambda array: array.flat,
}


@pytest.mark.parametrize("keep", KEEPERS)
def test_whatever_refers_to_an_array_keeps_its_block(pool, keep):
    array = pool.empty((COUNT,), FLOAT)
    array[...] = 7
    where = address(array)
    kept = KEEPERS[keep](array)
    del array
    others = [pool.empty((COUNT,), FLOAT) for _ in range(3)]
    assert where not in map(address, others)
    del kept
    gc.collect()
    assert address(pool.empty((COUNT,), FLOAT)) == where


def test_random_allocations_never_share_memory(pool):
    draw = random.Random(5)
    held: list[tuple[np.ndarray, int]] = []
    for step in range(600):
        if held and draw.random() < 0.5:
            array, mark = held.pop(draw.randrange(len(held)))
            assert (array == mark).all()
        else:
            array = pool.empty((COUNT + draw.randrange(5 * COUNT),), FLOAT)
            array[...] = step
            held.append((array if draw.random() < 0.5 else array[draw.randrange(9) :], step))
    for array, mark in held:
        assert (array == mark).all()


def held_by(pool):
    return pool.statistics.in_use + pool.statistics.pooled


def test_results_of_changing_sizes_hold_little_more_than_was_in_use(pool):
    draw = random.Random(3)
    for _ in range(1000):
        array = pool.empty((draw.randrange(COUNT, 40 * COUNT),), FLOAT)
        array[::1024] = 0
        assert held_by(pool) <= BOUND * pool.statistics.peak
    assert (
        pool.statistics.peak <= 2 * 40 * SMALLEST
    )  # one is made while the one before is still there
    assert pool.statistics.allocations < 50


@posix
def test_a_small_array_does_not_hold_the_pages_of_a_large_block(pool):
    pool.empty((40 * COUNT,), FLOAT)  # free at once
    small = [pool.empty((COUNT,), FLOAT) for _ in range(60)]
    assert pool._lent_bytes <= BOUND * pool.statistics.peak
    assert len(small) == 60


@posix
def test_results_are_told_from_those_of_forked_processes(pool):
    array = pool.empty((COUNT,), FLOAT)
    array[...] = 1
    child = os.fork()
    if child == 0:
        status = 1
        try:
            array[...] = 2
            status = 0 if pool.empty((COUNT,), FLOAT) is not None else 1
        finally:
            os._exit(status)  # whatever happens, the child is no second run of the tests
    assert os.waitpid(child, 0)[1] == 0
    assert (array == 1).all()


def test_an_idle_pool_gives_its_memory_back(pool, monkeypatch):
    monkeypatch.setattr(host_pool, "IDLE", 0.05)
    array = pool.empty((COUNT,), FLOAT)
    sweeper = pool._sweeper
    assert sweeper is not None
    del array
    sweeper.join(timeout=60)
    assert not sweeper.is_alive()
    assert held_by(pool) == 0
    assert pool.empty((COUNT,), FLOAT).size == COUNT  # and begins again
    assert pool._sweeper is not sweeper


def test_what_the_c_library_retains_goes_once_in_each_idle_time(pool, monkeypatch):
    """Also while a user has results: copies of their arrays, and what is small, were in its heap."""
    trims = []
    monkeypatch.setattr(host_pool, "IDLE", 0.05)
    monkeypatch.setattr(pool, "compact", lambda: trims.append(None))
    kept = [pool.empty((COUNT,), FLOAT)]
    for times in (1, 2):
        deadline = time.monotonic() + 60
        while len(trims) < times and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.3)
        assert len(trims) == times
        kept.append(pool.empty((COUNT,), FLOAT))


def test_an_array_in_use_is_not_idle(pool, monkeypatch):
    monkeypatch.setattr(host_pool, "IDLE", 0.01)
    array = pool.empty((COUNT,), FLOAT)
    array[...] = 3
    deadline = time.monotonic() + 0.2
    while time.monotonic() < deadline:
        assert pool.statistics.in_use == SMALLEST
    assert (array == 3).all()


def test_where_another_thread_is_at_it_numpys_memory_will_do(pool):
    with pool._lock:
        array = pool.empty((COUNT,), FLOAT)
    assert array.flags.owndata
    assert pool.statistics.allocations == 0


def test_without_memory_the_pool_leaves_it_to_numpy(pool, monkeypatch):
    pool.empty((COUNT,), FLOAT)  # free at once

    def refuse(nbytes):
        raise OSError

    monkeypatch.setattr(host_pool, "_mapped", refuse)
    assert pool.empty((2 * COUNT,), FLOAT).flags.owndata
    assert held_by(pool) == 0  # what was pooled is given back first


def test_threads_get_blocks_of_their_own():
    x = tfr.asarray(np.arange(4 * COUNT, dtype=np.float32))
    wrong = []

    def work(number):
        for _ in range(20):
            y, z = x + number, x * 2
            tfr.compute(y, z)
            if (
                not (y.numpy() == x.numpy() + number).all()
                or not (z.numpy() == x.numpy() * 2).all()
            ):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


FAULTS = """
import resource, sys
import numpy as np
import tensorframe as tfr

device = sys.argv[1]
data = [
    [tfr.asarray(np.ones(size, np.float32), device=device) for _ in range(2)]
    for size in (300_000, 1_000_000, 3_000_000)
]

def step():
    for a, b in data:
        (tfr.exp(-a * a) * tfr.sin(b) + a / (1 + b * b)).compute()
        (a + b * 2).compute()
        tfr.compute(a * b + 1, a - b)

for _ in range(3):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(4):
    step()
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 4)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="page faults are counted by Linux")
@pytest.mark.parametrize("device", ["numpy", "llvm"])
def test_a_loop_over_expressions_of_several_sizes_takes_no_new_pages(device):
    run = subprocess.run(
        [sys.executable, "-c", FAULTS, device],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    # a step writes 45 MB, 11,000 pages; the C library's memory took 500 to 1,000 faults, with huge pages
    assert float(run.stdout) < 50
