"""What else NumPy's arrays have: `flat`, `strides`, `flags` and the like, and methods of what is loaded later."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from tensorframe.errors import ArgumentError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.operands import filled, flattened, operand, reshaped
from tensorframe.frontend.ordering import sorting
from tensorframe.frontend.outputs import Output
from tensorframe.frontend.tensor import Tensor, attribute, method
from tensorframe.graph.shape import as_shape
from tensorframe.ops.movement import CONCAT


class Flat:
    """All elements of a tensor in C order, as `x.flat` gives them: to go through, to select, and to assign to."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def __len__(self) -> int:
        return self._tensor.size

    def __iter__(self) -> Iterator[Any]:
        return iter(flattened(operand(self._tensor)))

    def __getitem__(self, key: Any) -> Tensor:
        return flattened(operand(self._tensor))[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        from tensorframe.frontend.numpy_names.choosing import resize

        flat = flattened(operand(self._tensor))
        values = operand(value)
        # what is too short begins again, as in NumPy
        wanted = flat[key].shape
        flat[key] = values if values.ndim == 0 or values.shape == wanted else resize(values, wanted)
        self._tensor._rebind(reshaped(flat, self._tensor.shape).node)


class Flags:
    """What `x.flags` says: of elements in C order, which nobody writes to from outside.

    A flag is an attribute, and an item by its name in capitals. `writeable` can be set to False, which it is.
    """

    __slots__ = ("_said",)

    def __init__(self, *, f_contiguous: bool) -> None:
        said = {"c_contiguous": True, "f_contiguous": f_contiguous, "owndata": True}
        said |= {"writeable": False, "aligned": True, "writebackifcopy": False}
        object.__setattr__(self, "_said", said)

    def __getattr__(self, name: str) -> Any:
        said: Any = object.__getattribute__(self, "_said")
        own = {"fnc": said["f_contiguous"] and not said["c_contiguous"], "contiguous": True}
        try:
            return (said | own)[name]
        except KeyError:
            raise AttributeError(f"tensors have no flag {name!r}") from None

    def __getitem__(self, key: Any) -> bool:
        """Return a flag by its name, as NumPy spells it in capitals."""
        name = {"C": "c_contiguous", "F": "f_contiguous", "W": "writeable"}.get(key, key)
        try:
            value: bool = getattr(self, str(name).lower())
        except AttributeError as error:
            raise KeyError(str(error)) from None
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._said:
            raise AttributeError(f"tensors have no flag {name!r}")
        if bool(value) != self._said[name]:
            raise ArgumentError(
                f"flags: {name} of a tensor is {self._said[name]} for good: nobody writes to its memory from outside",
                suggestions=("x[...] = values, which changes x alone", "x.numpy(copy=True)"),
            )

    def __setitem__(self, key: Any, value: Any) -> None:
        setattr(self, str(key).lower(), value)

    def __repr__(self) -> str:
        return "".join(f"  {name.upper()} : {value}\n" for name, value in self._said.items())


@attribute
def flat(self: Tensor) -> Flat:
    """The elements in C order: `x.flat[3]`, `x.flat[::2] = 0`, `for value in x.flat`."""
    return Flat(self)


@attribute
def strides(self: Tensor) -> tuple[int, ...]:
    """The bytes from one element to the next along each axis, in C order, which is how others get to see them."""
    steps, size = [], self.dtype.itemsize
    for length in self.shape[::-1]:
        steps.append(size)
        size *= length
    return tuple(steps[::-1])


@attribute
def flags(self: Tensor) -> Flags:
    """What may be said of the memory: elements are in C order, and nobody writes to them from outside."""
    return Flags(f_contiguous=sum(size > 1 for size in self.shape) < 2)


@method
def setflags(
    self: Tensor, write: bool | None = None, align: bool | None = None, uic: bool | None = None
) -> None:
    """Set flags to what they are; ArgumentError otherwise, with what to do instead.

    >>> tfr.asarray([1, 2]).setflags(write=False)
    """
    said = {"writeable": write, "aligned": align, "writebackifcopy": uic}
    for name, value in said.items():
        if value is not None:
            setattr(self.flags, name, value)


@method
def resize(self: Tensor, *new_shape: Any, refcheck: bool = True) -> None:
    """Give this tensor another shape, in place: elements are left out, or zeros put behind them, as in NumPy.

    No other tensor changes, so `refcheck` is not needed.

    >>> x = tfr.asarray([1, 2, 3])
    >>> x.resize(2, 2)
    >>> x.tolist()
    [[1, 2], [3, 0]]
    """
    del refcheck
    sizes: Any = new_shape[0] if len(new_shape) == 1 else new_shape
    shape = as_shape(sizes)
    flat, size = flattened(operand(self)), math.prod(shape)
    kept: Any = flat[:size]
    if size > flat.size:
        more = filled((size - flat.size,), 0, self.dtype, self.device)
        kept = call(CONCAT, kept, more, attrs=(0,))
    self._rebind(reshaped(kept, shape).node)


@method
def dumps(self: Tensor) -> bytes:
    """Return the pickle of this tensor."""
    return pickle.dumps(self)


@method
def dump(self: Tensor, file: Any) -> None:
    """Write the pickle of this tensor to a file, or to the file at a path."""
    if hasattr(file, "write"):
        pickle.dump(self, file)
        return
    with open(file, "wb") as opened:
        pickle.dump(self, opened)


@attribute
def base(self: Tensor) -> None:  # noqa: ARG001 - an attribute has its tensor
    """None: tensors are values, no tensor looks at another one's memory."""
    return


@attribute
def data(self: Tensor) -> memoryview:
    """The elements as a read-only buffer. Computes them."""
    elements: Any = np.ascontiguousarray(self.numpy())
    return memoryview(elements).toreadonly()


@method
def choose(
    self: Tensor,
    /,
    choices: ArrayLike,
    out: Output = None,
    mode: Literal["raise", "wrap", "clip"] = "raise",
) -> Tensor:
    """Return elements of the tensors `choices`, by their numbers in this one: see `choose`."""
    from tensorframe.frontend.numpy_names import choosing

    return choosing.choose(self, choices, out, mode)


@method
def compress(
    self: Tensor, /, condition: ArrayLike, axis: int | None = None, out: Output = None
) -> Tensor:
    """Return the parts along `axis` where a vector of conditions is true: see `compress`."""
    from tensorframe.frontend.numpy_names import choosing

    return choosing.compress(condition, self, axis, out)


@method
def put(
    self: Tensor,
    /,
    indices: ArrayLike,
    values: ArrayLike,
    mode: Literal["raise", "wrap", "clip"] = "raise",
) -> None:
    """Set elements by positions in C order, in place: no other tensor changes. See `put`."""
    from tensorframe.frontend.numpy_names import writing

    writing.put(self, indices, values, mode)


@method
def partition(
    self: Tensor,
    /,
    kth: int | Sequence[int],
    axis: int = -1,
    kind: Literal["introselect"] = "introselect",
    order: None = None,
) -> None:
    """Put the `kth` elements where sorting would, in place: no other tensor changes. See `partition`."""
    self._rebind(sorting.partition(self, kth, axis, kind, order).node)


@method
def byteswap(self: Tensor, /, inplace: bool = False) -> Tensor:
    """Return elements with their bytes in reverse order, or make this tensor that. Computes them.

    >>> tfr.asarray([1, 256], dtype="int16").byteswap().tolist()
    [256, 1]
    """
    swapped = operand(self._array().byteswap(), device=self.device)
    if not inplace:
        return swapped
    self._rebind(swapped.node)
    return self


@method
def tofile(self: Tensor, /, fid: Any, sep: str = "", format: str = "%s") -> None:
    """Write the elements in C order to a file, as bytes, or as text that `sep` separates. Computes them."""
    self._array().tofile(fid, sep, format)


@method
def __round__(self: Tensor, ndigits: int | None = None) -> Any:
    """Return the elements rounded; of a number without axes, and without digits, the nearest integer of Python's."""
    if ndigits is None and not self.ndim:
        return int(self.round().item())
    return self.round(0 if ndigits is None else ndigits)


@method
def __trunc__(self: Tensor) -> int:
    """Return the whole part of a number without axes, an integer of Python's."""
    return int(self.item())


__all__: list[str] = []
