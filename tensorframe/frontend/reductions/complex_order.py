"""The order of complex numbers, as NumPy and `sort` have it: by real parts, equal ones by imaginary parts, NaN first.

Loaded when a largest or smallest complex element is needed.
"""

from __future__ import annotations

import math
from typing import Any, Final

from tensorframe import dtypes
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.operands import expanded, permuted, reshaped
from tensorframe.frontend.reductions.elementary import along
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op
from tensorframe.ops import reduction as row
from tensorframe.ops.elementwise import EQUAL, IMAG, ISNAN, LOGICAL_AND, REAL_PART, WHERE

# which real reduction finds the parts of an extreme, and which value no part is beyond
_PARTS: Final[dict[Op, tuple[Op, float]]] = {
    row.MAX: (row.MAX, -math.inf),
    row.ARGMAX: (row.MAX, -math.inf),
    row.MIN: (row.MIN, math.inf),
    row.ARGMIN: (row.MIN, math.inf),
}


def has_order(op: Op, x: Tensor) -> bool:
    """Whether a reduction that refused its operand is one of the order of complex numbers."""
    return op in _PARTS and x.dtype in dtypes.COMPLEX


def reduced(op: Op, x: Tensor, axes: tuple[int, ...], keepdims: Any) -> Tensor:
    """Return the extreme complex elements along axes, or their positions; the first NaN if there is one."""
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    rest = tuple(size for axis, size in enumerate(x.shape) if axis not in axes)
    others = [axis for axis in range(x.ndim) if axis not in axes]
    # the axes that are searched become the last one, in C order
    lines = reshaped(permuted(x, [*others, *axes]), (*rest, math.prod(x.shape[a] for a in axes)))
    position = along(row.ARGMAX, _is_first(op, lines), (lines.ndim - 1,), True)
    if op in (row.MAX, row.MIN):
        from tensorframe.frontend.indexing.searching import take_along_axis

        position = take_along_axis(lines, position, axis=-1)
    return reshaped(position, kept if keepdims else rest)


def _is_first(op: Op, lines: Tensor) -> Tensor:
    """Return which elements of each line are an extreme, or NaN where there are some: the first one counts."""
    find, beyond = _PARTS[op]
    last = (lines.ndim - 1,)
    parts = [apply(part, lines) for part in (REAL_PART, IMAG)]
    undefined = apply(ISNAN, lines)
    chosen = apply(EQUAL, parts[0], along(find, parts[0], last, True))
    imaginary = apply(WHERE, chosen, parts[1], beyond)
    chosen = apply(LOGICAL_AND, chosen, apply(EQUAL, parts[1], along(find, imaginary, last, True)))
    any_undefined = expanded(along(row.ANY_TRUE, undefined, last, True), lines.shape)
    return apply(WHERE, any_undefined, undefined, chosen)
