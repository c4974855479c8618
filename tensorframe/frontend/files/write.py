"""Writing: files appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from tensorframe.frontend.files.segment import broken, missing

# elements that are not contiguous are gathered in blocks of this many bytes
BLOCK = 1 << 22


@contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """Open a new file that takes the name `path` when the block ends, and vanishes if it fails.

    Readers see the old file or the new one. Values still mapped from the old file stay valid.
    """
    target = Path(path).resolve()  # a link keeps pointing to where it does
    # beside it, since only renaming within one file system is atomic; unlike tempfile's, with the usual permissions
    beside = target.with_name(f"{target.name}.{os.urandom(4).hex()}.tmp")
    if not target.parent.is_dir():
        raise missing(path)
    if target.is_dir():
        raise broken(path, "a folder is in the way")
    try:
        with beside.open("xb") as file:
            yield file
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def write_elements(file: IO[bytes], array: np.ndarray[Any, Any]) -> None:
    """Write the elements in C order, without a second copy of the whole."""
    if array.size == 0:
        return
    if array.flags.c_contiguous:
        file.write(array.reshape(-1).view(np.uint8).data)
        return
    blocks: Any = np.nditer(
        array,
        flags=["external_loop", "buffered"],
        order="C",
        buffersize=max(1, BLOCK // array.itemsize),
    )
    for block in blocks:
        file.write(block.tobytes())
