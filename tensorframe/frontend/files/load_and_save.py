"""Files: tensors saved to, and lazily loaded from, NumPy's and safetensors files.

The formats are imported by who uses them: zip files and paths would take a tenth of the time to import the package.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tensorframe.backends.registry import resolve_device
from tensorframe.errors import DTypeError, FileFormatError
from tensorframe.frontend.conversion.convert import OnDevice, asarray
from tensorframe.frontend.files.leaves import tensor_of
from tensorframe.frontend.tensor import Tensor
from tensorframe.runtime.evaluate import evaluate

if TYPE_CHECKING:
    from tensorframe.files.sink import Sink

__all__ = ["load", "load_metadata", "save"]

SUFFIXES = (".npy", ".npz", ".safetensors")
PathLike = str | bytes | os.PathLike[Any]


def load(path: PathLike, /, *, device: OnDevice = None) -> Any:
    """The tensors in a file: a dict by name for `.npz` and `.safetensors`, one Tensor for `.npy`.

    Reads nothing but names, shapes and dtypes; a tensor's elements are read when they are needed, from memory mapped
    onto the file where they are stored as they are used (checksums of `.npz` members are compared then). Compressed
    members are unpacked in pieces: a slice of one keeps what it shows, and whoever goes on slicing gets all of it read
    and kept. The file must stay unchanged until then. Two-byte elements that NumPy has no name for are bfloat16.

    Where a member of an `.npz` file is no array, or is damaged in its header, a mapping comes back that raises when
    this one is touched; its `unreadable` has the reasons by name. Pickled objects are such, and are never run.

    Raises FileNotFoundError (MissingFileError) if there is no such file, and FileFormatError if the file is not of the
    format its suffix says, is truncated, damaged or changed since, or an array claims more bytes than the option
    `load_bytes` allows (0, the default, allows whatever a file of its size can hold).

    >>> path = folder / "weights.safetensors"
    >>> tfr.save(path, {"scale": tfr.asarray([1.0, 2.0])})
    >>> tfr.load(path)["scale"].numpy()
    array([1., 2.], dtype=float32)
    """
    from tensorframe.frontend.files import npy, npz, packed, reading, safetensors

    name, suffix = _checked_path(path)
    where = resolve_device(device)
    if suffix == ".npy":
        return tensor_of(npy.npy_segment(name), where, "load")
    if suffix == ".safetensors":
        segments = safetensors.read_index(name)[0]
        return {key: tensor_of(segment, where, "load") for key, segment in segments.items()}
    members = npz.npz_members(name)
    if any(isinstance(member, packed.PackedMember) for member in members.values()):
        reading.enable()
    results = {
        key: member if isinstance(member, FileFormatError) else tensor_of(member, where, "load")
        for key, member in members.items()
    }
    unreadable = [result for result in results.values() if isinstance(result, FileFormatError)]
    if not unreadable:
        return results
    if len(unreadable) == len(results):
        raise unreadable[0]
    from tensorframe.frontend.files.members import Members

    return Members(results)


def load_metadata(path: PathLike, /) -> dict[str, str]:
    """The metadata of a `.safetensors` file: strings by name.

    >>> path = folder / "weights.safetensors"
    >>> tfr.save(path, {}, metadata={"format": "tensorframe"})
    >>> tfr.load_metadata(path)
    {'format': 'tensorframe'}
    """
    from tensorframe.frontend.files import safetensors

    name, suffix = _checked_path(path)
    if suffix != ".safetensors":
        raise FileFormatError(
            f"load_metadata: {name} is not a safetensors file, which have metadata"
        )
    return safetensors.read_index(name)[1]


def save(
    path: Any,
    tensors: Mapping[str, Tensor] | Tensor,
    /,
    *,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Compute tensors, all in one go, and write them to a `.npz`, `.safetensors` or `.npy` file, or into an object.

    `.npz` and `.safetensors` take a mapping from names to tensors, `.npy` one tensor; NumPy arrays are tensors here
    too. `metadata` (strings by name) goes into `.safetensors` only. The file appears at once when it is complete:
    nobody sees half of it, and if something fails, or is interrupted, an older file of that name is untouched.

    In place of a path, any object with `shape`, `dtype` and assignment to slices takes one tensor of that shape and
    dtype: an array of Zarr or h5py, a `np.memmap`. It keeps what was written into it before something failed.

    Raises DTypeError for complex128 in `.safetensors`, which cannot hold it, and for a dtype other than the object's;
    ShapeError for a shape other than the object's; WriteError where a disk is full or fails, or the object raises.

    >>> path = folder / "points.npz"
    >>> tfr.save(path, {"x": tfr.asarray([1, 2]), "y": tfr.asarray([0.5, 0.25])})
    >>> sorted(np.load(path))
    ['x', 'y']
    """
    if not isinstance(path, str | os.PathLike | bytes):
        _save_into(path, tensors, metadata)
        return
    name, suffix = _checked_path(path)
    if metadata and suffix != ".safetensors":
        raise FileFormatError(
            f"save: {suffix} files have no metadata",
            suggestions=("a path that ends in .safetensors",),
        )
    if suffix == ".npy":
        _save_npy(name, _single(tensors))
    elif suffix == ".npz":
        _save_npz(name, _named(tensors, suffix))
    else:
        _save_safetensors(name, _named(tensors, suffix), _strings(metadata or {}))


def _save_npy(name: str, tensor: Tensor) -> None:
    from tensorframe.frontend.files.npy import npy_sink

    _write([tensor], [npy_sink(name, tensor.shape, tensor.dtype)])


def _save_npz(name: str, tensors: Mapping[str, Tensor]) -> None:
    """Write a zip file: it has checksums before the elements, so these are computed first."""
    from tensorframe.frontend.files.npz import write_npz
    from tensorframe.frontend.files.write import replacing

    evaluate([tensor.node for tensor in tensors.values()])
    with replacing(name) as file:
        write_npz(file, {key: tensor._array() for key, tensor in tensors.items()})


def _save_safetensors(
    name: str, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]
) -> None:
    from tensorframe.frontend.files import safetensors

    kinds = {key: (tensor.shape, tensor.dtype) for key, tensor in tensors.items()}
    _write(list(tensors.values()), safetensors.sinks(name, kinds, metadata))


def _save_into(array: Any, tensors: Any, metadata: Mapping[str, str] | None) -> None:
    from tensorframe.frontend.files.objects import sink_of

    if metadata:
        raise FileFormatError(
            f"save: {type(array).__name__} takes no metadata",
            suggestions=("a path that ends in .safetensors",),
        )
    tensor = _single(tensors)
    _write([tensor], [sink_of(array, tensor.shape, tensor.dtype)])


def _write(tensors: Sequence[Tensor], sinks: Sequence[Sink]) -> None:
    from tensorframe.frontend.files.write import written
    from tensorframe.runtime.saving import evaluate_into

    with written(sinks):
        evaluate_into([tensor.node for tensor in tensors], sinks)


def _checked_path(path: PathLike) -> tuple[str, str]:
    """Return the path as a string, and its suffix, which says the format."""
    try:
        name = os.fsdecode(path)
    except TypeError as error:
        raise DTypeError(f"a file is named by a path, got {type(path).__name__}") from error
    if "\0" in name:
        raise FileFormatError(f"{name!r} is no path: it has a null character")
    suffix = os.path.splitext(name)[1].lower()
    if suffix not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise FileFormatError(
            f"{name}: the suffix says the format", suggestions=(f"one of {known}",)
        )
    return name, suffix


def _single(tensors: Mapping[str, Tensor] | Tensor) -> Tensor:
    if isinstance(tensors, Mapping):
        raise DTypeError(
            f"save: an .npy file, or an object, holds one tensor, got a mapping of {len(tensors)}",
            suggestions=("a path that ends in .npz",),
        )
    return asarray(tensors)


def _named(tensors: Mapping[str, Tensor] | Tensor, suffix: str) -> dict[str, Tensor]:
    from tensorframe.frontend.files.safetensors import METADATA

    if not isinstance(tensors, Mapping):
        raise DTypeError(
            f"save: {suffix} files hold tensors by name, got a single {type(tensors).__name__}",
            suggestions=('{"name": tensor}', "a path that ends in .npy"),
        )
    for name in tensors:
        if not isinstance(name, str) or name == METADATA or "\0" in name or not _encodes(name):
            raise DTypeError(f"save: {name!r} cannot be the name of a tensor in a file")
    return {name: asarray(tensor) for name, tensor in tensors.items()}


def _encodes(name: str) -> bool:
    """Whether UTF-8 can spell a name: it has no halves of surrogate pairs."""
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def _strings(metadata: Mapping[str, str]) -> dict[str, str]:
    for pair in metadata.items():
        if not all(isinstance(text, str) and _encodes(text) for text in pair):
            raise DTypeError(f"save: metadata are strings by name, got {pair}")
    return dict(metadata)
