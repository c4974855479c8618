"""Elementwise operators: with numbers and dense tensors, which leave places alone, and with sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from tensorframe.errors import DTypeError, ShapeError
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.manipulation.joining import concat
from tensorframe.frontend.operands import promoted, reshaped, weakly
from tensorframe.frontend.tensor import Tensor
from tensorframe.ops.elementwise import DIVIDE, MULTIPLY
from tensorframe.ops.indexing import GATHER
from tensorframe.sparse.tensor import SparseTensor, issparse

if TYPE_CHECKING:
    from tensorframe.graph.op import Op


class Elementwise(SparseTensor):
    """The elementwise operators."""

    __slots__ = ()

    # --- what leaves zeros zero

    def __neg__(self) -> Self:
        return self.with_data(-self.data)

    def __pos__(self) -> Self:
        return self.with_data(+self.data)

    def __abs__(self) -> Self:
        return self.mapped(abs)

    def __pow__(self, exponent: Any) -> Self:
        if np.ndim(exponent) or not exponent > 0:
            raise DTypeError(
                "** of a sparse tensor takes a positive number: other powers of its zeros are not zero",
                suggestions=("A.todense() ** exponent",),
            )
        return self.mapped(lambda data: data**exponent)

    def mapped(self, function: Callable[[Tensor], Tensor]) -> Self:
        """Return it with a function of tensors applied to its elements; of those that are not stored it stays zero.

        Elements that are stored more than once are added up before.

        >>> A = tfr.sparse.csr_array([[0.0, 2.0], [3.0, 0.0]])
        >>> A.mapped(tfr.sqrt).data.numpy().round(2)
        array([1.41, 1.73], dtype=float32)
        """
        whole = self.coalesce()
        return whole.with_data(function(whole.data))

    def __mul__(self, other: Any) -> SparseTensor:
        if isinstance(other, SparseTensor):
            return self._joined_with(other, common=True)
        return self._with_dense(MULTIPLY, "*", other)

    def __rmul__(self, other: Any) -> SparseTensor:
        return self._with_dense(MULTIPLY, "*", other)

    def multiply(self, other: Any) -> SparseTensor:
        """Return `self * other`, as SciPy's method does: element by element."""
        made: SparseTensor = self * other
        return made

    def __truediv__(self, other: Any) -> SparseTensor:
        if issparse(other):
            raise DTypeError(
                "/ does not divide by a sparse tensor: most of its elements are zero",
                suggestions=("A / B.todense() divides stored elements alone",),
            )
        return self._with_dense(DIVIDE, "/", other)

    def __rtruediv__(self, other: Any) -> NoReturn:
        raise DTypeError(
            "/ does not divide by a sparse tensor: most of its elements are zero",
            suggestions=("other / A.todense()",),
        )

    def _with_dense(self, op: Op, sign: str, other: Any) -> Self:
        """Return stored elements joined with those of a dense operand that stand in the same places."""
        _, x = weakly((self.data, other))
        if x.ndim > self.ndim or any(
            size not in (1, own)
            for size, own in zip(reversed(x.shape), reversed(self.shape), strict=False)
        ):
            raise ShapeError(
                f"{sign}: a dense operand of shape {x.shape} does not broadcast to the sparse tensor's {self.shape}",
                suggestions=("A.todense() for results of other shapes",),
            )
        axes = [axis for axis, size in enumerate(x.shape) if size > 1]
        if not axes:
            return self.with_data(apply(op, self.data, reshaped(x, ())))
        first = self.ndim - x.ndim
        coords = self.tocoo().coords
        kept = reshaped(x, tuple([x.shape[axis] for axis in axes]))
        picked = call(
            GATHER,
            kept,
            *[coords[first + axis] for axis in axes],
            attrs=(tuple(range(len(axes))), 0),
        )
        return self.with_data(apply(op, self.data, picked))

    # --- sums

    def __add__(self, other: Any) -> Any:
        return self._sum(other, "+")

    def __radd__(self, other: Any) -> Any:
        return self._sum(other, "+")

    def __sub__(self, other: Any) -> Any:
        return self._sum(-other, "-")

    def __rsub__(self, other: Any) -> Any:
        return (-self)._sum(other, "-")

    def _sum(self, other: Any, sign: str) -> Any:
        if issparse(other):
            return self._joined_with(other, common=False)
        if np.ndim(other) == 0 and not isinstance(other, Tensor):
            if other == 0:  # what Python's `sum` begins with
                return self
            raise DTypeError(
                f"{sign} {other} would make every element of a sparse tensor one to store",
                suggestions=(
                    "A.todense() first",
                    "A.mapped(lambda x: ...) changes stored elements alone",
                ),
            )
        return self.todense() + other

    def _joined_with(self, other: SparseTensor, *, common: bool) -> SparseTensor:
        """Return the sum with a sparse tensor, or, of `common` places, the product; in the format of this one."""
        if self.shape != other.shape:
            raise ShapeError(
                f"sparse tensors of shapes {self.shape} and {other.shape} are joined element by element"
            )
        if type(other) is type(self) and all(
            own.node is theirs.node
            for own, theirs in zip(self._leaves()[1:], other._leaves()[1:], strict=True)
        ):
            if not common:
                return self.with_data(self.data + other.data)
            if self.coalesce() is self:
                return self.with_data(self.data * other.data)
        from tensorframe.sparse.sparse_products import common_places  # for few programs

        if common:
            return common_places(self, other).asformat(self.format)
        mine, theirs = self.tocoo(), other.tocoo()
        coords = [
            concat(promoted(own, their))
            for own, their in zip(mine.coords, theirs.coords, strict=True)
        ]
        data = concat(promoted(mine.data, theirs.data))
        return type(mine)(data, tuple(coords), self.shape).asformat(self.format).coalesce()
