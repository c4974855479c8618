"""The GGUF format of llama.cpp: metadata by name, then where each tensor lies, then the tensors, quantised in blocks.

Source: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Nothing is believed: every count is compared with the
bytes that are left before anything is read or reserved for it.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tensorframe.dtypes import BY_NAME, DType
from tensorframe.files.access import broken
from tensorframe.files.reader import Array, new_array
from tensorframe.files.windows import PIECE, forward_axes, forward_key, turns
from tensorframe.frontend.files.gguf_blocks import KINDS, PARTS, Kind
from tensorframe.frontend.files.segment import Segment, Stamp, check_claim, is_shape, open_to_read
from tensorframe.graph.shape import Shape
from tensorframe.quick_tuples import NamedTuple
from tensorframe.rewrite.views import Window

MAGIC, VERSIONS = b"GGUF", (2, 3)
# bytes that a name, or the key of metadata, has at most, and axes of a tensor
_NAME, _AXES = 65535, 4
# how deep arrays of metadata may be nested
_DEPTH = 8
# what tensors lie at multiples of, unless the metadata says otherwise
_ALIGNMENT = 32
# numbers of metadata: their kind -> how they are read
_NUMBERS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_STRING, _ARRAY = 8, 9
# tensors whose elements lie as they are used
_PLAIN = {
    0: "float32",
    1: "float16",
    24: "int8",
    25: "int16",
    26: "int32",
    27: "int64",
    28: "float64",
    30: "bfloat16",
}
# kinds that others write, to name them in errors
_OTHERS = {
    6: "Q5_0",
    7: "Q5_1",
    9: "Q8_1",
    10: "Q2_K",
    11: "Q3_K",
    15: "Q8_K",
    20: "IQ4_NL",
    23: "IQ4_XS",
    39: "MXFP4",
}
_SPLIT = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Blocks:
    """A tensor in quantised blocks: a Reader of what they mean."""

    path: str
    name: str
    stamp: Stamp
    offset: int
    shape: Shape
    kind: Kind
    dtype: DType

    @property
    def chunks(self) -> None:
        """Any block can be read alone."""
        return None

    @property
    def axes(self) -> Shape:
        """The order in the file."""
        return tuple(range(len(self.shape)))

    @property
    def mapped(self) -> bool:
        """Elements are made of blocks when they are read."""
        return False

    @property
    def scratch(self) -> int:
        """A piece is all that is unpacked at once."""
        return 0

    def read(self, window: Window | None = None, out: Array | None = None) -> Array:
        """Return the elements that a window shows, or all: blocks that it does not touch are not read."""
        window = window or Window.whole(self.shape)
        out = new_array(self, window, out)
        with open_to_read(self.path) as file:
            self.stamp.check(file, self.path)
        if out.size:
            self._fill(forward_axes(window), out[turns(window)])
        return out

    def _fill(self, axes: list[tuple[int, int, int]], out: Array) -> None:
        *outer, (start, size, step) = axes
        each = self.kind.size
        first, last = start // each, (start + step * (size - 1)) // each + 1
        shape = (*self.shape[:-1], self.shape[-1] // each, self.kind.nbytes)
        stored = np.memmap(self.path, np.uint8, "r", self.offset, shape)
        blocks = np.asarray(stored)[(*forward_key(outer), slice(first, last))]
        if not outer:
            blocks, out = blocks[None], out[None]
        count = last - first
        rows = max(PIECE // (count * each * self.dtype.itemsize), 1)
        begin = start - first * each
        for place in np.ndindex(*blocks.shape[:-3]):
            for top in range(0, blocks.shape[-3], rows):
                piece = blocks[place][top : top + rows]
                numbers = self.kind.numbers(piece.reshape((-1, self.kind.nbytes)))
                lines = numbers.reshape((len(piece), count * each))
                out[place][top : top + rows] = lines[
                    :, begin : begin + step * (size - 1) + 1 : step
                ]

    def part(self, number: int) -> Blocks:
        """Return the words, or the scales, that a kind of `PARTS` has."""
        _, *kinds = PARTS[self.kind.name]
        dtype = BY_NAME["float16" if number else "uint32"]
        columns = self.shape[-1] // self.kind.size * kinds[number].size
        return Blocks(
            self.path,
            self.name,
            self.stamp,
            self.offset,
            (*self.shape[:-1], columns),
            kinds[number],
            dtype,
        )

    def __str__(self) -> str:
        return f"{self.name!r} in {Path(self.path).name}"


class Contents(NamedTuple):
    """What a file says of itself."""

    metadata: dict[str, Any]
    readers: dict[str, Segment | Blocks]


def read_gguf(path: str) -> Contents:
    """Return the metadata and the tensors of a file, or of all files that it is the first of."""
    contents = _read_one(path)
    count = contents.metadata.get("split.count", 0)
    if not isinstance(count, int) or count < 2:
        return contents
    match = _SPLIT.search(path)
    number = contents.metadata.get("split.no")
    if match is None or int(match[2]) != count:
        name = f"-00001-of-{count:05}.gguf"
        raise broken(
            path, f"it is one of {count} files, whose names have to end with {name} and so on"
        )
    if number != 0 or int(match[1]) != 1:
        first = f"{path[: match.start()]}-00001-of-{match[2]}.gguf"
        raise broken(
            path, f"it is file {match[1]} of {count}", f"load {first!r}, which finds the others"
        )
    readers = dict(contents.readers)
    for other in range(2, count + 1):
        name = f"{path[: match.start()]}-{other:05}-of-{match[2]}.gguf"
        part = _read_one(name)
        if (part.metadata.get("split.no"), part.metadata.get("split.count")) != (other - 1, count):
            raise broken(name, f"it does not say that it is file {other} of {count}")
        twice = next((key for key in part.readers if key in readers), None)
        if twice is not None:
            raise broken(name, f"the tensor {twice!r} is in another file as well")
        readers |= part.readers
    total = contents.metadata.get("split.tensors.count", len(readers))
    if total != len(readers):
        raise broken(path, f"all files have {len(readers)} tensors, and the first says {total}")
    return Contents(contents.metadata, readers)


def _read_one(path: str) -> Contents:
    with open_to_read(path) as file:
        stamp = Stamp.of(file)
    if stamp.size < 24:
        raise broken(path, f"not a GGUF file: {stamp.size} bytes, and the header takes 24")
    header = _Header(path, np.memmap(path, np.uint8, "r"))
    tensors, entries = header.begin()
    metadata: dict[str, Any] = {}
    for _ in range(entries):
        key = header.name("a key of the metadata")
        if key in metadata:
            raise broken(path, f"the metadata has the key {key!r} twice")
        metadata[key] = header.value(key)
    headers = [header.tensor() for _ in range(tensors)]
    alignment = metadata.get("general.alignment", _ALIGNMENT)
    if type(alignment) is not int or alignment < 8 or alignment % 8:
        raise broken(path, f"general.alignment is {alignment!r}, not a multiple of 8")
    start = -(-header.position // alignment) * alignment
    readers: dict[str, Segment | Blocks] = {}
    for tensor in headers:
        if tensor.name in readers:
            raise broken(path, f"the tensor {tensor.name!r} is there twice")
        if tensor.offset % alignment:
            raise broken(
                path,
                f"{tensor.name!r} begins at {tensor.offset}, which is no multiple of {alignment}",
            )
        readers[tensor.name] = _reader(path, stamp, start, tensor)
    _check_apart(path, [(start + entry.offset, entry.nbytes, entry.name) for entry in headers])
    return Contents(metadata, readers)


class _Tensor(NamedTuple):
    """What a header says of a tensor."""

    name: str
    shape: Shape
    kind: int
    offset: int

    @property
    def nbytes(self) -> int:
        size = math.prod(self.shape)
        if self.kind in KINDS:
            return size // KINDS[self.kind].size * KINDS[self.kind].nbytes
        return size * BY_NAME[_PLAIN[self.kind]].itemsize


def _reader(path: str, stamp: Stamp, start: int, tensor: _Tensor) -> Segment | Blocks:
    """Return what reads a tensor, whose place is inside the file."""
    end = start + tensor.offset + tensor.nbytes
    if end > stamp.size:
        problem = f"truncated: {tensor.name!r} ends at byte {end}, the file at {stamp.size}"
        raise broken(path, problem, "fetch or write the file again")
    place = start + tensor.offset
    if tensor.kind in KINDS:
        check_claim(math.prod(tensor.shape) * 4, path, repr(tensor.name))
        return Blocks(
            path, tensor.name, stamp, place, tensor.shape, KINDS[tensor.kind], BY_NAME["float32"]
        )
    check_claim(tensor.nbytes, path, repr(tensor.name))
    dtype = (
        BY_NAME[_PLAIN[tensor.kind]].newbyteorder("<") if tensor.kind != 30 else BY_NAME["bfloat16"]
    )
    return Segment(path, tensor.name, stamp, place, tensor.shape, dtype)


def _check_apart(path: str, places: list[tuple[int, int, str]]) -> None:
    """Raise FileFormatError if tensors overlap."""
    end = 0
    for start, nbytes, name in sorted(places):
        if start < end and nbytes:
            raise broken(path, f"{name!r} overlaps the tensor before it")
        end = max(end, start + nbytes)


class _Header:
    """The bytes of a file from its beginning on, each taken once."""

    def __init__(self, path: str, stored: Array) -> None:
        self._path, self._bytes, self.position = path, stored.data, 0

    def begin(self) -> tuple[int, int]:
        """Return how many tensors there are, and entries of metadata."""
        magic = bytes(self.take(4, "the header"))
        if magic != MAGIC:
            hint = "is it another format under this name?"
            raise broken(self._path, f"not a GGUF file: it begins with {magic!r}", hint)
        version = self.number("<I", "the version")
        if version not in VERSIONS:
            swapped = int.from_bytes(version.to_bytes(4, "little"), "big")
            why = (
                "its numbers are big-endian" if swapped in VERSIONS else f"it has version {version}"
            )
            raise broken(self._path, f"{why}, and versions 2 and 3 in little-endian are known")
        tensors, entries = self.number("<Q", "the header"), self.number("<Q", "the header")
        # a name and where the tensor is, and a key with a value, take so many bytes at least
        for count, least, what in ((tensors, 25, "tensors"), (entries, 13, "entries of metadata")):
            if count * least > self._left:
                raise broken(
                    self._path, f"truncated: it claims {count} {what}, and has {self._left} bytes"
                )
        return tensors, entries

    @property
    def _left(self) -> int:
        return len(self._bytes) - self.position

    def take(self, count: int, what: str) -> memoryview:
        """Return so many bytes, and go on behind them."""
        if count > self._left:
            raise broken(
                self._path, f"truncated: {what} takes {count} bytes, and {self._left} are left"
            )
        self.position += count
        return self._bytes[self.position - count : self.position]

    def number(self, form: str, what: str) -> Any:
        """Return a number."""
        (value,) = struct.unpack(form, self.take(struct.calcsize(form), what))
        return value

    def name(self, what: str) -> str:
        """Return a name, of a limited length."""
        length = self.number("<Q", what)
        if length > _NAME:
            raise broken(self._path, f"{what} has {length} bytes; {_NAME} are possible")
        return self._text(length, what)

    def _text(self, length: int, what: str) -> str:
        try:
            return bytes(self.take(length, what)).decode("utf-8")
        except UnicodeDecodeError as error:
            raise broken(self._path, f"{what} is not UTF-8: {error}") from error

    def value(self, key: str) -> Any:
        """Return a value of the metadata: a number, a string, or a list."""
        return self._value(self.number("<I", repr(key)), repr(key), 0)

    def _value(self, kind: int, key: str, depth: int) -> Any:
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind], key)
        if kind == _STRING:
            return self._text(self.number("<Q", key), key)
        if kind != _ARRAY or depth == _DEPTH:
            problem = (
                f"arrays in {_DEPTH} arrays"
                if kind == _ARRAY
                else f"a value of the unknown kind {kind}"
            )
            raise broken(self._path, f"{key} has {problem}")
        inner, count = self.number("<I", key), self.number("<Q", key)
        form = _NUMBERS.get(inner)
        if form is not None:
            size = struct.calcsize(form)
            return np.frombuffer(self.take(count * size, key), _dtype_of(form)).tolist()
        if count * 8 > self._left:  # the length of a string takes so many
            raise broken(
                self._path,
                f"truncated: {key} claims {count} values, and {self._left} bytes are left",
            )
        return [self._value(inner, key, depth + 1) for _ in range(count)]

    def tensor(self) -> _Tensor:
        """Return what is said of a tensor."""
        path, name = self._path, self.name("the name of a tensor")
        axes = self.number("<I", repr(name))
        if axes > _AXES:
            raise broken(path, f"{name!r} has {axes} axes; {_AXES} are possible")
        # the innermost axis comes first
        shape = tuple([self.number("<Q", repr(name)) for _ in range(axes)])[::-1]
        kind, offset = self.number("<I", repr(name)), self.number("<Q", repr(name))
        if not is_shape(shape):
            raise broken(path, f"{name!r} has the impossible shape {shape}")
        if kind not in _PLAIN and kind not in KINDS:
            known = ", ".join(known_kind.name for known_kind in KINDS.values())
            called = _OTHERS.get(kind, f"number {kind}")
            raise broken(
                path,
                f"{name!r} is quantised as {called}; known are {known}",
                "convert it to one of these",
            )
        if kind in KINDS and (not shape or shape[-1] % KINDS[kind].size):
            each = KINDS[kind]
            raise broken(
                path,
                f"{name!r} has the shape {shape}, and blocks of {each.name} have {each.size} elements",
            )
        return _Tensor(name, shape, kind, offset)


def _dtype_of(form: str) -> np.dtype[Any]:
    return np.dtype("?" if form == "<?" else f"<{form[1]}" if form[1] not in "Bb" else form[1])
