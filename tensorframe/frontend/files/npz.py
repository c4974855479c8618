"""NumPy's zip files of arrays (.npz): which arrays are in one, and where.

Source of the layout: the documentation of `numpy.savez`, and PKWARE's APPNOTE.TXT.
"""

from __future__ import annotations

import zipfile

from tensorframe.errors import FileFormatError
from tensorframe.files.access import broken
from tensorframe.frontend.files.checksums import Checksum
from tensorframe.frontend.files.npy import read_header
from tensorframe.frontend.files.packed import PackedMember
from tensorframe.frontend.files.segment import Segment, Stamp, open_to_read
from tensorframe.frontend.files.zip_errors import zip_errors

LOCAL_HEADER = 30  # bytes before the name of a zip member (APPNOTE.TXT, 4.3.7)
# What deflate makes of a byte at most, and of nothing; see the documentation of zlib, "Maximum Expansion Factor".
DEFLATE_RATIO, DEFLATE_SPARE = 1032, 4096

Member = Segment | PackedMember | FileFormatError


def npz_members(path: str) -> dict[str, Member]:
    """Return where each array of an .npz file lies, or why a member is none; only directory and headers are read."""
    members: dict[str, Member] = {}
    with open_to_read(path) as file:
        stamp = Stamp.of(file)
        start = file.read(4)
        if start not in (b"PK\x03\x04", b"PK\x05\x06"):
            raise broken(path, f"not an .npz file: it starts with {start!r}, a zip file with b'PK'")
        file.seek(0)
        with zip_errors(path), zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                if info.filename.endswith("/"):  # a folder
                    continue
                name = info.filename.removesuffix(".npy")
                if name in members:
                    raise broken(path, f"{name!r} appears twice")
                try:
                    members[name] = _member(path, name, stamp, archive, info)
                except FileFormatError as error:  # the others may be what it was loaded for
                    members[name] = error
    return members


def _member(
    path: str, name: str, stamp: Stamp, archive: zipfile.ZipFile, info: zipfile.ZipInfo
) -> Segment | PackedMember:
    with zip_errors(path), archive.open(info) as member:
        header = read_header(member, path, repr(name))
    if info.file_size != header.size + header.nbytes:
        needs = f"{header.dtype} of shape {header.shape} takes {header.nbytes} bytes"
        raise broken(path, f"{name!r}: {needs}, but there are {info.file_size - header.size}")
    most = info.compress_size * DEFLATE_RATIO + DEFLATE_SPARE
    if info.compress_type == zipfile.ZIP_DEFLATED and info.file_size > most:
        claim = f"{info.file_size} bytes from {info.compress_size}"
        raise broken(path, f"{name!r} cannot unpack to {claim}: {most} are possible")
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
