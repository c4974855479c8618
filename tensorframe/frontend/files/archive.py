"""Archives in the making: .npz files whose members are written by windows, stored so that they can be mapped.

Source of the layout: PKWARE's APPNOTE.TXT, sections 4.3.7, 4.3.12 to 4.3.16, 4.5.3. A member's local header, before its
elements, has their checksum: room is left for it, and it is written when all elements are there.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tensorframe.dtypes import DType
from tensorframe.errors import DTypeError
from tensorframe.files.windows import write_window
from tensorframe.frontend.files.checksums import CRC_BLOCK, RunningChecksum
from tensorframe.frontend.files.npy import ALIGNMENT, npy_header
from tensorframe.frontend.files.write import Array, NewFile
from tensorframe.graph.shape import Shape
from tensorframe.rewrite.views import Window

LIMIT = (1 << 31) - 1  # numbers from here on have their places in fields of 64 bits
MOST_MEMBERS = (1 << 16) - 1
ELSEWHERE = (1 << 32) - 1  # what stands for such a number in a field of 32 bits
LONGEST_NAME = (1 << 16) - 1 - 64
VERSION = 45  # the first with those fields
UNIX = 3
UTF8 = 0x800  # of flags: the name is in UTF-8
NEW_YEAR_1980 = 0x21  # equal arrays give equal bytes, whatever the clock says
PERMISSIONS = 0o600 << 16
ZIP64_ID, PADDING_ID = 1, 0xD935


@dataclass(slots=True)
class Member:
    """One array: where its local header stands, what stands before its elements, and how many bytes these are."""

    name: bytes
    flags: int
    offset: int
    header: bytes
    nbytes: int
    crc: int = 0

    @property
    def size(self) -> int:
        """The bytes of the member."""
        return len(self.header) + self.nbytes

    @property
    def data(self) -> int:
        """Where the member's bytes begin."""
        return self.offset + len(self.local())

    def local(self) -> bytes:
        """Return the local header, padded so that the member begins aligned."""
        extra = struct.pack("<HHQQ", ZIP64_ID, 16, self.size, self.size)
        missing = -(self.offset + 30 + len(self.name) + len(extra) + 4) % ALIGNMENT
        extra += struct.pack("<HH", PADDING_ID, missing) + bytes(missing)
        fields = (VERSION, self.flags, 0, 0, NEW_YEAR_1980, self.crc, ELSEWHERE, ELSEWHERE)
        lengths = (len(self.name), len(extra))
        return b"PK\3\4" + struct.pack("<5H3L2H", *fields, *lengths) + self.name + extra

    def central(self) -> bytes:
        """Return the entry of the directory."""
        large = [number for number in (self.size, self.size, self.offset) if number >= LIMIT]
        extra = struct.pack(f"<HH{len(large)}Q", ZIP64_ID, 8 * len(large), *large) if large else b""
        size, offset = _short(self.size), _short(self.offset)
        return (
            b"PK\1\2"
            + struct.pack("<BBHHHHH", VERSION, UNIX, VERSION, self.flags, 0, 0, NEW_YEAR_1980)
            + struct.pack("<3L", self.crc, size, size)
            + struct.pack("<5H2L", len(self.name), len(extra), 0, 0, 0, PERMISSIONS, offset)
            + self.name
            + extra
        )


class NewArchive:
    """An .npz file in the making, which is published when all its members are complete."""

    def __init__(self, path: str, tensors: Mapping[str, tuple[Shape, DType]]) -> None:
        self.members: list[Member] = []
        position = 0
        for name, (shape, dtype) in tensors.items():
            nbytes = math.prod(shape) * dtype.itemsize
            member = Member(*_encoded(name), position, npy_header(shape, dtype), nbytes)
            self.members.append(member)
            position = member.data + member.size
        self._end = position
        self._left = len(self.members)
        self.file = NewFile(path, position)
        if not self.members:
            self._finish()

    def complete(self) -> None:
        """Note that one more member is complete, and publish the file after the last."""
        self._left -= 1
        if not self._left:
            self._finish()

    def _finish(self) -> None:
        try:
            for member in self.members:
                self.file.write_at(member.offset, memoryview(member.local() + member.header))
            self.file.write_at(self._end, memoryview(self._directory()))
            self.file.publish()
        except BaseException:
            self.file.abandon()
            raise

    def _directory(self) -> bytes:
        entries = b"".join([member.central() for member in self.members])
        count, size, start = len(self.members), len(entries), self._end
        end = b""
        if count > MOST_MEMBERS or size >= LIMIT or start >= LIMIT:
            numbers = (VERSION, VERSION, 0, 0, count, count, size, start)
            end = b"PK\6\6" + struct.pack("<Q2H2L4Q", 44, *numbers)
            end += b"PK\6\7" + struct.pack("<LQL", 0, start + size, 1)
        count = count if count <= MOST_MEMBERS else 0xFFFF
        places = (_short(size), _short(start))
        return entries + end + b"PK\5\6" + struct.pack("<4H2LH", 0, 0, count, count, *places, 0)


class MemberSink:
    """The elements of one array of a new archive."""

    def __init__(self, archive: NewArchive, member: Member, shape: Shape, itemsize: int) -> None:
        self._archive = archive
        self._member = member
        self._shape = shape
        self._itemsize = itemsize
        self._start = member.data + len(member.header)
        self._checksum = RunningChecksum()
        self._checksum.begin(0, member.header)

    def write(self, window: Window, array: Array) -> None:
        """Write the elements that a window shows."""
        write_window(self._write_at, self._shape, self._itemsize, window, array)

    def _write_at(self, position: int, buffer: memoryview) -> None:
        self._archive.file.write_at(self._start + position, buffer)
        self._checksum.take(len(self._member.header) + position, buffer)

    def flush(self) -> None:
        """Wait until the disk has what was written."""
        self._archive.file.to_disk()

    def close(self) -> None:
        """Give the member its checksum; what was not written in order is read again for that."""
        member, checksum = self._member, self._checksum
        if checksum.end != member.size:
            checksum.begin(0, member.header)
            for position in range(0, member.nbytes, CRC_BLOCK):
                block = memoryview(bytearray(min(CRC_BLOCK, member.nbytes - position)))
                self._archive.file.read_at(self._start + position, block)
                checksum.take(len(member.header) + position, block)
        member.crc = checksum.crc
        self._archive.complete()

    def abort(self) -> None:
        """Leave nothing of the file."""
        self._archive.file.abandon()

    def __str__(self) -> str:
        return Path(self._archive.file.path).name


def npz_sinks(path: str, tensors: Mapping[str, tuple[Shape, DType]]) -> list[MemberSink]:
    """Return the sinks of arrays in a new .npz file."""
    archive = NewArchive(path, tensors)
    kinds = zip(archive.members, tensors.values(), strict=True)
    return [MemberSink(archive, member, shape, dtype.itemsize) for member, (shape, dtype) in kinds]


def _short(number: int) -> int:
    """Return what a field of 32 bits has of a number."""
    return number if number < LIMIT else ELSEWHERE


def _encoded(name: str) -> tuple[bytes, int]:
    """Return the bytes of a member's name, and its flags."""
    encoded = f"{name}.npy".encode()
    if len(encoded) > LONGEST_NAME:
        raise DTypeError(
            f"save: {name[:40]!r}... cannot be the name of a tensor in a file: too long"
        )
    return encoded, 0 if name.isascii() else UTF8
