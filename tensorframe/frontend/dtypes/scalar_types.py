"""Dtypes under their public names: the scalar types of NumPy (and ml_dtypes), as in NumPy's and JAX's namespaces.

They compare equal to the dtype objects that tensors have, are taken wherever a dtype is, and make NumPy scalars when
called. The dtype objects themselves would compare equal to None where they are float64, as NumPy reads None as its
default dtype.

>>> tfr.asarray([1.5]).dtype == tfr.float32
True
>>> tfr.int8(3)
np.int8(3)
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

bool_ = np.bool_
bool = bool_
int8 = np.int8
int16 = np.int16
int32 = np.int32
int64 = np.int64
uint8 = np.uint8
uint16 = np.uint16
uint32 = np.uint32
uint64 = np.uint64
float16 = np.float16
bfloat16 = ml_dtypes.bfloat16
float32 = np.float32
float64 = np.float64
complex64 = np.complex64
complex128 = np.complex128

__all__ = [
    "bfloat16",
    "bool",
    "bool_",
    "complex64",
    "complex128",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
