"""COO: elements with their coordinates, in any order; how sparse tensors are put together."""

from __future__ import annotations

from typing import Any, Self, TypeVar

import numpy as np

from tensorframe.dtypes import BOOL, int32
from tensorframe.errors import TracingError
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.operands import converted, filled
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import Shape
from tensorframe.ops.indexing import SCATTER_ADD
from tensorframe.sparse import structure
from tensorframe.sparse.compressed import CSC, CSR
from tensorframe.sparse.operators import Elementwise
from tensorframe.sparse.reductions import Reducible
from tensorframe.sparse.selection import Selectable
from tensorframe.sparse.tensor import SparseTensor

__all__ = ["COO"]

Line = TypeVar("Line", CSR, CSC)


class COO(Elementwise, Reducible, Selectable, SparseTensor):
    """A matrix, or a stack of matrices, as elements with their coordinates: made by `coo_array`.

    >>> A = tfr.sparse.coo_array(([2.0, 3.0], ([0, 1], [1, 0])), shape=(2, 2))
    >>> A.todense().tolist()
    [[0.0, 2.0], [3.0, 0.0]]
    """

    __slots__ = ("_made", "_others", "coords", "data", "shape")
    format = "coo"
    data: Tensor
    """The stored elements."""
    coords: tuple[Tensor, ...]
    """Where they are: a tensor of integers for each axis."""

    def __init__(self, data: Tensor, coords: tuple[Tensor, ...], shape: Shape) -> None:
        """Take dense tensors that are known to fit: `coo_array` looks at what it is given."""
        self.data, self.coords, self.shape = data, coords, shape
        self._others: dict[str, Any] = {}
        # by format, with the nodes of what it was made of
        self._made: dict[str, tuple[Any, Any, Any]] = {}

    @property
    def row(self) -> Tensor:
        """The row of each stored element."""
        return self.coords[-2]

    @property
    def col(self) -> Tensor:
        """The column of each stored element."""
        return self.coords[-1]

    def _arrays(self) -> list[np.ndarray[Any, Any]]:
        return [structure.host(own) for own in self.coords]

    def _compressed(self, name: str) -> tuple[Tensor | None, Tensor, Tensor]:
        """Return the order of the elements, None if they are in it, and the integers, of "csr" or "csc"."""

        def compressed() -> tuple[Tensor | None, Tensor, Tensor]:
            *outer, rows, columns = self.coords
            lines, own, axis = (rows, columns, -2) if name == "csr" else (columns, rows, -1)
            sizes = (*self.shape[:-2], self.shape[axis])
            try:
                return structure.ordered((*outer, lines), own, sizes)
            except TracingError:
                # what is recorded has no order that is known: one that rows alone have
                return structure.recorded_order((*outer, lines), own, sizes)

        return self._made_of_integers(name, compressed)

    def tocsr(self) -> CSR:
        """Return it in compressed rows, each in the order of columns; it is made once, and kept."""
        return self._kept("csr", CSR)

    def tocsc(self) -> CSC:
        """Return it in compressed columns, each in the order of rows; it is made once, and kept."""
        return self._kept("csc", CSC)

    def _kept(self, name: str, kind: type[Line]) -> Line:
        """Return it in a compressed format: as it was made before, unless elements were assigned to since."""
        node = self.data.node
        before, integers, made = self._made.get(name, (None, None, None))
        if before is not node or not self._has_integers(integers):
            order, indices, indptr = self._compressed(name)
            data = self.data if order is None else structure.taken(self.data, order)
            if node.storage is not None:
                data.compute()  # or each product would put the elements in order
            made = kind(data, indices, indptr, self.shape)._known_as_checked(self._is_checked)
            self._made[name] = (node, self._integers(), made)
        assert isinstance(made, kind)
        return made

    def tocoo(self) -> COO:
        """Return it itself."""
        return self

    def todense(self) -> Tensor:
        """Return the dense tensor, in which elements stored more than once are added up."""
        data = converted(self.data, int32) if self.dtype in BOOL else self.data
        start = filled(self.shape, 0, data.dtype, data.device)
        if not self.nnz:
            return converted(start, self.dtype)
        axes = tuple(range(self.ndim))
        return converted(call(SCATTER_ADD, start, data, *self.coords, attrs=(axes, 0)), self.dtype)

    def coalesce(self) -> Self:
        """Return it with elements of one place added up and in C order: each place is stored once.

        How many places there are is known only when the coordinates are: they are computed now. Elements are recorded.
        """
        arrays = self._arrays()
        keys = structure.flat(arrays, self.shape)
        if bool((keys[1:] > keys[:-1]).all()):
            return self
        unique, places = np.unique(keys, return_inverse=True)
        coords = np.unravel_index(unique, self.shape)
        made = [structure.like(own, self.coords[-1]) for own in coords]
        data = structure.added_up(self.data, places, len(unique))
        return type(self)(data, tuple(made), self.shape)._known_as_checked(self._is_checked)

    def with_data(self, data: Tensor) -> Self:
        """Return it with other elements in the same places."""
        made = type(self)(data, self.coords, self.shape)
        made._others = self._others
        return made

    def to_scipy(self) -> Any:
        """Return SciPy's COO array, with the computed elements."""
        coords = tuple([np.array(own.numpy()) for own in self.coords])
        return structure.scipy_sparse().coo_array(
            (np.array(self.data.numpy()), coords), shape=self.shape
        )

    @property
    def mT(self) -> COO:
        """The transpose of each matrix, which shares everything with it."""
        *outer, rows, columns = self.coords
        made = COO(self.data, (*outer, columns, rows), structure.swapped(self.shape))
        return made._known_as_checked(self._is_checked)

    def _leaves(self) -> list[Tensor]:
        return [self.data, *self.coords]

    @classmethod
    def _built(cls, shape: Shape, leaves: list[Any]) -> Self:
        data, *coords = leaves
        return cls(data, tuple(coords), shape)

    def __matmul__(self, other: Any) -> Any:
        return self.tocsr() @ other

    def __rmatmul__(self, other: Any) -> Any:
        return other @ self.tocsr()
