"""Open files: arrays in NumPy's formats are written to and read from file objects and buffers, at once."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from tensorframe.dtypes import NARROW, DType, bfloat16
from tensorframe.errors import DTypeError, FileFormatError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.convert import OnDevice, asarray
from tensorframe.frontend.tensor import Tensor

# what files hold bfloat16 as, which NumPy has no name for
_UNNAMED = np.dtype("V2")


def is_written(target: Any) -> bool:
    """Whether something is an open file, or a buffer, to write bytes to."""
    return hasattr(target, "write") and not hasattr(target, "__setitem__")


def is_read(source: Any) -> bool:
    """Whether something is an open file, or a buffer, to read bytes from."""
    return hasattr(source, "read") and hasattr(source, "seek")


def write(file: Any, tensors: Mapping[str, Tensor] | ArrayLike) -> None:
    """Write one tensor to an open file as `.npy`, where it stands, or tensors by name as `.npz`."""
    try:
        if isinstance(tensors, Mapping):
            _write_archive(file, tensors)
        else:
            np.lib.format.write_array(file, _as_stored(tensors), allow_pickle=False)
    except TypeError as error:
        raise DTypeError(
            f"save: {type(file).__name__} takes no bytes: {error}",
            suggestions=('a file opened with "wb", or an io.BytesIO',),
        ) from error


def read(file: Any, device: OnDevice) -> Any:
    """Return the tensor of the array that an open file stands at, or those of an archive by name."""
    from tensorframe.frontend.files.members import Archive  # few programs read archives

    try:
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return _as_tensor(loaded, device)
        with loaded:
            return Archive({name: _as_tensor(loaded[name], device) for name in loaded.files})
    except (EOFError, ValueError) as error:
        raise FileFormatError(
            f"load: {type(file).__name__} holds no array in NumPy's formats here: {error}",
            suggestions=("a path, whose suffix says the format",),
        ) from error
    except TypeError as error:
        raise DTypeError(
            f"load: {type(file).__name__} gives no bytes: {error}",
            suggestions=('a file opened with "rb", or an io.BytesIO',),
        ) from error


def _write_archive(file: Any, tensors: Mapping[str, Tensor]) -> None:
    """Write a `.npz`; `numpy.savez` takes names as keywords, beside `file` and `allow_pickle` of its own."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, tensor in tensors.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, _as_stored(tensor), allow_pickle=False)


def _as_stored(tensor: ArrayLike) -> np.ndarray[Any, Any]:
    array = asarray(tensor).numpy()
    return array.view(_UNNAMED) if _has_no_name(array.dtype) else array


def _as_tensor(array: np.ndarray[Any, Any], device: OnDevice) -> Tensor:
    return asarray(array.view(bfloat16) if array.dtype == _UNNAMED else array, device=device)


def _has_no_name(dtype: DType) -> bool:
    return dtype in NARROW and dtype.kind == "V"
