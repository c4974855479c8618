"""`autocast`: matmuls and convolutions of a block in half precision, and what would lose by it in float32."""

from __future__ import annotations

from tensorframe.dtypes import NARROW, DType, DTypeLike, as_dtype
from tensorframe.errors import DTypeError
from tensorframe.graph.precision import autocast_dtype
from tensorframe.scopes import Scope

__all__ = ["autocast"]


def autocast(dtype: DTypeLike = "bfloat16") -> Scope[DType | None]:
    """Record matmuls and convolutions in half precision inside a `with` block, or calls of a decorated function.

    `dtype` is "bfloat16" or "float16"; None turns a block off inside another. What each row does is a field of its
    definition, `precision`: matmul, einsum, convolutions, and what is made of them, take their float32 operands in
    `dtype`; exponentials, logarithms, powers, sums, means, norms, softmax, losses and scans take half precision in
    float32, and give float32; everything else computes in the dtypes that it is given, the widest where they differ.
    float64 is never narrowed.

    Casts are recorded, once for each weight and plan. Parameters stay float32, and so do their gradients, since the
    gradient of a cast casts back: a backward pass computes in the dtypes of its forward pass, wherever it is recorded.
    float16, whose smallest numbers are 6e-8, needs a `GradScaler`; bfloat16 needs none. Matmuls accumulate in float32.
    On the cpu half precision is multiplied in float32, as NumPy's BLAS has no other matmuls: there autocast is for
    trying out what a device will compute, and takes longer than float32, as everything is rounded.

    Raises DTypeError for any other dtype.

    >>> x = tfr.ones((2, 3))
    >>> with tfr.autocast("bfloat16"):
    ...     y = x @ x.T
    ...     z = tfr.exp(y)
    >>> y.dtype, z.dtype, (x @ x.T).dtype
    (dtype(bfloat16), dtype('float32'), dtype('float32'))
    """
    chosen = None if dtype is None else as_dtype(dtype)
    if chosen is not None and chosen not in NARROW:
        raise DTypeError(
            f"autocast: computes in half precision, got {chosen.name}",
            suggestions=(
                " or ".join(sorted(f'"{narrow.name}"' for narrow in NARROW)),
                "None for none, inside another block",
            ),
        )
    shown = "None" if chosen is None else f'"{chosen.name}"'
    return Scope(
        autocast_dtype,
        lambda: chosen,
        f"tfr.autocast({shown})",
        "@tfr.autocast(...) above a function",
    )
