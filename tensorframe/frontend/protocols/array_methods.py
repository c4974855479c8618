"""ndarray's methods: the functions of the namespace under a dot, and the few that only exist as methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.dtypes import DTypeLike
from tensorframe.errors import DTypeError
from tensorframe.frontend.array_like import ArrayLike, ShapeLike
from tensorframe.frontend.conversion.convert import OnDevice, asarray
from tensorframe.frontend.creation.filled import zeros_like
from tensorframe.frontend.dispatch import recorded, unary
from tensorframe.frontend.dtypes import data_types
from tensorframe.frontend.dtypes.casting import Casting, raise_unless_allowed
from tensorframe.frontend.dtypes.numpy_only_dtypes import is_dtype_of_others
from tensorframe.frontend.fast_paths.memoization import memoized
from tensorframe.frontend.linalg.contractions import matrix_transpose
from tensorframe.frontend.manipulation import diagonals, joining, views
from tensorframe.frontend.operands import operand
from tensorframe.frontend.ordering import sorting
from tensorframe.frontend.outputs import Output
from tensorframe.frontend.parameters import choice
from tensorframe.frontend.reductions.elementary import sum as total
from tensorframe.frontend.tensor import Tensor, attribute, method
from tensorframe.ops.elementwise import CONJ, IMAG, REAL_PART
from tensorframe.ops.movement import PERMUTE

# functions whose first parameter is the tensor
SAME_NAME = """
    all any argmax argmin argpartition argsort clip conj cumprod cumsum dot max mean min nonzero
    prod ptp ravel round searchsorted squeeze std sum swapaxes take var
""".split()  # noqa: SIM905 - a table reads better than forty quoted names
OTHER_NAME = {"conjugate": "conj"}


def attach(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Attach public functions to Tensor as methods."""
    for name in SAME_NAME:
        setattr(Tensor, name, functions[name])
    for name, function in OTHER_NAME.items():
        setattr(Tensor, name, functions[function])


@method
def reshape(
    self: Tensor, /, *shape: ShapeLike, order: str = "C", copy: bool | None = None
) -> Tensor:
    """Return the elements under another shape, given as one tuple or as integers; one of them may be -1.

    >>> tfr.asarray([1, 2, 3, 4]).reshape(2, -1).tolist()
    [[1, 2], [3, 4]]
    """
    if order == "C" and copy is None:  # without options it is remembered
        return views.reshape(self, _one_tuple(shape))
    return views.reshape(self, _one_tuple(shape), order=order, copy=copy)


@method
def transpose(self: Tensor, /, *axes: Any) -> Tensor:
    """Return the axes in another order, given as one tuple or as integers; reversed if none are given.

    >>> tfr.zeros((2, 3, 4)).transpose(0, 2, 1).shape
    (2, 4, 3)
    """
    return views.transpose(self, _one_tuple(axes) if axes else None)


def _one_tuple(values: tuple[Any, ...]) -> Any:
    return values[0] if len(values) == 1 and not isinstance(values[0], int) else values


@method
def astype(
    self: Tensor,
    /,
    dtype: DTypeLike,
    order: str = "K",
    casting: Casting = "unsafe",
    subok: bool = True,
    copy: bool = True,
    *,
    device: OnDevice = None,
) -> Tensor:
    """Return the elements converted to `dtype`: see `astype`. DTypeError if the rule `casting` forbids it.

    `order` and `subok` are NumPy's and change nothing.

    >>> tfr.asarray([1.7, -1.7]).astype("int32").tolist()
    [1, -1]
    """
    del order, subok
    if casting != "unsafe":
        raise_unless_allowed("astype", self.dtype, dtypes.as_dtype(dtype), casting)
    return data_types.astype(self, dtype, copy=copy, device=device)


@method
def flatten(self: Tensor, /, order: str = "C") -> Tensor:
    """Return the elements along one axis.

    >>> tfr.asarray([[1, 2], [3, 4]]).flatten().tolist()
    [1, 2, 3, 4]
    """
    return views.ravel(self, order)


@method
def repeat(self: Tensor, /, repeats: ArrayLike, axis: int | None = None) -> Tensor:
    """Return each element, or each slice along `axis`, `repeats` times in a row.

    >>> tfr.asarray([1, 2]).repeat(2).tolist()
    [1, 1, 2, 2]
    """
    return joining.repeat(self, repeats, axis=axis)


@method
def sort(
    self: Tensor,
    /,
    axis: int = -1,
    kind: sorting.Kind = None,
    order: None = None,
    *,
    stable: bool | None = None,
) -> None:
    """Sort along `axis` in place: this tensor becomes the sorted one, no other changes.

    >>> x = tfr.asarray([3, 1, 2])
    >>> x.sort()
    >>> x.tolist()
    [1, 2, 3]
    """
    self._rebind(sorting.sort(self, axis, kind, order, stable=stable).node)


@method
@memoized
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Return the diagonals of the matrices that `axis1` and `axis2` span, along a new last axis.

    >>> tfr.asarray([[1, 2], [3, 4]]).diagonal().tolist()
    [1, 4]
    """
    a = asarray(a)
    is_matrix = a.ndim == 2 and (axis1, axis2) == (0, 1)
    moved = a if is_matrix else views.moveaxis(a, (axis1, axis2), (-2, -1))
    return diagonals.diagonal(moved, offset=offset)


@method
@memoized
def trace(
    a: ArrayLike,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike | None = None,
    out: Output = None,
) -> Tensor:
    """Return the sums of the diagonals of the matrices that `axis1` and `axis2` span.

    >>> tfr.asarray([[1, 2], [3, 4]]).trace().item()
    5
    """
    return total(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype, out=out)


@method
def fill(self: Tensor, /, value: ArrayLike) -> None:
    """Set every element to `value`, in place: no other tensor changes.

    >>> x = tfr.zeros(2)
    >>> x.fill(7)
    >>> x.tolist()
    [7.0, 7.0]
    """
    self[...] = value


@method
def tobytes(self: Tensor, /, order: str = "C") -> bytes:
    """Return the bytes of the elements in C order, or in Fortran order ("F").

    >>> tfr.asarray([97, 98], dtype="uint8").tobytes()
    b'ab'
    """
    return self._array().tobytes(choice("tobytes", "order", order, ("C", "F", "A", "K")))


@method
def view(self: Tensor, /, dtype: DTypeLike | None = None) -> Tensor:
    """Return the bits of the elements read as another dtype. Computes them.

    Of another width, the last axis has more elements or fewer of as many bytes; DTypeError where these do not divide.
    As records or raw bytes, which tensors do not hold, they are an array of NumPy's.

    >>> tfr.asarray([1.0]).view("int32").tolist()
    [1065353216]
    >>> tfr.asarray([258], dtype="int32").view("uint8").tolist()
    [2, 1, 0, 0]
    """
    if dtype is None or dtype is Tensor:
        return Tensor(self.node)
    try:
        target = dtypes.as_dtype(dtype)
    except DTypeError:
        if not is_dtype_of_others(dtype):
            raise
        return _records(self, dtype)  # type: ignore[no-any-return]  # of no dtype that a Tensor has
    width, wanted = self.dtype.itemsize, target.itemsize
    if wanted != width and (not self.shape or self.shape[-1] * width % wanted):
        raise DTypeError(
            f"view: rows of a tensor of shape {self.shape} and dtype {self.dtype} are no whole number of {target}",
            suggestions=("x.astype(...) converts the values",),
        )
    return asarray(_in_order(self).view(target), device=self.device)


def _in_order(tensor: Tensor) -> np.ndarray[Any, Any]:
    """Return the elements in C order; to a 0-d array `ascontiguousarray` would add an axis."""
    return tensor._array().astype(tensor.dtype, "C", copy=False)


def _records(tensor: Tensor, dtype: Any) -> Any:
    """Return an array of NumPy's that has the bits as a dtype that tensors do not have; it is not written to."""
    try:
        records = _in_order(tensor).view(dtype)
    except (TypeError, ValueError) as error:
        raise DTypeError(
            f"view: a tensor of shape {tensor.shape} and dtype {tensor.dtype} is not seen as {np.dtype(dtype)}:"
            f" {error}",
            suggestions=("x.astype(...) converts the values",),
        ) from None
    records.flags.writeable = False
    return records


# the attributes of a transposed matrix
_EXCHANGED = ((1, 0),)


@attribute
def T(self: Tensor) -> Tensor:
    """The matrix with rows and columns exchanged; any number of axes in reverse order."""
    node = self.node
    if len(node.shape) == 2:  # the usual case, in half the time
        return recorded(PERMUTE, (node,), _EXCHANGED, node.shape[::-1], node.dtype, node.device)
    return transpose(self)


@attribute
def mT(self: Tensor) -> Tensor:
    """The tensor with its last two axes exchanged: a stack of transposed matrices."""
    return matrix_transpose(self)


@attribute
def H(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix or of a stack of matrices."""
    return unary(CONJ, matrix_transpose(self))


@attribute
def real(self: Tensor) -> Tensor:
    """The real parts: a copy of the tensor, which costs nothing, if it is not complex."""
    return unary(REAL_PART, self) if self.dtype in dtypes.COMPLEX else Tensor(self.node)


@attribute
def imag(self: Tensor) -> Tensor:
    """The imaginary parts: zeros for real elements."""
    return unary(IMAG, self) if self.dtype in dtypes.COMPLEX else zeros_like(self)


def _set_real(self: Tensor, value: Any) -> None:
    """Give the elements other real parts, in place: no other tensor changes."""
    whole = self.dtype in dtypes.COMPLEX
    self[...] = operand(value) + 1j * self.imag if whole else value


def _set_imag(self: Tensor, value: Any) -> None:
    """Give complex elements other imaginary parts, in place; DTypeError for real ones, which have none."""
    if self.dtype not in dtypes.COMPLEX:
        raise DTypeError(f"imag: {self.dtype} has no imaginary parts to assign to")
    self[...] = self.real + 1j * operand(value)


for _name, _setter in (("real", _set_real), ("imag", _set_imag)):
    setattr(Tensor, _name, vars(Tensor)[_name].setter(_setter))


@attribute
def itemsize(self: Tensor) -> int:
    """The number of bytes of one element."""
    return self.node.dtype.itemsize


@attribute
def nbytes(self: Tensor) -> int:
    """The number of bytes of all elements."""
    return self.node.nbytes


__all__ = ["diagonal", "trace"]
