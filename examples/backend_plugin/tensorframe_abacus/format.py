"""A format of files: `.beads`, a line that describes each tensor, then their elements, one after the other."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import tensorframe as tfr
from tensorframe.extensions import About, FileFormat, Reader, Sink, elements, new_file

_MAGIC = b"BEADS1 "
# elements begin at a multiple of it, so that they can be mapped into memory
_ALIGNMENT = 64


class BeadsFormat(FileFormat):
    """Tensors by name, and metadata, behind a header of JSON."""

    name: ClassVar[str] = "beads"
    about: ClassVar[About | None] = About(interface=(1, 1))

    def read(self, path: str) -> Reader | Mapping[str, Reader]:
        """Return a reader of each tensor: none is read before its elements are needed."""
        header, start = self._header(path)
        readers = {
            name: elements(path, start + offset, tuple(shape), dtype, name=name)
            for name, (dtype, shape, offset) in header["tensors"].items()
        }
        return readers[""] if list(readers) == [""] else readers

    def write(
        self,
        path: str,
        tensors: Mapping[str, tuple[tuple[int, ...], Any]],
        metadata: Mapping[str, str],
    ) -> Sequence[Sink]:
        """Return where each tensor is written to; the file takes its name when the last of them is complete."""
        described, places, offset = {}, [], 0
        for name, (shape, dtype) in tensors.items():
            described[name] = (dtype.name, shape, offset)
            places.append((offset, shape, dtype.itemsize))
            offset += -(-prod(shape) * dtype.itemsize // _ALIGNMENT) * _ALIGNMENT
        text = json.dumps({"tensors": described, "metadata": dict(metadata)}).encode()
        header = _MAGIC + text
        header += b" " * (-(len(header) + 1) % _ALIGNMENT) + b"\n"
        return new_file(path, header, places)

    def metadata(self, path: str) -> Mapping[str, Any]:
        """Return the strings that were saved with the tensors."""
        metadata: dict[str, Any] = self._header(path)[0]["metadata"]
        return metadata

    def _header(self, path: str) -> tuple[Any, int]:
        """Return what the first line says, and how many bytes it has."""
        with Path(path).open("rb") as file:
            line = file.readline()
        if not line.startswith(_MAGIC) or not line.endswith(b"\n"):
            raise tfr.errors.FileFormatError(f"{path}: not a file of beads: {line[:8]!r}")
        return json.loads(line[len(_MAGIC) :]), len(line)


def sample(path: Path) -> None:
    """Write tensors, read them back, and compare: what `python -m tensorframe_abacus` proves."""
    x = tfr.arange(12, dtype="float32").reshape(3, 4)
    tfr.save(path, {"x": x, "twice": x * 2}, metadata={"unit": "mm"})
    back = tfr.load(path)
    np.testing.assert_array_equal(back["twice"][1:, ::2].numpy(), (x * 2).numpy()[1:, ::2])
    assert tfr.load_metadata(path) == {"unit": "mm"}
