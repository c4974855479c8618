"""Native objects: what a device's own library calls the memory behind a tensor, handed over without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends.registry import backend_of, devices
from tensorframe.errors import DTypeError, ShapeError
from tensorframe.frontend.creation.convert import asarray, stored_tensor
from tensorframe.frontend.tensor import Tensor, method
from tensorframe.runtime.evaluate import computed_storage

__all__ = ["from_native"]


@method
def native(self: Tensor) -> Any:
    """Return the object of the device's own library that holds the elements, computed if need be, without a copy.

    A NumPy array (read-only) in host memory, a CuPy array, a pyopencl Buffer or a GPUBuffer. Do not write to it: other
    tensors may share it. ShapeError where that library has no word for the layout of a view.

    >>> type(tfr.asarray([1.0, 2.0]).native())
    <class 'numpy.ndarray'>
    """
    storage = computed_storage(self.node)
    try:
        found = backend_of(self.node.device).native(storage)
    except ValueError as error:
        raise ShapeError(
            f"native: {error}", suggestions=("(x + 0).native(), which has memory of its own",)
        ) from error
    if isinstance(found, np.ndarray):
        found = found.view()
        found.flags.writeable = False
    return found


def from_native(obj: Any, /) -> Tensor:
    """Return the Tensor that shares the memory of an object of a device's own library, on that device.

    The inverse of `Tensor.native`. Do not write to the memory while the tensor is in use. DTypeError if no device here
    knows the object.

    >>> tfr.from_native(np.arange(3)).tolist()
    [0, 1, 2]
    """
    if isinstance(obj, Tensor):
        return Tensor(obj.node)
    if isinstance(obj, np.ndarray):
        return asarray(obj, device="cpu", copy=False)
    for backend in dict.fromkeys(backend_of(info.device) for info in devices()):
        storage = backend.adopt(obj)
        if storage is not None:
            return stored_tensor(storage)
    raise DTypeError(
        f"from_native: no device here knows {type(obj).__name__}",
        suggestions=("tfr.asarray(...), which copies",),
    )
