"""Types and constants of LLVM: a value of a dtype in a register, an element of it in memory, and its numbers."""

from __future__ import annotations

import struct

from tensorframe.dtypes import ANY, COMPLEX, FLOAT, NARROW, DType, bool_, float32, float64, wide_of


def _value_type(dtype: DType) -> str:
    if dtype == bool_:
        return "i1"
    if dtype in FLOAT:
        return "double" if dtype == float64 else "float"
    return f"i{8 * dtype.itemsize}"


# dtype -> the type of a value
VALUE = {dtype: _value_type(wide_of(dtype)) for dtype in ANY - COMPLEX}
# dtype -> the type of an element; narrow dtypes exist in memory only
ELEMENT = VALUE | {dtype: f"i{8 * dtype.itemsize}" for dtype in (*NARROW, bool_)}
# what the names of overloaded functions end with
SUFFIX = {"float": "f32", "double": "f64"}


def vector(kind: str, lanes: int) -> str:
    """Return the type of so many values side by side; of one, the type itself."""
    return kind if lanes == 1 else f"<{lanes} x {kind}>"


def suffix(kind: str, lanes: int = 1) -> str:
    """Return what the name of an overloaded function ends with for a type."""
    short = SUFFIX.get(kind, kind)
    return short if lanes == 1 else f"v{lanes}{short}"


def number(value: complex, dtype: DType) -> str:
    """Return a constant of a dtype; floats are written as the bits of a double, which float32 has too."""
    if dtype == bool_:
        return "true" if value else "false"
    if dtype in FLOAT:
        return real(float(dtype.type(value.real)))
    return str(int(value.real))


def real(value: float) -> str:
    """Return a constant of a floating type that holds the number exactly."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


assert VALUE[float32] == "float"
