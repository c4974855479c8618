"""Values that are views of files mapped into memory: a file that was cut meanwhile is an error, not the process's end.

Whoever touches a page of a map that its file no longer has is killed by the system (SIGBUS). So the file's size is
looked at whenever a plan, or a program, takes the values: one system call, and only for values that lie in files.
"""

from __future__ import annotations

from mmap import mmap
from typing import Any

import numpy as np

from tensorframe.backends.storage import Storage
from tensorframe.files.access import broken
from tensorframe.graph.node import Node
from tensorframe.quick_dataclasses import dataclass
from tensorframe.site import Site, describe

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class MappedFile:
    """A file of which a part is mapped: up to the byte `end`."""

    path: str
    map: mmap
    end: int
    site: Site | None  # the line that loaded it

    def check(self) -> None:
        """Raise FileFormatError if the file ends before what is mapped does."""
        size = self.map.size()  # of the file that is mapped: another one may have its name by now
        if size < self.end:
            error = broken(
                self.path,
                f"the file was cut while it was in use: {self.end} bytes are mapped into memory, {size} are left",
                "load it again once it is complete",
                "write a new file and rename it, as tfr.save does: what is mapped stays as it is",
            )
            error.location = describe(self.site)
            raise error


class MappedStorage(Storage):
    """A view of a file, whose size is looked at each time that its handle is taken."""

    __slots__ = ("_array", "_file")

    def __init__(self, like: Storage, array: Array, file: MappedFile) -> None:
        """`array` lies in the `file`, and is on the device of the storage that it is `like`."""
        self._array, self._file = array, file
        self.device, self.dtype, self.shape = like.device, array.dtype, array.shape

    @property
    def handle(self) -> Array:
        """The array. Raises FileFormatError if the file was cut."""
        self._file.check()
        return self._array

    @property
    def nbytes(self) -> int:
        """The bytes of the elements, whatever became of the file."""
        return int(self._array.nbytes)

    def viewed(self, array: Array) -> MappedStorage:
        """Return the storage of a view of these elements."""
        return MappedStorage(self, array, self._file)


def watched(leaf: Node, storage: Storage) -> Storage:
    """Return the storage of what was read of a `file` node: one that looks at the file, if it is mapped."""
    array = storage.handle
    owner = array
    while isinstance(owner, np.ndarray) and not isinstance(owner, np.memmap):
        owner = owner.base
    if not isinstance(owner, np.memmap):
        return storage
    kept: Any = owner
    file = MappedFile(str(kept.filename), kept._mmap, kept.offset + kept.nbytes, leaf.site)
    return MappedStorage(storage, array, file)
