"""An op of the package's own: the Lorentzian, the shape of a spectral line, at a distance from its centre.

`lorentzian` records one row, which fuses with what is around it. What it means is a formula, which every device has;
where a device has a language of its own, it runs the text beside that.
"""

from __future__ import annotations

from typing import Any

import tensorframe as tfr
from tensorframe.extensions import About, ElementwiseOp

# the same for OpenCL, CUDA, WebGPU and the dialect of this package: one square root less than hypot, and no overflow
_TEXT = "const T ratio = x / width;\nreturn T(1) / (width * (ratio * ratio + T(1)));"


def _lorentzian(x: Any, width: Any) -> Any:
    """Height of a spectral line of unit half area at x, whose half width is `width`."""
    ratio = x / width
    return 1.0 / (width * (ratio * ratio + 1.0))


def _reference(x: Any, width: Any) -> Any:
    """Return the same by another formula, in NumPy."""
    return width / (x**2 + width**2)


def _vjp(args: tuple[Any, Any], out: Any, ct: Any) -> tuple[Any, Any]:
    """Return the cotangents of the operands."""
    x, width = args
    square = tfr.square(out)
    return -2.0 * ct * square * x / width, ct * square * (tfr.square(x / width) - 1.0)


lorentzian = ElementwiseOp(
    _lorentzian,
    name="lorentzian",
    reference=_reference,
    vjp=_vjp,
    printers={
        "opencl": _TEXT.replace("T(1)", "(T)1"),
        "cuda": _TEXT,
        "wgsl": _TEXT.replace("const T", "let"),
        "abacus_c": _TEXT.replace("T(1)", "(T)1"),
    },
    about=About(interface=(1, 1)),
)
