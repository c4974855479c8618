"""Conversion: Python numbers, sequences, NumPy arrays, buffers and DLPack objects become Tensors."""

from __future__ import annotations

import math
import sys
from functools import partial
from typing import Any, Final

import numpy as np

from tensorframe import dtypes
from tensorframe.backends.registry import backend_of, capabilities, resolve_device
from tensorframe.backends.storage import Storage
from tensorframe.backends.transfer import dlpack_home, duplicate
from tensorframe.dtypes import COMPLEX, DType, DTypeLike, as_dtype
from tensorframe.errors import (
    ArgumentError,
    DeviceError,
    DTypeError,
    ShapeError,
)
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.dlpack_import import HOST_TYPES, adopt, dlpack_device
from tensorframe.frontend.conversion.ownership import copied, is_settled
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.operand_nodes import PYTHON_NUMBERS, data_node, placed
from tensorframe.frontend.parameters import integer
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.holding import default_on, require
from tensorframe.graph.node import Node
from tensorframe.graph.record import cast, constant
from tensorframe.graph.tracing import TracedNumber, example
from tensorframe.ops.creation import DATA
from tensorframe.ops.movement import RESHAPE
from tensorframe.site import recording_site, warn_user

__all__ = ["array", "asarray", "from_dlpack"]

Array = np.ndarray[Any, Any]
OnDevice = str | Device | None

# how an object says that it has elements; before Python 3.12 no attribute says that there is a buffer
_PROTOCOLS: Final = ("__array__", "__dlpack__", "__array_interface__", "__arrow_c_array__")
# What no dtype of floats is too narrow for.
_HELD_BY_ALL: Final = min([dtypes.FORMAT[dtype].largest for dtype in dtypes.FLOAT])

# each kind of Python number holds those before it
NUMBERS_BY_KIND: Final = (bool, int, float, complex)


def asarray(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    device: OnDevice = None,
    copy: bool | None = None,
    like: ArrayLike | None = None,
) -> Tensor:
    """Return `a` as a Tensor: a number, nested sequence, NumPy array, Tensor, buffer, or DLPack object.

    Python floats become the default real dtype (float32), integers int64, complex numbers complex64; everything
    that has a dtype keeps it. Other byte orders are converted. Sequences may contain Tensors, which are stacked.

    A Tensor that already has the dtype and device is returned itself. Everything else is copied, so that changing it
    later changes no recorded result. Memory that cannot be written to is shared instead: read-only arrays that own
    their memory, `bytes`, files mapped for reading, and views of these. A read-only view of other memory is copied,
    since its owner may write to it. `copy=False` shares all other memory too, which nobody may write to afterwards.
    Where a copy is needed it raises ArgumentError (a ValueError). Ragged sequences raise ShapeError. Strings and other
    objects raise DTypeError. `order` and `like` have no effect: elements are always in C order.

    >>> tfr.asarray([[1, 2], [3, 4]]).shape
    (2, 2)
    >>> tfr.asarray(1.5).dtype
    dtype('float32')
    """
    del order, like
    if type(a) is Tensor and dtype is None and device is None and not copy:
        return a
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(a, Tensor):
        return from_tensor(a, wanted, device, copy)
    target = resolve_device(device)
    kind = type(a)
    if kind is np.ndarray:
        return from_array(a, wanted, target, copy)
    if kind in PYTHON_NUMBERS:
        refuse_to_copy(copy, "a Python number has no memory to share")
        number_dtype = wanted or default_on(target, dtypes.of_scalar(example(a)))
        return _from_number(a, number_dtype, target)
    if isinstance(a, np.generic):
        refuse_to_copy(copy, "a NumPy scalar has no memory to share")
        own = as_dtype(a.dtype)  # not every scalar of NumPy's is a number
        return _from_number(a.item(), wanted or own, target)
    if isinstance(a, list | tuple):
        refuse_to_copy(copy, "the elements of a sequence are gathered in new memory")
        from tensorframe.frontend.conversion.sequences import from_sequence  # loaded by the first

        return from_sequence(a, wanted, target if device is not None else None)
    from tensorframe.frontend.conversion.objects import from_object  # of other libraries

    return from_object(a, wanted, target, copy)


def array(
    object: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    copy: bool | None = True,
    order: str | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: ArrayLike | None = None,
    device: OnDevice = None,
) -> Tensor:
    """Return a new Tensor with the elements of `object`: `asarray` as NumPy spells it.

    Axes of size 1 are put in front until there are `ndmin`. `order`, `subok`, `ndmax` and `like` are NumPy's and change
    nothing.

    >>> tfr.array([1, 2], "float64").dtype
    dtype('float64')
    """
    del order, subok, ndmax, like
    tensor = asarray(object, dtype=dtype, device=device, copy=copy or None)
    missing = integer("array", "ndmin", ndmin) - tensor.ndim
    return call(RESHAPE, tensor, attrs=((1,) * missing + tensor.shape,)) if missing > 0 else tensor


def from_dlpack(x: ArrayLike, /, *, device: OnDevice = None, copy: bool | None = None) -> Tensor:
    """Return a Tensor with the elements of `x`, an object with `__dlpack__` and `__dlpack_device__`.

    The result is on `device`, by default where `x` is. It is a copy, since DLPack does not say who else may write to
    the memory; `copy=False` shares it, and raises ArgumentError where that is impossible. bfloat16 works.
    Source: the DLPack specification 1.1, and "DLPack" in the Array API standard.

    >>> tfr.from_dlpack(np.arange(3)).tolist()
    [0, 1, 2]
    """
    if isinstance(x, Tensor):
        return Tensor(from_tensor(x, None, device, copy).node)
    if not hasattr(x, "__dlpack__"):
        raise DTypeError(
            f"from_dlpack: {type(x).__name__} has no __dlpack__",
            suggestions=("tfr.asarray(...), which takes more kinds of objects",),
        )
    kind, index = dlpack_device(x)
    if kind in HOST_TYPES:
        return from_array(adopt(x, copy=copy), None, _host_device(device), copy)
    home = dlpack_home(kind, index)
    if home is None and device is None:
        raise DeviceError(
            f"from_dlpack: no device here has DLPack type {kind}",
            suggestions=('device="cpu" to copy the elements into host memory',),
        )
    target = home if device is None else resolve_device(device)
    assert target is not None
    storage = None if home is None else backend_of(home).import_dlpack(x, home)
    if storage is not None:
        own = storage if copy is False else duplicate(storage)
        return from_tensor(stored_tensor(own), None, target, False if copy is False else None)
    refuse_to_copy(copy, f"from_dlpack: memory of device type {kind} comes through the host")
    return tensor_of(adopt(x, copy=None), target)


def stored_tensor(storage: Storage) -> Tensor:
    """Return the Tensor of storage that somebody else's memory is behind."""
    dtype = as_dtype(storage.dtype)
    site = recording_site()
    return Tensor(Node(DATA, (), (), storage.shape, dtype, storage.device, site, storage))


def _host_device(device: OnDevice) -> Device:
    """Return where arrays of the host go: the device that is named, or the default one if it works in host memory."""
    target = resolve_device(device)
    return target if device is not None or capabilities(target).host_memory else CPU


def refuse_to_copy(copy: bool | None, reason: str) -> None:
    if copy is False:
        raise ArgumentError(f"copy=False: {reason}", suggestions=("leave copy out",))


def from_tensor(tensor: Tensor, dtype: DType | None, device: OnDevice, copy: bool | None) -> Tensor:
    node = tensor.node
    target = node.device if device is None else resolve_device(device)
    if (dtype is None or dtype == node.dtype) and target is node.device:
        if not copy:
            return tensor
        return _unshared(tensor)
    refuse_to_copy(copy, f"{node.dtype} on {node.device} becomes {dtype or node.dtype} on {target}")
    require("asarray", target, dtype or node.dtype)
    if dtype is not None:
        raise_unless_castable("asarray", node.dtype, dtype)
        node = cast(node, dtype)
    return Tensor(placed(node, target))


def _unshared(tensor: Tensor) -> Tensor:
    """Return a copy; nodes never change, so another handle is one, unless the memory may be the user's."""
    node = tensor.node
    if node.op is not DATA:
        return Tensor(node)
    handle = node.storage.handle
    if not isinstance(handle, np.ndarray):
        return stored_tensor(duplicate(node.storage))
    return Tensor(node if handle.flags.owndata else data_node(copied(handle), node.device))


def from_array(values: Any, dtype: DType | None, device: Device, copy: bool | None) -> Tensor:
    held = values.dtype
    target = as_dtype(held) if dtype is None else dtype
    if copy is False and not capabilities(device).host_memory:
        refuse_to_copy(copy, f"elements in host memory are copied to {device}")
    if held == target and copy is not True and (copy is False or is_settled(values)):
        # a view: the tensor's own array object, whatever the user does with the flags of theirs
        return tensor_of(values.view(), device)
    if copy is False:
        refuse_to_copy(copy, f"{held} elements become {target} only in new memory")
    return tensor_of(_converted(values, target), device)


def _converted(values: Array, dtype: DType) -> Array:
    """Return a copy of the values in `dtype`."""
    if values.dtype == dtype:
        return copied(values)
    raise_unless_castable("asarray", as_dtype(values.dtype), dtype)
    with np.errstate(all="ignore"):
        return values.astype(dtype)


def raise_unless_castable(name: str, dtype: DType, target: DType) -> None:
    """Raise DTypeError if `dtype` is complex and `target` is not: which part is meant must be said."""
    if dtype in COMPLEX and target not in COMPLEX and target != dtypes.bool_:
        raise DTypeError(
            f"{name}: {dtype} does not become {target} by itself",
            suggestions=("tfr.real(x), tfr.imag(x) or tfr.abs(x) first",),
        )


def tensor_of(values: Array, device: Device) -> Tensor:
    """Return the Tensor on `device` that holds `values`, in their own memory if that is host memory."""
    require("asarray", device, values.dtype)
    return Tensor(data_node(values, device, recording_site()))


def _from_number(value: Any, dtype: DType, device: Device) -> Tensor:
    convert = partial(as_value, "asarray", dtype=dtype)
    require("asarray", device, dtype)
    number = value.then(convert) if type(value) is TracedNumber else convert(value)
    return Tensor(constant(number, dtype, device, recording_site()))


def as_value(name: str, value: Any, dtype: DType) -> Any:
    """Return the Python number `value` as the kind of number that `dtype` holds; errors if it cannot be one."""
    kind = dtype.kind
    if kind == "b":
        return bool(value)
    if kind == "c":
        return complex(value)
    if isinstance(value, complex):
        raise_unless_castable(name, dtypes.default_complex(), dtype)
    if kind not in "iu":
        _warn_of_overflow(name, float(value), dtype)
        return float(value)
    if not math.isfinite(value):
        raise DTypeError(f"{name}: {value} has no value in {dtype}")
    dtypes.check_fits(int(value), dtype, "dtype=tfr.{}")
    return int(value)


def _warn_of_overflow(name: str, value: float, dtype: DType) -> None:
    """Warn, as NumPy does, that a finite number becomes infinite."""
    if -_HELD_BY_ALL <= value <= _HELD_BY_ALL:
        return
    if (
        dtype != dtypes.float64
        and math.isfinite(value)
        and abs(value) > dtypes.FORMAT[dtype].largest
    ):
        warn_user(
            f"{name}: {value} overflows {dtype} and becomes infinite\n  try: dtype=tfr.float64",
            RuntimeWarning,
        )


def ragged(name: str, what: str) -> ShapeError:
    """Return the error for a nested sequence whose parts differ in shape."""
    return ShapeError(
        f"{name}: the sequence is ragged: {what}",
        suggestions=("make all parts of equal shape: tfr.pad or a list of tensors help",),
    )


def holds_elements(obj: Any) -> bool:
    """Whether `obj` is another library's array, series or buffer, and not a single number or text of NumPy's."""
    kind = type(obj)
    if isinstance(obj, np.generic | str | bytes):
        return False
    return any(hasattr(kind, name) for name in _PROTOCOLS) or _is_buffer(obj)


def _is_buffer(obj: Any) -> bool:
    arrays = sys.modules.get("array")  # where nobody has imported it, there are none
    return isinstance(obj, memoryview | bytearray) or (
        arrays is not None and isinstance(obj, arrays.array)
    )
