"""Linear layers: weighted sums of features."""

from __future__ import annotations

from typing import Any

from tensorframe import dtypes
from tensorframe.errors import DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.linalg.einstein_summation import einsum
from tensorframe.frontend.operands import beside_matmul, operand, permuted, promoted
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn.functional.operands import need_rank
from tensorframe.nn.quantization import QuantizedTensor
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.elementwise import ADD

__all__ = ["bilinear", "linear"]


def linear(input: ArrayLike, weight: Any, bias: ArrayLike | None = None) -> Tensor:
    """`input @ weight.T + bias`: for each row of `weight`, the sum of the features weighted by it.

    Shapes (..., in), (out, in) and (out,) give (..., out); a `weight` of shape (in,) gives (...). Numeric dtypes, which
    promote. The bias is added in the matmul's step. `weight` may be a quantised matrix: see `tfr.quantization`.

    >>> x, weight = tfr.asarray([[1.0, 2.0]]), tfr.asarray([[1.0, 1.0], [0.0, 3.0], [1.0, 0.0]])
    >>> tfr.nn.functional.linear(x, weight, tfr.asarray([0.0, 0.0, 5.0])).tolist()
    [[3.0, 6.0, 6.0]]
    """
    if isinstance(weight, QuantizedTensor):
        features = operand(input)
        need_rank("linear", "input", features, 1, "(..., in)")
        return _with_bias("linear", weight.of_features(features), bias, weight.shape[:1])
    features, weights = promoted(input, weight)
    need_rank("linear", "input", features, 1, "(..., in)")
    if weights.ndim not in (1, 2):
        raise ShapeError(f"linear: weight has shape (out, in) or (in,), got {weights.shape}")
    if features.shape[-1] != weights.shape[-1]:
        hint = ("weight.T",) if weights.shape[0] == features.shape[-1] else ()
        raise ShapeError(
            f"linear: input of shape {features.shape} has {features.shape[-1]} features, "
            f"and weight of shape {weights.shape} takes {weights.shape[-1]}",
            suggestions=hint,
        )
    result = call(MATMUL, features, permuted(weights, (1, 0)) if weights.ndim == 2 else weights)
    return _with_bias("linear", result, bias, weights.shape[:-1])


def bilinear(
    input1: ArrayLike, input2: ArrayLike, weight: ArrayLike, bias: ArrayLike | None = None
) -> Tensor:
    """`x1 @ weight[k] @ x2 + bias[k]` for each k, of the last axes of both inputs.

    Shapes (..., in1), (..., in2), (out, in1, in2) and (out,) give (..., out).

    >>> x, weight = tfr.asarray([1.0, 2.0]), tfr.asarray([[[1.0, 0.0], [0.0, 1.0]]])
    >>> tfr.nn.functional.bilinear(x, x, weight).tolist()
    [5.0]
    """
    first, second, weights = promoted(input1, input2, weight)
    sizes = tuple([tensor.shape[-1] if tensor.ndim else None for tensor in (first, second)])
    if weights.ndim != 3 or weights.shape[1:] != sizes or first.shape[:-1] != second.shape[:-1]:
        raise ShapeError(
            "bilinear: takes shapes (..., in1), (..., in2) and (out, in1, in2), "
            f"got {first.shape}, {second.shape} and {weights.shape}"
        )
    result = einsum("...i,oij,...j->...o", first, weights, second)
    return _with_bias("bilinear", result, bias, weights.shape[:1])


def _with_bias(name: str, result: Tensor, bias: Any, shape: tuple[int, ...]) -> Tensor:
    if bias is None:
        return result
    _, added = promoted(result, bias)
    if added.shape != shape:
        raise ShapeError(f"{name}: bias has shape {added.shape}, but the weight asks for {shape}")
    if added.dtype not in dtypes.NUMERIC:
        raise DTypeError(f"{name}: bias is numeric, got {added.dtype}")
    return apply(ADD, result, beside_matmul(added, result))
