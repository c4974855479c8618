"""Reading ahead and writing behind: threads read the next tiles and write the last one while this one is computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from math import prod
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Self

import numpy as np

from tensorframe.files.access import passing_through
from tensorframe.files.reader import Array, read_leaf
from tensorframe.files.sink import Sink
from tensorframe.graph.node import Node
from tensorframe.rewrite.views import Window

# What a tile takes of each `file` node, and what is written of it.
Wanted = Sequence[tuple[Node, Window]]
Made = Sequence[tuple[Sink, Window, Array]]

# Buffers that tiles need at least: one is read while one is used.
FEWEST = 2
# Bytes that are written before the disk must have them: what a limit on memory counts as ours until then.
FLUSH = 32 << 20
# Bytes that arrays in a buffer begin at multiples of: a line of the cache.
ALIGNED = 64


class ReadAhead:
    """What tiles need of `file` nodes, read by a thread: a tile is used while the next are read into other buffers.

    Used in a `with` block, whose end waits for no more than the read under way. Arrays that an iteration gives are
    valid until the next one is requested. What the thread raises is raised where its tile is requested.
    """

    def __init__(self, tiles: Iterable[Wanted], buffers: int = FEWEST) -> None:
        # whether the tile that was given last, after the first, had to be waited for
        self.is_awaited = False
        self._tiles, self._buffers = tiles, buffers
        self._free: SimpleQueue[_Buffer | None] = SimpleQueue()
        self._full: SimpleQueue[_Buffer | BaseException | None] = SimpleQueue()
        self._thread = Thread(target=self._read, name="tensorframe-read-ahead", daemon=True)

    def __enter__(self) -> Self:
        for _ in range(self._buffers):
            self._free.put(_Buffer())
        try:
            self._thread.start()
        except BaseException:  # Ctrl-C, after which nobody comes to the end of the block
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._thread.join()

    def _end(self) -> None:
        # buffers that would be filled before the end is seen, of which the thread may take some now
        with suppress(Empty):
            while True:
                self._free.get_nowait()
        self._free.put(None)

    def __iter__(self) -> Iterator[list[Array]]:
        full = self._full.get()
        while full is not None:
            if isinstance(full, BaseException):
                raise full
            yield full.arrays
            self._free.put(full)
            self.is_awaited = self._full.empty()
            full = self._full.get()

    def _read(self) -> None:
        try:
            with passing_through():
                for wanted in self._tiles:
                    buffer = self._free.get()
                    if buffer is None:
                        return
                    buffer.fill(wanted)
                    self._full.put(buffer)
            self._full.put(None)
        except BaseException as error:
            self._full.put(error)


class _Buffer:
    """Memory that tiles are read into, one after the other: as much as the largest of them takes, and no more."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self._memory: Array = np.empty(0, np.uint8)

    def fill(self, wanted: Wanted) -> None:
        """Read what a tile needs."""
        self.arrays = []
        sizes = [prod(window.sizes) * leaf.dtype.itemsize for leaf, window in wanted]
        starts = list(accumulate([-(-size // ALIGNED) * ALIGNED for size in sizes], initial=0))
        if len(self._memory) < starts[-1]:
            self._memory = np.empty(0, np.uint8)  # before there is another
            self._memory = np.empty(starts[-1], np.uint8)
        for (leaf, window), start, size in zip(wanted, starts, sizes, strict=False):
            array = self._memory[start : start + size].view(leaf.dtype).reshape(window.sizes)
            self.arrays.append(read_leaf(leaf, window, array))


class WriteBehind:
    """Sinks that are written to by a thread, one tile at a time, while the next tile is computed.

    Used in a `with` block, whose end waits until everything is written. What the thread raises is raised by the next
    write, or at the end. It neither opens nor closes sinks.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Made | None] = SimpleQueue()
        self._done: SimpleQueue[BaseException | None] = SimpleQueue()
        self._waiting = False
        self._since_flush = 0  # bytes
        self._thread = Thread(target=self._write, name="tensorframe-write-behind", daemon=True)

    def __enter__(self) -> Self:
        try:
            self._thread.start()
        except BaseException:  # as in `ReadAhead`
            self._jobs.put(None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._jobs.put(None)
        self._thread.join()
        if kind is None:
            self.wait()

    def write(self, made: Made) -> None:
        """Have a tile written, once the last one is; its arrays stay as they are until the next `write` returns."""
        self.wait()
        self._waiting = True
        self._jobs.put(made)

    def wait(self) -> None:
        """Wait until what was given is written."""
        if self._waiting:
            error = self._done.get()
            self._waiting = False
            if error is not None:
                raise error

    def _write(self) -> None:
        with passing_through():
            while (made := self._jobs.get()) is not None:
                error: BaseException | None = None
                try:
                    self._write_tile(made)
                except BaseException as raised:
                    error = raised
                del made  # its memory, before the next is waited for
                self._done.put(error)

    def _write_tile(self, made: Made) -> None:
        """Write a tile: by itself, since the variables of a loop would refer to its last array until the next one."""
        for sink, window, array in made:
            sink.write(window, array)
            self._since_flush += array.nbytes
        if self._since_flush >= FLUSH:
            for sink in {sink for sink, _, _ in made}:
                sink.flush()
            self._since_flush = 0
