"""Segments: the elements of one tensor in a file, named now and read, all or by windows, when they are needed."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from tensorframe import config
from tensorframe.dtypes import BY_NAME, DType
from tensorframe.errors import MissingFileError
from tensorframe.files.access import broken, read_at, reading
from tensorframe.files.reader import Array, new_array
from tensorframe.files.windows import read_window
from tensorframe.frontend.files.checksums import Checksum
from tensorframe.graph.shape import Shape
from tensorframe.quick_dataclasses import dataclass
from tensorframe.rewrite.views import Window

_BINARY, _NO_WAITING = getattr(os, "O_BINARY", 0), getattr(os, "O_NONBLOCK", 0)
# NumPy's limits: axes of an array, and elements of 16 bytes whose bytes a signed 64-bit integer can count
MAX_AXES = 64
MAX_SIZE = (1 << 59) - 1


def check_claim(nbytes: int, path: str, name: str) -> None:
    """Raise FileFormatError if an array's header claims more bytes than the option `load_bytes` allows."""
    limit = config.get().load_bytes
    if limit and nbytes > limit:
        raise broken(
            path,
            f"{name} claims {nbytes} bytes, and the option load_bytes allows {limit}",
            f"with tfr.config.override(load_bytes={nbytes}), if you trust its author",
        )


def open_to_read(path: str) -> IO[bytes]:
    """Open a regular file that must exist; MissingFileError says where it was looked for."""
    try:
        # a pipe is opened without waiting for somebody who writes into it, only to be refused
        handle = os.open(path, os.O_RDONLY | _BINARY | _NO_WAITING)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise missing(path) from error
    except IsADirectoryError as error:
        raise broken(path, "a folder, not a file") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise broken(path, "a pipe, device or folder, not a file")
    return os.fdopen(handle, "rb")


def missing(path: str) -> MissingFileError:
    """Return the error for a file that is not there, with the nearest folder that is."""
    folder = next(folder for folder in Path(path).absolute().parents if folder.is_dir())
    hint = (
        f"a path that exists: {str(folder)!r} does, and relative paths start at {str(Path.cwd())!r}"
    )
    return MissingFileError(f"there is no file {path!r}", suggestions=(hint,))


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells a file from a later one under the same name."""

    size: int
    modified: int  # nanoseconds

    @classmethod
    def of(cls, file: IO[bytes]) -> Stamp:
        """Return the stamp of an open file."""
        status = os.fstat(file.fileno())
        return cls(status.st_size, status.st_mtime_ns)

    def check(self, file: IO[bytes], path: str) -> None:
        """Raise FileFormatError if the open file is not the one that was stamped."""
        now = Stamp.of(file)
        if now != self:
            change = (
                f"it had {self.size} bytes and has {now.size}"
                if now.size != self.size
                else "it was written to"
            )
            hint = "load it again; compute() tensors before their file is replaced"
            raise broken(path, f"the file has changed since it was loaded: {change}", hint)


@dataclass(frozen=True, slots=True)
class Segment:
    """Elements that lie in a file as they lie in memory: a Reader of them.

    `stored` is the dtype in the file, whose bytes may be in the other order. Equal segments have equal elements.
    """

    path: str
    name: str
    stamp: Stamp
    offset: int
    shape: Shape
    stored: DType
    fortran_order: bool = False
    checksum: Checksum | None = None

    @property
    def dtype(self) -> DType:
        """The dtype of the elements in memory."""
        return native(self.stored)

    @property
    def chunks(self) -> None:
        """Any element can be read alone."""
        return None

    @property
    def axes(self) -> Shape:
        """The order in the file, the slowest first."""
        return tuple(range(len(self.shape)))[:: -1 if self.fortran_order else 1]

    @property
    def mapped(self) -> bool:
        """Whether the elements lie as the engines want them."""
        return self.stored.isnative and self.offset % self.stored.alignment == 0

    @property
    def scratch(self) -> int:
        """A piece is all that is read at once."""
        return 0

    def read(self, window: Window | None = None, out: Array | None = None) -> Array:
        """Return what a window shows; of all of it a read-only view of the file, if that is `mapped`."""
        with reading(self.path, open_to_read) as file:
            self.stamp.check(file, self.path)
            if window is None and out is None:
                return self._whole(file)
            window = window or Window.whole(self.shape)
            out = new_array(self, window, out)
            read_window(
                partial(self._read_at, file),
                *(self.shape, self.stored, window, out),
                columns=self.fortran_order,
            )
        check_bools(out, self.path, self.name)
        return out

    def _read_at(self, file: IO[bytes], position: int, buffer: memoryview) -> None:
        read_at(file, self.path, self.offset + position, buffer)
        if self.checksum is not None:
            if not position:
                header = bytearray(self.offset - self.checksum.start)
                read_at(file, self.path, self.checksum.start, memoryview(header))
                self.checksum.running.begin(self.checksum.start, header)
            self.checksum.take(self.offset + position, buffer, self.path, self.name)

    def _whole(self, file: IO[bytes]) -> Array:
        if self.checksum is not None:
            self.checksum.check(file, self.path, self.name)
        if math.prod(self.shape) == 0:
            return np.empty(self.shape, self.dtype)
        order: Literal["F", "C"] = "F" if self.fortran_order else "C"
        # by name: the open file would do as well, but not to the type checker
        mapped = np.memmap(self.path, self.stored, "r", self.offset, self.shape, order)
        return settled(np.asarray(mapped), self.path, self.name)

    def __str__(self) -> str:
        return (
            Path(self.path).name
            if self.name == "it"
            else f"{self.name!r} in {Path(self.path).name}"
        )


def is_shape(sizes: Sequence[Any]) -> bool:
    """Whether a file's description of a shape is one that memory can have, zeros apart."""
    if len(sizes) > MAX_AXES or not all(type(size) is int and size >= 0 for size in sizes):
        return False
    return bool(math.prod(max(size, 1) for size in sizes) <= MAX_SIZE)


def native(dtype: DType) -> DType:
    """Return the dtype of elements of `dtype` once they are in memory."""
    return BY_NAME[dtype.name]


def settled(array: Array, path: str, name: str) -> Array:
    """Return elements from a file as the engines expect them: aligned, of native byte order, bools 0 or 1."""
    check_bools(array, path, name)
    if not array.flags.aligned or not array.dtype.isnative:
        array = array.astype(native(array.dtype))
    array.flags.writeable = False
    return array


def check_bools(array: Array, path: str, name: str) -> None:
    """Raise FileFormatError where bools from a file are neither 0 nor 1."""
    if array.dtype.kind == "b" and array.view(np.uint8).max(initial=0) > 1:
        raise broken(path, f"{name!r} is bool, but has bytes that are neither 0 nor 1")
