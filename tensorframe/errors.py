"""Exceptions: what was asked, where it was recorded, what to try next, and where to read more."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from numpy.exceptions import AxisError as NumPyAxisError

from tensorframe.site import Site, called_function, describe, line_of, raising_site

__all__ = [
    "ArgumentError",
    "AxisError",
    "BackendWarning",
    "CancelledError",
    "ChainedAssignmentWarning",
    "DTypeError",
    "DeviceError",
    "FallbackWarning",
    "FileFormatError",
    "GradientError",
    "GrowingGraphWarning",
    "IndexingError",
    "KernelError",
    "LinAlgError",
    "MissingFileError",
    "NanError",
    "OutOfMemoryError",
    "OutOfRangeError",
    "ReadError",
    "ScalarError",
    "SettingWarning",
    "ShapeError",
    "TensorFrameError",
    "TensorFrameWarning",
    "TracingError",
    "TransferError",
    "TransferWarning",
    "WriteError",
]


DOCUMENTATION = "https://tensorframe-lazy.readthedocs.io/en/latest"


# Called whenever an error is made, and so before anybody sees one.
when_made: list[Callable[[], None]] = []


def page_of(kind: type) -> str:
    """Return the address of the page about a class of this module, or about the nearest one above `kind`."""
    named = next((base.__name__ for base in kind.__mro__ if base.__module__ == __name__), "index")
    return f"{DOCUMENTATION}/errors/{page_name(named)}.html"


def page_name(name: str) -> str:
    """Return the name of a class's page: `DTypeError` has `dtype-error`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


class TensorFrameError(Exception):
    """Base of every error that tensorframe raises on purpose.

    `suggestions` holds what to try next, one sentence each; `location` is the user's line that recorded the op
    (`"analysis.py, line 3: z = x + w"`): the innermost line outside tensorframe, unless the raiser knows better.
    `step` is what was running, with shapes, dtypes and device, where the message does not say so already. All are
    part of the printed message, and so is the address of the page about the error.
    """

    step: str | None = None
    # whether messages begin with the name of a function, which is to be the one that was called
    _names_function = False

    def __init__(
        self, message: str, *, suggestions: Sequence[str] = (), location: str | None = None
    ) -> None:
        if self._names_function:
            message = _of_called_function(message)
        self.message = message
        self.suggestions = tuple(suggestions)
        self.location = location or describe(raising_site())
        super().__init__(message)
        for prepare in when_made:
            prepare()

    def __str__(self) -> str:
        lines = [self.message]
        if self.step:
            lines.append(f"  in {self.step}")
        if self.location:
            lines.append(f"  recorded at {self.location}")
        lines += [f"  try: {suggestion}" for suggestion in self.suggestions]
        lines.append(f"  more: {page_of(type(self))}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[type, tuple[object, ...], dict[str, object]]:
        # keyword-only arguments: the default would rebuild the exception from its message alone
        return (type(self), (self.message,), self.__dict__.copy())


def _of_called_function(message: str) -> str:
    """Return a message with the name of the function that was called in place of one that this one is made of."""
    named = re.match(r"[a-z_]\w*(?=: )", message)
    called = called_function() if named else None
    return message if named is None or called is None else called + message[named.end() :]


class ArgumentError(TensorFrameError, ValueError):
    """An argument has a value that the function does not take: an unknown mode, `copy=False` where it must copy."""

    _names_function = True


class ShapeError(TensorFrameError, ValueError):
    """Shapes do not fit the op: they do not broadcast, contract, reshape or concatenate."""

    _names_function = True


class AxisError(ShapeError, NumPyAxisError):
    """An axis is outside the tensor's dimensions, or named twice.

    `axis` and `ndim` are what was given and how many dimensions there are, as in NumPy's AxisError, which this is too;
    None where they are not one axis of one tensor.
    """

    def __init__(
        self,
        message: str,
        *,
        axis: int | None = None,
        ndim: int | None = None,
        suggestions: Sequence[str] = (),
        location: str | None = None,
    ) -> None:
        super().__init__(message, suggestions=suggestions, location=location)
        self.axis = axis
        self.ndim = ndim

    def __reduce__(self) -> tuple[type, tuple[object, ...], dict[str, object]]:
        # NumPy keeps these two in slots, which the instance's dictionary does not hold
        kind, arguments, state = super().__reduce__()
        return (kind, arguments, {**state, "axis": self.axis, "ndim": self.ndim})


class ScalarError(ShapeError, TypeError):
    """A tensor is no scalar where Python wants a number, or is one where Python wants a sequence."""


class DTypeError(TensorFrameError, TypeError):
    """The op is not defined for these dtypes, or a value does not fit one."""

    _names_function = True


class IndexingError(TensorFrameError, IndexError):
    """An index is out of bounds, or of a kind that cannot select elements."""


class OutOfRangeError(TensorFrameError, OverflowError, ValueError):
    """A number is outside what a dtype holds or a function takes: 300 as uint8, the percentile 101."""


class DeviceError(TensorFrameError, RuntimeError):
    """A device is unknown, unavailable, or cannot do what was asked.

    The message names the devices that are there, and `tfr.doctor()` tells what the others lack.
    """


class TransferError(DeviceError):
    """Operands live on different devices and the transfer policy forbids to move them."""


class OutOfMemoryError(TensorFrameError, MemoryError):
    """A device could not allocate the memory that a step needs.

    The message lists the tensors that hold memory and what would help. It is a MemoryError too. `outgrown` says that a
    tensor is larger than the buffers of its device, however much memory is free.
    """

    outgrown: bool = False


class KernelError(TensorFrameError, RuntimeError):
    """A step failed while it ran; the original exception is its `__cause__`."""


class NanError(TensorFrameError, ArithmeticError):
    """An op gives a NaN, and the option `check_nan` asks to be told."""


class LinAlgError(TensorFrameError, ValueError):
    """A decomposition or solver failed: singular, not positive definite, no convergence.

    It is a ValueError, as NumPy's error of that name is.
    """


class FileFormatError(TensorFrameError, ValueError):
    """A file is not of the format it claims, or is truncated or corrupted."""


class MissingFileError(TensorFrameError, FileNotFoundError):
    """There is no file of that name.

    It is a FileNotFoundError, so `except OSError` catches it as well.
    """


class ReadError(TensorFrameError, OSError):
    """Elements could not be read: a disk or network failed, or an object that gives windows raised."""


class WriteError(TensorFrameError, OSError):
    """Elements could not be written: the disk is full, or an object that takes windows raised."""


class TracingError(TensorFrameError, TypeError):
    """A value is needed while `jit` or `elementwise` records the function that it is an argument of."""


class GradientError(TensorFrameError, RuntimeError):
    """A gradient is not defined, or cannot be had: a loss that is no number, an op without a rule, a lost graph."""


class CancelledError(TensorFrameError, KeyboardInterrupt):
    """A compute was interrupted between two steps; every tensor stays usable.

    It is a KeyboardInterrupt: `except Exception` does not catch it.
    """


class TensorFrameWarning(UserWarning):
    """Base of every warning that tensorframe gives.

    `warnings.simplefilter("error", tfr.TensorFrameWarning)` makes errors of them all, `"ignore"`
    silences them.
    """

    def __str__(self) -> str:
        return f"{super().__str__()}\n  more: {page_of(type(self))}"


class TransferWarning(TensorFrameWarning):
    """Operands move between devices, and the transfer policy asks to be told."""


class FallbackWarning(TensorFrameWarning):
    """A device cannot do an op, or hold a dtype: it runs, or lives, on another one."""


class BackendWarning(TensorFrameWarning):
    """A backend of another package was named and does not load; everything else works."""


class SettingWarning(TensorFrameWarning):
    """A setting does nothing: a block that is never entered, an environment variable that names no option."""


class ChainedAssignmentWarning(TensorFrameWarning):
    """An assignment such as `x[0][1] = 5` changes nothing: slices are values, and no name refers to this one."""


# what warnings were shown already, by file: Python's own register lies in the module that warns
_shown: dict[str, dict[Any, Any]] = {}


def warn_at(
    site: Site | None, message: str, kind: type[TensorFrameWarning], suggestions: Sequence[str] = ()
) -> None:
    """Warn about a line of the user's that need not be running any more; filters apply as to any warning."""
    file, line = ("<unknown>", 1) if site is None else line_of(site)
    text = "\n".join([message, *(f"  try: {suggestion}" for suggestion in suggestions)])
    warnings.warn_explicit(kind(text), kind, file, line, registry=_shown.setdefault(file, {}))


class GrowingGraphWarning(TensorFrameWarning):
    """A loop records operations and nothing of them is computed: they take memory, and planning takes ever longer."""
