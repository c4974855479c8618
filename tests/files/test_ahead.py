"""Tiles are read while others are used, and written while others are made; errors come where they belong."""

import threading
import time
from queue import SimpleQueue

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ReadError, WriteError
from tensorframe.files import access
from tensorframe.files.ahead import FLUSH, ReadAhead, WriteBehind
from tensorframe.frontend.files.segment import open_to_read
from tensorframe.rewrite.views import Window


def rows(count, size, width):
    return [
        Window((first, 0), (min(size, count - first), width), (1, 1))
        for first in range(0, count, size)
    ]


def saved(path, array):
    np.save(path, array)
    return tfr.load(path).node


class Gate:
    """An array that gives a slice when it is let, and says who asked."""

    shape, dtype = (10, 4), np.dtype("f4")

    def __init__(self):
        self.asked = threading.Semaphore(0)
        self.let = threading.Semaphore(0)
        self.threads = set()

    def __getitem__(self, key):
        self.threads.add(threading.current_thread())
        self.asked.release()
        assert self.let.acquire(timeout=60)
        if key[0].start == 6:
            raise OSError("no row 6")
        return np.full((key[0].stop - key[0].start, 4), key[0].start, "f4")


def test_tiles_of_several_files_come_in_order(tmp_path):
    x, y = np.arange(700.0).reshape(100, 7), np.arange(100) > 3
    left, right = saved(tmp_path / "x.npy", x), saved(tmp_path / "y.npy", y)
    tiles = [
        [(left, window), (right, Window(window.starts[:1], window.sizes[:1], (1,)))]
        for window in rows(100, 9, 7)
    ]
    with ReadAhead(tiles) as ahead:
        read = [[array.copy() for array in arrays] for arrays in ahead]
    assert np.array_equal(np.concatenate([one for one, _ in read]), x)
    assert np.array_equal(np.concatenate([one for _, one in read]), y)


@pytest.mark.parametrize("buffers", [2, 3])
def test_memory_is_that_of_as_many_tiles_as_there_are_buffers(buffers, tmp_path):
    leaf = saved(tmp_path / "x.npy", np.zeros((100, 7)))
    with ReadAhead([[(leaf, window)] for window in rows(100, 9, 7)], buffers) as ahead:
        places = {arrays[0].__array_interface__["data"][0] for arrays in ahead}
    assert len(places) == buffers


@pytest.mark.parametrize("buffers", [2, 3])
def test_the_next_tiles_are_read_while_one_is_used_and_no_further(buffers):
    gate = Gate()
    leaf = tfr.from_reader(gate).node
    with ReadAhead([[(leaf, window)] for window in rows(6, 1, 4)], buffers) as ahead:
        tiles = iter(ahead)
        gate.let.release(buffers)
        first = next(tiles)
        assert first[0][0, 0] == 0
        for _ in range(buffers):  # the first, and others while it is used
            assert gate.asked.acquire(timeout=60)
        assert not gate.asked.acquire(timeout=0.01)
        gate.let.release(10)
        assert [tile[0][0, 0] for tile in tiles] == [1, 2, 3, 4, 5]
    assert threading.current_thread() not in gate.threads


def test_who_has_to_wait_for_a_tile_is_told():
    gate = Gate()
    leaf = tfr.from_reader(gate).node
    with ReadAhead([[(leaf, window)] for window in rows(4, 1, 4)]) as ahead:
        tiles = iter(ahead)
        gate.let.release(2)
        next(tiles)
        assert not ahead.is_awaited  # whoever begins waits for the first
        while ahead._full.empty():
            time.sleep(0.001)
        next(tiles)
        assert not ahead.is_awaited
        threading.Timer(0.05, gate.let.release, [2]).start()
        next(tiles)
        assert ahead.is_awaited
        assert len(list(tiles)) == 1
    assert not any(thread.is_alive() for thread in gate.threads)


def test_an_error_comes_where_its_tile_is_asked_for_and_names_the_line():
    gate = Gate()
    gate.let.release(100)
    leaf = tfr.from_reader(gate).node  # this line
    seen = []

    def read():
        with ReadAhead([[(leaf, window)] for window in rows(10, 2, 4)]) as ahead:
            seen.extend(tile[0, 0] for (tile,) in ahead)

    with pytest.raises(ReadError, match="no row 6") as caught:
        read()
    assert seen == [0, 2, 4]
    assert "# this line" in str(caught.value)


def test_who_stops_early_waits_for_no_more_than_the_read_under_way():
    gate = Gate()
    gate.let.release(100)
    leaf = tfr.from_reader(gate).node
    with ReadAhead([[(leaf, window)] for window in rows(6, 1, 4)]) as ahead:
        next(iter(ahead))
    assert not any(thread.is_alive() for thread in gate.threads)
    with ReadAhead([[(leaf, window)] for window in rows(6, 1, 4)]):
        pass


class Buffers(SimpleQueue[object]):
    """Buffers that the thread may take at any time: who ends must not wait for one that it saw there."""

    def get(self, block=True, timeout=None):
        assert not block or threading.current_thread() is not threading.main_thread()
        return super().get(block, timeout)


def test_who_stops_early_waits_for_no_buffer(monkeypatch):
    monkeypatch.setattr("tensorframe.files.ahead.SimpleQueue", Buffers)
    gate = Gate()
    leaf = tfr.from_reader(gate).node
    reading = ReadAhead([[(leaf, window)] for window in rows(6, 1, 4)], 3)
    reading._full = SimpleQueue()
    with reading:
        assert gate.asked.acquire(timeout=60)  # one buffer is being filled, two are there
        threading.Timer(0.05, gate.let.release).start()
    assert not any(thread.is_alive() for thread in gate.threads)


@pytest.mark.parametrize("make", [lambda: ReadAhead([]), WriteBehind], ids=["reads", "writes"])
def test_ctrl_c_while_a_thread_starts_leaves_no_thread(make, monkeypatch):
    made = []

    class Interrupted(threading.Thread):
        def start(self):
            super().start()
            made.append(self)
            raise KeyboardInterrupt

    monkeypatch.setattr("tensorframe.files.ahead.Thread", Interrupted)
    with pytest.raises(KeyboardInterrupt), make():
        pass
    (thread,) = made
    thread.join(timeout=60)
    assert not thread.is_alive()


@pytest.fixture
def told(monkeypatch):
    """Have reads of more than 64 bytes leave, 256 at a time, and note what the system is told of each file."""
    ranges = []
    monkeypatch.setattr(access, "_CAN_LEAVE_CACHE", True)
    monkeypatch.setattr(access, "_LONG", 256)
    monkeypatch.setattr(access, "_SHORT", 64)
    monkeypatch.setattr(access, "_BEFORE", 100)
    monkeypatch.setattr(access.os, "POSIX_FADV_DONTNEED", 4, raising=False)
    monkeypatch.setattr(
        access.os, "posix_fadvise", lambda *told: ranges.append(told), raising=False
    )
    return ranges


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("height", [3, 20])  # tiles of 96 bytes, which leave together, and of 640
def test_what_was_read_leaves_the_cache_unless_its_file_was_there(
    height, cached, told, tmp_path, monkeypatch
):
    monkeypatch.setattr(access._Passing, "was_cached", lambda *_: cached)
    leaf = saved(tmp_path / "x.npy", np.zeros((100, 8), np.float32))
    most = 0
    with ReadAhead([[(leaf, window)] for window in rows(100, height, 8)]) as ahead:
        for place, _ in enumerate(ahead):
            read = min((place + 1) * height, 100) * 32
            left = max((start + length - 128 for _, start, length, _ in told), default=0)
            most = max(most, read - left)
    if cached:
        assert not told
        return
    assert most < 256  # bytes that stay for a while
    assert len({file for file, *_ in told}) == 1  # one that stays open
    reach = 128
    for _, start, length, advice in told:
        assert advice == 4
        # with what lies before it: parts of pages that the system treats as one
        assert start == max(reach - 100, 0)
        reach = start + length
    assert reach > 128 + 100 * 32 - 256


def test_parts_of_several_arrays_leave_the_cache_together(told, tmp_path, monkeypatch):
    monkeypatch.setattr(access._Passing, "was_cached", lambda *_: False)
    leaves = [saved(tmp_path / name, np.zeros((100, 8), np.float32)) for name in ("x.npy", "y.npy")]
    tiles = [[(leaf, window) for leaf in leaves] for window in rows(100, 5, 8)]
    with ReadAhead(tiles) as ahead:
        assert len(list(ahead)) == 20
    assert len({file for file, *_ in told}) == 2
    assert len(told) == 40


def test_short_reads_and_those_of_others_stay_in_the_cache(told, tmp_path):
    leaf = saved(tmp_path / "x.npy", np.zeros((100, 8), np.float32))
    with ReadAhead([[(leaf, window)] for window in rows(100, 1, 8)]) as ahead:
        assert len(list(ahead)) == 100
    leaf.attrs[0].read(rows(100, 100, 8)[0])
    assert not told


def test_what_is_written_leaves_the_cache_once_the_disk_has_it(told, tmp_path, monkeypatch):
    monkeypatch.setattr("tensorframe.files.ahead.FLUSH", 1)
    with (tmp_path / "x").open("wb") as file:

        class ToDisk:
            def write(self, window, array):
                file.write(array)

            def flush(self):
                access.to_disk(file, "x")

        access.to_disk(file, "x")
        assert not told
        with WriteBehind() as behind:
            behind.write([(ToDisk(), rows(1, 1, 8)[0], np.zeros((1, 8)))])
        assert told == [(file.fileno(), 0, 0, 4)]


def test_files_that_were_read_are_closed(tmp_path, monkeypatch):
    opened = []

    def opening(path):
        opened.append(open_to_read(path))
        return opened[-1]

    monkeypatch.setattr("tensorframe.frontend.files.segment.open_to_read", opening)
    leaf = saved(tmp_path / "x.npy", np.zeros((100, 8), np.float32))
    with ReadAhead([[(leaf, window)] for window in rows(100, 20, 8)]) as ahead:
        next(iter(ahead))
        assert [file.closed for file in opened] == [False]
    assert [file.closed for file in opened] == [True]


class Taking:
    """A sink that notes what it is given."""

    def __init__(self, fails_at=None):
        self.given = []
        self.flushed = 0
        self.fails_at = fails_at

    def write(self, window, array):
        if len(self.given) == self.fails_at:
            raise WriteError("the disk is full")
        self.given.append((window, array.copy(), threading.current_thread()))

    def flush(self):
        self.flushed += 1


def test_tiles_are_written_in_order_by_another_thread():
    sink = Taking()
    with WriteBehind() as behind:
        for window in rows(10, 3, 4):
            behind.write([(sink, window, np.full(window.sizes, window.starts[0]))])
    assert [array[0, 0] for _, array, _ in sink.given] == [0, 3, 6, 9]
    assert threading.current_thread() not in {thread for _, _, thread in sink.given}
    assert not any(thread.is_alive() for _, _, thread in sink.given)


def test_a_write_waits_for_the_one_before_it():
    """So two tiles are in memory, whatever the disk does."""
    sink = Taking()
    gate, entered = threading.Semaphore(0), threading.Semaphore(0)
    write = sink.write

    def slow(window, array):
        entered.release()
        assert gate.acquire(timeout=60)
        write(window, array)

    sink.write = slow
    with WriteBehind() as behind:
        behind.write([(sink, Window((0,), (1,), (1,)), np.zeros(1))])
        assert entered.acquire(timeout=60)
        assert sink.given == []  # and the program goes on
        gate.release(2)
        behind.write([(sink, Window((1,), (1,), (1,)), np.ones(1))])
        assert len(sink.given) >= 1
    assert len(sink.given) == 2


@pytest.mark.parametrize("fails_at", [0, 2, 3])
def test_an_error_of_a_sink_is_raised_by_the_next_write_or_the_end(fails_at):
    sink = Taking(fails_at)

    def write():
        with WriteBehind() as behind:
            for window in rows(10, 3, 4):
                behind.write([(sink, window, np.zeros(window.sizes))])

    with pytest.raises(WriteError, match="the disk is full"):
        write()
    assert len(sink.given) == fails_at


def test_an_error_of_the_program_is_not_hidden_by_one_of_the_sink():
    def write():
        with WriteBehind() as behind:
            behind.write([(Taking(0), Window((0,), (1,), (1,)), np.zeros(1))])
            raise RuntimeError("ours")

    with pytest.raises(RuntimeError, match="ours"):
        write()


def test_what_is_written_reaches_the_disk_now_and_then():
    sink = Taking()
    tile = np.zeros(FLUSH // 2, np.uint8)
    with WriteBehind() as behind:
        for _ in range(4):
            behind.write([(sink, Window((0,), (len(tile),), (1,)), tile)])
    assert sink.flushed == 2
