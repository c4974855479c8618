"""NumPy's own format: one array (.npy), behind a header that is a Python literal.

Source of the layout: NumPy Enhancement Proposal 1 and the documentation of `numpy.lib.format`.
"""

from __future__ import annotations

import ast
import math
import re
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from tensorframe import dtypes
from tensorframe.dtypes import DType
from tensorframe.files.access import broken
from tensorframe.frontend.files.segment import Segment, Stamp, check_claim, is_shape, open_to_read
from tensorframe.graph.shape import Shape
from tensorframe.quick_dataclasses import dataclass

if TYPE_CHECKING:
    from tensorframe.frontend.files.write import FileSink

MAGIC = b"\x93NUMPY"
MAX_HEADER = (
    10_000  # characters; NumPy's own limit on what it gives to the parser of Python literals
)
ALIGNMENT = 64  # bytes; the elements of an array start at a multiple, as NumPy writes them
FIELDS = {"descr", "fortran_order", "shape"}
# what Python 2 wrote behind large integers: "(3L, 4L)"
LONG_INTEGER = re.compile(r"(?<=\d)L(?=[\s,)])")
# NumPy has no names for dtypes that are not its own and writes them, as every other type of their size, as these
UNNAMED = {
    np.dtype(f"V{dtype.itemsize}"): dtype for dtype in dtypes.FORMAT if dtype in dtypes.ADDED
}


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
    fields = _parse(text.decode("utf-8" if prefix[6] == 3 else "latin1", "replace"), path, name)
    dtype, order, shape = fields["descr"], fields["fortran_order"], fields["shape"]
    if type(order) is not bool or not isinstance(shape, tuple) or not is_shape(shape):
        problem = (
            f"{name} has a header with the shape {shape!r:.80} and fortran_order {order!r:.20}"
        )
        raise broken(path, problem)
    header = Header(8 + width + length, _dtype(dtype, path, name), order, shape)
    check_claim(header.nbytes, path, name)
    return header


def _parse(text: str, path: str, name: str) -> dict[str, Any]:
    """Return the fields of a header."""
    try:
        fields = ast.literal_eval(LONG_INTEGER.sub("", text.strip()))
    except Exception as error:  # the parser of Python literals has many ways to fail
        raise broken(path, f"{name} has a header that cannot be read: {error}") from error
    if not isinstance(fields, dict) or fields.keys() != FIELDS:
        listed = ", ".join(sorted(FIELDS))
        problem = f"{name} has a header that cannot be read: it needs {listed}, got {fields!r:.80}"
        raise broken(path, problem)
    return fields


def _dtype(description: Any, path: str, name: str) -> DType:
    """Return the dtype in the file, byte order included."""
    dtype = _numpy_dtype(description)
    if dtype in UNNAMED:
        return UNNAMED[dtype]
    if dtype is not None and dtype.newbyteorder("=") in dtypes.ANY:
        return dtype
    if dtype is not None and dtype.hasobject:
        problem = f"{name} holds pickled Python objects, which can run any code when they are read"
        hint = (
            "np.load(path, allow_pickle=True) if you trust its author, then asarray of the numbers"
        )
        raise broken(path, problem, hint)
    raise broken(
        path, f"{name} has the dtype {description!r:.80}", "one of " + ", ".join(dtypes.BY_NAME)
    )


def _numpy_dtype(description: Any) -> np.dtype[Any] | None:
    """Return what NumPy makes of a description, None for nonsense, of which it raises whatever it likes."""
    if not isinstance(description, str):
        return None
    try:
        return np.dtype(description)
    except Exception:
        return None


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


def npy_header(shape: Shape, dtype: DType) -> bytes:
    """Return what stands before the elements of an array: it aligns them where it begins aligned."""
    code = f"|V{dtype.itemsize}" if dtype in dtypes.ADDED else dtype.str
    fields = f"{{'descr': {code!r}, 'fortran_order': False, 'shape': {shape}, }}"
    text = fields.encode("latin1")
    text += b" " * (-(10 + len(text) + 1) % ALIGNMENT) + b"\n"
    return MAGIC + b"\x01\x00" + len(text).to_bytes(2, "little") + text


def npy_sink(path: str, shape: Shape, dtype: DType) -> FileSink:
    """Return the sink of an array in an .npy file, whose header is written."""
    from tensorframe.frontend.files.write import new_file  # who reads writes nothing

    (sink,) = new_file(path, npy_header(shape, dtype), [(0, shape, dtype.itemsize)])
    return sink
