"""Hand-over to the host: arrays, copies and pickles of a tensor, and attributes by which other libraries read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from tensorframe.backends.registry import backend_of, named_device, resolve_device
from tensorframe.dtypes import ADDED, DTypeLike
from tensorframe.errors import DeviceError, DTypeError
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.conversion.ownership import copied, is_settled
from tensorframe.frontend.operand_nodes import data_node, placed
from tensorframe.frontend.tensor import Tensor, attribute, method
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.holding import require

Array = np.ndarray[Any, Any]

# called once, when the first array is handed out that may only be read
when_handed_out: list[Callable[[], None]] = []


@method
def numpy(self: Tensor, *, copy: bool = False) -> Array:
    """Return the elements as a NumPy array: a read-only view, or a writable copy.

    Computes what is not computed yet. The view costs nothing where the elements are in host memory; it is read-only
    because other tensors may share it. What writes to its arguments, such as some functions of SciPy, takes a copy.

    >>> tfr.asarray([1, 2]).numpy()
    array([1, 2])
    """
    array = self._array()
    if copy:
        return array.copy()
    view = array.view()
    view.flags.writeable = False
    while when_handed_out:
        when_handed_out.pop()()
    return view


@method
def to_numpy(self: Tensor, dtype: DTypeLike | None = None, copy: bool = False) -> Array:
    """Return the elements as a NumPy array, in a dtype if one is given: what pandas, xarray and polars call `numpy`.

    >>> tfr.asarray([1, 2]).to_numpy("float32")
    array([1., 2.], dtype=float32)
    """
    return __array__(self, dtype, copy=copy or None)


@method
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Array:
    if dtype is None or self.node.dtype == dtype:
        return numpy(self, copy=bool(copy))
    if copy is False:
        raise ValueError(f"{self.node.dtype} elements become {np.dtype(dtype)} only in a copy")
    return self._array().astype(dtype)


@attribute
def __array_interface__(self: Tensor) -> dict[str, Any]:
    """The elements as NumPy's array interface describes them, version 3. Computes them.

    The memory is read-only, and lives as long as somebody holds the entry `data`, which is a buffer. NumPy has no
    name for the dtypes of `ml_dtypes`, so tensors of these have no such attribute, and NumPy takes `__array__`.
    """
    if self.node.dtype in ADDED:
        raise AttributeError(f"NumPy's array interface has no name for {self.node.dtype}")
    elements = self.numpy()
    if not elements.flags.c_contiguous:
        elements = np.ascontiguousarray(elements)
        elements.flags.writeable = False
    # with strides, PIL takes the bytes that `tobytes` gives; without, it wants a buffer
    return {
        "version": 3,
        "shape": elements.shape,
        "typestr": elements.dtype.str,
        "strides": elements.strides,
        "data": elements,
    }


@attribute
def _numba_type_(self: Tensor) -> Any:
    """The type of a tensor as an argument of a function that Numba compiles: a read-only array in C order."""
    from tensorframe.backends.llvm.numba_arguments import refuse_by_dtype, tensor_type

    try:
        return tensor_type(self.node.dtype, self.ndim)
    except DTypeError as error:
        refuse_by_dtype(type(self))  # which Numba asks next
        raise AttributeError("Numba has no type for it", name="_numba_type_", obj=self) from error


@method
def __arrow_c_schema__(self: Tensor) -> Any:
    from tensorframe.frontend.protocols import arrow_export

    return arrow_export.schema_capsule(self)


@method
def __arrow_c_array__(self: Tensor, requested_schema: Any = None) -> tuple[Any, Any]:
    from tensorframe.frontend.protocols import arrow_export

    return arrow_export.capsules(self, requested_schema)


@method
def __copy__(self: Tensor) -> Tensor:
    # x[...] = v and x += y rebind one handle, so a second handle is a copy
    return Tensor(self.node)


@method
def __deepcopy__(self: Tensor, _memo: dict[int, Any]) -> Tensor:
    return Tensor(self.node)


@method
def copy(self: Tensor, /, order: str = "C") -> Tensor:
    """Return a tensor that later assignments to this one do not change, and vice versa. Costs nothing.

    >>> x = tfr.asarray([1, 2])
    >>> y = x.copy()
    >>> x += 1
    >>> y.tolist()
    [1, 2]
    """
    del order  # NumPy's: elements are always in C order
    return Tensor(self.node)


@method
def __reduce__(self: Tensor) -> tuple[Any, ...]:
    return (_restore, (self.numpy(), str(self.node.device)))


def _restore(array: Array, device: str) -> Tensor:
    """Return the tensor of a pickle: on its device if there is one here, else in host memory."""
    try:
        target = resolve_device(device)
    except DeviceError:
        target = CPU
    # buffers that were pickled apart from the tensor belong to whoever gave them
    own = array if array.base is None or is_settled(array) else copied(array)
    return Tensor(data_node(own, target))


@method
def to_device(self: Tensor, device: OnDevice, /, *, stream: Any = None) -> Tensor:
    """Return a copy of the tensor on `device`, which costs nothing if it is there, and is else made when it is needed.

    `device` is a Device or a name such as `"cuda:0"`; DeviceError if there is none, DTypeError if it cannot hold the
    dtype. With `stream`, the copy is made at once, after the work that a stream has been given, and what it is given
    later waits for the copy. CUDA devices have streams: those of CuPy and PyTorch, objects with `__cuda_stream__`, and
    addresses of a `cudaStream_t` as integers. DeviceError if neither device has such a stream.

    >>> tfr.asarray([1, 2]).to_device("numpy").device
    Device('numpy')
    """
    return _moved("to_device", self, device, stream)


def _moved(name: str, self: Tensor, device: Any, stream: Any = None) -> Tensor:
    target = named_device(name, device)
    source = self.node.device
    if source is target:
        moved = Tensor(self.node)
    else:
        require(name, target, self.node.dtype)
        moved = Tensor(placed(self.node, target))
    if stream is not None:
        with _in_order_of(name, (target, source), stream):
            moved.compute()
    return moved


def _in_order_of(name: str, devices: Sequence[Device], stream: Any) -> AbstractContextManager[None]:
    """Return the context in which one of the devices works in the order of a stream; DeviceError if none has it."""
    for device in devices:
        order = backend_of(device).in_order_of(device, stream)
        if order is not None:
            return order
    raise DeviceError(
        f"{name}: device {devices[0]} takes no stream, got {stream!r}",
        suggestions=("leave stream out: copies wait for the work that they need",),
    )


@method
def to_backend(self: Tensor, name: OnDevice, /) -> Tensor:
    """Return the tensor on the first device of the backend `name`, or on a device named in full.

    DeviceError if there is none, DTypeError if it cannot hold the dtype.

    >>> tfr.asarray([1, 2]).to_backend("numpy").backend
    'numpy'
    """
    return _moved("to_backend", self, name)


__all__: list[str] = []
