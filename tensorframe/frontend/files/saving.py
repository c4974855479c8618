"""Saving: tensors are computed, and written to files or objects."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tensorframe.errors import DTypeError, FileFormatError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.convert import asarray
from tensorframe.frontend.files import file_objects
from tensorframe.frontend.files.paths import GGUF, SHARDED, SUFFIXES, WRITTEN, checked_path
from tensorframe.frontend.tensor import Tensor

if TYPE_CHECKING:
    from tensorframe.files.sink import Sink

__all__ = ["save"]


def save(
    file: Any,
    arr: Mapping[str, Tensor] | Tensor | ArrayLike,
    allow_pickle: bool = True,
    *,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Evaluate tensors, in one plan, and write them to a file or into an array-like object.

    The suffix determines the format: `.npz` and `.safetensors` take a mapping from names to tensors, `.npy` one tensor,
    `.zarr` either (with the package zarr). NumPy arrays may take the place of tensors. A path without a suffix gets
    `.npy`, or `.npz` for a mapping. Nothing is pickled: `allow_pickle` has no effect. Only `.safetensors`, and formats
    of other packages (`tfr.extensions.FileFormat`) that support it, take `metadata` (strings by name). Writing is
    atomic: the file appears when it is complete, and after an error or an interrupt an older file of that name is
    unchanged.

    In place of a path, an open file or `io.BytesIO` takes one tensor as `.npy`, one after the other, or a mapping as
    `.npz`. Any other object with `shape`, `dtype` and assignment to slices takes one tensor of that shape and dtype: an
    array of Zarr or h5py, a `np.memmap`. After an error, both contain what was written before it.

    DTypeError if the format, or the object, cannot hold the dtype (complex128 in `.safetensors`). ShapeError if the
    object has another shape. WriteError if the disk is full or fails, or the object raises. FileFormatError if the
    suffix belongs to a format that cannot be written, or that has no metadata.

    >>> path = folder / "points.npz"
    >>> tfr.save(path, {"x": tfr.asarray([1, 2]), "y": tfr.asarray([0.5, 0.25])})
    >>> sorted(np.load(path))
    ['x', 'y']
    """
    del allow_pickle
    if not isinstance(file, str | os.PathLike | bytes):
        if file_objects.is_written(file) and not metadata:
            file_objects.write(file, arr)
            return
        _save_into(file, arr, metadata)
        return
    name, suffix = checked_path(_with_suffix(file, arr), WRITTEN)
    if suffix not in SUFFIXES:
        _save_as_others_do(name, suffix, arr, _strings(metadata or {}))
        return
    if metadata and suffix != ".safetensors":
        raise FileFormatError(
            f"save: {suffix} files have no metadata",
            suggestions=("a path that ends in .safetensors",),
        )
    if suffix == ".npy":
        _save_npy(name, _single(arr))
    elif suffix == ".npz":
        _save_npz(name, _named(arr, suffix))
    elif suffix == ".zarr":
        _save_zarr(name, arr)
    elif suffix == SHARDED:
        raise FileFormatError(
            f"save: {name} names several files, and one is written",
            suggestions=("a path that ends in .safetensors",),
        )
    elif suffix == GGUF:
        raise FileFormatError(
            f"save: {name} would be a GGUF file, and these are read alone",
            suggestions=("a path that ends in .safetensors",),
        )
    else:
        _save_safetensors(name, _named(arr, suffix), _strings(metadata or {}))


def _with_suffix(path: Any, arr: Any) -> str:
    """Return the path with NumPy's suffix where it has none."""
    name = os.fsdecode(path)
    file = os.path.basename(name)
    if not file or os.path.splitext(file)[1]:
        return name
    return name + (".npz" if isinstance(arr, Mapping) else ".npy")


def _save_npy(name: str, tensor: Tensor) -> None:
    from tensorframe.frontend.files.npy import npy_sink

    _write([tensor], [npy_sink(name, tensor.shape, tensor.dtype)])


def _save_npz(name: str, tensors: Mapping[str, Tensor]) -> None:
    from tensorframe.frontend.files.archive import npz_sinks

    kinds = {key: (tensor.shape, tensor.dtype) for key, tensor in tensors.items()}
    _write(list(tensors.values()), npz_sinks(name, kinds))


def _save_safetensors(
    name: str, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]
) -> None:
    from tensorframe.frontend.files import safetensors

    kinds = {key: (tensor.shape, tensor.dtype) for key, tensor in tensors.items()}
    _write(list(tensors.values()), safetensors.sinks(name, kinds, metadata))


def _save_zarr(name: str, tensors: Mapping[str, Tensor] | ArrayLike) -> None:
    from tensorframe.frontend.files.zarr import ALONE, zarr_sinks

    members = (
        _named(tensors, ".zarr") if isinstance(tensors, Mapping) else {ALONE: asarray(tensors)}
    )
    kinds = {key: (tensor.shape, tensor.dtype) for key, tensor in members.items()}
    _write(list(members.values()), zarr_sinks(name, kinds))


def _save_as_others_do(
    name: str,
    suffix: str,
    tensors: Mapping[str, Tensor] | ArrayLike,
    metadata: Mapping[str, str],
) -> None:
    from tensorframe.frontend.files.formats import ALONE, format_of, sinks

    members = _named(tensors, suffix) if isinstance(tensors, Mapping) else {ALONE: asarray(tensors)}
    kinds = {key: (tensor.shape, tensor.dtype) for key, tensor in members.items()}
    _write(list(members.values()), sinks(format_of(name, suffix), name, kinds, metadata))


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


def _single(tensors: Mapping[str, Tensor] | ArrayLike) -> Tensor:
    if isinstance(tensors, Mapping):
        raise DTypeError(
            f"save: an .npy file, or an object, holds one tensor, got a mapping of {len(tensors)}",
            suggestions=("a path that ends in .npz",),
        )
    return asarray(tensors)


def _named(tensors: Mapping[str, Tensor] | ArrayLike, suffix: str) -> dict[str, Tensor]:
    from tensorframe.frontend.files.safetensors import METADATA

    if not isinstance(tensors, Mapping):
        raise DTypeError(
            f"save: {suffix} files hold tensors by name, got a single {type(tensors).__name__}",
            suggestions=('{"name": tensor}', "a path that ends in .npy"),
        )
    for name in tensors:
        folders = suffix == ".zarr" and isinstance(name, str) and not _is_path(name)
        if (
            not isinstance(name, str)
            or name == METADATA
            or "\0" in name
            or not _encodes(name)
            or folders
        ):
            raise DTypeError(f"save: {name!r} cannot be the name of a tensor in a file")
    return {name: asarray(tensor) for name, tensor in tensors.items()}


def _is_path(name: str) -> bool:
    """Whether a name is one of a group's, or names in one another: all stay inside."""
    return not any(part in ("", ".", "..") or part.startswith("__") for part in name.split("/"))


def _encodes(name: str) -> bool:
    """Whether UTF-8 can spell a name: it has no halves of surrogate pairs."""
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def _strings(metadata: Mapping[str, str]) -> dict[str, str]:
    for pair in metadata.items():
        if not all(isinstance(text, str) and _encodes(text) for text in pair):
            raise DTypeError(f"save: metadata are strings by name, got {pair}")
    return dict(metadata)
