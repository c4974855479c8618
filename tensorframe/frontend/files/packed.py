"""Packed members: compressed arrays of .npz files, unpacked in pieces when their elements, or some, are needed."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from tensorframe.dtypes import DType
from tensorframe.files.access import broken
from tensorframe.files.reader import Array, new_array
from tensorframe.files.windows import read_window
from tensorframe.forks import new_lock
from tensorframe.frontend.files.cursor import Cursor
from tensorframe.frontend.files.npy import Header
from tensorframe.frontend.files.segment import Stamp, check_bools, native, open_to_read, settled
from tensorframe.frontend.files.slabs import Part, slabs
from tensorframe.frontend.files.zip_errors import zip_errors
from tensorframe.graph.shape import Shape
from tensorframe.rewrite.views import Window

# How often a member is gone through for parts of it alone: each time all of it is unpacked and checked, and only what
# is requested is kept. Whoever goes on asking gets all of it read once more, and kept.
PASSES = 2


@dataclass(slots=True)
class _Passes:
    """How often a member was gone through, all of its elements once they are kept, and where reading goes on."""

    lock: Any = field(default_factory=new_lock)
    count: int = 0
    whole: Array | None = None
    cursor: Cursor | None = None


@dataclass(frozen=True, slots=True)
class PackedMember:
    """A compressed array of an .npz file, unpacked when its elements are needed."""

    path: str
    name: str
    stamp: Stamp
    member: str
    header: Header
    passes: _Passes = field(default_factory=_Passes, compare=False, repr=False)

    @property
    def shape(self) -> Shape:
        """The shape of the array."""
        return self.header.shape

    @property
    def dtype(self) -> DType:
        """The dtype of the elements in memory."""
        return native(self.header.dtype)

    @property
    def chunks(self) -> Shape:
        """All of it is unpacked for any of its elements."""
        return self.shape

    @property
    def axes(self) -> Shape:
        """The order in the file, the slowest first: others take a pass for each part."""
        return tuple(range(len(self.shape)))[:: -1 if self.header.fortran_order else 1]

    @property
    def mapped(self) -> bool:
        """Its elements are not in the file as they are in memory."""
        return False

    @property
    def scratch(self) -> int:
        """A piece is all that is unpacked at once."""
        return 0

    def read(self, window: Window | None = None, out: Array | None = None) -> Array:
        """Return what a window shows, or all; a piece is all that is in memory beside it."""
        if window is None and out is None:
            return self._all()
        window = window or Window.whole(self.shape)
        if out is None:
            (part,) = self.parts([window])
            return part
        # who has memory of its own goes on to other windows, in order: nothing is kept for that
        out = new_array(self, window, out)
        stored, columns = self.header.dtype, self.header.fortran_order
        read_window(self._read_at, self.shape, stored, window, out, columns=columns)
        check_bools(out, self.path, self.name)
        return out

    def _read_at(self, position: int, buffer: memoryview) -> None:
        if self.passes.cursor is None:
            size = self.header.size + self.header.nbytes
            self.passes.cursor = Cursor(self.path, self.name, self.stamp, self.member, size)
        self.passes.cursor.read_at(self.header.size + position, buffer)

    def _all(self) -> Array:
        if self.passes.whole is not None:
            return self.passes.whole
        (whole,) = self._unpacked([Window.whole(self.shape)])
        return whole

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        # what was counted and kept stays here
        return (PackedMember, (self.path, self.name, self.stamp, self.member, self.header))

    def __str__(self) -> str:
        return f"{self.name!r} in {Path(self.path).name}"

    def parts(self, windows: Sequence[Window]) -> list[Array]:
        """Return what windows show of the elements, from one pass that keeps nothing else; see PASSES."""
        passes = self.passes
        with passes.lock:
            if passes.whole is None and passes.count < PASSES:
                passes.count += 1
                return self._unpacked(windows)
            if passes.whole is None:
                passes.whole = self._all()
            return [passes.whole[window.key()].copy() for window in windows]

    def _unpacked(self, windows: Sequence[Window]) -> list[Array]:
        """Return what windows show, from one pass through the member, whose checksum is compared at its end."""
        header = self.header
        # elements by columns are those of the transpose by rows
        turn = slice(None, None, -1 if header.fortran_order else 1)
        parts = [Part(window, header.dtype, turn) for window in windows]
        with open_to_read(self.path) as file:
            self.stamp.check(file, self.path)
            with (
                zip_errors(self.path),
                zipfile.ZipFile(file) as archive,
                archive.open(self.member) as member,
            ):
                self._bytes(member, header.size)
                for slab in slabs(header.shape[turn], header.dtype.itemsize):
                    data = self._bytes(member, slab.size * header.dtype.itemsize)
                    values = np.frombuffer(data, header.dtype).reshape(slab.shape)
                    for part in parts:
                        part.take(slab, values)
        return [settled(part.array(), self.path, self.name) for part in parts]

    def _bytes(self, member: IO[bytes], count: int) -> bytes:
        """Return the next bytes."""
        data = member.read(count)
        if len(data) < count:
            raise broken(self.path, f"{self.name!r} unpacks to fewer bytes than its header says")
        return data
