"""Formats of other packages: files that `load` reads and `save` writes by somebody else's rules.

A format says where in a file the elements of each tensor are; reading by windows, mapping, whole files or none, and
computing what is written tile by tile are the same for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tensorframe.backends.contract import About
from tensorframe.backends.entries import Failure, guarded
from tensorframe.backends.extension_points import FORMATS
from tensorframe.dtypes import DType, as_dtype
from tensorframe.errors import FileFormatError, TensorFrameError
from tensorframe.files.access import broken
from tensorframe.files.reader import Reader
from tensorframe.files.sink import Sink
from tensorframe.frontend.files.segment import Segment, Stamp, check_claim, is_shape, open_to_read
from tensorframe.frontend.files.write import new_file
from tensorframe.graph.shape import Shape

# the name of a tensor that is saved without one
ALONE = ""
# what a reader and a sink have
_READER = ("shape", "dtype", "chunks", "axes", "mapped", "scratch", "read")
_SINK = ("write", "flush", "close", "abort")


class FileFormat(ABC):
    """A format of files for `load` and `save`.

    `name` is the suffix without its dot, and the name of the entry point in the group `tensorframe.formats`. Errors of
    a method that are none of tensorframe's become a FileFormatError that names the file.
    """

    name: ClassVar[str]
    about: ClassVar[About | None] = None

    @abstractmethod
    def read(self, path: str) -> Reader | Mapping[str, Reader]:
        """Return what reads the one tensor of a file, or its tensors by name; no elements are read yet.

        `elements` makes a reader of numbers that lie in the file as they do in memory.
        """

    def write(
        self,
        path: str,  # noqa: ARG002 - for those who write
        tensors: Mapping[str, tuple[Shape, DType]],  # noqa: ARG002
        metadata: Mapping[str, str],  # noqa: ARG002
    ) -> Sequence[Sink]:
        """Return a sink for each of the tensors, in their order; `new_file` makes them.

        A single tensor that has no name is called "". FileFormatError for what the format cannot hold.
        """
        raise FileFormatError(f"save: .{self.name} files are read alone")

    def metadata(self, path: str) -> Mapping[str, Any]:  # noqa: ARG002 - for those who have some
        """Return what `load_metadata` gives."""
        return {}


def elements(path: str, offset: int, shape: Shape, dtype: Any, *, name: str = "it") -> Reader:
    """Return a reader of elements that lie in a file from a byte on, in C order; `name` is for messages.

    FileFormatError if the file ends before they do.
    """
    held = as_dtype(dtype)
    with open_to_read(path) as file:
        stamp = Stamp.of(file)
    if not is_shape(shape) or type(offset) is not int or offset < 0:
        raise broken(path, f"{name} has the shape {shape!r:.80} from byte {offset!r:.20} on")
    segment = Segment(path, name, stamp, offset, tuple(shape), held)
    size = held.itemsize
    for count in shape:
        size *= count
    check_claim(size, path, name)
    if offset + size > stamp.size:
        problem = f"truncated: {name} takes bytes {offset} to {offset + size}"
        raise broken(path, f"{problem}, and there are {stamp.size}")
    return segment


def format_of(path: str, suffix: str) -> FileFormat:
    """Return the format of a suffix that a package has announced; FileFormatError if that does not load."""
    extension = FORMATS.extension(suffix.removeprefix("."))
    if extension is None or extension.value is None:
        problem = "" if extension is None else extension.failure
        hint = "tfr.doctor()" if extension is None else extension.fix or "tfr.doctor()"
        package = "" if extension is None else f" of the package {extension.origin}"
        raise broken(path, f"the format {suffix}{package} is of no use: {problem}", hint)
    made: FileFormat = extension.value
    return made


def read(kind: FileFormat, path: str) -> Reader | Mapping[str, Reader]:
    """Return the readers of a file's tensors; FileFormatError for what is none."""
    with open_to_read(path):  # that it is there is not for each format to say
        pass
    readers = _asked(path, lambda: kind.read(path))
    for reader in readers.values() if isinstance(readers, Mapping) else (readers,):
        if not all(hasattr(reader, name) for name in _READER):
            raise broken(
                path, f"{type(kind).__name__}.read gives {type(reader).__name__}, no Reader"
            )
    given: Reader | Mapping[str, Reader] = readers
    return given


def sinks(
    kind: FileFormat,
    path: str,
    tensors: Mapping[str, tuple[Shape, DType]],
    metadata: Mapping[str, str],
) -> Sequence[Sink]:
    """Return the sinks of tensors; FileFormatError for what is none."""
    made = _asked(path, lambda: kind.write(path, tensors, metadata))
    valid = isinstance(made, Sequence) and len(made) == len(tensors)
    if not valid or not all(hasattr(sink, name) for sink in made for name in _SINK):
        raise broken(path, f"{type(kind).__name__}.write gives no sink for each tensor")
    given: Sequence[Sink] = made
    return given


def _asked(path: str, call: Any) -> Any:
    errors: list[TensorFrameError] = []

    def told() -> Any:
        try:
            return call()
        except TensorFrameError as error:
            errors.append(error)
            return None

    made = guarded(told)
    if errors:
        raise errors[0]
    if isinstance(made, Failure):
        raise broken(path, f"its format fails: {made.reason}", "ask the authors of the format")
    return made


__all__ = ["ALONE", "FileFormat", "Segment", "elements", "format_of", "new_file", "read", "sinks"]
