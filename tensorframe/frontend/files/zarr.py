"""Zarr: folders of arrays in chunks, read and written by the library of that name."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tensorframe.backends.remedies import extra
from tensorframe.dtypes import DType
from tensorframe.errors import DTypeError, FileFormatError, TensorFrameError
from tensorframe.files.access import broken, write_error
from tensorframe.frontend.files import unfinished
from tensorframe.frontend.files.objects import ObjectReader, ObjectSink, reader_of
from tensorframe.frontend.files.segment import missing
from tensorframe.frontend.files.write import check_room
from tensorframe.graph.shape import Shape

# Bytes of a chunk, about: few enough to be read for a slice, and many enough for a disk to be at its speed.
CHUNK = 4 << 20
# What a folder of Zarr has in it, by the versions of the format: others are not replaced.
MARKS = ("zarr.json", ".zarray", ".zgroup")
ALONE = ""  # the name of an array that is no member of a group


def zarr_members(path: str) -> ObjectReader | dict[str, ObjectReader | FileFormatError]:
    """Return the reader of an array, or the readers of a group's arrays by their paths in it."""
    if not Path(path).exists():
        raise missing(path)
    zarr = _library()
    try:
        opened = zarr.open(path, mode="r")
        members = {} if isinstance(opened, zarr.Array) else dict(opened.members(max_depth=None))
    except Exception as error:
        problem = f"not an array or a group of Zarr: {type(error).__name__}: {error}"
        raise broken(path, problem) from error
    if isinstance(opened, zarr.Array):
        return reader_of(opened)
    return {
        name: _reader(path, member)
        for name, member in sorted(members.items())
        if isinstance(member, zarr.Array)
    }


def _reader(path: str, member: Any) -> ObjectReader | FileFormatError:
    try:
        return reader_of(member)
    except TensorFrameError as error:  # the others may be what it was loaded for
        return broken(path, error.message, *error.suggestions)


def zarr_sinks(path: str, tensors: Mapping[str, tuple[Shape, DType]]) -> list[ObjectSink]:
    """Return the sinks of a new group of arrays, or of one array whose name is ALONE."""
    zarr = _library()
    folder = NewFolder(path, tensors)
    try:
        if ALONE not in tensors:
            zarr.create_group(folder.beside)
        sinks = [
            FolderSink(_new_array(zarr, folder, name, *kind), folder)
            for name, kind in tensors.items()
        ]
        if not sinks:
            folder.publish()
    except BaseException:
        folder.abandon()
        raise
    return list(sinks)


def _new_array(zarr: Any, folder: NewFolder, name: str, shape: Shape, dtype: DType) -> Any:
    try:
        return zarr.create_array(
            folder.beside,
            name=name or None,
            shape=shape,
            dtype=dtype,
            chunks=chunks_of(shape, dtype.itemsize),
            # else chunks of -0.0 would be left out, as they equal what is read where none is
            config={"write_empty_chunks": True},
        )
    except OSError as error:
        raise write_error(folder.path, "writing failed", error) from error
    except Exception as error:
        what = f"{name!r}, " if name else ""
        raise DTypeError(
            f"save: Zarr does not take {what}{dtype} of shape {shape}: {error}",
            suggestions=("another name or dtype", "a path that ends in .npz"),
        ) from error


def chunks_of(shape: Shape, itemsize: int) -> Shape:
    """Return the shape of chunks of about CHUNK bytes: consecutive elements in C order."""
    chunks: list[int] = []
    held = itemsize
    for size in reversed(shape):
        count = min(max(size, 1), max(CHUNK // held, 1))
        chunks.append(count)
        held *= count if count == size else CHUNK  # no more than one along the axes before
    return tuple(reversed(chunks))


class NewFolder:
    """A folder in the making, under another name beside the one that it takes when it is published."""

    def __init__(self, path: str, tensors: Mapping[str, tuple[Shape, DType]]) -> None:
        self.path = path
        self._target = Path(path).resolve()
        self.parts = len(tensors)
        if not self._target.parent.is_dir():
            raise missing(path)
        if self._target.exists() and not self._is_ours():
            hint = "another path, or remove it first"
            raise broken(path, "what is there is not of Zarr, and is not replaced", hint)
        # what is compressed takes less: that not even a tenth has room is what can be said before
        size = sum(math.prod(shape) * dtype.itemsize for shape, dtype in tensors.values())
        check_room(path, self._target.parent, size // 10)
        try:
            self.beside, self._lock = unfinished.new_folder(self._target)
        except OSError as error:
            raise write_error(path, "no folder can be made there", error) from error

    def _is_ours(self) -> bool:
        here = self._target
        return here.is_dir() and (
            not any(here.iterdir()) or any((here / m).exists() for m in MARKS)
        )

    def close_part(self) -> None:
        """Publish the folder when all arrays in it are complete."""
        self.parts -= 1
        if not self.parts:
            self.publish()

    def publish(self) -> None:
        """Give the folder its name; an older one goes when it has."""
        old = unfinished.replaced(self._target)
        try:
            if self._target.exists():
                self._target.rename(old)
            try:
                self.beside.rename(self._target)
            except BaseException:
                if old.exists():
                    old.rename(self._target)
                raise
        except OSError as error:
            self.abandon()
            raise write_error(self.path, "the new folder cannot take its name", error) from error
        self._unlock()
        shutil.rmtree(old, ignore_errors=True)

    def abandon(self) -> None:
        """Leave nothing of the folder; does nothing once it is published."""
        shutil.rmtree(self.beside, ignore_errors=True)
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


class FolderSink(ObjectSink):
    """An array of a new folder, which is published when all its arrays are closed."""

    after_failure = "nothing of it is left"

    def __init__(self, array: Any, folder: NewFolder) -> None:
        super().__init__(array)
        self._folder = folder

    def close(self) -> None:
        """Publish the folder, if all its other arrays are closed."""
        self._folder.close_part()

    def abort(self) -> None:
        """Leave nothing of the folder."""
        self._folder.abandon()

    def __str__(self) -> str:
        return Path(self._folder.path).name


def _library() -> Any:
    try:
        import zarr
    except ImportError as error:
        raise FileFormatError(
            "folders of Zarr are read and written by the package zarr, which is not installed",
            suggestions=(extra("zarr"),),
        ) from error
    return zarr
