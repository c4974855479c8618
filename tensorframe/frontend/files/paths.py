"""Paths: the format of a file is what its suffix says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from tensorframe.backends.extension_points import FORMATS
from tensorframe.errors import DTypeError, FileFormatError

SHARDED = ".safetensors.index.json"
GGUF = ".gguf"
WRITTEN = (".npy", ".npz", ".safetensors", ".zarr")
SUFFIXES = (*WRITTEN, GGUF, SHARDED)
# What other libraries open, and whose arrays are read and written as objects.
OPENED_BY = {
    ".h5": 'h5py.File(path)["name"]',
    ".hdf5": 'h5py.File(path)["name"]',
    ".nc": 'netCDF4.Dataset(path)["name"]',
    ".tif": "tifffile.memmap(path)",
    ".tiff": "tifffile.memmap(path)",
}
PathLike = str | os.PathLike[str]


def checked_path(path: Any, suffixes: Sequence[str] = SUFFIXES) -> tuple[str, str]:
    """Return the path as a string, and its suffix, which says the format; errors name these."""
    try:
        name = os.fsdecode(path)
    except TypeError as error:
        raise DTypeError(f"a file is named by a path, got {type(path).__name__}") from error
    if "\0" in name:
        raise FileFormatError(f"{name!r} is no path: it has a null character")
    lower = name.rstrip(os.sep).lower()
    suffix = SHARDED if lower.endswith(SHARDED) else os.path.splitext(lower)[1]
    if suffix not in SUFFIXES and suffix.removeprefix(".") not in FORMATS.names():
        added = [f".{name}" for name in FORMATS.names()]
        hints = ["one of " + ", ".join([*suffixes, *added])]
        if suffix in OPENED_BY:
            call = "tfr.save({}, x)" if suffixes is WRITTEN else "tfr.from_reader({})"
            hints.insert(0, call.format(OPENED_BY[suffix]))
        raise FileFormatError(f"{name}: the suffix says the format", suggestions=hints)
    return name, suffix
