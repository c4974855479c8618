"""Objects of other libraries become Tensors: by DLPack, Arrow, `__array__` or the buffer protocol."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.dtypes import DType
from tensorframe.errors import ArgumentError, DTypeError, TracingError
from tensorframe.frontend.conversion.convert import (
    from_array,
    from_dlpack,
    from_tensor,
    refuse_to_copy,
    tensor_of,
)
from tensorframe.frontend.conversion.sequences import numbers_hint, numeric
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device

Array = np.ndarray[Any, Any]


def from_object(obj: Any, dtype: DType | None, device: Device, copy: bool | None) -> Tensor:
    """Convert what speaks a protocol of arrays: DLPack, `__array__`, the buffer protocol."""
    if isinstance(obj, np.ndarray):
        refuse_mask(obj)
        return from_array(np.asarray(obj), dtype, device, copy)
    if hasattr(obj, "__dlpack__"):
        adopted = _adopted(obj, device, copy)
        if adopted is not None:
            return from_tensor(adopted, dtype, device, False if copy is False else None)
    if hasattr(obj, "__arrow_c_array__") and not (
        hasattr(obj, "__array__") or hasattr(obj, "__array_interface__")
    ):
        from tensorframe.frontend.conversion.arrow_import import elements_of

        refuse_to_copy(
            copy, "Arrow's memory is copied: its bools are bits, and its owner may free it"
        )
        return from_array(elements_of(obj), dtype, device, None)
    values = _array_of(memoryview(obj) if isinstance(obj, bytes) else obj, copy)
    # what NumPy made of an object is new memory already, unless a buffer or base stands behind it
    is_new = values.base is None and values.flags.owndata and not hasattr(obj, "__array__")
    if is_new and copy is not False and dtype is None:
        return tensor_of(values, device)
    return from_array(values, dtype, device, copy)


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
        raise DTypeError(f"asarray: {error}", suggestions=numbers_hint()) from error
    return numeric(values) if copy is not False else values
