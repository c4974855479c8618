"""The order of complex numbers, as NumPy and `sort` have it: by real parts, equal ones by imaginary parts.

Backends compare real numbers. Here a comparison of complex ones becomes some of their parts, so that it runs wherever
these do. Loaded when a comparison or an extreme of complex elements is recorded first.
"""

from __future__ import annotations

import math
from typing import Any, Final

from tensorframe import dtypes
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.operands import expanded, permuted, promoted, reshaped
from tensorframe.frontend.reductions.elementary import along
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op
from tensorframe.ops import elementwise as op
from tensorframe.ops import reduction as row

# which real reduction finds the parts of an extreme, and which value no part is beyond
_PARTS: Final[dict[Op, tuple[Op, float]]] = {
    row.MAX: (row.MAX, -math.inf),
    row.ARGMAX: (row.MAX, -math.inf),
    row.MIN: (row.MIN, math.inf),
    row.ARGMIN: (row.MIN, math.inf),
}
# how real parts compare where one decides, and imaginary ones where the real ones are equal
_COMPARISONS: Final[dict[Op, tuple[Op, Op]]] = {
    op.LESS: (op.LESS, op.LESS),
    op.LESS_EQUAL: (op.LESS, op.LESS_EQUAL),
    op.GREATER: (op.GREATER, op.GREATER),
    op.GREATER_EQUAL: (op.GREATER, op.GREATER_EQUAL),
}
# which comparison chooses the first of two operands, and whether NaN is chosen before numbers
_CHOICES: Final[dict[Op, tuple[Op, bool]]] = {
    op.MAXIMUM: (op.GREATER_EQUAL, True),
    op.MINIMUM: (op.LESS_EQUAL, True),
    op.FMAX: (op.GREATER_EQUAL, False),
    op.FMIN: (op.LESS_EQUAL, False),
}


def has_order(order: Op, *operands: Tensor) -> bool:
    """Whether an op that refused its operands is one of the order of complex numbers."""
    is_ordered = order in _PARTS or order in _COMPARISONS or order in _CHOICES
    return is_ordered and any(operand.dtype in dtypes.COMPLEX for operand in operands)


def elementwise(order: Op, x1: Tensor, x2: Tensor) -> Tensor:
    """Return a comparison, or the larger or smaller one, of two elements of which one at least is complex."""
    if order in _COMPARISONS:
        return _compared(order, x1, x2)
    comparison, nan_first = _CHOICES[order]
    x1, x2 = promoted(x1, x2)
    undefined = apply(op.ISNAN, x1 if nan_first else x2)
    is_first = apply(op.LOGICAL_OR, undefined, _compared(comparison, x1, x2))
    return apply(op.WHERE, is_first, x1, x2)


def _compared(comparison: Op, x1: Tensor, x2: Tensor) -> Tensor:
    """Return a comparison; where one operand is NaN, real parts do not decide."""
    decides, breaks_ties = _COMPARISONS[comparison]
    x1, x2 = promoted(x1, x2)
    (real1, real2), (imag1, imag2) = (
        [apply(part, operand) for operand in (x1, x2)] for part in (op.REAL_PART, op.IMAG)
    )
    undefined = apply(op.LOGICAL_OR, apply(op.ISNAN, imag1), apply(op.ISNAN, imag2))
    by_real = apply(op.LOGICAL_AND, apply(decides, real1, real2), apply(op.LOGICAL_NOT, undefined))
    by_imag = apply(op.LOGICAL_AND, apply(op.EQUAL, real1, real2), apply(breaks_ties, imag1, imag2))
    return apply(op.LOGICAL_OR, by_real, by_imag)


def reduced(order: Op, x: Tensor, axes: tuple[int, ...], keepdims: Any) -> Tensor:
    """Return the extreme complex elements along axes, or their positions; the first NaN if there is one."""
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    rest = tuple(size for axis, size in enumerate(x.shape) if axis not in axes)
    others = [axis for axis in range(x.ndim) if axis not in axes]
    # the axes that are searched become the last one, in C order
    lines = reshaped(permuted(x, [*others, *axes]), (*rest, math.prod(x.shape[a] for a in axes)))
    position = along(row.ARGMAX, _is_first(order, lines), (lines.ndim - 1,), True)
    if order in (row.MAX, row.MIN):
        from tensorframe.frontend.indexing.searching import take_along_axis

        position = take_along_axis(lines, position, axis=-1)
    return reshaped(position, kept if keepdims else rest)


def _is_first(order: Op, lines: Tensor) -> Tensor:
    """Return which elements of each line are an extreme, or NaN where there are some: the first one counts."""
    find, beyond = _PARTS[order]
    last = (lines.ndim - 1,)
    parts = [apply(part, lines) for part in (op.REAL_PART, op.IMAG)]
    undefined = apply(op.ISNAN, lines)
    chosen = apply(op.EQUAL, parts[0], along(find, parts[0], last, True))
    imaginary = apply(op.WHERE, chosen, parts[1], beyond)
    chosen = apply(
        op.LOGICAL_AND, chosen, apply(op.EQUAL, parts[1], along(find, imaginary, last, True))
    )
    any_undefined = expanded(along(row.ANY_TRUE, undefined, last, True), lines.shape)
    return apply(op.WHERE, any_undefined, undefined, chosen)
