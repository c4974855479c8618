"""What else NumPy's arrays have: `flat`, `strides`, `flags` and the like, and methods of what is loaded later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorframe.frontend.operands import flattened, operand, reshaped
from tensorframe.frontend.ordering import sorting
from tensorframe.frontend.tensor import Tensor, attribute, method


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


@dataclass(frozen=True, slots=True)
class Flags:
    """What `x.flags` says: of elements in C order, which nobody writes to from outside."""

    c_contiguous: bool
    f_contiguous: bool
    owndata: bool = True
    writeable: bool = False
    aligned: bool = True
    writebackifcopy: bool = False

    def __getitem__(self, key: Any) -> bool:
        """Return a flag by its name, as NumPy spells it in capitals."""
        value: bool = getattr(self, str(key).lower())
        return value


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
    return Flags(c_contiguous=True, f_contiguous=sum(size > 1 for size in self.shape) < 2)


@attribute
def base(self: Tensor) -> None:  # noqa: ARG001 - an attribute has its tensor
    """None: tensors are values, no tensor looks at another one's memory."""
    return


@attribute
def data(self: Tensor) -> memoryview:
    """The elements as a read-only buffer. Computes them."""
    elements: Any = np.ascontiguousarray(self._array())
    return memoryview(elements)


@method
def choose(self: Tensor, /, choices: Any, out: Any = None, mode: Any = "raise") -> Tensor:
    """Return elements of the tensors `choices`, by their numbers in this one: see `choose`."""
    from tensorframe.frontend.numpy_names import choosing

    return choosing.choose(self, choices, out, mode)


@method
def compress(self: Tensor, /, condition: Any, axis: int | None = None, out: Any = None) -> Tensor:
    """Return the parts along `axis` where a vector of conditions is true: see `compress`."""
    from tensorframe.frontend.numpy_names import choosing

    return choosing.compress(condition, self, axis, out)


@method
def put(self: Tensor, /, indices: Any, values: Any, mode: Any = "raise") -> None:
    """Set elements by positions in C order, in place: no other tensor changes. See `put`."""
    from tensorframe.frontend.numpy_names import choosing

    choosing.put(self, indices, values, mode)


@method
def partition(
    self: Tensor, /, kth: Any, axis: int = -1, kind: Any = "introselect", order: None = None
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
