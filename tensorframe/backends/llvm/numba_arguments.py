"""Tensors as arguments of functions that Numba compiles: each is the read-only array of its elements.

Loaded when Numba asks for the type of a tensor, so Numba is there then.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.core.boxing import box_array, unbox_array
from numba.core.datamodel.models import ArrayModel
from numba.core.errors import NumbaNotImplementedError
from numba.extending import NativeValue, box, register_model, typeof_impl, unbox
from numba.np.numpy_support import from_dtype

from tensorframe.errors import DTypeError


class TensorType(types.Array):
    """Numba's type of a tensor: of an array that the function may read."""

    def __init__(self, dtype: Any, ndim: int) -> None:
        super().__init__(dtype, ndim, "C", readonly=True, name=f"tensor({dtype}, {ndim}d)")


register_model(TensorType)(ArrayModel)
box(TensorType)(box_array)


def tensor_type(dtype: Any, ndim: int) -> Any:
    """Return the type of a tensor; DTypeError for a dtype that Numba does not know."""
    try:
        return TensorType(from_dtype(dtype), ndim)
    except NumbaNotImplementedError:
        raise DTypeError(
            f"Numba has no type for {dtype}",
            suggestions=('x.astype("float32") before the call',),
        ) from None


def refuse_by_dtype(kind: type) -> None:
    """Let Numba get the DTypeError of a tensor that has no type: attributes may not raise more than AttributeError."""
    typeof_impl.register(kind)(lambda tensor, _: tensor_type(tensor.dtype, tensor.ndim))


def _elements(tensor: Any) -> Any:
    return np.ascontiguousarray(tensor.numpy()).reshape(tensor.shape)


def _unbox_tensor(kind: Any, tensor: Any, c: Any) -> Any:
    """Write code that computes a tensor and takes its elements; what goes wrong there is the call's error."""
    value = cgutils.alloca_once(c.builder, c.context.get_value_type(kind))
    failed = cgutils.alloca_once_value(c.builder, cgutils.true_bit)
    function = c.pyapi.unserialize(c.pyapi.serialize_object(_elements))
    array = c.pyapi.call_function_objargs(function, [tensor])
    with c.builder.if_then(cgutils.is_not_null(c.builder, array), likely=True):
        native = unbox_array(kind, array, c)
        c.builder.store(native.value, value)
        c.builder.store(native.is_error, failed)
        c.pyapi.decref(array)
    c.pyapi.decref(function)
    return NativeValue(c.builder.load(value), is_error=c.builder.load(failed))


unbox(TensorType)(_unbox_tensor)
