"""Damaged zip files: what zipfile raises on them, as the errors that other files give."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from tensorframe.errors import FileFormatError
from tensorframe.files.access import broken

# NotImplementedError: an unknown compression; RuntimeError: encrypted; the others: nonsense in the directory
ZIP_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    ValueError,
    OSError,
    OverflowError,
    KeyError,
)


@contextmanager
def zip_errors(path: str) -> Iterator[None]:
    """Turn what zipfile raises on damaged files into FileFormatError."""
    try:
        yield
    except FileFormatError:
        raise
    except ZIP_DAMAGE as error:
        raise broken(path, f"the zip file cannot be read: {error}") from error
