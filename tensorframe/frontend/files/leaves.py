"""Leaves: tensors whose elements are read from elsewhere when they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorframe.backends.registry import capabilities, resolve_device
from tensorframe.errors import DTypeError
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.operand_nodes import placed
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

    For arrays of Zarr, h5py, netCDF4, TensorStore, xarray and Dask, a `np.memmap`, or an object of your own. Elements
    are read by `array[a:b, c:d]`, with a slice for each axis and positive steps; this must return an array of that
    shape and of the object's dtype. A slice such as `(t * 2)[:10]` reads only the elements that it needs. Reading takes
    the memory of these elements and some megabytes, or that of a chunk where the object has `chunks`. A tensor that was
    read as a whole stores its elements; do not change the object before that.

    Objects of libraries that are known to be thread-safe are read by several threads, others by one thread at a time.

    DTypeError if the object has no slices, or elements of a dtype that no tensor has. ShapeError if `shape` is not a
    tuple of sizes. ReadError if, while elements are read, the object raises or returns another shape or dtype.

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
