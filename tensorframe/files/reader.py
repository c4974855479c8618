"""Readers: arrays that lie elsewhere, of which any window can be read without the rest."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from tensorframe.dtypes import DType
from tensorframe.errors import FileFormatError, MissingFileError, ReadError
from tensorframe.graph.node import Node
from tensorframe.graph.shape import Shape
from tensorframe.quick_dataclasses import dataclass
from tensorframe.rewrite.views import Window
from tensorframe.site import describe

Array = np.ndarray[Any, Any]

# what a reader raises where its array is not what it was, or cannot be read
FILE_ERRORS = (FileFormatError, MissingFileError, ReadError)


class Reader(Protocol):
    """An array in a file, or in an object that shows slices: what a `file` node has as its attribute.

    Readers can be hashed; equal ones have equal elements. Several threads may read at once. `str()` names the array
    for people: `x.npy`, `'scale' in weights.safetensors`.
    """

    @property
    def shape(self) -> Shape:
        """The shape of the array."""

    @property
    def dtype(self) -> DType:
        """The dtype of what `read` gives: of native byte order, whatever the file's is."""

    @property
    def chunks(self) -> Shape | None:
        """The shape of the blocks that are read as a whole; None where any element can be read alone."""

    @property
    def axes(self) -> Shape:
        """The axes in the order in which they are best cut: what parts along the first need lies together."""

    @property
    def mapped(self) -> bool:
        """Whether `read()` gives a view of the file, which takes no memory but the system's cache of files."""

    @property
    def scratch(self) -> int:
        """The bytes that reading takes besides, where they are more than some megabytes: those of large chunks."""

    def read(self, window: Window | None = None, out: Array | None = None) -> Array:
        """Return the elements that a window shows, or all.

        They are read into `out`, of the window's shape and this dtype, where it is given; else into a new array, or
        into none where all are asked for and `mapped`. Takes no memory beyond that but a small constant and `scratch`.
        Raises one of FILE_ERRORS.
        """


@dataclass(frozen=True, slots=True)
class Part:
    """What a window shows of a reader's array: a reader, too."""

    whole: Reader
    window: Window

    @property
    def shape(self) -> Shape:
        """The shape of the part."""
        return self.window.sizes

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self.whole.dtype

    @property
    def chunks(self) -> Shape | None:
        """The chunks of the whole, wherever they begin in the part."""
        return self.whole.chunks

    @property
    def axes(self) -> Shape:
        """Those of the whole."""
        return self.whole.axes

    @property
    def mapped(self) -> bool:
        """Its elements are read, wherever those of the whole lie."""
        return False

    @property
    def scratch(self) -> int:
        """What reading of the whole takes."""
        return self.whole.scratch

    def read(self, window: Window | None = None, out: Array | None = None) -> Array:
        """Return what a window on the part shows."""
        return self.whole.read(self.window.through(window) if window else self.window, out)

    def __str__(self) -> str:
        return str(self.whole)


def new_array(reader: Reader, window: Window, out: Array | None) -> Array:
    """Return the array that a window of a reader is read into: `out`, if there is one."""
    if out is None:
        return np.empty(window.sizes, reader.dtype)
    if out.shape != window.sizes or out.dtype != reader.dtype:
        given, wanted = f"{out.dtype}{list(out.shape)}", f"{reader.dtype}{list(window.sizes)}"
        raise ValueError(f"a window of {reader} is {wanted}, and out is {given}")
    return out


def read_leaf(leaf: Node, window: Window | None = None, out: Array | None = None) -> Array:
    """Return what a window shows of a `file` node, or all; errors name the line that recorded it."""
    reader: Reader = leaf.attrs[0]
    try:
        return reader.read(window, out)
    except FILE_ERRORS as error:
        error.location = describe(leaf.site) or error.location
        raise
