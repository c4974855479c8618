"""Writing: files appear whole or not at all."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from tensorframe.errors import WriteError
from tensorframe.files.access import broken, read_at, to_disk, write_at, write_error
from tensorframe.files.sink import Sink
from tensorframe.files.windows import write_window
from tensorframe.frontend.files import unfinished
from tensorframe.frontend.files.segment import missing
from tensorframe.graph.shape import Shape
from tensorframe.rewrite.views import Window

# bytes of a file from which on the disk is asked for room before
LARGE = 1 << 20

Array = np.ndarray[Any, Any]


class NewFile:
    """A file in the making, under another name beside the one that it takes when it is published.

    Readers see the old file or the new one. Values still mapped from the old file stay valid.
    """

    def __init__(self, path: str, size: int = 0) -> None:
        """Raise WriteError if the disk has no room for `size` bytes: before they are computed."""
        self.path = path
        self._target = Path(path).resolve()  # a link keeps pointing to where it does
        if not self._target.parent.is_dir():
            raise missing(path)
        if self._target.is_dir():
            raise broken(path, "a folder is in the way")
        check_room(path, self._target.parent, size)
        try:
            # beside it, since only renaming within one file system is atomic
            self._beside, self.file = unfinished.new_file(self._target)
        except OSError as error:
            raise write_error(path, "no file can be made there", error) from error

    def write_at(self, position: int, buffer: memoryview) -> None:
        """Write bytes from a position on."""
        write_at(self.file, self.path, position, buffer)

    def read_at(self, position: int, buffer: memoryview) -> None:
        """Read back what was written."""
        read_at(self.file, self.path, position, buffer)

    def to_disk(self) -> None:
        """Wait until the disk has what was written."""
        to_disk(self.file, self.path)

    def publish(self) -> None:
        """Give the file its name."""
        try:
            self.file.flush()
            if sys.platform == "win32":
                self.file.close()  # an open file takes no other name there
            self._beside.replace(self._target)
            self.file.close()  # and with it its lock
        except OSError as error:
            self.abandon()
            raise write_error(self.path, "the new file cannot take its name", error) from error

    def abandon(self) -> None:
        """Leave nothing of the file; does nothing once it is published."""
        if sys.platform == "win32":
            self._close()  # an open file cannot be removed there
        self._beside.unlink(missing_ok=True)  # while it is locked
        self._close()

    def _close(self) -> None:
        with suppress(OSError):  # what could not be written is not wanted any more
            self.file.close()


class FileSink:
    """The elements of one tensor, at a place of a new file, which is published when all its sinks are closed."""

    def __init__(
        self, file: NewFile, parts: list[int], start: int, shape: Shape, size: int
    ) -> None:
        """`parts` holds how many sinks of the file are open, for all of them; `size` is an element's."""
        self._file = file
        self._parts = parts
        self._start = start
        self._shape = shape
        self._size = size

    def write(self, window: Window, array: Array) -> None:
        """Write the elements that a window shows."""
        write_window(self._write_at, self._shape, self._size, window, array)

    def _write_at(self, position: int, buffer: memoryview) -> None:
        self._file.write_at(self._start + position, buffer)

    def flush(self) -> None:
        """Wait until the disk has what was written."""
        self._file.to_disk()

    def close(self) -> None:
        """Publish the file, if all others are closed."""
        self._parts[0] -= 1
        if not self._parts[0]:
            self._file.publish()

    def abort(self) -> None:
        """Leave nothing of the file."""
        self._file.abandon()

    def __str__(self) -> str:
        return Path(self._file.path).name


def new_file(path: str, header: bytes, tensors: Sequence[tuple[int, Shape, int]]) -> list[FileSink]:
    """Return the sinks of a new file of a header and tensors, each of a start behind it, a shape and an item size."""
    elements = [(start, int(np.prod(shape, dtype=object)) * size) for start, shape, size in tensors]
    file = NewFile(path, len(header) + max([sum(place) for place in elements], default=0))
    try:
        file.write_at(0, memoryview(header))
        if not tensors:
            file.publish()
    except BaseException:
        file.abandon()
        raise
    parts = [len(tensors)]
    return [
        FileSink(file, parts, len(header) + start, shape, size) for start, shape, size in tensors
    ]


@contextmanager
def written(sinks: Sequence[Sink]) -> Iterator[None]:
    """Close sinks when the block ends, and abort them if it fails, or one of them does."""
    try:
        yield
        for sink in sinks:
            sink.close()
    except BaseException:
        for sink in sinks:
            sink.abort()
        raise


def check_room(path: str, folder: Path, size: int) -> None:
    """Raise WriteError if the disk has less room than a large file takes: it need not be computed first."""
    if size < LARGE:
        return
    try:
        free = shutil.disk_usage(folder).free
    except OSError:  # who cannot say
        return
    if free < size:
        raise WriteError(
            f"{path} takes {size} bytes, and the disk has {free}; an older file stays until the new one is complete",
            suggestions=(
                "make room, or a path on another disk",
                "a smaller dtype, such as float32",
            ),
        )
