"""Scalars: what stands for an operand while a user's function is recorded, a 0-d tensor that nobody can change."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

from tensorframe.errors import TracingError
from tensorframe.frontend.dtypes.data_types import astype
from tensorframe.frontend.elementwise.functions import FUNCTIONS, SYMBOLS
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Kind, rows

_HINTS = (
    "tfr.where(condition, a, b) instead of if, while and conditional expressions",
    "& | ~ instead of and, or, not; (0 < x) & (x < 1) instead of 0 < x < 1",
)


class ValueNeededError(TracingError):
    """A function reads the value of a scalar while it is recorded."""


class Scalar(Tensor):
    """One operand of a user's function, or what the function computed from operands.

    Numbers do not change, so `y += x` makes another one here, where a tensor's handle would move.
    """

    __slots__ = ()

    __hash__ = Tensor.__hash__

    def __array_ufunc__(self, ufunc: Any, how: str, *inputs: Any, **options: Any) -> Any:
        """Record a function of NumPy's."""
        return as_scalars(super().__array_ufunc__(ufunc, how, *inputs, **options))

    def __array_function__(self, *arguments: Any) -> Any:
        """Record a function of NumPy's."""
        return as_scalars(super().__array_function__(*arguments))

    @property
    def real(self) -> Scalar:
        """The real part."""
        return Scalar(FUNCTIONS["real"](self).node)

    @property
    def imag(self) -> Scalar:
        """The imaginary part."""
        return Scalar(FUNCTIONS["imag"](self).node)

    def conjugate(self, *_out: Any, **_options: Any) -> Scalar:
        """Return the complex conjugate."""
        return Scalar(FUNCTIONS["conj"](self).node)

    def astype(self, dtype: Any, *_given: Any, **options: Any) -> Scalar:
        """Return the number in another dtype."""
        options = {name: value for name, value in options.items() if name in ("copy", "device")}
        return Scalar(astype(self, dtype, **options).node)

    def __repr__(self) -> str:
        return f"<scalar of {self.node.dtype}>"

    def __format__(self, _specification: str) -> str:
        return repr(self)


def as_scalars(value: Any) -> Any:
    """Return a result with tensors of one element as scalars, in a tuple too."""
    if type(value) is Tensor and not value.node.shape:
        return Scalar(value.node)
    if type(value) is tuple:
        return tuple(map(as_scalars, value))
    return value


def needed(scalar: Scalar, *_: Any, **__: Any) -> NoReturn:
    """Raise the error of a function that reads a value."""
    del scalar
    raise ValueNeededError(
        "its steps depend on the values of elements",
        suggestions=_HINTS,
    )


def _same(name: str) -> Callable[..., Any]:
    inherited = getattr(Tensor, name)

    def method(self: Scalar, *others: Any) -> Any:
        return as_scalars(inherited(self, *others))

    return method


def _instead(name: str) -> Callable[..., Any]:
    compute = getattr(operator, f"__{name}__")

    def method(self: Scalar, other: Any) -> Any:
        return compute(self, other)

    return method


def _attach() -> None:
    for op in rows(Kind.MAP):
        name = op.operator
        if name not in SYMBOLS:
            continue
        methods = [f"__{name}__", f"__r{name}__"]
        for method in methods:
            if hasattr(Tensor, method):
                setattr(Scalar, method, _same(method))
        if hasattr(Tensor, f"__i{name}__"):
            setattr(Scalar, f"__i{name}__", _instead(name))
    for name in ("__abs__", "__divmod__", "__rdivmod__"):
        setattr(Scalar, name, _same(name))
    asks = "bool int float complex index len iter contains array round floor ceil trunc getitem setitem"
    for name in asks.split():
        setattr(Scalar, f"__{name}__", needed)
    for name in ("item", "tolist", "numpy", "compute", "_array"):
        setattr(Scalar, name, needed)


_attach()
