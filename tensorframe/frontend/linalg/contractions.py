"""Products of vectors, matrices and tensors: what sums over shared axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorframe.dtypes import FLOAT, NUMERIC, DTypeLike, as_dtype, promote
from tensorframe.errors import AxisError, DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, call, recorded
from tensorframe.frontend.fast_paths.memoization import memoized, memoized_of
from tensorframe.frontend.linalg.einstein_summation import contract
from tensorframe.frontend.manipulation.views import moveaxis, squeeze
from tensorframe.frontend.operand_nodes import SEQUENCES
from tensorframe.frontend.operands import (
    flattened,
    need_axes,
    operand,
    permuted,
    promoted,
    reshaped,
)
from tensorframe.frontend.outputs import Output, delivered, rebind
from tensorframe.frontend.parameters import integer, integers, pair
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import dtype_error
from tensorframe.graph.precision import autocast_dtype
from tensorframe.graph.shape import broadcast, check_size, normalize_axis
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.elementwise import CONJ, MULTIPLY, SUBTRACT
from tensorframe.ops.movement import CONCAT, SLICE

__all__ = [
    "cross",
    "dot",
    "inner",
    "kron",
    "matmul",
    "matrix_transpose",
    "outer",
    "tensordot",
    "vdot",
    "vecdot",
]


def matmul(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    out: Output = None,
    *,
    preferred_dtype: DTypeLike | None = None,
    **options: Any,
) -> Tensor:
    """Matrix product of the last two axes; the axes before them broadcast. The operator is `@`.

    Shapes (..., n, k) and (..., k, m) give (..., n, m); a 1-d operand is a row on the left and a column on the
    right, and its axis is gone from the result. All dtypes; half precision accumulates in float32. Integers wrap, as
    NumPy's do: a product of int8 is int8. `preferred_dtype` is the dtype of sums and result instead, such as int32:
    one that holds every number of the operands' dtype, or DTypeError. Small elements are read as they are.
    `out` receives the result; other options are those of NumPy's function: `dtype`, `casting`, and `axes`, which names
    the two axes of each operand and of the result.

    >>> tfr.matmul(np.asarray([[1, 2], [3, 4]]), np.asarray([1, 1])).numpy()
    array([3, 7])
    >>> x = tfr.full((2, 3), 100, dtype="int8")
    >>> (x @ x.mT).numpy(), tfr.matmul(x, x.mT, preferred_dtype="int32").numpy()
    (array([[48, 48],
           [48, 48]], dtype=int8), array([[30000, 30000],
           [30000, 30000]], dtype=int32))
    """
    if options or out is not None:
        from tensorframe.frontend.linalg.options import with_options  # for few calls

        return with_options("matmul", matmul, (x1, x2), out, **options)
    known = _of_matrices(x1, x2) if preferred_dtype is None else None
    if known is not None:
        return recorded(*known)
    left, right = promoted(x1, x2)
    if preferred_dtype is not None:
        dtype = as_dtype(preferred_dtype)
        if promote(left.dtype, dtype) != dtype:
            raise DTypeError(
                f"matmul: preferred_dtype={dtype} does not hold every {left.dtype}",
                suggestions=(f"the product's dtype or a wider one: preferred_dtype={left.dtype}",),
            )
        left, right = left.astype(dtype, copy=False), right.astype(dtype, copy=False)
    return call(MATMUL, left, right)


@memoized
def matrix_transpose(x: ArrayLike, /) -> Tensor:
    """Transpose of the last two axes: each matrix of a stack on its own.

    >>> tfr.matrix_transpose(np.zeros((5, 2, 3))).shape
    (5, 3, 2)
    """
    x = operand(x)
    need_axes("matrix_transpose", x, 2)
    return permuted(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def vecdot(
    x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, axis: int = -1, **options: Any
) -> Tensor:
    """Dot products of vectors along `axis`, the first operand conjugated; the other axes broadcast.

    The two sizes along `axis` must be equal: that axis does not broadcast. Options as for `matmul`, and `keepdims`.

    >>> tfr.vecdot(np.asarray([[1, 2], [3, 4]]), np.asarray([1, 10])).numpy()
    array([21, 43])
    """
    if options or out is not None:
        from tensorframe.frontend.linalg.options import with_options  # as above

        return with_options("vecdot", vecdot, (x1, x2), out, axis=axis, **options)
    product = _of_vectors(x1, x2) if axis == -1 else None
    if product is not None:
        return product
    left, right = promoted(x1, x2)
    axis = _common_axis("vecdot", left, right, axis)
    if left.shape[axis] != right.shape[axis]:
        sizes = f"{left.shape[axis]} and {right.shape[axis]}"
        raise ShapeError(
            f"vecdot: shapes {left.shape} and {right.shape} have {sizes} elements along axis {axis}"
        )
    if _are_vectors(left, right):
        return call(MATMUL, conjugated(left), right)
    broadcast("vecdot", left.shape, right.shape)
    # axes are named by their distance from the end, where both shapes line up
    indices = [tuple(range(-tensor.ndim, 0)) for tensor in (left, right)]
    output = tuple(index for index in max(indices, key=len) if index != axis)
    return contract((conjugated(left), right), indices, output)


def _are_vectors(left: Tensor, right: Tensor) -> bool:
    """Whether the product of two operands is one number: of vectors that fit, by every definition of a product."""
    return len(left.node.shape) == 1 and left.node.shape == right.node.shape


# Elements of a matrix up to which its size needs no look.
_LARGE = 1 << 40


def _of_vectors(a: Any, b: Any) -> Tensor | None:
    """Return the product of vectors of the same real numbers, by the short way; None where there is more to do."""
    if type(a) is not Tensor or type(b) is not Tensor or autocast_dtype.get() is not None:
        return None
    left, right = a.node, b.node
    dtype, device = left.dtype, left.device
    fits = len(left.shape) == 1 and left.shape == right.shape
    if not fits or dtype not in FLOAT or right.dtype is not dtype or right.device is not device:
        return None
    return recorded(MATMUL, (left, right), (), (), dtype, device)


def _of_matrices(a: Any, b: Any) -> tuple[Any, ...] | None:
    """Return what to record for a product of matrices, or of one and a vector; None where there is more to do.

    By the caller, whose own caller is the user: `recorded` finds the line there.
    """
    if type(a) is not Tensor or type(b) is not Tensor or autocast_dtype.get() is not None:
        return None
    left, right = a.node, b.node
    rows, columns = left.shape, right.shape
    dtype, device = left.dtype, left.device
    if not rows or not columns or right.dtype is not dtype or right.device is not device:
        return None
    if len(rows) > 2 or len(columns) > 2 or rows[-1] != columns[0]:
        return None
    shape = rows[:-1] + columns[1:]
    if len(shape) == 2 and shape[0] * shape[1] > _LARGE:  # of factors that are broadcast
        check_size("matmul", shape)
    return MATMUL, (left, right), (), shape, dtype, device


def conjugated(tensor: Tensor) -> Tensor:
    """Return the complex conjugate: the tensor itself where it is real."""
    return apply(CONJ, tensor) if tensor.dtype.kind == "c" else tensor


def _common_axis(name: str, left: Tensor, right: Tensor, axis: int) -> int:
    """Return `axis` counted from the end, where broadcasting lines the operands up."""
    smaller = min(left.ndim, right.ndim)
    axis = integer(name, "axis", axis)
    if left.ndim != right.ndim and axis >= 0:
        message = f"{name}: axis {axis} means two things for shapes {left.shape} and {right.shape}"
        raise AxisError(message, suggestions=("an axis counted from the end, such as -1",))
    return normalize_axis(name, axis, smaller) - smaller


@memoized_of(2)
def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: int | tuple[Sequence[int], Sequence[int]] | tuple[int, int] = 2,
) -> Tensor:
    """Products summed over `axes`: the last n of `a` with the first n of `b`, or two sequences of axes.

    The result has the remaining axes of `a`, then those of `b`. Nothing broadcasts and nothing is conjugated.

    >>> tfr.tensordot(np.ones((2, 3, 4)), np.ones((4, 3)), axes=((1, 2), (1, 0))).numpy()
    array([12., 12.])
    """
    left, right = promoted(a, b)
    return _over_axes(left, right, *_contracted_axes(left, right, axes))


def _over_axes(
    left: Tensor, right: Tensor, inner_left: Sequence[int], inner_right: Sequence[int]
) -> Tensor:
    """Return the products summed over these axes of both, counted from the front and known to fit."""
    pairs = dict(zip(inner_right, inner_left, strict=True))
    # an index is the operand and the axis where it stands first
    rows = [(0, axis) for axis in range(left.ndim)]
    columns = [(0, pairs[axis]) if axis in pairs else (1, axis) for axis in range(right.ndim)]
    kept = [index for index in (*rows, *columns) if index[0] or index[1] not in inner_left]
    return contract((left, right), (tuple(rows), tuple(columns)), tuple(kept))


def _contracted_axes(left: Tensor, right: Tensor, axes: Any) -> tuple[list[int], list[int]]:
    if isinstance(axes, int):
        if not 0 <= axes <= min(left.ndim, right.ndim):
            message = f"tensordot: axes={axes} does not fit shapes {left.shape} and {right.shape}"
            raise AxisError(message)
        named: Any = (range(left.ndim - axes, left.ndim), range(axes))
    else:
        named = [integers("tensordot", "axes", given) for given in pair("tensordot", "axes", axes)]
    contracted = [
        [normalize_axis("tensordot", axis, tensor.ndim) for axis in axes_of_one]
        for axes_of_one, tensor in zip(named, (left, right), strict=True)
    ]
    if any(len(set(numbers)) != len(numbers) for numbers in contracted):
        raise AxisError(f"tensordot: axes {axes} name an axis twice")
    sizes = [
        [tensor.shape[axis] for axis in axes_of_one]
        for axes_of_one, tensor in zip(contracted, (left, right), strict=True)
    ]
    if sizes[0] != sizes[1]:
        raise ShapeError(
            f"tensordot: shapes {left.shape} and {right.shape} do not contract over axes {axes}: "
            f"sizes {sizes[0]} meet {sizes[1]}."
        )
    return contracted[0], contracted[1]


def dot(a: ArrayLike, b: ArrayLike, out: Output = None) -> Tensor:
    """NumPy's product: the last axis of `a` with the second-to-last of `b` (the only one of a vector).

    A 0-d operand multiplies. Unlike `matmul`, the other axes do not broadcast: all of them are in the result.

    >>> tfr.dot(np.asarray([1, 2, 3]), np.asarray([4, 5, 6])).item()
    32
    """
    product = _of_vectors(a, b)
    result = _dot(*promoted(a, b)) if product is None else product
    return result if out is None else delivered("dot", result, out)


def _dot(left: Tensor, right: Tensor) -> Tensor:
    if _are_vectors(left, right):
        return call(MATMUL, left, right)
    if not left.ndim or not right.ndim:
        return apply(MULTIPLY, left, right)
    return tensordot(left, right, axes=((-1,), (max(right.ndim - 2, 0),)))


def inner(a: ArrayLike, b: ArrayLike, /) -> Tensor:
    """Sums of products over the last axes, all other axes of `a` and then of `b` kept; a 0-d operand multiplies.

    >>> tfr.inner(np.ones((2, 3)), np.ones((4, 3))).shape
    (2, 4)
    """
    product = _of_vectors(a, b)
    if product is not None:
        return product
    left, right = promoted(a, b)
    if _are_vectors(left, right):
        return call(MATMUL, left, right)
    if not left.ndim or not right.ndim:
        return apply(MULTIPLY, left, right)
    return tensordot(left, right, axes=((-1,), (-1,)))


def vdot(a: ArrayLike, b: ArrayLike, /) -> Tensor:
    """Dot product of all elements in C order, the first operand conjugated.

    Both are flattened; shapes may differ as long as the numbers of elements agree.

    >>> tfr.vdot(np.asarray([1 + 2j]), np.asarray([3 + 4j])).item()
    (11-2j)
    """
    product = _of_vectors(a, b)
    if product is not None:
        return product
    left, right = (flattened(tensor) for tensor in promoted(a, b))
    return call(MATMUL, conjugated(left), right)


def outer(a: ArrayLike, b: ArrayLike, out: Output = None) -> Tensor:
    """All products of an element of `a` with an element of `b`, as a matrix; operands are flattened.

    >>> tfr.outer(np.asarray([1, 2]), np.asarray([1, 10, 100])).numpy()
    array([[  1,  10, 100],
           [  2,  20, 200]])
    """
    left, right = (flattened(tensor) for tensor in promoted(a, b))
    result = apply(MULTIPLY, reshaped(left, (left.size, 1)), right)
    return result if out is None else delivered("outer", result, out)


def outer_of_vectors(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """All products of an element of the vector `x1` with an element of the vector `x2`, as a matrix.

    ShapeError unless both operands have one dimension; `tfr.outer` flattens them.

    >>> tfr.linalg.outer(np.asarray([1, 2]), np.asarray([1, 10])).tolist()
    [[1, 10], [2, 20]]
    """
    left, right = promoted(x1, x2)
    if left.ndim != 1 or right.ndim != 1:
        raise ShapeError(
            f"linalg.outer: takes two vectors, got shapes {left.shape} and {right.shape}",
            suggestions=("tfr.outer, which flattens its operands",),
        )
    return outer(left, right)


@memoized_of(2)
def kron(a: ArrayLike, b: ArrayLike) -> Tensor:
    """Kronecker product: `b` repeated, each time multiplied by one element of `a`.

    Missing axes of the operand with fewer are in front, of size 1; sizes multiply.

    >>> tfr.kron(np.asarray([1, 10]), np.asarray([[1, 2, 3]])).numpy()
    array([[ 1,  2,  3, 10, 20, 30]])
    """
    left, right = promoted(a, b)
    ndim = max(left.ndim, right.ndim)
    big = (1,) * (ndim - left.ndim) + left.shape
    small = (1,) * (ndim - right.ndim) + right.shape
    product = apply(
        MULTIPLY,
        reshaped(left, tuple(size for length in big for size in (length, 1))),
        reshaped(right, tuple(size for length in small for size in (1, length))),
    )
    return reshaped(product, tuple(size * other for size, other in zip(big, small, strict=True)))


@memoized_of(2)
def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Tensor:
    """Cross products of the vectors along `axis`, of 3 elements or 2; the other axes broadcast.

    The third element of vectors in the plane is zero. Where both are, the result is what the product has along the
    third axis, without an axis of its own: NumPy warns that it will give that up. `axisa`, `axisb` and `axisc` are the
    axes of the vectors in `a`, `b` and the result, where they are not one.

    >>> tfr.cross(np.asarray([1, 0, 0]), np.asarray([0, 1, 0])).numpy()
    array([0, 0, 1])
    >>> tfr.cross(np.asarray([[1, 0, 0], [0, 1, 0]]), np.asarray([0, 0, 1])).tolist()
    [[0, -1, 0], [1, 0, 0]]
    """
    if axis is not None:
        return _cross(a, b, axis)
    if (axisa, axisb, axisc) == (-1, -1, -1):
        return _cross(a, b, -1)
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    result = _cross(a, b, -1)
    return result if a.shape[-1] == b.shape[-1] == 2 else moveaxis(result, -1, axisc)


def cross_in_space(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Tensor:
    """Cross products of the 3-element vectors along `axis`; the other axes broadcast.

    >>> tfr.linalg.cross(np.asarray([1, 0, 0]), np.asarray([0, 1, 0])).numpy()
    array([0, 0, 1])
    >>> tfr.linalg.cross(np.asarray([[1, 0], [0, 1], [0, 0]]), np.asarray([[0], [0], [1]]), axis=0).tolist()
    [[0, 1], [-1, 0], [0, 0]]
    """
    return _cross(x1, x2, axis, frozenset({3}))


def _cross(a: Any, b: Any, axis: int, lengths: frozenset[int] = frozenset({2, 3})) -> Tensor:
    a, b = promoted(a, b)
    if a.dtype not in NUMERIC:
        raise dtype_error(SUBTRACT, (a.dtype, b.dtype))
    axis = _common_axis("cross", a, b, axis)
    if not {a.shape[axis], b.shape[axis]} <= lengths:
        counts = " or ".join(map(str, sorted(lengths)))
        message = (
            f"cross: axis {axis} of shapes {a.shape} and {b.shape} must have {counts} elements"
        )
        raise ShapeError(message)
    (a0, a1, *a2), (b0, b1, *b2) = _components(a, axis), _components(b, axis)
    last = a0 * b1 - a1 * b0
    if not a2 and not b2:
        return squeeze(last, last.ndim + axis)
    if not a2:
        parts = [a1 * b2[0], -(a0 * b2[0]), last]
    elif not b2:
        parts = [-(a2[0] * b1), a2[0] * b0, last]
    else:
        parts = [a1 * b2[0] - a2[0] * b1, a2[0] * b0 - a0 * b2[0], last]
    return call(CONCAT, *parts, attrs=(last.ndim + axis,))


def _components(tensor: Tensor, axis: int) -> list[Any]:
    """Return the slices of one element along `axis` (counted from the end)."""
    position = tensor.ndim + axis
    sizes = tensor.shape[:position] + (1,) + tensor.shape[position + 1 :]
    steps = (1,) * tensor.ndim
    starts = [(0,) * position + (i,) + (0,) * (-axis - 1) for i in range(tensor.shape[axis])]
    return [call(SLICE, tensor, attrs=(start, sizes, steps)) for start in starts]


def _is_operand(value: Any) -> bool:
    return isinstance(value, (Tensor, np.ndarray, *SEQUENCES))


def _matmul(self: Tensor, other: Any, /) -> Any:
    known = _of_matrices(self, other)
    if known is not None:
        return recorded(*known)
    return matmul(self, other) if _is_operand(other) else NotImplemented


def _rmatmul(self: Tensor, other: Any, /) -> Any:
    return matmul(other, self) if _is_operand(other) else NotImplemented


def _imatmul(self: Tensor, other: Any, /) -> Any:
    if not _is_operand(other):
        return NotImplemented
    return rebind(self, matmul(self, other), MATMUL.name)


for _name, _method in (("matmul", _matmul), ("rmatmul", _rmatmul), ("imatmul", _imatmul)):
    setattr(Tensor, f"__{_name}__", _method)
