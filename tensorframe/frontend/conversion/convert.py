"""Conversion: Python numbers, sequences, NumPy arrays, buffers and DLPack objects become Tensors."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
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
    OutOfRangeError,
    ShapeError,
    TracingError,
)
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.dlpack_import import HOST_TYPES, adopt, dlpack_device
from tensorframe.frontend.conversion.ownership import copied, is_settled
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.operand_nodes import PYTHON_NUMBERS, data_node, placed
from tensorframe.frontend.parameters import integer
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.holding import default_on, holds, require
from tensorframe.graph.node import Node
from tensorframe.graph.record import cast, constant
from tensorframe.graph.tracing import TracedNumber, example
from tensorframe.ops.creation import DATA
from tensorframe.ops.movement import CONCAT, RESHAPE
from tensorframe.site import recording_site, warn_user

__all__ = ["array", "asarray", "from_dlpack"]

Array = np.ndarray[Any, Any]
OnDevice = str | Device | None

_NO_NUMBERS: Final = (str, bytes, type(None))

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
        return _from_tensor(a, wanted, device, copy)
    target = resolve_device(device)
    kind = type(a)
    if kind is np.ndarray:
        return _from_array(a, wanted, target, copy)
    if kind in PYTHON_NUMBERS:
        _refuse_to_copy(copy, "a Python number has no memory to share")
        number_dtype = wanted or default_on(target, dtypes.of_scalar(example(a)))
        return _from_number(a, number_dtype, target)
    if isinstance(a, np.generic):
        _refuse_to_copy(copy, "a NumPy scalar has no memory to share")
        own = as_dtype(a.dtype)  # not every scalar of NumPy's is a number
        return _from_number(a.item(), wanted or own, target)
    if isinstance(a, list | tuple):
        _refuse_to_copy(copy, "the elements of a sequence are gathered in new memory")
        return _from_sequence(a, wanted, target if device is not None else None)
    return _from_object(a, wanted, target, copy)


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
        return Tensor(_from_tensor(x, None, device, copy).node)
    if not hasattr(x, "__dlpack__"):
        raise DTypeError(
            f"from_dlpack: {type(x).__name__} has no __dlpack__",
            suggestions=("tfr.asarray(...), which takes more kinds of objects",),
        )
    kind, index = dlpack_device(x)
    if kind in HOST_TYPES:
        return _from_array(adopt(x, copy=copy), None, _host_device(device), copy)
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
        return _from_tensor(stored_tensor(own), None, target, False if copy is False else None)
    _refuse_to_copy(copy, f"from_dlpack: memory of device type {kind} comes through the host")
    return _placed(adopt(x, copy=None), target)


def stored_tensor(storage: Storage) -> Tensor:
    """Return the Tensor of storage that somebody else's memory is behind."""
    dtype = as_dtype(storage.dtype)
    site = recording_site()
    return Tensor(Node(DATA, (), (), storage.shape, dtype, storage.device, site, storage))


def _host_device(device: OnDevice) -> Device:
    """Return where arrays of the host go: the device that is named, or the default one if it works in host memory."""
    target = resolve_device(device)
    return target if device is not None or capabilities(target).host_memory else CPU


def _refuse_to_copy(copy: bool | None, reason: str) -> None:
    if copy is False:
        raise ArgumentError(f"copy=False: {reason}", suggestions=("leave copy out",))


def _from_tensor(
    tensor: Tensor, dtype: DType | None, device: OnDevice, copy: bool | None
) -> Tensor:
    node = tensor.node
    target = node.device if device is None else resolve_device(device)
    if (dtype is None or dtype == node.dtype) and target is node.device:
        if not copy:
            return tensor
        return _unshared(tensor)
    _refuse_to_copy(
        copy, f"{node.dtype} on {node.device} becomes {dtype or node.dtype} on {target}"
    )
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


def _from_array(values: Any, dtype: DType | None, device: Device, copy: bool | None) -> Tensor:
    held = values.dtype
    target = as_dtype(held) if dtype is None else dtype
    if copy is False and not capabilities(device).host_memory:
        _refuse_to_copy(copy, f"elements in host memory are copied to {device}")
    if held == target and copy is not True and (copy is False or is_settled(values)):
        # a view: the tensor's own array object, whatever the user does with the flags of theirs
        return _placed(values.view(), device)
    if copy is False:
        _refuse_to_copy(copy, f"{held} elements become {target} only in new memory")
    return _placed(_converted(values, target), device)


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


def _placed(values: Array, device: Device) -> Tensor:
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


def _from_sequence(obj: Sequence[Any], dtype: DType | None, device: Device | None) -> Tensor:
    try:
        leaves = set(_leaves(obj))
    except RecursionError:
        raise ArgumentError(
            "asarray: the sequence contains itself, or is nested deeper than any tensor has axes",
            suggestions=_numbers_hint(),
        ) from None
    target = dtype or _dtype_of_leaves(leaves)
    if any(isinstance(leaf, Device) for leaf in leaves):
        first = next(leaf for leaf in leaves if isinstance(leaf, Device))
        return _stacked(obj, target, device or first)
    where = resolve_device(device)
    if TracedNumber in leaves:
        return _stacked(obj, dtype or default_on(where, target or dtypes.int64), where)
    if dtype is None and not any(isinstance(leaf, np.dtype) for leaf in leaves):
        target = _of_numbers(obj, target, where)
    return _placed(_gathered(obj, target), where)


def _of_numbers(obj: Sequence[Any], dtype: DType | None, device: Device) -> DType | None:
    """Return the dtype that Python numbers take on a device; None where their values decide, and it holds any."""
    if dtype is not None:
        return default_on(device, dtype)
    if holds(device, dtypes.int64):
        return None
    return default_on(device, as_dtype(_gathered(obj, None).dtype))


def _leaves(obj: Sequence[Any]) -> Iterator[Any]:
    """Yield what decides about a nested sequence: types of Python objects, dtypes of arrays, devices of Tensors."""
    # map and set run in C: a flat list of a million numbers costs 10 ms
    kinds = set(map(type, obj))
    if kinds.isdisjoint({list, tuple, Tensor, TracedNumber}) and not any(
        hasattr(kind, "dtype") for kind in kinds
    ):
        yield from kinds
        return
    for item in obj:
        if isinstance(item, list | tuple):
            yield from _leaves(item)
        elif hasattr(item, "dtype"):
            yield item.dtype
            if isinstance(item, Tensor):
                yield item.device
        else:
            yield type(item)
            if type(item) is TracedNumber:
                yield item.kind


def _dtype_of_leaves(leaves: set[Any]) -> DType | None:
    """Return what elements promote to, Python numbers being weak; None where their values decide, or there are none.

    None too where some are no numbers: with a dtype, NumPy would read text as numbers and None as NaN.
    """
    if any(isinstance(leaf, type) and issubclass(leaf, _NO_NUMBERS) for leaf in leaves):
        return None
    known = [as_dtype(leaf) for leaf in leaves if not isinstance(leaf, type | Device)]
    python = [kind for kind in NUMBERS_BY_KIND if kind in leaves]
    if known:
        dtype = dtypes.promote(*known)
        return dtypes.weak(python[-1](1), dtype) if python else dtype
    if not leaves:
        return dtypes.default_float()
    if python and python[-1] is not int:
        return dtypes.of_scalar(python[-1](1))
    return None


def _stacked(obj: Sequence[Any], dtype: DType | None, device: Device) -> Tensor:
    """Return a nested sequence with Tensors or numbers that are not known yet, stacked without computing them."""
    items = [
        _stacked(item, dtype, device)
        if isinstance(item, list | tuple)
        else asarray(item, dtype=dtype, device=None if isinstance(item, Tensor) else device)
        for item in obj
    ]
    if not items:
        return _placed(np.empty(0, dtype), device)
    shapes = [item.shape for item in items]
    if len(set(shapes)) > 1:
        raise ragged("asarray", f"shapes {' and '.join(map(str, shapes))}")
    if shapes[0]:  # one after the other, in C order, is the same as side by side
        joined = call(CONCAT, *items, attrs=(0,))
        stacked = call(RESHAPE, joined, attrs=((len(items), *shapes[0]),))
    else:
        stacked = call(CONCAT, *[call(RESHAPE, item, attrs=((1,),)) for item in items], attrs=(0,))
    return stacked if stacked.device is device else Tensor(placed(stacked.node, device))


def ragged(name: str, what: str) -> ShapeError:
    """Return the error for a nested sequence whose parts differ in shape."""
    return ShapeError(
        f"{name}: the sequence is ragged: {what}",
        suggestions=("make all parts of equal shape: tfr.pad or a list of tensors help",),
    )


def _tell_overflow(*_: Any) -> None:
    """Warn at the user's line of what NumPy would blame this module for."""
    message = "asarray: a number overflows the dtype and becomes infinite\n  try: dtype=tfr.float64"
    warn_user(message, RuntimeWarning)


def _gathered(obj: Sequence[Any], dtype: DType | None) -> Array:
    """Return a nested sequence of numbers and arrays as a NumPy array."""
    try:
        with np.errstate(over="call", call=_tell_overflow):
            values = np.array(obj, dtype=dtype)
    except OverflowError as error:
        raise OutOfRangeError(f"asarray: {error}") from error
    except TracingError:
        raise
    except TypeError as error:
        raise DTypeError(f"asarray: {error}", suggestions=_numbers_hint()) from error
    except ValueError as error:
        if "inhomogeneous" in str(error) or "sequence" in str(error):
            raise ragged("asarray", str(error)) from error
        raise DTypeError(f"asarray: {error}", suggestions=_numbers_hint()) from error
    return _numeric(values)


def _numbers_hint() -> tuple[str, ...]:
    return ("numbers, or sequences of numbers of equal lengths",)


def _numeric(values: Array) -> Array:
    """Return the values with a native dtype; DTypeError if they are strings or other objects."""
    if values.dtype.kind not in "biufcV" or values.dtype.names:
        raise DTypeError(
            f"asarray: tensors hold numbers, these are {values.dtype}", suggestions=_numbers_hint()
        )
    return values.astype(as_dtype(values.dtype), copy=False)


def _from_object(obj: Any, dtype: DType | None, device: Device, copy: bool | None) -> Tensor:
    """Convert what speaks a protocol of arrays: DLPack, `__array__`, the buffer protocol."""
    if isinstance(obj, np.ndarray):
        refuse_mask(obj)
        return _from_array(np.asarray(obj), dtype, device, copy)
    if hasattr(obj, "__dlpack__"):
        adopted = _adopted(obj, device, copy)
        if adopted is not None:
            return _from_tensor(adopted, dtype, device, False if copy is False else None)
    if hasattr(obj, "__arrow_c_array__") and not (
        hasattr(obj, "__array__") or hasattr(obj, "__array_interface__")
    ):
        from tensorframe.frontend.conversion.arrow_import import elements_of

        _refuse_to_copy(
            copy, "Arrow's memory is copied: its bools are bits, and its owner may free it"
        )
        return _from_array(elements_of(obj), dtype, device, None)
    values = _array_of(memoryview(obj) if isinstance(obj, bytes) else obj, copy)
    # what NumPy made of an object is new memory already, unless a buffer or base stands behind it
    is_new = values.base is None and values.flags.owndata and not hasattr(obj, "__array__")
    if is_new and copy is not False and dtype is None:
        return _placed(values, device)
    return _from_array(values, dtype, device, copy)


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


def refuse_mask(obj: Array) -> None:
    """Raise DTypeError for an array with masked elements, whose values mean nothing."""
    if isinstance(obj, np.ma.MaskedArray) and np.ma.is_masked(obj):
        raise DTypeError(
            "asarray: tensors have no masked elements",
            suggestions=("x.filled(...) to say what stands for them",),
        )


def _adopted(obj: Any, device: Device, copy: bool | None) -> Tensor | None:
    """Return what DLPack hands over; None if it does not, and NumPy's own protocol may."""
    try:
        return from_dlpack(obj, device=device, copy=copy)
    except (BufferError, RuntimeError, TypeError, ValueError):
        if not hasattr(obj, "__array__"):
            raise
        return None


def _array_of(obj: Any, copy: bool | None) -> Array:
    try:
        values = np.asarray(obj, copy=False if copy is False else None)
    except TracingError:
        raise
    except (TypeError, ValueError) as error:
        if copy is False:
            raise ArgumentError(f"copy=False: {error}", suggestions=("leave copy out",)) from error
        raise DTypeError(f"asarray: {error}", suggestions=_numbers_hint()) from error
    return _numeric(values) if copy is not False else values
