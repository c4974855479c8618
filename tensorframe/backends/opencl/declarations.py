"""What kernels use of OpenCL C's library, declared by ourselves where a compiler would read all of it.

PoCL has Clang read the declarations of 13,000 built-in functions for every program, from a header of a megabyte: 0.13
of the 0.15 s that a small program takes to build. Our kernels call a dozen of them. The header is left out by the macro
that guards it against being read twice, and what takes its place is part of the program. Text that others wrote has all
of it.
"""

from __future__ import annotations

from typing import Any

OPTION = "-D_OPENCL_H_"

_UNSIGNED = {"uchar": "char", "ushort": "short", "uint": "int", "ulong": "long"}
_ROUNDED = ("ceil", "fabs", "floor", "rint", "sqrt", "trunc")
_POSITIONS = ("global_id", "global_size", "group_id", "local_id", "num_groups")


def is_needed(device: Any) -> bool:
    """Whether a device's compiler reads the declarations of everything for every program."""
    return "PoCL" in device.version


def declarations(*, double: bool) -> str:
    """Return the types and functions that kernels are written with, for a device with or without double precision."""
    types = [f"typedef unsigned {base} {name};" for name, base in _UNSIGNED.items()]
    casts = [
        f"#define as_{name}(x) __builtin_astype((x), {name})"
        for name in ("int", "uint", "long", "ulong", "float", *["double"] * double)
    ]
    function = "__attribute__((overloadable, const))"
    positions = [f"size_t {function} get_{name}(uint axis);" for name in _POSITIONS]
    reals = [
        line for real in ("float", *["double"] * double) for line in _functions_of(real, function)
    ]
    return "\n".join([*types, "typedef __SIZE_TYPE__ size_t;", *casts, *positions, *reals, _OTHERS])


def _functions_of(real: str, function: str) -> list[str]:
    """Return the declarations of the functions of real numbers."""
    return [
        *[f"{real} {function} {name}({real} x);" for name in _ROUNDED],
        f"{real} {function} copysign({real} x, {real} y);",
        f"{real} {function} fma({real} x, {real} y, {real} z);",
    ]


_OTHERS = """\
#define CLK_LOCAL_MEM_FENCE 1
void __attribute__((overloadable, convergent)) barrier(uint flags);
float __attribute__((overloadable, pure)) vload_half(size_t at, const __global half* buffer);
float __attribute__((overloadable, pure)) vload_half(size_t at, const __private half* buffer);
void __attribute__((overloadable)) vstore_half(float value, size_t at, __global half* buffer);
void __attribute__((overloadable)) vstore_half(float value, size_t at, __private half* buffer);
"""
