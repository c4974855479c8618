"""Storage: the bytes of a computed tensor, as one concrete class for all backends."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.dtypes import DType
from tensorframe.graph.device import Device
from tensorframe.graph.shape import Shape


class Storage:
    """The dtype and shape of what an opaque `handle` holds, which only its backend understands.

    On host devices the handle is the NumPy array itself. A library call that gives several tensors has a tuple of
    handles until its parts are taken.
    """

    __slots__ = ("__weakref__", "device", "dtype", "handle", "shape")

    def __init__(self, device: Device, handle: Any, dtype: DType, shape: Shape) -> None:
        self.device = device
        self.handle = handle
        self.dtype = dtype
        self.shape = shape

    @classmethod
    def of_array(cls, device: Device, array: Any) -> Storage:
        """Return the storage of a NumPy array or scalar, or of a tuple of arrays, without a copy."""
        if type(array) is tuple:
            return cls(device, array, array[0].dtype, array[0].shape)
        if type(array) is not np.ndarray:
            array = np.asarray(array)
        return cls(device, array, array.dtype, array.shape)

    @property
    def nbytes(self) -> int:
        """The number of bytes of the elements, not of the memory they may share with others."""
        parts = self.handle if isinstance(self.handle, tuple) else (self.handle,)
        return sum(int(part.nbytes) for part in parts)

    def __repr__(self) -> str:
        return f"Storage({self.dtype}{list(self.shape)} on {self.device})"
