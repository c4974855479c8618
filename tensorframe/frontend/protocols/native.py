"""Native objects: what a device's own library calls the memory behind a tensor, handed over without a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorframe.backends.registry import backend_of, capabilities, devices, resolve_device
from tensorframe.dtypes import DType, DTypeLike, as_dtype
from tensorframe.errors import DeviceError, DTypeError, ShapeError
from tensorframe.frontend.conversion.convert import asarray, stored_tensor
from tensorframe.frontend.tensor import Tensor, method
from tensorframe.graph.device import Device
from tensorframe.graph.holding import require
from tensorframe.graph.shape import Shape, as_shape
from tensorframe.runtime.evaluate import computed_storage

__all__ = ["from_native"]


@method
def native(self: Tensor) -> Any:
    """Return the object of the device's own library that holds the elements, computed if need be, without a copy.

    A NumPy array (read-only) in host memory, a CuPy array, a pyopencl Buffer or a GPUBuffer. Do not write to it: other
    tensors may share it. Keep the tensor while a buffer is in use: afterwards others get its memory. ShapeError where
    that library has no word for the layout of a view.

    >>> type(tfr.asarray([1.0, 2.0]).native())
    <class 'numpy.ndarray'>
    """
    storage = computed_storage(self.node)
    try:
        native = backend_of(self.node.device).native(storage)
    except ValueError as error:
        raise ShapeError(
            f"native: {error}", suggestions=("(x + 0).native(), which has memory of its own",)
        ) from error
    if isinstance(native, np.ndarray):
        native = native.view()
        native.flags.writeable = False
    return native


def from_native(
    obj: Any,
    /,
    *,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
) -> Tensor:
    """Return the Tensor that shares the memory of an object of a device's own library, on that device.

    The inverse of `Tensor.native`. It takes a NumPy array, a CuPy array, a `pyopencl.Buffer`, a `pyopencl.array.Array`
    and a `GPUBuffer`. Buffers are bytes: `shape` and `dtype` say what is in them, in C order from their beginning on;
    they may be larger. Arrays know both, and what is said has to agree, as `device` has to with where the memory is.
    The object stays alive while a tensor uses it. Do not write to its memory meanwhile: what is computed later would
    see it.

    Buffers of OpenCL and WebGPU have to come from the context, or device, that tensorframe works with:
    `tfr.backends.native_device("opencl")` is its command queue, `native_device("wgpu")` its GPUDevice. Work that the
    array's own queue was given is waited for; any other work on the memory has to be done, or in that queue.

    Raises ArgumentError where `shape` or `dtype` is missing, elements are not aligned, or the memory cannot be read;
    ShapeError where the buffer is too small, or the array has another shape; DTypeError where no device here knows the
    object, the dtype is another one, or the device holds elements of it in another way; DeviceError where the memory
    belongs to another context or device.

    >>> tfr.from_native(np.arange(3)).tolist()
    [0, 1, 2]
    """
    sizes = None if shape is None else as_shape(shape)
    kind = None if dtype is None else _named_dtype(dtype)
    target = None if device is None else resolve_device(device)
    tensor = _adopt(obj, sizes, kind, target)
    if sizes is not None and tensor.shape != sizes:
        raise ShapeError(f"from_native: the object has shape {tensor.shape}, not {sizes}")
    if kind is not None and tensor.dtype != kind:
        hint = f"from_native(...).astype({kind.name!r}), which converts"
        raise DTypeError(
            f"from_native: the object has dtype {tensor.dtype}, not {kind}", suggestions=(hint,)
        )
    if target is not None and tensor.device is not target:
        raise DeviceError(
            f"from_native: the memory is {tensor.device}'s, not {target}'s",
            suggestions=(f"from_native(...).to_device({str(target)!r}), which copies",),
        )
    return tensor


def _adopt(obj: Any, shape: Shape | None, dtype: DType | None, device: Device | None) -> Tensor:
    if isinstance(obj, Tensor):
        return Tensor(obj.node)
    if isinstance(obj, np.ndarray):
        on_host = device is not None and capabilities(device).host_memory
        return asarray(obj, device=device if on_host else "cpu", copy=False)
    for backend in dict.fromkeys(backend_of(info.device) for info in devices()):
        storage = backend.adopt(obj, shape, dtype)
        if storage is not None:
            require("from_native", storage.device, storage.dtype)
            return stored_tensor(storage)
    raise DTypeError(
        f"from_native: no device here knows {type(obj).__name__}",
        suggestions=("tfr.asarray(...), which copies",),
    )


def _named_dtype(dtype: Any) -> DType:
    """Return the dtype that bytes have; DTypeError for the byte order of other machines, which no device has."""
    if isinstance(dtype, str | np.dtype) and str(dtype)[:1] in (">", "<", "="):
        given = np.dtype(dtype)
        if not given.isnative:
            raise DTypeError(
                f"from_native: {dtype!r} is of another byte order",
                suggestions=("tfr.asarray(...), which converts what the host has",),
            )
    return as_dtype(dtype)
