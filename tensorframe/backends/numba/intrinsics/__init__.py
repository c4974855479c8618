"""The namespace of printed kernels: what they say beyond loops and Python's operators, as the LLVM code that it means.

Here: `define` says how an intrinsic is told to Numba, `memory` has arguments, arrays and scratch memory, `half` the two
floating types that exist in memory only, `arithmetic` ops on values of one type, `conversions` those between types,
`loops` what is said of loops, `streams` what goes past the caches, `fetching` what comes into them early.

Values have the types of NumPy's scalars. Nothing here branches, raises or checks: a loop over these becomes vector
code.
"""

from tensorframe.backends.numba.intrinsics import (
    arithmetic,
    conversions,
    fetching,
    loops,
    memory,
    streams,
)
from tensorframe.backends.numba.intrinsics.define import LOWERING, NAMESPACE, TYPING

__all__ = [
    "LOWERING",
    "NAMESPACE",
    "TYPING",
    "arithmetic",
    "conversions",
    "fetching",
    "loops",
    "memory",
    "streams",
]
