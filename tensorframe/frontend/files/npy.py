"""NumPy's own formats: one array (.npy), or a zip file of them (.npz).

Source of the layout: NumPy Enhancement Proposal 1 and the documentation of `numpy.lib.format`.
"""

from __future__ import annotations

import ast
import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from tensorframe import dtypes
from tensorframe.dtypes import DType
from tensorframe.errors import FileFormatError
from tensorframe.frontend.files.segment import (
    Checksum,
    Segment,
    Stamp,
    broken,
    is_shape,
    open_to_read,
    settled,
)
from tensorframe.frontend.files.write import write_elements
from tensorframe.graph.shape import Shape

MAGIC = b"\x93NUMPY"
MAX_HEADER = (
    10_000  # characters; NumPy's own limit on what it gives to the parser of Python literals
)
ALIGNMENT = 64  # bytes; the elements of an array start at a multiple, as NumPy writes them
LOCAL_HEADER = 30  # bytes before the name of a zip member (PKWARE's APPNOTE.TXT, 4.3.7)
PADDING_ID = b"\x35\xd9"  # the extra field that zip aligners fill up with
# NumPy has no name for bfloat16 and writes it, as every other type of two bytes, as this one
UNNAMED_16_BITS = np.dtype("V2")


@dataclass(frozen=True, slots=True)
class Header:
    """What stands before the elements."""

    size: int
    dtype: DType
    fortran_order: bool
    shape: Shape

    @property
    def nbytes(self) -> int:
        """The bytes that the elements take."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(file: IO[bytes], path: str, name: str) -> Header:
    """Return the header at the file's position; FileFormatError says what is wrong with it."""
    prefix = file.read(8)
    if prefix[:6] != MAGIC:
        raise broken(path, f"{name} is not a NumPy array: it starts with {prefix[:6]!r}")
    if len(prefix) < 8 or prefix[6] not in (1, 2, 3):
        raise broken(path, f"{name} has the unknown format version {tuple(prefix[6:])}")
    width = 2 if prefix[6] == 1 else 4
    length = int.from_bytes(file.read(width), "little")
    if length > MAX_HEADER:
        raise broken(path, f"{name} has a header of {length} bytes; {MAX_HEADER} are allowed")
    text = file.read(length)
    if len(text) < length:
        raise broken(path, f"truncated in the header of {name}")
    try:
        fields = ast.literal_eval(text.decode("utf-8" if prefix[6] == 3 else "latin1").strip())
        dtype, order, shape = fields["descr"], fields["fortran_order"], fields["shape"]
    except Exception as error:  # the parser of Python literals has many ways to fail
        raise broken(path, f"{name} has a header that cannot be read: {error}") from error
    if type(order) is not bool or not isinstance(shape, tuple) or not is_shape(shape):
        problem = (
            f"{name} has a header with the shape {shape!r:.80} and fortran_order {order!r:.20}"
        )
        raise broken(path, problem)
    return Header(8 + width + length, _dtype(dtype, path, name), order, shape)


def _dtype(description: Any, path: str, name: str) -> DType:
    """Return the dtype in the file, byte order included."""
    try:
        found = np.dtype(description) if isinstance(description, str) else None
    except (TypeError, ValueError):
        found = None
    if found == UNNAMED_16_BITS:
        return dtypes.bfloat16
    if found is not None and found.newbyteorder("=") in dtypes.ANY:
        return found
    if found is not None and found.hasobject:
        problem = f"{name} holds pickled Python objects, which can run any code when they are read"
        hint = (
            "np.load(path, allow_pickle=True) if you trust its author, then asarray of the numbers"
        )
        raise broken(path, problem, hint)
    raise broken(
        path, f"{name} has the dtype {description!r:.80}", "one of " + ", ".join(dtypes.BY_NAME)
    )


def npy_segment(path: str) -> Segment:
    """Return where the array of an .npy file lies."""
    with open_to_read(path) as file:
        stamp = Stamp.of(file)
        header = read_header(file, path, "it")
    held = stamp.size - header.size
    if held != header.nbytes:
        kind = "truncated" if held < header.nbytes else "too long"
        problem = f"{kind}: {header.dtype} of shape {header.shape} takes {header.nbytes} bytes"
        raise broken(path, f"{problem}, but there are {held}")
    return Segment(path, "it", stamp, header.size, header.shape, header.dtype, header.fortran_order)


def write_npy(file: IO[bytes], array: np.ndarray[Any, Any]) -> None:
    """Write one array, with a header that aligns its elements where the file starts aligned."""
    code = UNNAMED_16_BITS.str if array.dtype == dtypes.bfloat16 else array.dtype.str
    fields = f"{{'descr': {code!r}, 'fortran_order': False, 'shape': {array.shape}, }}"
    text = fields.encode("latin1")
    text += b" " * (-(10 + len(text) + 1) % ALIGNMENT) + b"\n"
    file.write(MAGIC + b"\x01\x00" + len(text).to_bytes(2, "little") + text)
    write_elements(file, array)


@dataclass(frozen=True, slots=True)
class PackedMember:
    """A compressed array of an .npz file, unpacked when its elements are needed."""

    path: str
    name: str
    stamp: Stamp
    member: str
    header: Header

    @property
    def shape(self) -> Shape:
        """The shape of the array."""
        return self.header.shape

    @property
    def dtype(self) -> DType:
        """The dtype in the file."""
        return self.header.dtype

    def read(self) -> np.ndarray[Any, Any]:
        """Return the elements."""
        header = self.header
        with open_to_read(self.path) as file:
            self.stamp.check(file, self.path)
            with _zip_errors(self.path), zipfile.ZipFile(file) as archive:
                # the whole member, since its checksum is known only at its end
                data = archive.read(self.member)
        if len(data) != header.size + header.nbytes:
            raise broken(self.path, f"{self.name!r} unpacks to {len(data)} bytes")
        flat = np.frombuffer(data, header.dtype, math.prod(header.shape), header.size)
        array = flat.reshape(header.shape, order="F" if header.fortran_order else "C")
        return settled(array, self.path, self.name)


# NotImplementedError: an unknown compression; RuntimeError: encrypted; the others: nonsense in the directory
ZIP_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    ValueError,
    OSError,
    OverflowError,
    KeyError,
)


@contextmanager
def _zip_errors(path: str) -> Iterator[None]:
    """Turn what zipfile raises on damaged files into FileFormatError."""
    try:
        yield
    except FileFormatError:
        raise
    except ZIP_DAMAGE as error:
        raise broken(path, f"the zip file cannot be read: {error}") from error


def npz_members(path: str) -> dict[str, Segment | PackedMember]:
    """Return where each array of an .npz file lies; only the directory and the headers are read."""
    found: dict[str, Segment | PackedMember] = {}
    with open_to_read(path) as file:
        stamp = Stamp.of(file)
        start = file.read(4)
        if start not in (b"PK\x03\x04", b"PK\x05\x06"):
            raise broken(path, f"not an .npz file: it starts with {start!r}, a zip file with b'PK'")
        file.seek(0)
        with _zip_errors(path), zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                if name in found:
                    raise broken(path, f"{name!r} appears twice")
                found[name] = _member(path, name, stamp, archive, info)
    return found


def _member(
    path: str, name: str, stamp: Stamp, archive: zipfile.ZipFile, info: zipfile.ZipInfo
) -> Segment | PackedMember:
    with archive.open(info) as member:
        header = read_header(member, path, repr(name))
    if info.file_size != header.size + header.nbytes:
        needs = f"{header.dtype} of shape {header.shape} takes {header.nbytes} bytes"
        raise broken(path, f"{name!r}: {needs}, but there are {info.file_size - header.size}")
    if info.compress_type != zipfile.ZIP_STORED:
        return PackedMember(path, name, stamp, info.filename, header)
    start = _start(archive, info)
    if start + info.file_size > stamp.size:
        raise broken(path, f"truncated: {name!r} ends behind the file")
    checksum = Checksum(start, info.file_size, info.CRC)
    return Segment(
        *(path, name, stamp, start + header.size, header.shape, header.dtype),
        fortran_order=header.fortran_order,
        checksum=checksum,
    )


def _start(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> int:
    """Return where a member's bytes start: its local header may differ in length from the directory's."""
    file = archive.fp
    if file is None:
        raise ValueError("the zip file is closed")
    file.seek(info.header_offset + LOCAL_HEADER - 4)
    lengths = file.read(4)
    name, extra = int.from_bytes(lengths[:2], "little"), int.from_bytes(lengths[2:], "little")
    return info.header_offset + LOCAL_HEADER + name + extra


def write_npz(file: IO[bytes], arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write a zip file of arrays, not compressed, so that they can be mapped; equal arrays give equal bytes."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            info = zipfile.ZipInfo(f"{name}.npy")  # dated 1980, whatever the clock says
            info.extra = _padding(file.tell(), info.filename)
            with archive.open(info, "w", force_zip64=True) as member:
                write_npy(member, array)


def _padding(position: int, name: str) -> bytes:
    """Return the extra field that lets the member at `position` start aligned."""
    zip64 = 20  # bytes of the extra field that zipfile adds for sizes over 4 GiB
    before = position + LOCAL_HEADER + len(name.encode()) + zip64 + 4
    missing = -before % ALIGNMENT
    return PADDING_ID + missing.to_bytes(2, "little") + bytes(missing)
