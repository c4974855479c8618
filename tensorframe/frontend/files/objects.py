"""Objects that show slices, such as arrays of Zarr and HDF5, as readers and sinks."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tensorframe.dtypes import BY_NAME, DType
from tensorframe.errors import DTypeError, ReadError, ShapeError, WriteError
from tensorframe.files.reader import Array, new_array
from tensorframe.files.windows import Axis, forward_axes, forward_key, turns
from tensorframe.forks import new_reentrant_lock
from tensorframe.frontend.files.segment import is_shape
from tensorframe.graph.shape import Shape
from tensorframe.rewrite.views import Window

# Most bytes of one request, where whole chunks of the object are no more: it gives them in memory of its own.
PIECE = 8 << 20
# Libraries whose objects several threads may use, or that see to it themselves; netCDF's, for one, may crash.
_SAFE_FOR_THREADS = {"dask", "h5py", "numpy", "tensorstore", "zarr"}
_one_at_a_time = new_reentrant_lock()


def is_array(thing: Any) -> bool:
    """Whether an object has what a reader or a sink of it needs, by name."""
    kind = type(thing)
    return hasattr(kind, "__getitem__") and hasattr(thing, "shape") and hasattr(thing, "dtype")


@dataclass(slots=True)
class Charge:
    """The bytes of an array that were read in parts, and not stored."""

    nbytes: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class ObjectReader:
    """An object with a shape, a dtype and slices, which are read when elements are needed."""

    array: Any
    shape: Shape
    dtype: DType
    chunks: Shape | None
    charge: Charge = field(default_factory=Charge)

    @property
    def axes(self) -> Shape:
        """Those first of which chunks are the smallest share: fewest chunks are in several parts."""
        return tuple(sorted(range(len(self.shape)), key=self._share))

    @property
    def mapped(self) -> bool:
        """What it gives takes memory, as far as anybody knows."""
        return False

    @property
    def scratch(self) -> int:
        """A chunk, as it is stored and as its elements are, if that is more than one request."""
        chunk = math.prod(self.chunks) * self.dtype.itemsize if self.chunks else 0
        return 2 * chunk if chunk > PIECE else 0

    def read(self, window: Window | None = None, out: Array | None = None) -> Array:
        """Return what a window shows; a large one is read in parts."""
        window = window or Window.whole(self.shape)
        axes = forward_axes(window)
        if out is None and window.size * self.dtype.itemsize <= PIECE:
            array: Array = self._ask(axes)[turns(window)]
            return array
        out = new_array(self, window, out)
        forward = out[turns(window)]
        for part, place in parts(axes, self.dtype.itemsize, self.chunks):
            forward[place] = self._ask(part)
        return out

    def _share(self, axis: int) -> float:
        return self.chunks[axis] / max(self.shape[axis], 1) if self.chunks else 0

    def _ask(self, axes: list[Axis]) -> Array:
        """Return what the object gives for axes that look forwards, checked against the request."""
        self._check_shape()
        key, sizes = forward_key(axes), tuple([size for _, size, _ in axes])
        try:
            with guard(self.array):
                given: Any = self.array[key]
                if np.ma.isMaskedArray(given):
                    given = _unmasked(given)
                given = np.asarray(given)
        except (MemoryError, ReadError):
            raise
        except Exception as error:
            problem = f"reading {in_words(key)} of {self} raised {type(error).__name__}: {error}"
            raise ReadError(
                problem, suggestions=("the object itself, with the same slices",)
            ) from error
        if given.shape != sizes or given.dtype.newbyteorder("=") != self.dtype:
            got, wanted = f"{given.dtype}{list(given.shape)}", f"{self.dtype}{list(sizes)}"
            raise ReadError(
                f"{self} gave {got} for {in_words(key)}, which is {wanted}",
                suggestions=(
                    "set_auto_maskandscale(False) of netCDF4's variables gives what the file holds",
                ),
            )
        # whoever gave a view, or keeps a reference, may write to it
        ours = given.base is None and sys.getrefcount(given) <= 2 and given.dtype.isnative
        array: Array = given if ours else given.astype(self.dtype)
        return array

    def _check_shape(self) -> None:
        now = tuple(map(int, self.array.shape))
        if now != self.shape:
            raise ReadError(
                f"{self} had the shape {self.shape} when it was handed over, and has {now}",
                suggestions=("from_reader again",),
            )

    def __reduce__(self) -> tuple[Callable[[Any], ObjectReader], tuple[Any]]:
        if type(self.array).__module__.startswith("h5py."):
            return (_of_hdf5, ((self.array.file.filename, self.array.name),))
        return (reader_of, (self.array,))

    def __str__(self) -> str:
        return name_of(self.array)


@dataclass(eq=False)
class ObjectSink:
    """An object that slices are assigned to: what was written stays when something fails, as it is not ours."""

    array: Any
    after_failure: ClassVar[str] = "what was written before stays"

    def write(self, window: Window, array: Array) -> None:
        """Assign the elements that a window shows."""
        if not window.size:
            return
        key = forward_key(forward_axes(window))
        try:
            with guard(self.array):
                self.array[key] = array[turns(window)]
        except MemoryError:
            raise
        except Exception as error:
            problem = f"writing {in_words(key)} of {self} raised {type(error).__name__}: {error}"
            failed = WriteError(f"{problem}; {self.after_failure}")
            failed.errno = getattr(error, "errno", None)
            raise failed from error

    def flush(self) -> None:
        """Have the object flush its buffers, where it has a method for that."""
        flush: Callable[[], None] | None = getattr(self.array, "flush", None)
        if callable(flush):
            with guard(self.array):
                flush()

    def close(self) -> None:
        """Have the object flush its buffers."""
        self.flush()

    def abort(self) -> None:
        """Leave the object as it is."""

    def __str__(self) -> str:
        return name_of(self.array)


def parts(
    axes: list[Axis], itemsize: int, chunks: Shape | None, axis: int = 0
) -> Iterator[tuple[list[Axis], tuple[Any, ...]]]:
    """Yield parts of a window that take at most PIECE bytes, or a chunk, and the places of each in it.

    They end where chunks do, so that none is read twice.
    """
    nbytes = math.prod([size for _, size, _ in axes]) * itemsize
    if not nbytes:
        return
    if nbytes <= PIECE or axis == len(axes):
        yield axes, (*[slice(None)] * axis, ...)
        return
    start, size, step = axes[axis]
    chunk = chunks[axis] if chunks else 1
    rows = max(PIECE * size // nbytes * step // chunk, 1) * chunk  # places of the axis, seen or not
    first = 0
    while first < size:
        end = ((start + first * step) // rows + 1) * rows
        last = min(-(-(end - start) // step), size)
        window = [*axes[:axis], (start + first * step, last - first, step), *axes[axis + 1 :]]
        for part, place in parts(window, itemsize, chunks, axis + 1):
            yield part, (*place[:axis], slice(first, last), *place[axis + 1 :])
        first = last


def reader_of(array: Any) -> ObjectReader:
    """Return the reader of an object; errors name what it lacks."""
    if not is_array(array):
        raise DTypeError(
            f"from_reader: an object with shape, dtype and slices is read, got {type(array).__name__}",
            suggestions=("tfr.asarray(values)", "tfr.load(path) for a file"),
        )
    shape = shape_of(array, "from_reader")
    return ObjectReader(array, shape, dtype_of(array, "from_reader"), _chunks_of(array, shape))


def _of_hdf5(place: tuple[str, str]) -> ObjectReader:
    """Return the reader of a dataset, which h5py does not send to other processes: they open the file themselves."""
    import h5py

    path, name = place
    return reader_of(h5py.File(path, "r")[name])


def sink_of(array: Any, shape: Shape, dtype: DType) -> ObjectSink:
    """Return the sink of an object, which has to have this shape and dtype."""
    if not is_array(array) or not hasattr(type(array), "__setitem__"):
        raise DTypeError(
            "save: a path, or an object with shape, dtype and assignment to slices, is written to, got "
            f"{type(array).__name__}",
            suggestions=("a path that ends in .npy",),
        )
    there, held = shape_of(array, "save"), dtype_of(array, "save")
    if there != shape:
        raise ShapeError(
            f"save: a tensor of shape {shape} does not go into {name_of(array)} of shape {there}",
            suggestions=(f"x.reshape({there})",) if math.prod(there) == math.prod(shape) else (),
        )
    if held != dtype:
        raise DTypeError(
            f"save: a tensor of {dtype} does not go into {name_of(array)} of {held}",
            suggestions=(f"x.astype(tfr.{held})",),
        )
    return ObjectSink(array)


def shape_of(array: Any, asked: str) -> Shape:
    """Return the shape of an object, in plain numbers."""
    try:
        shape = tuple([int(size) for size in array.shape])
    except (TypeError, ValueError, OverflowError):
        shape = (-1,)
    if not is_shape(shape):
        raise ShapeError(f"{asked}: {name_of(array)} has the shape {array.shape!r:.80}")
    return shape


def dtype_of(array: Any, asked: str) -> DType:
    """Return the dtype that an object's elements have in memory."""
    given = array.dtype
    given = getattr(given, "numpy_dtype", given)  # TensorStore's
    try:
        dtype = np.dtype(given)
        if dtype.names is None and dtype.name in BY_NAME:
            return BY_NAME[dtype.name]
    except TypeError:
        pass
    hints = ["one of " + ", ".join(BY_NAME)]
    if hasattr(type(array), "__dlpack__") and not isinstance(given, np.dtype):
        hints.insert(0, "tfr.from_dlpack(array), for an array in memory of another library")
    raise DTypeError(
        f"{asked}: {name_of(array)} has elements of {given}, which no tensor holds",
        suggestions=hints,
    )


def _chunks_of(array: Any, shape: Shape) -> Shape | None:
    """Return the shape of an object's chunks, where it has any: in numbers, or in sizes along each axis."""
    try:
        chunks = [
            size if isinstance(size, int) else max(size)
            for size in getattr(array, "chunks", None) or ()
        ]
    except (TypeError, ValueError):
        return None
    fits = len(chunks) == len(shape) and all(type(size) is int and size > 0 for size in chunks)
    return tuple(chunks) if fits and chunks else None


def guard(array: Any) -> Any:
    """Return the lock of an object: none where threads may use it at once."""
    library = type(array).__module__.partition(".")[0]
    return nullcontext() if library in _SAFE_FOR_THREADS else _one_at_a_time


def name_of(array: Any) -> str:
    """Return an object's class, and its own name if it has one."""
    kind = type(array)
    library = kind.__module__.partition(".")[0]
    local = library == "builtins" or library.startswith("__")
    known = kind.__name__ if local else f"{library}.{kind.__name__}"
    name = getattr(array, "name", None)
    return f"{known} {name!r}" if isinstance(name, str) and name else known


def in_words(key: tuple[slice, ...]) -> str:
    """Return slices as they are written in brackets."""
    bounds = [
        f"{part.start}:{part.stop}" + (f":{part.step}" if part.step != 1 else "") for part in key
    ]
    return f"[{', '.join(bounds)}]"


def _unmasked(given: Any) -> Any:
    if np.ma.is_masked(given):
        raise ReadError(
            "some of the elements are masked, and a tensor has no mask",
            suggestions=("set_auto_mask(False) of netCDF4's variables gives what the file holds",),
        )
    return given.data
