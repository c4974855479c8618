"""Leaves: tensors whose elements are read from elsewhere when they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorframe.backends.registry import capabilities, resolve_device
from tensorframe.errors import DTypeError
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.dispatch import placed
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.holding import require
from tensorframe.graph.record import source
from tensorframe.ops.creation import FILE

if TYPE_CHECKING:
    from tensorframe.files.reader import Reader

__all__ = ["from_reader"]


def from_reader(array: Any, /, *, device: OnDevice = None) -> Tensor:
    """The elements of any object with `shape`, `dtype` and slices, read when they are needed.

    For arrays of Zarr, h5py, netCDF4, TensorStore, xarray and Dask, a `np.memmap`, or an object of your own. It is
    asked for `array[a:b, c:d]`, with a slice for each axis (steps are positive), and has to give an array of that
    shape and its own dtype. Of a slice, `(t * 2)[:10]`, only what that needs is read; reading takes the memory of what
    is read and some megabytes, or a chunk, where `array.chunks` says how large one is. What was read as a whole is
    kept as long as the tensor is; until then the object must not change.

    Objects of libraries that are known to be safe are used from any thread, all others by one thread at a time.

    Raises DTypeError if the object has no slices, or elements of a dtype that no tensor has, and ShapeError if its
    shape is none. When elements are read, ReadError says what the object raised, or what it gave instead of what it
    was asked for.

    >>> stored = np.memmap(folder / "x.dat", np.float32, "w+", shape=(1000, 1000))
    >>> x = tfr.from_reader(stored)
    >>> (x + 1)[:2, 3].tolist()
    [1.0, 1.0]
    """
    from tensorframe.frontend.files.objects import reader_of

    if isinstance(array, Tensor):
        raise DTypeError(
            "from_reader: the object is a Tensor already",
            suggestions=("the tensor itself", "x.to_backend(device) for one on another device"),
        )
    return tensor_of(reader_of(array), resolve_device(device), "from_reader")


def tensor_of(reader: Reader, device: Device, asked: str) -> Tensor:
    """Return the Tensor that a reader reads, where its device can have elements of this dtype."""
    require(asked, device, reader.dtype)
    if not reader.mapped:
        from tensorframe.frontend.files import reading

        reading.enable()
    able = capabilities(device)
    home = device if able.host_memory or able.chunked else CPU
    return Tensor(placed(source(FILE, reader.shape, reader.dtype, home, reader), device))
