"""Headers of GGUF files: metadata, and what is said of each tensor, taken byte after byte.

Nothing is believed: every count is compared with the bytes that are left before anything is read or reserved for it.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from tensorframe.dtypes import BY_NAME
from tensorframe.files.access import broken
from tensorframe.files.reader import Array
from tensorframe.frontend.files.gguf_blocks import KINDS
from tensorframe.frontend.files.segment import is_shape
from tensorframe.graph.shape import Shape
from tensorframe.quick_tuples import NamedTuple

MAGIC, VERSIONS = b"GGUF", (2, 3)
# bytes that a name, or the key of metadata, has at most, and axes of a tensor
_NAME, _AXES = 65535, 4
# how deep arrays of metadata may be nested
_DEPTH = 8
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
PLAIN = {
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


class TensorHeader(NamedTuple):
    """What a file says of a tensor."""

    name: str
    shape: Shape
    kind: int
    offset: int

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor in the file."""
        size = math.prod(self.shape)
        if self.kind in KINDS:
            return size // KINDS[self.kind].size * KINDS[self.kind].nbytes
        return size * BY_NAME[PLAIN[self.kind]].itemsize


class Header:
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

    def tensor(self) -> TensorHeader:
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
        if kind not in PLAIN and kind not in KINDS:
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
        return TensorHeader(name, shape, kind, offset)


def _dtype_of(form: str) -> np.dtype[Any]:
    return np.dtype("?" if form == "<?" else f"<{form[1]}" if form[1] not in "Bb" else form[1])
