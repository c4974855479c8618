"""SparseTensor: what the three formats have in common, made of the few things that each does in its own way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, TypeVar

import numpy as np

from tensorframe.dtypes import DType, DTypeLike, as_dtype
from tensorframe.errors import DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.operands import converted
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.trees import Container
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.graph.shape import Shape
from tensorframe.ops.elementwise import CONJ
from tensorframe.quick_dataclasses import dataclass, field

if TYPE_CHECKING:
    from tensorframe.sparse.compressed import CSC, CSR
    from tensorframe.sparse.coordinates import COO

__all__ = ["SparseTensor", "issparse"]

Made = TypeVar("Made")


class SparseTensor(ABC):
    """A matrix, or a stack of matrices along leading axes, of which only some elements are stored; the rest are zero.

    `CSR`, `CSC` and `COO` are its formats, made by `csr_array`, `csc_array`, `coo_array` and `from_scipy`. It never
    changes: operators give new tensors, most of which share its integers.
    """

    format: str
    data: Tensor
    """The stored elements, in the order of the format."""
    shape: Shape
    """The size of each axis."""

    # NumPy's arrays and SciPy's matrices leave operators with it to its own methods
    __array_ufunc__ = None
    __array_priority__ = 1001.0
    __slots__ = ("__weakref__",)

    # --- what it is

    @property
    def dtype(self) -> DType:
        """The data type of the elements."""
        return self.data.dtype

    @property
    def device(self) -> Device:
        """The device that holds, or will hold, the elements."""
        return self.data.device

    @property
    def ndim(self) -> int:
        """The number of axes: two, and one for each axis of a stack."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements, those included that are not stored."""
        return prod(self.shape)

    @property
    def nnz(self) -> int:
        """How many elements are stored, explicit zeros and duplicates included."""
        return self.data.shape[0]

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, dtype={self.dtype}, nnz={self.nnz}, device={self.device})"

    def __bool__(self) -> NoReturn:
        raise DTypeError(
            "a sparse tensor is neither true nor false",
            suggestions=("A.nnz > 0 asks whether any element is stored",),
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise DTypeError(
            f"a sparse tensor of shape {self.shape} does not become a dense array by itself",
            suggestions=(
                "A.todense() for a tensor, A.todense().numpy() for an array",
                "A.to_scipy() for functions of SciPy and scikit-learn",
            ),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the dense tensors, and whether integers were checked: what else was made of them is made anew."""
        return _restored, (type(self), self.shape, self._leaves(), self._is_checked)

    # --- other formats

    @abstractmethod
    def tocsr(self) -> CSR:
        """Return it in compressed rows."""

    @abstractmethod
    def tocsc(self) -> CSC:
        """Return it in compressed columns."""

    @abstractmethod
    def tocoo(self) -> COO:
        """Return it as coordinates."""

    @abstractmethod
    def to_scipy(self) -> Any:
        """Return SciPy's sparse array of the same format, with the computed elements; of a stack, a COO array."""

    @abstractmethod
    def with_data(self, data: Tensor) -> Self:
        """Return it with other elements in the same places."""

    @abstractmethod
    def coalesce(self) -> Self:
        """Return it with elements of one place added up and in order: each place is stored once.

        How many places there are is known only when the integers are: they are computed now. Elements are recorded.
        """

    @property
    @abstractmethod
    def mT(self) -> SparseTensor:
        """The transpose of each matrix, which shares everything with it: rows are columns, CSR is CSC."""

    @property
    def T(self) -> SparseTensor:
        """The transpose of a matrix; ShapeError for a stack."""
        if self.ndim != 2:
            raise ShapeError(
                f"T: a stack of shape {self.shape} is no matrix",
                suggestions=("A.mT transposes each matrix",),
            )
        return self.mT

    def todense(self) -> Tensor:
        """Return the dense tensor, in which elements stored more than once are added up."""
        return self.tocoo().todense()

    def toarray(self) -> np.ndarray[Any, Any]:
        """Return the dense array of NumPy's."""
        return self.todense().numpy()

    def asformat(self, format: str) -> SparseTensor:
        """Return it as "csr", "csc" or "coo"; ArgumentError for another name."""
        from tensorframe.sparse.creation import in_format  # it makes what this is

        return in_format(self, format)

    def astype(self, dtype: DTypeLike) -> Self:
        """Return it with elements of another dtype."""
        return self.with_data(converted(self.data, as_dtype(dtype)))

    def to_device(self, device: OnDevice) -> Self:
        """Return it on another device."""
        leaves = [leaf.to_device(device) for leaf in self._leaves()]
        return type(self)._built(self.shape, leaves)._known_as_checked(self._is_checked)

    def compute(self) -> Self:
        """Compute the elements and the integers now, keep them, and return this tensor."""
        for leaf in self._leaves():
            leaf.compute()
        return self

    def conj(self) -> Self:
        """Return it with complex elements conjugated."""
        return self.with_data(apply(CONJ, self.data)) if self.dtype.kind == "c" else self

    # --- what is known of the integers

    _others: dict[str, Any]  # what was made of them, or is known of them

    @property
    def _is_checked(self) -> bool:
        """Whether the integers are known to be in order and within bounds, so that kernels may follow them as they are.

        An assignment to one of these tensors gives it another node, of which nothing is known.
        """
        return self._has_integers(self._others.get("checked"))

    def _known_as_checked(self, known: bool = True) -> Self:
        """Return this tensor, of whose integers it is known, or is not, that they are in order and within bounds."""
        if known:
            self._others["checked"] = self._integers()
        return self

    def _integers(self) -> tuple[Node, ...]:
        return tuple([leaf.node for leaf in self._leaves()[1:]])

    def _has_integers(self, known: tuple[Node, ...] | None) -> bool:
        """Whether these are the integers: no tensor of them was assigned to since."""
        if known is None:
            return False
        for leaf, node in zip(self._leaves()[1:], known, strict=True):  # noqa: SIM110 - looked at for every product
            if leaf.node is not node:
                return False
        return True

    def _made_of_integers(self, name: str, make: Callable[[], Made]) -> Made:
        """Return what `make` makes of the integers, which is remembered as long as these are the same."""
        before: tuple[tuple[Node, ...], Made] | None = self._others.get(name)
        if before is not None and self._has_integers(before[0]):
            return before[1]
        made = make()
        self._others[name] = (self._integers(), made)
        return made

    # --- trees

    __tree__: ClassVar[Container]

    @abstractmethod
    def _leaves(self) -> list[Tensor]:
        """Return the dense tensors that it is made of, its elements first."""

    @classmethod
    @abstractmethod
    def _built(cls, shape: Shape, leaves: list[Any]) -> Self:
        """Return what `_leaves` was taken from, without looking at what they hold."""

    # --- products

    @abstractmethod
    def __matmul__(self, other: Any) -> Any: ...

    @abstractmethod
    def __rmatmul__(self, other: Any) -> Any: ...

    # what SciPy's iterative solvers and decompositions ask of an operator

    def matvec(self, x: ArrayLike) -> Any:
        """Return the product with a vector, an array for an array: to SciPy's solvers this is a linear operator."""
        return self._times("matvec", self, x)

    def rmatvec(self, x: ArrayLike) -> Any:
        """Return the product of the conjugated transpose with a vector."""
        return self._times("rmatvec", self.conj().mT, x)

    def matmat(self, x: ArrayLike) -> Any:
        """Return the product with a matrix."""
        return self._times("matmat", self, x)

    def rmatmat(self, x: ArrayLike) -> Any:
        """Return the product of the conjugated transpose with a matrix."""
        return self._times("rmatmat", self.conj().mT, x)

    def _times(self, name: str, matrix: Any, x: Any) -> Any:
        if self.ndim != 2:
            raise ShapeError(f"{name}: a stack of shape {self.shape} is no matrix")
        product: Tensor = matrix @ x
        # SciPy's solvers write to what they are given
        return product.numpy(copy=True) if isinstance(x, np.ndarray) else product

    def dot(self, other: Any) -> Any:
        """Return `self @ other`, or a multiple of it for a number."""
        return self * other if np.ndim(other) == 0 and not issparse(other) else self @ other


def issparse(x: object) -> bool:
    """Whether `x` is a sparse tensor of this library; SciPy's are not, `from_scipy` makes them so.

    >>> tfr.sparse.issparse(tfr.sparse.eye_array(3)), tfr.sparse.issparse(tfr.eye(3))
    (True, False)
    """
    return isinstance(x, SparseTensor)


def _restored(
    kind: type[SparseTensor], shape: Shape, leaves: list[Any], known: bool
) -> SparseTensor:
    """Return what was pickled."""
    return kind._built(shape, leaves)._known_as_checked(known)


def _take(value: SparseTensor) -> tuple[Any, list[Any]]:
    return (type(value), value.shape), value._leaves()


def _label(_: Any, index: int) -> str:
    return ".data" if not index else f"._leaves()[{index}]"


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the elements of a tensor are. Gradients and tangents are like it if they have as many in such a tensor."""

    kind: type[SparseTensor]
    shape: Shape
    count: int
    tensor: SparseTensor = field(compare=False)


def _take_elements(value: SparseTensor) -> tuple[_Places, list[Tensor]]:
    return _Places(type(value), value.shape, value.nnz, value), [value.data]


# gradients are for the elements alone, and come as sparse tensors with the same places
_TARGETS = Container(
    _take_elements,
    lambda places, children: places.tensor.with_data(children[0]),
    _label,
)
SparseTensor.__tree__ = Container(
    _take, lambda facts, leaves: facts[0]._built(facts[1], leaves), _label, targets=_TARGETS
)
