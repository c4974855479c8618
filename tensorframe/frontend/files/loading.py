"""Loading: tensors in files, read when their elements are needed.

The formats are imported by who uses them: zip files and paths would take a tenth of the time to import the package.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any, Literal

from tensorframe.backends.registry import resolve_device
from tensorframe.errors import ArgumentError, FileFormatError
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.files import file_objects
from tensorframe.frontend.files.leaves import tensor_of
from tensorframe.frontend.files.paths import GGUF, SHARDED, SUFFIXES, PathLike, checked_path
from tensorframe.frontend.parameters import choice

if TYPE_CHECKING:
    from tensorframe.files.reader import Reader

__all__ = ["load", "load_metadata"]


def load(
    file: PathLike | IO[bytes],
    mmap_mode: Literal["r", "c"] | None = None,
    allow_pickle: bool = False,
    fix_imports: bool = True,
    encoding: str = "ASCII",
    *,
    max_header_size: int = 10000,
    device: OnDevice = None,
) -> Any:
    """The tensors in a file: a Tensor of `.npy`, a dict by name of `.npz`, `.safetensors`, `.gguf`, either of `.zarr`.

    Only names, shapes and dtypes are read immediately. Elements are read when they are needed, from a memory map if the
    file stores them uncompressed (the checksum of an `.npz` member is verified when the whole member is read).
    Compressed members are decompressed in pieces: the first slices of a member store only their own elements, later
    slices decompress and store the whole member. Do not change the file before its elements are read. Two-byte elements
    whose dtype NumPy does not know (`V2`) are bfloat16.

    `.safetensors.index.json` lists the files of a large model, which are in the same folder. A `.zarr` folder is an
    array, or a group of arrays by path; the package zarr reads it, chunk by chunk. `from_reader` reads arrays of other
    formats, such as HDF5.

    Quantised tensors of `.gguf` files (Q8_0, Q4_0, Q4_1, Q4_K, Q5_K, Q6_K) become float32, converted from the blocks
    that are needed; `tfr.quantization.load` returns them quantised. The first part of a split file finds the others.

    An archive has `files` and works in a `with` block, as in NumPy. Files are memory-mapped for every `mmap_mode`, and
    tensors never write to them. `allow_pickle`, `fix_imports`, `encoding` and `max_header_size` concern pickled
    objects, which are never read, and have no effect.

    Packages can add formats (`tfr.extensions.FileFormat`). From an open file, or `io.BytesIO`, the array at the current
    position, or a whole archive, is read immediately, in NumPy's formats.

    If a member of an `.npz` file is not an array, or its header is damaged, the result is a mapping that raises when
    that member is accessed; `unreadable` has the reasons by name. Pickled objects are such members, and never run.

    MissingFileError if the file does not exist; it is a FileNotFoundError. ArgumentError if `mmap_mode` is unknown or
    would write. FileFormatError if the file is truncated, damaged, has changed, is not of the format of its suffix,
    or holds an array of more bytes than the option `load_bytes` (0, the default, allows whatever a file of its size
    can hold).

    >>> path = folder / "weights.safetensors"
    >>> tfr.save(path, {"scale": tfr.asarray([1.0, 2.0])})
    >>> tfr.load(path)["scale"].numpy()
    array([1., 2.], dtype=float32)
    """
    del allow_pickle, fix_imports, encoding, max_header_size
    _check_mode(mmap_mode)
    if file_objects.is_read(file):
        return file_objects.read(file, device)
    name, suffix = checked_path(file)
    where = resolve_device(device)
    readers = _readers(name, suffix)
    if not isinstance(readers, Mapping):
        return tensor_of(readers, where, "load")
    tensors = {
        key: reader if isinstance(reader, FileFormatError) else tensor_of(reader, where, "load")
        for key, reader in readers.items()
    }
    unreadable = [tensor for tensor in tensors.values() if isinstance(tensor, FileFormatError)]
    if not unreadable and suffix != ".npz":
        return tensors
    if unreadable and len(unreadable) == len(tensors):
        raise unreadable[0]
    from tensorframe.frontend.files.members import Archive, Members

    if unreadable:
        return Members(tensors)
    return Archive(
        {key: tensor for key, tensor in tensors.items() if not isinstance(tensor, FileFormatError)}
    )


def _check_mode(mode: Any) -> None:
    """Raise ArgumentError for a way to map a file that writes to it, or that is none."""
    if mode in ("r+", "w+"):
        raise ArgumentError(
            f"load: mmap_mode={mode!r} would write to the file, and tensors never do",
            suggestions=("tfr.save(np.memmap(path, mode='r+', ...), x)", "tfr.save(path, x)"),
        )
    choice("load", "mmap_mode", mode, (None, "r", "c"))


def _readers(name: str, suffix: str) -> Reader | Mapping[str, Reader | FileFormatError]:
    """Return what reads the one array of a file, or those of its members that can be read."""
    if suffix == ".npy":
        from tensorframe.frontend.files.npy import npy_segment

        return npy_segment(name)
    if suffix == ".npz":
        from tensorframe.frontend.files.npz import npz_members

        return npz_members(name)
    if suffix == ".zarr":
        from tensorframe.frontend.files.zarr import zarr_members

        return zarr_members(name)
    if suffix == GGUF:
        from tensorframe.frontend.files.gguf import read_gguf

        return read_gguf(name).readers
    if suffix not in SUFFIXES:
        from tensorframe.frontend.files.formats import format_of, read

        return read(format_of(name, suffix), name)
    from tensorframe.frontend.files.safetensors import read_index, read_shards

    return read_shards(name) if suffix == SHARDED else read_index(name)[0]


def load_metadata(path: PathLike, /) -> dict[str, Any]:
    """The metadata of a file: strings by name of `.safetensors`, numbers, strings and lists of `.gguf`.

    Formats of other packages have what these say.

    >>> path = folder / "weights.safetensors"
    >>> tfr.save(path, {}, metadata={"format": "tensorframe"})
    >>> tfr.load_metadata(path)
    {'format': 'tensorframe'}
    """
    from tensorframe.frontend.files import safetensors

    name, suffix = checked_path(path)
    if suffix == GGUF:
        from tensorframe.frontend.files.gguf import read_gguf

        return read_gguf(name).metadata
    if suffix not in SUFFIXES:
        from tensorframe.frontend.files.formats import format_of

        return dict(format_of(name, suffix).metadata(name))
    if suffix != ".safetensors":
        raise FileFormatError(
            f"load_metadata: {name} is not a safetensors or GGUF file, which have metadata"
        )
    return safetensors.read_index(name)[1]
