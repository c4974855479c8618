"""How sparse tensors are made: of dense ones, of triplets, of SciPy's and of each other."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tensorframe.dtypes import BOOL, INTEGER, NUMERIC, DTypeLike, as_dtype, int32, int64
from tensorframe.errors import ArgumentError, DTypeError, IndexingError, ShapeError
from tensorframe.frontend.conversion.convert import OnDevice, asarray
from tensorframe.frontend.creation.filled import ones
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.operands import converted, operand
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.graph.holding import holds
from tensorframe.graph.shape import Shape, check_size
from tensorframe.ops.indexing import GATHER
from tensorframe.sparse import structure
from tensorframe.sparse.compressed import CSC, CSR, Compressed
from tensorframe.sparse.coordinates import COO
from tensorframe.sparse.structure import Array
from tensorframe.sparse.tensor import SparseTensor, issparse

__all__ = ["coo_array", "csc_array", "csr_array", "eye_array", "from_scipy"]


def csr_array(
    arg: Any,
    /,
    shape: Sequence[int] | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
) -> CSR:
    """A matrix, or a stack of matrices, in compressed rows.

    `arg` is what SciPy's `csr_array` takes: a dense array or tensor, of whose elements those that are not zero are
    stored; a sparse tensor, or a sparse array or matrix of SciPy's; `(data, indices, indptr)`; `(data, (rows,
    columns))`; or a shape, of a matrix without elements. A stack has leading axes; in its `indptr`, which needs
    `shape`, the rows of all its matrices follow each other. Indices may come in any order, and elements of one place
    add up. ShapeError, DTypeError and IndexingError where they do not fit; those that are not computed yet are looked
    at by what uses them.

    >>> A = tfr.sparse.csr_array(([1.0, 2.0, 3.0], [0, 2, 1], [0, 2, 3]), shape=(2, 3))
    >>> A.todense().tolist()
    [[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]
    """
    made = _made("csr_array", CSR, arg, shape, dtype, device)
    assert isinstance(made, CSR)
    return made


def csc_array(
    arg: Any,
    /,
    shape: Sequence[int] | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
) -> CSC:
    """A matrix, or a stack of matrices, in compressed columns: `arg` and errors as of `csr_array`.

    >>> tfr.sparse.csc_array(([1.0, 2.0], [1, 0], [0, 1, 2]), shape=(2, 2)).todense().tolist()
    [[0.0, 2.0], [1.0, 0.0]]
    """
    made = _made("csc_array", CSC, arg, shape, dtype, device)
    assert isinstance(made, CSC)
    return made


def coo_array(
    arg: Any,
    /,
    shape: Sequence[int] | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
) -> COO:
    """A matrix, or a stack of matrices, as elements with their coordinates.

    `arg` is as of `csr_array`, but that `(data, coords)` has a vector of integers for each axis. Without `shape`, the
    largest coordinates say how large the axes are.

    >>> A = tfr.sparse.coo_array(([1.0, 2.0, 5.0], ([0, 1, 1], [0, 1, 1])))
    >>> A.shape, A.nnz, A.todense().tolist()
    ((2, 2), 3, [[1.0, 0.0], [0.0, 7.0]])
    """
    made = _made("coo_array", COO, arg, shape, dtype, device)
    assert isinstance(made, COO)
    return made


def from_scipy(
    matrix: Any, /, *, device: OnDevice = None, copy: bool | None = None
) -> SparseTensor:
    """A sparse array or matrix of SciPy's, in its own format if that is CSR, CSC or COO, else in compressed rows.

    Elements and integers are copied where somebody may write to SciPy's arrays, as `asarray` does. `copy=False` shares
    them, if you promise that nobody writes to them: then products check the indices each time.

    >>> import scipy.sparse
    >>> tfr.sparse.from_scipy(scipy.sparse.csc_array([[0.0, 2.0]]))
    CSC(shape=(1, 2), dtype=float64, nnz=1, device=cpu)
    """
    if not _is_scipy(matrix):
        raise DTypeError(
            f"from_scipy: takes a sparse array of SciPy's, got {type(matrix).__name__}",
            suggestions=("tfr.sparse.csr_array(...) for dense arrays and triplets",),
        )
    if matrix.format == "coo":
        shape = matrix.shape if matrix.ndim > 1 else (1, *matrix.shape)
        coords = (
            matrix.coords if matrix.ndim > 1 else (np.zeros(matrix.nnz, np.int32), *matrix.coords)
        )
        return _of_coords("from_scipy", matrix.data, coords, shape, device, copy)
    if matrix.format not in ("csr", "csc"):
        matrix = matrix.tocsr()
    if matrix.ndim == 1:
        return from_scipy(matrix.tocoo(), device=device, copy=copy).tocsr()
    kind = CSR if matrix.format == "csr" else CSC
    arrays = (matrix.data, matrix.indices, matrix.indptr)
    return _of_lines("from_scipy", kind, *arrays, matrix.shape, device, copy)


def eye_array(
    n: int,
    m: int | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    format: str = "csr",
) -> SparseTensor:
    """The identity of `n` rows and `m` columns, as many as rows if it is not said.

    >>> (2 * tfr.sparse.eye_array(2)).todense().tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    columns = n if m is None else m
    count = min(n, columns)
    numbers = np.arange(count, dtype=np.int32)
    made = _of_coords(
        "eye_array",
        ones(count, dtype=dtype, device=device),
        (numbers, numbers),
        (n, columns),
        device,
    )
    return made.asformat(format)


_FORMATS: dict[str, type[SparseTensor]] = {"csr": CSR, "csc": CSC, "coo": COO}


def in_format(tensor: SparseTensor, name: str) -> SparseTensor:
    """Return a sparse tensor in a format; ArgumentError if there is none of that name."""
    if name not in _FORMATS:
        raise ArgumentError(f"there is no sparse format {name!r}", suggestions=("csr, csc or coo",))
    made: SparseTensor = getattr(tensor, f"to{name}")()
    return made


def _made(
    name: str, kind: type[SparseTensor], arg: Any, shape: Any, dtype: Any, device: Any
) -> SparseTensor:
    """Return what one of the three functions makes of its argument."""
    wanted = None if shape is None else tuple([int(size) for size in shape])
    if issparse(arg) or _is_scipy(arg):
        made = arg if issparse(arg) else from_scipy(arg, device=device)
        if wanted not in (None, made.shape):
            raise ShapeError(
                f"{name}: a sparse tensor of shape {made.shape} does not have shape {wanted}"
            )
        if device is not None and issparse(arg):
            made = made.to_device(device)
    elif isinstance(arg, tuple) and arg and all(isinstance(size, int | np.integer) for size in arg):
        made = _empty(name, tuple([int(size) for size in arg]), dtype, device)
    elif isinstance(arg, tuple) and len(arg) == 3 and issubclass(kind, Compressed):
        made = _of_lines(name, kind, *arg, wanted, device)
    elif isinstance(arg, tuple) and len(arg) == 2 and isinstance(arg[1], tuple | list):
        made = _of_coords(name, arg[0], tuple(arg[1]), wanted, device)
    else:
        made = _of_dense(name, arg, wanted, device)
    if dtype is not None:
        made = made.astype(dtype)
    return in_format(made, kind.format)


def _empty(name: str, shape: Shape, dtype: Any, device: Any) -> COO:
    """Return a matrix without stored elements."""
    none = np.zeros(0, np.int32)
    data = asarray(np.zeros(0), dtype=None if dtype is None else as_dtype(dtype), device=device)
    return _of_coords(name, data, (none,) * len(shape), shape, device)


def _of_dense(name: str, x: Any, shape: Shape | None, device: Any) -> COO:
    """Return the elements of a dense tensor that are not zero; where these are is computed now."""
    dense = operand(x, device=device)
    if dense.ndim < 2:
        raise ShapeError(
            f"{name}: sparse tensors have two axes or more, got shape {dense.shape}",
            suggestions=("x.reshape((1, -1)) for a matrix of one row",),
        )
    if shape not in (None, dense.shape):
        raise ShapeError(f"{name}: an array of shape {dense.shape} does not have shape {shape}")
    values = dense.numpy()
    coords = np.nonzero(values)
    if not len(coords[0]):
        return _empty(name, dense.shape, dense.dtype, device)
    integers = [_integers(own, dense.device, *dense.shape) for own in coords]
    data = call(GATHER, dense, *integers, attrs=(tuple(range(dense.ndim)), 0))
    return COO(data, tuple(integers), dense.shape)._known_as_checked()


def _of_coords(
    name: str,
    data: Any,
    coords: Sequence[Any],
    shape: Shape | None,
    device: Any,
    copy: bool | None = None,
) -> COO:
    """Return elements with coordinates, of which known ones are within bounds."""
    elements = _elements(name, data, device, copy)
    known = [_known(name, own) for own in coords]
    if shape is None:
        if not all(isinstance(own, np.ndarray) for own in known):
            raise ArgumentError(f"{name}: shape=... is needed where coordinates are tensors")
        shape = tuple([int(own.max()) + 1 if own.size else 0 for own in known])
    check_size(name, shape)
    if len(coords) != len(shape) or len(shape) < 2:
        raise ShapeError(
            f"{name}: {len(coords)} vectors of coordinates do not fit a shape of {len(shape)} axes: {shape}",
            suggestions=("one vector for each axis, of which there are two or more",),
        )
    for axis, (own, size) in enumerate(zip(known, shape, strict=True)):
        _check_count(name, "coordinates", elements, own)
        _check_bounds(name, own, size, f"axis {axis}")
    integers = [_integers(own, elements.device, *shape, copy=copy) for own in known]
    made = COO(elements, tuple(integers), tuple(shape))
    return made._known_as_checked(copy is not False and _are_known(*known))


def _of_lines(
    name: str,
    kind: type[Compressed],
    data: Any,
    indices: Any,
    indptr: Any,
    shape: Shape | None,
    device: Any,
    copy: bool | None = None,
) -> Compressed:
    """Return elements by lines, of which known indices are within bounds and known pointers rise."""
    elements = _elements(name, data, device, copy)
    own, begins = _known(name, indices), _known(name, indptr)
    if shape is None:
        shape = _guessed(name, kind, own, begins)
    check_size(name, shape)
    if len(shape) < 2:
        raise ShapeError(f"{name}: sparse tensors have two axes or more, got shape {shape}")
    lines, length = prod(shape[:-2]) * shape[kind.axis], shape[-3 - kind.axis]
    what = "rows" if kind is CSR else "columns"
    if begins.shape != (lines + 1,):
        raise ShapeError(
            f"{name}: indptr of shape {begins.shape} does not say where the {lines} {what} of shape {shape} begin",
            suggestions=(f"one more pointer than there are {what}: {lines + 1}",),
        )
    _check_count(name, "indices", elements, own)
    _check_bounds(name, own, length, "the columns" if kind is CSR else "the rows")
    if isinstance(begins, np.ndarray):
        _check_pointers(name, begins, elements.shape[0])
    bounds = (*shape, elements.shape[0])
    integers = [_integers(each, elements.device, *bounds, copy=copy) for each in (own, begins)]
    made = kind(elements, integers[0], integers[1], tuple(shape))
    return made._known_as_checked(copy is not False and _are_known(own, begins))


def _guessed(name: str, kind: type[Compressed], indices: Any, indptr: Any) -> Shape:
    if not isinstance(indices, np.ndarray):
        raise ArgumentError(f"{name}: shape=... is needed where indices are tensors")
    lines, length = indptr.shape[0] - 1, int(indices.max()) + 1 if indices.size else 0
    return (lines, length) if kind is CSR else (length, lines)


def _elements(name: str, data: Any, device: Any, copy: bool | None) -> Tensor:
    elements = (
        operand(data, device=device) if copy is None else asarray(data, device=device, copy=copy)
    )
    if elements.ndim != 1:
        raise ShapeError(f"{name}: the stored elements are a vector, got shape {elements.shape}")
    if elements.dtype not in NUMERIC | BOOL:
        raise DTypeError(f"{name}: takes numbers, got {elements.dtype}")
    return elements


def _known(name: str, integers: Any) -> Any:
    """Return integers as an array of the host if they are known, else as a tensor."""
    if isinstance(integers, Tensor):
        storage = integers.node.storage
        here = storage is not None and isinstance(storage.handle, np.ndarray)
        array: Any = integers if not here else integers.numpy()
    else:
        array = np.asarray(integers)
        array = array.astype(np.int64) if not array.size else array
    if array.dtype not in INTEGER:
        raise DTypeError(
            f"{name}: indices are integers, got {array.dtype}",
            suggestions=("indices.astype(tfr.int32)",),
        )
    if array.ndim != 1:
        raise ShapeError(f"{name}: indices are vectors, got shape {array.shape}")
    return array


def _are_known(*integers: Any) -> bool:
    """Whether what `_known` gave are arrays of the host, which the checks beside it have seen whole."""
    return all(isinstance(own, np.ndarray) for own in integers)


def _integers(integers: Any, device: Device, *bounds: int, copy: bool | None = None) -> Tensor:
    """Return integers below these bounds as a tensor of 32 bits if that is enough; as they are if they have 64."""
    if isinstance(integers, Tensor):
        wanted = integers.dtype if integers.dtype in (int32, int64) else int64
        if not holds(device, wanted):
            wanted = int32
        return converted(integers.to_device(device), wanted)
    dtype = structure.index_dtype(device, *bounds)
    return asarray(integers.astype(dtype, copy=False), device=device, copy=copy)


def _check_count(name: str, what: str, elements: Tensor, integers: Any) -> None:
    if integers.shape != elements.shape:
        raise ShapeError(
            f"{name}: {elements.shape[0]} elements do not have {integers.shape[0]} {what}"
        )


def _check_bounds(name: str, integers: Any, size: int, axis: str) -> None:
    """Raise IndexingError for an index of the host that is none; a negative one does not count from the end."""
    if not isinstance(integers, np.ndarray) or not integers.size:
        return
    for extreme in (int(integers.min()), int(integers.max())):
        if not 0 <= extreme < size:
            raise IndexingError(
                f"{name}: index {extreme} is out of bounds for {axis}, of size {size}",
                suggestions=(
                    "shape=... with larger axes" if extreme > 0 else "indices count from 0 on",
                ),
            )


def _check_pointers(name: str, indptr: Array, count: int) -> None:
    if indptr[0] != 0 or indptr[-1] != count or bool((indptr[1:] < indptr[:-1]).any()):
        falls = np.flatnonzero(indptr[1:] < indptr[:-1])
        where = (
            f"falls at position {int(falls[0]) + 1}"
            if falls.size
            else f"goes from {indptr[0]} to {indptr[-1]}"
        )
        raise IndexingError(
            f"{name}: indptr rises from 0 to the number of elements, {count}; this one {where}"
        )


def _is_scipy(obj: Any) -> bool:
    """Whether something is a sparse array or matrix of SciPy's, without importing that."""
    return type(obj).__module__.startswith("scipy.sparse") and hasattr(obj, "tocoo")
