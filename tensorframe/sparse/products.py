"""Products of compressed lines with dense tensors: dtypes, stacks and vectors brought into the form of the ops."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from tensorframe.backends.registry import capabilities
from tensorframe.dtypes import BOOL, NARROW, NUMERIC, promote, wide_of
from tensorframe.errors import DTypeError, ShapeError
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.operands import converted, expanded, filled, permuted, reshaped, weakly
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.graph.shape import Shape
from tensorframe.ops.sparse import ARRANGED_SPARSE_MATMUL, SPARSE_MATMUL, TRANSPOSED_SPARSE_MATMUL
from tensorframe.sparse.arrangement import is_worthwhile

if TYPE_CHECKING:
    from tensorframe.sparse.compressed import Compressed

# what is computed in its own dtype
_PLAIN = NUMERIC - NARROW


def matrix_times(matrix: Compressed, other: Any) -> Tensor:
    """Return `matrix @ other` for a dense vector or dense matrices."""
    return _times(matrix, other, transposed=matrix.axis == -1)


def times_matrix(other: Any, matrix: Compressed) -> Tensor:
    """Return `other @ matrix`: the transpose of the transposed matrix times the transposed factor."""
    x = _beside(matrix, other)
    if x.ndim == 1:
        return _times(matrix, x, transposed=matrix.axis == -2, flipped=True)
    return _swapped(_times(matrix, _swapped(x), transposed=matrix.axis == -2, flipped=True))


def _times(matrix: Compressed, other: Any, *, transposed: bool, flipped: bool = False) -> Tensor:
    """Return the product of the matrix, or its transpose (`flipped`), with a dense factor on the right.

    `transposed` says that the compressed lines are the columns of what multiplies.
    """
    if _is_plain(matrix, other, flipped=flipped):
        return _recorded(matrix, matrix.data, other, transposed=transposed)
    x = _beside(matrix, other)
    _check(matrix, x, flipped=flipped)
    dtype = promote(matrix.dtype, x.dtype)
    if dtype in BOOL:
        raise DTypeError(
            "matmul: a sparse product takes numbers, got bool and bool",
            suggestions=("A.astype(tfr.int32) @ x counts",),
        )
    # half precision is added up in float32, and rounded once
    computed = wide_of(dtype) if dtype in NARROW else dtype
    factors = _stacked(matrix, converted(x, computed))
    total = _product(matrix, converted(matrix.data, computed), factors, transposed=transposed)
    return converted(_unstacked(matrix, total, x.shape), dtype)


def _is_plain(matrix: Compressed, other: Any, *, flipped: bool) -> bool:
    """Whether nothing has to be converted, stacked or refused before such a product is recorded.

    What a large product has read has driven the interpreter's code and objects out of the nearer caches, so that
    each line of what follows takes several times as long as in a loop over small ones.
    """
    if type(other) is not Tensor:
        return False
    x, data, shape = other.node, matrix.data.node, matrix.shape
    return (
        x.dtype is data.dtype
        and x.dtype in _PLAIN
        and len(shape) == 2
        and 0 < len(x.shape) <= 2
        and x.shape[0] == shape[0 if flipped else 1] != 0
        and shape[0] != 0 != shape[1]
        and x.shape[-1] != 0 != data.shape[0]
    )


def _product(matrix: Compressed, data: Tensor, x: Tensor, *, transposed: bool) -> Tensor:
    """Return the product with a stack of matrices."""
    size = matrix.line_length if transposed else matrix.line_count
    shape = (size,) if x.ndim == 1 else (*x.shape[:-2], size, x.shape[-1])
    if not prod(shape) or not x.size or not matrix.nnz:
        return filled(shape, 0, data.dtype, data.device)
    return _recorded(matrix, data, x, transposed=transposed)


def _recorded(matrix: Compressed, data: Tensor, x: Tensor, *, transposed: bool) -> Tensor:
    """Return the product of elements that are there."""
    rows = matrix.line_length if transposed else matrix.line_count
    of_vector = len(matrix.shape) == 2 and prod(x.shape[1:]) == 1
    ordered = of_vector and is_worthwhile(rows, matrix.nnz)
    operands, checked = (data, matrix.indices, matrix.indptr, x), matrix._is_checked
    if data.device is x.device and _is_compiled(data.device):
        arranged = None
        if ordered and data is matrix.data:
            arranged = matrix._arranged(across=transposed)
        if arranged is not None:
            return call(ARRANGED_SPARSE_MATMUL, *arranged, *operands, attrs=(transposed,))
        operands = (data, matrix._short_indices(), matrix.indptr, x)
    if transposed:
        return call(TRANSPOSED_SPARSE_MATMUL, *operands, attrs=(rows, ordered, checked))
    return call(SPARSE_MATMUL, *operands, attrs=(checked,))


def _is_compiled(device: Device) -> bool:
    """Whether kernels of the host add up products, in the order of elements."""
    able = capabilities(device)
    return able.compiles and able.host_memory


def _beside(matrix: Compressed, other: Any) -> Tensor:
    """Return a dense factor as a Tensor; sequences take their dtype beside the matrix."""
    _, x = weakly((matrix.data, other))
    if not x.ndim:
        raise ShapeError(
            "matmul: a sparse matrix is not multiplied with a number by @",
            suggestions=("A * number",),
        )
    return x


def _check(matrix: Compressed, x: Tensor, *, flipped: bool) -> None:
    """Raise ShapeError where a factor, of which the axis to sum over is the first of the last two, does not fit."""
    rows, columns = matrix.shape[-2:]
    wanted = rows if flipped else columns
    size, batch = x.shape[-2 if x.ndim > 1 else -1], x.shape[:-2]
    if size != wanted:
        where = "left of" if flipped else "right of"
        raise ShapeError(
            f"matmul: a factor of {size} elements stands {where} a sparse matrix of shape {matrix.shape}, which takes "
            f"{wanted}",
            suggestions=("A.mT if the other axis is to be summed over",),
        )
    own = matrix.shape[:-2]
    if own and batch not in ((), own):
        raise ShapeError(
            f"matmul: a stack {own} of sparse matrices does not meet a stack {batch} of dense ones",
            suggestions=("stacks of the same shape, or one dense matrix for all",),
        )


def _stacked(matrix: Compressed, x: Tensor) -> Tensor:
    """Return a dense factor as a stack with one matrix for each sparse one; a stack beside one matrix is columns."""
    own = matrix.shape[:-2]
    if not own and x.ndim <= 2:
        return x
    if x.ndim == 1:
        x = reshaped(x, (x.shape[0], 1))
    *batch, inner, width = x.shape
    if own:
        x = expanded(x, (*own, inner, width)) if not batch else x
        return reshaped(x, (prod(own), inner, width))
    stack = prod(batch)
    return reshaped(permuted(reshaped(x, (stack, inner, width)), (1, 0, 2)), (inner, stack * width))


def _unstacked(matrix: Compressed, total: Tensor, shape: Shape) -> Tensor:
    """Return the product in the shape that factors of such shapes have."""
    own = matrix.shape[:-2]
    if not own and len(shape) <= 2:
        return total
    if own:
        rows = total.shape[1]
        return reshaped(total, (*own, rows) if len(shape) == 1 else (*own, rows, shape[-1]))
    *batch, _, width = shape
    rows = total.shape[0]
    split = reshaped(total, (rows, prod(batch), width))
    return reshaped(permuted(split, (1, 0, 2)), (*batch, rows, width))


def _swapped(x: Tensor) -> Tensor:
    """Return the transpose of each matrix."""
    return permuted(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))
