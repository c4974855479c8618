"""The namespace `tfr.linalg`: the standard's linear algebra extension, and what NumPy has beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorframe.documentation.docstrings import complete
from tensorframe.errors import LinAlgError
from tensorframe.frontend.linalg.blas import gemm, gemv
from tensorframe.frontend.linalg.contractions import cross_in_space as cross
from tensorframe.frontend.linalg.contractions import (
    matmul,
    matrix_transpose,
    tensordot,
    vecdot,
)
from tensorframe.frontend.linalg.contractions import outer_of_vectors as outer
from tensorframe.frontend.linalg.decompositions import (
    cholesky,
    det,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    inv,
    lstsq,
    qr,
    slogdet,
    solve,
    svd,
    svdvals,
)
from tensorframe.frontend.linalg.matrices import cond, matrix_power, matrix_rank, multi_dot, pinv
from tensorframe.frontend.linalg.norms import matrix_norm, norm, vector_norm
from tensorframe.frontend.manipulation.diagonals import diagonal, trace

if TYPE_CHECKING:
    from tensorframe.frontend.linalg.equations import tensorinv, tensorsolve

__all__ = [
    "LinAlgError",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "gemm",
    "gemv",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]


def __getattr__(name: str) -> Any:
    """Return a function that few programs need, which is loaded when it is first named."""
    if name not in ("tensorinv", "tensorsolve"):
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from tensorframe.frontend.linalg import equations

    function = globals()[name] = getattr(equations, name)
    complete("tensorframe.linalg", [(name, function)])
    return function
