"""The namespace `tfr.sparse.linalg`: systems of linear equations with sparse matrices.

`spsolve` and `splu` factorise on the host, by SuperLU in SciPy; `cg` is made of this library's own ops, on any device.
Solutions have gradients for the right side and for the stored elements, of any order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorframe.dtypes import FLOATING, NARROW, default_float, promote
from tensorframe.errors import DTypeError, LinAlgError, ShapeError, TracingError
from tensorframe.frontend.conversion.convert import asarray
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.linalg.contractions import vdot
from tensorframe.frontend.operands import converted, filled, operand, weakly
from tensorframe.frontend.parameters import count
from tensorframe.frontend.reductions.elementary import sum as total
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.transformations.custom import custom_gradient
from tensorframe.ops.elementwise import CONJ
from tensorframe.ops.indexing import GATHER
from tensorframe.sparse import structure
from tensorframe.sparse.compressed import CSC
from tensorframe.sparse.tensor import SparseTensor, issparse

__all__ = ["SuperLU", "cg", "splu", "spsolve"]

# solves with a matrix, or with its conjugated transpose
_Solve = Callable[[SparseTensor, Tensor, bool], Tensor]


def spsolve(A: SparseTensor, b: Any, /) -> Tensor:
    """The solution x of `A @ x = b`, by SciPy's `splu` on the host.

    `A` is a square sparse matrix, `b` a vector or a matrix of right sides. Both are computed now; float32, float64 and
    complex dtypes stay, integers become floating. LinAlgError if `A` is singular. Gradients are those of the solution.

    >>> A = tfr.sparse.csr_array([[4.0, 1.0], [0.0, 2.0]])
    >>> tfr.sparse.linalg.spsolve(A, tfr.asarray([6.0, 4.0])).tolist()
    [1.0, 2.0]
    """
    return splu(A).solve(b)


def splu(A: SparseTensor, /) -> SuperLU:
    """The factors of a square sparse matrix, which solve for as many right sides as there are.

    >>> factors = tfr.sparse.linalg.splu(tfr.sparse.csc_array([[4.0, 1.0], [0.0, 2.0]]))
    >>> factors.solve(tfr.asarray([6.0, 4.0])).tolist()
    [1.0, 2.0]
    """
    matrix = _square("splu", A)
    dtype = (
        matrix.dtype
        if matrix.dtype in FLOATING - NARROW
        else promote(matrix.dtype, default_float())
    )
    try:
        return SuperLU(matrix.astype(dtype).tocsc())
    except TracingError as error:
        raise _not_recorded("splu") from error


class SuperLU:
    """Factors of a sparse matrix by SuperLU: made by `splu`."""

    def __init__(self, matrix: CSC) -> None:
        """Factorise a matrix of floating dtype."""
        structure.scipy_sparse()
        from scipy.sparse.linalg import splu as factorise  # optional, and slow to import

        self._matrix = matrix
        held = matrix.coalesce().to_scipy()
        try:
            self._factors = factorise(held)
        except RuntimeError as error:
            raise LinAlgError(
                f"splu: the matrix of shape {matrix.shape} is singular",
                suggestions=("A + 1e-6 * tfr.sparse.eye_array(n) where that is close enough",),
            ) from error

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the matrix."""
        return self._matrix.shape

    @property
    def nnz(self) -> int:
        """How many elements both factors store."""
        return int(self._factors.nnz)

    def solve(self, b: Any, trans: str = "N") -> Tensor:
        """Return the solution for right sides; `trans` "T" or "H" solves with the transpose, conjugated for "H"."""
        if trans not in ("N", "T", "H"):
            raise DTypeError(f"solve: trans is 'N', 'T' or 'H', got {trans!r}")
        x = _right_side("solve", self._matrix, b)
        if trans == "T":  # the conjugate of what solves the conjugated system
            return apply(CONJ, _implicit(self._matrix, apply(CONJ, x), self._solved, adjoint=True))
        return _implicit(self._matrix, x, self._solved, adjoint=trans == "H")

    def _solved(self, _matrix: SparseTensor, b: Tensor, adjoint: bool) -> Tensor:
        try:
            array = b.numpy()
        except TracingError as error:
            raise _not_recorded("spsolve") from error
        solution = self._factors.solve(array, trans="H" if adjoint else "N")
        return asarray(solution, dtype=b.dtype, device=b.device)


def cg(
    A: Any,
    b: Any,
    /,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[Tensor], Any] | None = None,
) -> tuple[Tensor, int]:
    """The solution of `A @ x = b` for a Hermitian positive definite `A` by conjugate gradients, and 0 if it was found.

    `A` is a sparse tensor, a dense one, or a function of a vector; so is `M`, which is about the inverse of `A`
    (preconditioning). It ends when the residual is no longer than `rtol` times the length of `b`, or `atol`; else after
    `maxiter` steps (ten for each row if it is not said), and gives that number in the place of 0. A step is one plan on
    the device of `b`. Gradients are those of the solution, for `b` and for the elements of a sparse `A`.
    Hestenes and Stiefel (1952).

    >>> A = tfr.sparse.csr_array([[4.0, 1.0], [1.0, 3.0]])
    >>> x, info = tfr.sparse.linalg.cg(A, tfr.asarray([1.0, 2.0]))
    >>> x.numpy().round(3), info
    (array([0.091, 0.636], dtype=float32), 0)
    """
    side = _right_side("cg", _square("cg", A), b) if issparse(A) else weakly((operand(b), 1.0))[0]
    if side.ndim != 1:
        raise ShapeError(f"cg: solves for one vector, got shape {side.shape}")
    most = 10 * side.shape[0] if maxiter is None else count("cg", "maxiter", maxiter)
    start = (
        filled(side.shape, 0, side.dtype, side.device)
        if x0 is None
        else converted(operand(x0), side.dtype)
    )
    info: list[int] = []

    def solved(matrix: Any, right: Tensor, _adjoint: bool) -> Tensor:
        begin = start if not info else filled(side.shape, 0, side.dtype, side.device)
        x, code = _descend(
            _operator(matrix), _operator(M), right, begin, rtol, atol, most, callback
        )
        info.append(code)
        return x

    x = _implicit(A, side, solved, adjoint=False) if issparse(A) else solved(A, side, False)
    return x, info[0]


def _descend(
    multiply: Callable[[Tensor], Tensor],
    precondition: Callable[[Tensor], Tensor],
    b: Tensor,
    x: Tensor,
    rtol: float,
    atol: float,
    most: int,
    callback: Callable[[Tensor], Any] | None,
) -> tuple[Tensor, int]:
    """Return the solution that conjugate gradients find from a start, and how many steps were too few, or 0."""

    def step(x: Tensor, residual: Tensor, direction: Tensor, old: Tensor) -> tuple[Tensor, ...]:
        across = multiply(direction)
        length = old / vdot(direction, across)
        x, residual = x + length * direction, residual - length * across
        towards = precondition(residual)
        new = vdot(residual, towards)
        return x, residual, towards + (new / old) * direction, new, _squared(residual)

    residual = b - multiply(x)
    direction = precondition(residual)
    old, square = vdot(residual, direction), _squared(residual)
    try:
        enough = max(rtol * _squared(b).item() ** 0.5, atol) ** 2
        for number in range(most + 1):
            if square.item() <= enough:
                return x, 0
            if number == most:
                break
            x, residual, direction, old, square = step(x, residual, direction, old)
            if callback is not None:
                callback(x)
    except TracingError as error:
        raise _not_recorded("cg") from error
    return x, most


def _implicit(matrix: SparseTensor, b: Tensor, solve: _Solve, *, adjoint: bool) -> Tensor:
    """Return the solution, whose gradient solves once more: with the conjugated transpose, or with the matrix."""

    def solved(data: Tensor, right: Tensor) -> Tensor:
        return solve(matrix.with_data(data), right, adjoint)

    def rule(args: tuple[Tensor, Tensor], x: Tensor, ct: Tensor) -> tuple[Tensor, Tensor]:
        data, _ = args
        back = _implicit(matrix.with_data(data), ct, solve, adjoint=not adjoint)
        *_, rows, columns = matrix.tocoo().coords
        own, other = (x, back) if adjoint else (back, x)
        products = _picked(own, rows) * apply(CONJ, _picked(other, columns))
        return -(products if products.ndim == 1 else total(products, axis=1)), back

    function = custom_gradient(solved)
    function.vjp(rule)
    made: Tensor = function(matrix.data, b)
    return made


def _picked(x: Tensor, rows: Tensor) -> Tensor:
    return call(GATHER, x, rows, attrs=((0,), 0))


def _square(name: str, matrix: Any) -> SparseTensor:
    if not issparse(matrix):
        raise DTypeError(
            f"{name}: takes a sparse tensor, got {type(matrix).__name__}",
            suggestions=("tfr.linalg.solve for dense matrices", "tfr.sparse.from_scipy(A)"),
        )
    made: SparseTensor = matrix
    if made.ndim != 2 or made.shape[0] != made.shape[1]:
        raise ShapeError(f"{name}: takes one square matrix, got shape {made.shape}")
    return made


def _right_side(name: str, matrix: SparseTensor, b: Any) -> Tensor:
    """Return right sides in the dtype that they have beside the matrix."""
    _, x = weakly((matrix.data, b))
    if x.ndim not in (1, 2) or x.shape[0] != matrix.shape[0]:
        raise ShapeError(
            f"{name}: right sides of shape {x.shape} do not fit a matrix of shape {matrix.shape}"
        )
    return converted(x, promote(matrix.dtype, x.dtype))


def _operator(matrix: Any) -> Callable[[Tensor], Tensor]:
    """Return what multiplies with a matrix: the function that it is, or a product; nothing for None."""
    if matrix is None:
        return lambda x: x
    function: Callable[[Tensor], Tensor] = matrix if callable(matrix) else lambda x: matrix @ x
    return function


def _squared(x: Tensor) -> Tensor:
    made: Tensor = vdot(x, x).real
    return made


def _not_recorded(name: str) -> TracingError:
    return TracingError(
        f"{name} looks at values, which are not known while a function is recorded",
        suggestions=(f"call {name} outside of the jitted function",),
    )
