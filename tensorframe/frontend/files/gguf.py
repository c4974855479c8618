"""The GGUF format of llama.cpp: metadata by name, then where each tensor lies, then the tensors, quantised in blocks.

Source: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. `gguf_header.py` reads the first two parts.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tensorframe.dtypes import BY_NAME, SCALE, DType
from tensorframe.files.access import broken
from tensorframe.files.reader import Array, new_array
from tensorframe.files.windows import PIECE, forward_axes, forward_key, turns
from tensorframe.frontend.files.gguf_blocks import KINDS, PARTS, Kind
from tensorframe.frontend.files.gguf_header import PLAIN, Header, TensorHeader
from tensorframe.frontend.files.segment import Segment, Stamp, check_claim, open_to_read
from tensorframe.graph.shape import Shape
from tensorframe.quick_tuples import NamedTuple
from tensorframe.rewrite.views import Window

# what tensors lie at multiples of, unless the metadata says otherwise
_ALIGNMENT = 32
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
        dtype = SCALE if number else BY_NAME["uint32"]
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
    header = Header(path, np.memmap(path, np.uint8, "r"))
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


def _reader(path: str, stamp: Stamp, start: int, tensor: TensorHeader) -> Segment | Blocks:
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
        BY_NAME[PLAIN[tensor.kind]].newbyteorder("<") if tensor.kind != 30 else BY_NAME["bfloat16"]
    )
    return Segment(path, tensor.name, stamp, place, tensor.shape, dtype)


def _check_apart(path: str, places: list[tuple[int, int, str]]) -> None:
    """Raise FileFormatError if tensors overlap."""
    end = 0
    for start, nbytes, name in sorted(places):
        if start < end and nbytes:
            raise broken(path, f"{name!r} overlaps the tensor before it")
        end = max(end, start + nbytes)
