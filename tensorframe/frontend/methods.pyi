"""Written by `python -m tensorframe.testing.stubs`; do not edit."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from tensorframe.dtypes import DTypeLike
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.array_like import ShapeLike
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.dtypes.casting import Casting
from tensorframe.frontend.manipulation.views import Axes
from tensorframe.frontend.ordering import sorting
from tensorframe.frontend.ordering.sorting import Kind
from tensorframe.frontend.outputs import Output
from tensorframe.frontend.protocols.dlpack_export import Version
from tensorframe.frontend.protocols.host import Array
from tensorframe.frontend.protocols.ndarray import Flags
from tensorframe.frontend.protocols.ndarray import Flat
from tensorframe.frontend.protocols.numpy_functions import Function
from tensorframe.frontend.reductions.elementary import Axis
from tensorframe.frontend.tensor import Tensor
from tensorframe.notebook.picture import Picture
from tensorframe.schedule.plan import Plan
from typing import Any
from typing import Any, overload
from typing import Literal
import networkx
import numpy as np

class TensorMethods:
    @property
    def H(self) -> Tensor:
        """The conjugate transpose of a matrix or of a stack of matrices."""
    @property
    def T(self) -> Tensor:
        """The matrix with rows and columns exchanged; any number of axes in reverse order."""
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: ArrayLike, /) -> Tensor: ...
    def __and__(self, other: ArrayLike, /) -> Tensor: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array: ...
    def __array_function__(self, function: Function, types: Iterable[type], args: Any, options: dict[str, Any]) -> Any: ...
    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The elements as NumPy's array interface describes them, version 3. Computes them."""
    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any: ...
    def __array_ufunc__(self, ufunc: np.ufunc, how: str, *inputs: Any, **options: Any) -> Any: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __bool__(self, /) -> bool: ...
    def __bytes__(self, /) -> bytes: ...
    def __complex__(self, /) -> complex: ...
    def __contains__(self, value: Any, /) -> bool: ...
    def __copy__(self) -> Tensor: ...
    def __deepcopy__(self, _memo: dict[int, Any]) -> Tensor: ...
    def __divmod__(self, other: ArrayLike, /) -> Tensor: ...
    def __dlpack__(self, /, *, stream: Any = None, max_version: Version | None = None, dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any: ...
    def __dlpack_device__(self, /) -> tuple[int, int]: ...
    def __eq__(self, other: object, /) -> Tensor:  # type: ignore[override]
        """Return self==value."""
    def __float__(self, /) -> float: ...
    def __floordiv__(self, other: ArrayLike, /) -> Tensor: ...
    def __format__(self, specification: str) -> str: ...
    def __ge__(self, other: ArrayLike, /) -> Tensor:
        """Return self>=value."""
    def __getitem__(self, key: Any) -> Tensor:
        """Return the elements that `key` selects, as NumPy does; nothing computes, unless `key` holds a mask."""
    def __gt__(self, other: ArrayLike, /) -> Tensor:
        """Return self>value."""
    def __iadd__(self, other: ArrayLike, /) -> Tensor: ...
    def __iand__(self, other: ArrayLike, /) -> Tensor: ...
    def __ifloordiv__(self, other: ArrayLike, /) -> Tensor: ...
    def __ilshift__(self, other: ArrayLike, /) -> Tensor: ...
    def __imatmul__(self, other: ArrayLike, /) -> Tensor: ...
    def __imod__(self, other: ArrayLike, /) -> Tensor: ...
    def __imul__(self, other: ArrayLike, /) -> Tensor: ...
    def __index__(self, /) -> int: ...
    def __int__(self, /) -> int: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: ArrayLike, /) -> Tensor: ...
    def __ipow__(self, other: ArrayLike, /) -> Tensor: ...
    def __irshift__(self, other: ArrayLike, /) -> Tensor: ...
    def __isub__(self, other: ArrayLike, /) -> Tensor: ...
    def __iter__(self, /) -> Iterator[Tensor]: ...
    def __itruediv__(self, other: ArrayLike, /) -> Tensor: ...
    def __ixor__(self, other: ArrayLike, /) -> Tensor: ...
    def __le__(self, other: ArrayLike, /) -> Tensor:
        """Return self<=value."""
    def __len__(self, /) -> int: ...
    def __lshift__(self, other: ArrayLike, /) -> Tensor: ...
    def __lt__(self, other: ArrayLike, /) -> Tensor:
        """Return self<value."""
    def __matmul__(self, other: ArrayLike, /) -> Tensor: ...
    def __mod__(self, other: ArrayLike, /) -> Tensor: ...
    def __mul__(self, other: ArrayLike, /) -> Tensor: ...
    def __ne__(self, other: object, /) -> Tensor:  # type: ignore[override]
        """Return self!=value."""
    def __neg__(self) -> Tensor: ...
    def __or__(self, other: ArrayLike, /) -> Tensor:
        """Return self|value."""
    def __pos__(self) -> Tensor: ...
    def __pow__(self, other: ArrayLike, /) -> Tensor: ...
    def __radd__(self, other: ArrayLike, /) -> Tensor: ...
    def __rand__(self, other: ArrayLike, /) -> Tensor: ...
    def __rdivmod__(self, other: ArrayLike, /) -> Tensor: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __repr__(self) -> str: ...
    def __rfloordiv__(self, other: ArrayLike, /) -> Tensor: ...
    def __rlshift__(self, other: ArrayLike, /) -> Tensor: ...
    def __rmatmul__(self, other: ArrayLike, /) -> Tensor: ...
    def __rmod__(self, other: ArrayLike, /) -> Tensor: ...
    def __rmul__(self, other: ArrayLike, /) -> Tensor: ...
    def __ror__(self, other: ArrayLike, /) -> Tensor:
        """Return value|self."""
    def __round__(self, ndigits: int | None = None) -> Any:
        """Return the elements rounded; of a number without axes, and without digits, the nearest integer of Python's."""
    def __rpow__(self, other: ArrayLike, /) -> Tensor: ...
    def __rrshift__(self, other: ArrayLike, /) -> Tensor: ...
    def __rshift__(self, other: ArrayLike, /) -> Tensor: ...
    def __rsub__(self, other: ArrayLike, /) -> Tensor: ...
    def __rtruediv__(self, other: ArrayLike, /) -> Tensor: ...
    def __rxor__(self, other: ArrayLike, /) -> Tensor: ...
    def __setitem__(self, key: Any, value: Any) -> None:
        """Make `tensor` a handle on a copy in which `value` replaces the elements that `key` selects."""
    def __str__(self) -> str: ...
    def __sub__(self, other: ArrayLike, /) -> Tensor: ...
    def __truediv__(self, other: ArrayLike, /) -> Tensor: ...
    def __trunc__(self) -> int:
        """Return the whole part of a number without axes, an integer of Python's."""
    def __xor__(self, other: ArrayLike, /) -> Tensor: ...
    @property
    def _numba_type_(self) -> Any:
        """The type of a tensor as an argument of a function that Numba compiles: a read-only array in C order."""
    def _repr_html_(self) -> str:
        """Return the card that a notebook shows."""
    def _repr_inline_(self, max_width: int) -> str:
        """Return what xarray shows of the data on one line; computes nothing."""
    def all(self, axis: Axis = None, out: Output = None, keepdims: bool = False, *, where: ArrayLike = True) -> Tensor:
        """Whether all elements along `axis` are true, that is not zero (NaN is true); True where there are none."""
    def any(self, axis: Axis = None, out: Output = None, keepdims: bool = False, *, where: ArrayLike = True) -> Tensor:
        """Whether any element along `axis` is true, that is not zero (NaN is true); False where there are none."""
    def argmax(self, axis: Axis = None, out: Output = None, *, keepdims: bool = False) -> Tensor:
        """Position (int64) of the first largest element along `axis`, of the first NaN if there is one."""
    def argmin(self, axis: Axis = None, out: Output = None, *, keepdims: bool = False) -> Tensor:
        """Position (int64) of the first smallest element along `axis`, of the first NaN if there is one."""
    def argpartition(self, kth: int | Iterable[int], axis: int | None = -1, kind: Literal['introselect'] = 'introselect', order: None = None) -> Tensor:
        """The positions that partition the elements: see `partition`. The dtype is int64."""
    def argsort(self, axis: int | None = -1, kind: Kind = None, order: None = None, *, stable: bool | None = None, descending: bool = False) -> Tensor:
        """The positions that sort the elements along `axis`, of the flattened tensor for None; NaN last in either order."""
    def astype(self, /, dtype: DTypeLike, order: str = 'K', casting: Casting = 'unsafe', subok: bool = True, copy: bool = True, *, device: OnDevice = None) -> Tensor:
        """Return the elements converted to `dtype`: see `astype`. DTypeError if the rule `casting` forbids it."""
    @property
    def backend(self) -> str:
        """The name of the backend that the tensor's device belongs to."""
    @property
    def base(self) -> None:
        """None: tensors are values, no tensor looks at another one's memory."""
    def byteswap(self, /, inplace: bool = False) -> Tensor:
        """Return elements with their bytes in reverse order, or make this tensor that. Computes them."""
    def choose(self, /, choices: ArrayLike, out: Output = None, mode: Literal['raise', 'wrap', 'clip'] = 'raise') -> Tensor:
        """Return elements of the tensors `choices`, by their numbers in this one: see `choose`."""
    def clip(self, min: ArrayLike | None = None, max: ArrayLike | None = None, out: Output = None, *, a_min: ArrayLike | None = None, a_max: ArrayLike | None = None, **options: Any) -> Tensor:
        """Elements below `min` become `min`, those above `max` become `max`; None is no bound."""
    def compress(self, /, condition: ArrayLike, axis: int | None = None, out: Output = None) -> Tensor:
        """Return the parts along `axis` where a vector of conditions is true: see `compress`."""
    def conj(self, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
        """Complex conjugates; real elements are unchanged."""
    def conjugate(self, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
        """Complex conjugates; real elements are unchanged."""
    def copy(self, /, order: str = 'C') -> Tensor:
        """Return a tensor that later assignments to this one do not change, and vice versa. Costs nothing."""
    def cumprod(self, axis: int | None = None, dtype: DTypeLike | None = None, out: Output = None) -> Tensor:
        """Products of the elements up to each position along `axis`; None runs through all elements in C order."""
    def cumsum(self, axis: int | None = None, dtype: DTypeLike | None = None, out: Output = None) -> Tensor:
        """Sums of the elements up to each position along `axis`; None runs through all elements in C order."""
    @property
    def data(self) -> memoryview:
        """The elements as a read-only buffer. Computes them."""
    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
        """Return the diagonals of the matrices that `axis1` and `axis2` span, along a new last axis."""
    def dot(self, b: ArrayLike, out: Output = None) -> Tensor:
        """NumPy's product: the last axis of `a` with the second-to-last of `b` (the only one of a vector)."""
    def dump(self, file: Any) -> None:
        """Write the pickle of this tensor to a file, or to the file at a path."""
    def dumps(self) -> bytes:
        """Return the pickle of this tensor."""
    @overload
    def explain(*self, until: None = None, source: Literal[False] = False) -> Plan:
        """Return the plan that computing `tensors` together would run: nothing is computed."""
    @overload
    def explain(*self, until: str, source: bool | str = False) -> str:
        """Return the plan that computing `tensors` together would run: nothing is computed."""
    @overload
    def explain(*self, until: str | None = None, source: Literal[True] | str) -> str:
        """Return the plan that computing `tensors` together would run: nothing is computed."""
    @overload
    def explain(*self, until: str | None = None, source: bool | str = False) -> Plan | str:
        """Return the plan that computing `tensors` together would run: nothing is computed."""
    def fill(self, /, value: ArrayLike) -> None:
        """Set every element to `value`, in place: no other tensor changes."""
    @property
    def flags(self) -> Flags:
        """What may be said of the memory: elements are in C order, and nobody writes to them from outside."""
    @property
    def flat(self) -> Flat:
        """The elements in C order: `x.flat[3]`, `x.flat[::2] = 0`, `for value in x.flat`."""
    def flatten(self, /, order: str = 'C') -> Tensor:
        """Return the elements along one axis."""
    def gradient(self, *tensors: Tensor) -> Any:
        """Return the gradient of this tensor, one real number that is not computed yet, for tensors that it depends on."""
    def graph(self) -> networkx.DiGraph[int]:
        """Return the recorded graph of this tensor as a networkx DiGraph, which a notebook draws."""
    @property
    def imag(self) -> Tensor:
        """The imaginary parts: zeros for real elements."""
    @property
    def is_computed(self) -> bool:
        """Whether the elements are there, or on their way: reading them will compute nothing."""
    @property
    def is_ready(self) -> bool:
        """Whether the elements are there, and their device is done with them: reading them will wait for nothing."""
    def item(self, *index: Any) -> Any:
        """Return one element as a Python number: the only one, or the one at a flat index or at one index per axis."""
    @property
    def itemsize(self) -> int:
        """The number of bytes of one element."""
    @property
    def mT(self) -> Tensor:
        """The tensor with its last two axes exchanged: a stack of transposed matrices."""
    def max(self, axis: Axis = None, out: Output = None, keepdims: bool = False, initial: ArrayLike | None = None, where: ArrayLike = True) -> Tensor:
        """Largest element along `axis`, NaN if any is NaN."""
    def mean(self, axis: Axis = None, dtype: DTypeLike | None = None, out: Output = None, keepdims: bool = False, *, where: ArrayLike = True) -> Tensor:
        """Arithmetic mean along `axis`: an axis, a tuple of axes, or None for all; NaN where there are no elements."""
    def min(self, axis: Axis = None, out: Output = None, keepdims: bool = False, initial: ArrayLike | None = None, where: ArrayLike = True) -> Tensor:
        """Smallest element along `axis`, NaN if any is NaN."""
    def native(self) -> Any:
        """Return the object of the device's own library that holds the elements, computed if need be, without a copy."""
    @property
    def nbytes(self) -> int:
        """The number of bytes of all elements."""
    def nonzero(self) -> tuple[Tensor, ...]:
        """Positions of the elements that are not zero: one tensor for each axis, in C order."""
    def numpy(self, *, copy: bool = False) -> Array:
        """Return the elements as a NumPy array: a read-only view, or a writable copy."""
    def partition(self, /, kth: int | Sequence[int], axis: int = -1, kind: Literal['introselect'] = 'introselect', order: None = None) -> None:
        """Put the `kth` elements where sorting would, in place: no other tensor changes. See `partition`."""
    def prod(self, axis: Axis = None, dtype: DTypeLike | None = None, out: Output = None, keepdims: bool = False, initial: ArrayLike | None = None, where: ArrayLike = True) -> Tensor:
        """Product along `axis`: an axis, a tuple of axes, or None for all; 1 where there are no elements."""
    def ptp(self, axis: Axis = None, out: Output = None, keepdims: bool = False) -> Tensor:
        """Largest minus smallest element along `axis` (peak to peak), in the dtype of `a`."""
    def put(self, /, indices: ArrayLike, values: ArrayLike, mode: Literal['raise', 'wrap', 'clip'] = 'raise') -> None:
        """Set elements by positions in C order, in place: no other tensor changes. See `put`."""
    def ravel(self, order: str = 'C') -> Tensor:
        """Return all elements of `a` along one axis."""
    @property
    def real(self) -> Tensor:
        """The real parts: a copy of the tensor, which costs nothing, if it is not complex."""
    def repeat(self, /, repeats: ArrayLike, axis: int | None = None) -> Tensor:
        """Return each element, or each slice along `axis`, `repeats` times in a row."""
    def reshape(self, /, *shape: ShapeLike, order: str = 'C', copy: bool | None = None) -> Tensor:
        """Return the elements under another shape, given as one tuple or as integers; one of them may be -1."""
    def resize(self, *new_shape: Any, refcheck: bool = True) -> None:
        """Give this tensor another shape, in place: elements are left out, or zeros put behind them, as in NumPy."""
    def round(self, decimals: int = 0, out: Output = None) -> Tensor:
        """Nearest integers; halves go to the even one. Or the nearest numbers of `decimals` decimal places."""
    def searchsorted(self, v: ArrayLike, side: Literal['left', 'right'] = 'left', sorter: ArrayLike | None = None) -> Tensor:
        """Where to insert the values `v` into the sorted vector `a` to keep it sorted."""
    def setflags(self, write: bool | None = None, align: bool | None = None, uic: bool | None = None) -> None:
        """Set flags to what they are; ArgumentError otherwise, with what to do instead."""
    def sort(self, /, axis: int = -1, kind: sorting.Kind = None, order: None = None, *, stable: bool | None = None) -> None:
        """Sort along `axis` in place: this tensor becomes the sorted one, no other changes."""
    def squeeze(self, axis: Axes | None = None) -> Tensor:
        """Return `a` without the axes `axis` (all that can go if None); ShapeError if one has a size other than 1."""
    def std(self, axis: Axis = None, dtype: DTypeLike | None = None, out: Output = None, ddof: float = 0.0, keepdims: bool = False, *, where: ArrayLike = True, mean: ArrayLike | None = None, correction: float | None = None) -> Tensor:
        """Standard deviation along `axis`: the square root of `var`, with the same arguments and dtypes."""
    @property
    def strides(self) -> tuple[int, ...]:
        """The bytes from one element to the next along each axis, in C order, which is how others get to see them."""
    def sum(self, axis: Axis = None, dtype: DTypeLike | None = None, out: Output = None, keepdims: bool = False, initial: ArrayLike | None = None, where: ArrayLike = True) -> Tensor:
        """Sum along `axis`: an axis, a tuple of axes, or None for all; 0 where there are no elements."""
    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        """Return `a` with two axes exchanged."""
    def take(self, indices: ArrayLike, axis: int | None = None, out: Output = None, mode: Literal['raise', 'wrap', 'clip'] = 'raise') -> Tensor:
        """Elements of `a` at `indices` along `axis`; of the flattened `a` without an axis."""
    def to_backend(self, name: OnDevice, /) -> Tensor:
        """Return the tensor on the first device of the backend `name`, or on a device named in full."""
    def to_device(self, device: OnDevice, /, *, stream: Any = None) -> Tensor:
        """Return a copy of the tensor on `device`, which costs nothing if it is there, and is else made when it is needed."""
    def to_numpy(self, dtype: DTypeLike | None = None, copy: bool = False) -> Array:
        """Return the elements as a NumPy array, in a dtype if one is given: what pandas, xarray and polars call `numpy`."""
    def tobytes(self, /, order: str = 'C') -> bytes:
        """Return the bytes of the elements in C order, or in Fortran order ("F")."""
    def tofile(self, /, fid: Any, sep: str = '', format: str = '%s') -> None:
        """Write the elements in C order to a file, as bytes, or as text that `sep` separates. Computes them."""
    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers; a 0-d tensor gives the number itself."""
    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike | None = None, out: Output = None) -> Tensor:
        """Return the sums of the diagonals of the matrices that `axis1` and `axis2` span."""
    def transpose(self, /, *axes: Any) -> Tensor:
        """Return the axes in another order, given as one tuple or as integers; reversed if none are given."""
    def var(self, axis: Axis = None, dtype: DTypeLike | None = None, out: Output = None, ddof: float = 0.0, keepdims: bool = False, *, where: ArrayLike = True, mean: ArrayLike | None = None, correction: float | None = None) -> Tensor:
        """Variance along `axis`: squared deviations from the mean, summed and divided by n - `ddof`."""
    def view(self, /, dtype: DTypeLike | None = None) -> Tensor:
        """Return the bits of the elements read as another dtype. Computes them."""
    def visualize(*self, stage: str | None = None, collapse: bool | None = None) -> Picture:
        """Return a picture of what was recorded for `tensors`, or of any `stage` on the way to what runs."""
