"""CSR and CSC: elements by lines, which are rows or columns; one is the other of the transpose."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from tensorframe.frontend.dispatch import call
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import Shape
from tensorframe.graph.tracing import current
from tensorframe.ops.sparse import ROW_NUMBERS
from tensorframe.sparse import products, structure
from tensorframe.sparse.arrangement import FEW, Arranged, Arrangement, is_large
from tensorframe.sparse.operators import Elementwise
from tensorframe.sparse.reductions import Reducible
from tensorframe.sparse.selection import Selectable
from tensorframe.sparse.structure import Lines
from tensorframe.sparse.tensor import SparseTensor

if TYPE_CHECKING:
    from tensorframe.sparse.coordinates import COO

__all__ = ["CSC", "CSR"]


class Compressed(Elementwise, Reducible, Selectable, SparseTensor):
    """Lines of stored elements, one after the other: line i has those from `indptr[i]` on to before `indptr[i + 1]`.

    The lines of a stack follow those of the matrix before, so that `indptr` is one vector, of one more element than
    there are lines in all.
    """

    __slots__ = ("_others", "data", "indices", "indptr", "shape")

    axis: ClassVar[int]  # of the two of a matrix, the one that counts lines
    data: Tensor
    """The stored elements, line by line."""
    indices: Tensor
    """The position of each stored element in its line."""
    indptr: Tensor
    """Where each line begins, and where the last one ends."""

    def __init__(self, data: Tensor, indices: Tensor, indptr: Tensor, shape: Shape) -> None:
        """Take dense tensors that are known to fit: `csr_array` and `csc_array` look at what they are given."""
        self.data, self.indices, self.indptr, self.shape = data, indices, indptr, shape
        self._others: dict[str, Any] = {}

    @property
    def line_count(self) -> int:
        """How many lines each matrix has."""
        return self.shape[self.axis]

    @property
    def line_length(self) -> int:
        """How many elements a line has, those included that are not stored."""
        return self.shape[-3 - self.axis]

    # --- formats

    def _lines(self) -> Lines:
        """Return the integers as arrays of the host, which computes them."""
        return Lines(structure.host(self.indices), structure.host(self.indptr), self.line_length)

    def _line_numbers(self) -> Tensor:
        """Return the line of each stored element, counted through the stack."""
        return self._made_of_integers(
            "numbers", lambda: call(ROW_NUMBERS, self.indptr, attrs=(self.nnz,))
        )

    def _turned(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the integers of the other compressed format, and the order in which it has the elements."""

        def turned() -> tuple[Tensor, Tensor, Tensor]:
            arrays = self._lines().turned(prod(self.shape[:-2]))
            order, indices, indptr = [structure.like(array, self.indices) for array in arrays]
            return order, indices, indptr

        return self._made_of_integers("turned", turned)

    def _short_indices(self) -> Tensor:
        """Return the indices in 16 bits, where these do and products of a large matrix have come a few times."""
        known = self._is_checked and structure.is_on_host(self.indices, self.indptr)
        if not (known and is_large(self.nnz) and self.line_length <= 1 << 16):
            return self.indices
        products: Iterator[int] = self._made_of_integers("products", count)
        if next(products) < FEW and current.get() is None:
            return self.indices
        return self._made_of_integers(
            "short", lambda: structure.shortened(self.indices.numpy(), self.indices)
        )

    def _arranged(self, *, across: bool) -> Arranged | None:
        """Return the lines, or what runs across them, as rows that products with a vector are soonest made of.

        None where those of the matrix as it is are as good, or it has not multiplied vectors often enough.
        """
        if not (self._is_checked and structure.is_on_host(self.indices, self.indptr)):
            return None
        arrangement = self._made_of_integers(
            "across" if across else "along", lambda: Arrangement(across=across)
        )
        return arrangement.of(self)

    def _in_lines_across(self) -> tuple[Tensor, Tensor, Tensor, Shape]:
        order, indices, indptr = self._turned()
        return structure.taken(self.data, order), indices, indptr, self.shape

    def tocoo(self) -> COO:
        """Return it as coordinates, which are recorded: no integers are computed now."""
        from tensorframe.sparse.coordinates import COO  # it is made of what this is

        stack = self.shape[:-2]
        numbers = self._line_numbers()
        outer, own = structure.split(numbers, stack, self.line_count)
        last = (own, self.indices) if self.axis == -2 else (self.indices, own)
        made = COO(self.data, (*outer, *last), self.shape)
        return made._known_as_checked(self._is_checked)

    def coalesce(self) -> Self:
        """Return it with elements of one place added up and in order: each place is stored once.

        How many places there are is known only when the integers are: they are computed now. Elements are recorded.
        """
        lines = self._lines()
        if lines.is_canonical():
            return self
        places, indices, indptr = lines.merged()
        data = structure.added_up(self.data, places, len(indices))
        made = type(self)(
            data,
            structure.like(indices, self.indices),
            structure.like(indptr, self.indices),
            self.shape,
        )
        return made._known_as_checked(self._is_checked)

    def with_data(self, data: Tensor) -> Self:
        """Return it with other elements in the same places."""
        made = type(self)(data, self.indices, self.indptr, self.shape)
        made._others = self._others  # which are of integers alone
        return made

    def to_scipy(self) -> Any:
        """Return SciPy's sparse array of the same format, with the computed elements; of a stack, a COO array."""
        if self.ndim > 2:
            return self.tocoo().to_scipy()
        sparse = structure.scipy_sparse()
        made = sparse.csr_array if self.axis == -2 else sparse.csc_array
        arrays = (self.data.numpy(), structure.host(self.indices), structure.host(self.indptr))
        return made(tuple([np.array(array) for array in arrays]), shape=self.shape)

    def _leaves(self) -> list[Tensor]:
        return [self.data, self.indices, self.indptr]

    @classmethod
    def _built(cls, shape: Shape, leaves: list[Any]) -> Self:
        data, indices, indptr = leaves
        return cls(data, indices, indptr, shape)

    # --- products

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, SparseTensor):
            from tensorframe.sparse.sparse_products import sparse_product  # for few programs

            return sparse_product(self, other)
        return products.matrix_times(self, other)

    def __rmatmul__(self, other: Any) -> Tensor:
        return products.times_matrix(other, self)


class CSR(Compressed):
    """A matrix, or a stack of matrices, in compressed rows: made by `csr_array`.

    >>> A = tfr.sparse.csr_array([[0.0, 2.0], [3.0, 0.0]])
    >>> A.data.tolist(), A.indices.tolist(), A.indptr.tolist()
    ([2.0, 3.0], [1, 0], [0, 1, 2])
    >>> (A @ tfr.asarray([1.0, 10.0])).tolist()
    [20.0, 3.0]
    """

    __slots__ = ()
    format = "csr"
    axis = -2

    def tocsr(self) -> CSR:
        """Return it itself."""
        return self

    def tocsc(self) -> CSC:
        """Return it in compressed columns; the order of the elements is computed now, once."""
        return CSC(*self._in_lines_across())._known_as_checked(self._is_checked)

    @property
    def mT(self) -> CSC:
        """The transpose of each matrix, which shares everything with it: rows are columns, CSR is CSC."""
        made = CSC(self.data, self.indices, self.indptr, structure.swapped(self.shape))
        made._others = self._others
        return made


class CSC(Compressed):
    """A matrix, or a stack of matrices, in compressed columns: made by `csc_array`.

    >>> A = tfr.sparse.csc_array([[0.0, 2.0], [3.0, 0.0]])
    >>> A.data.tolist(), A.indices.tolist(), A.indptr.tolist()
    ([3.0, 2.0], [1, 0], [0, 1, 2])
    """

    __slots__ = ()
    format = "csc"
    axis = -1

    def tocsr(self) -> CSR:
        """Return it in compressed rows; the order of the elements is computed now, once."""
        return CSR(*self._in_lines_across())._known_as_checked(self._is_checked)

    def tocsc(self) -> CSC:
        """Return it itself."""
        return self

    @property
    def mT(self) -> CSR:
        """The transpose of each matrix, which shares everything with it: columns are rows, CSC is CSR."""
        made = CSR(self.data, self.indices, self.indptr, structure.swapped(self.shape))
        made._others = self._others
        return made
