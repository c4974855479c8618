"""The namespace `tfr.fft`: discrete Fourier transforms, their frequencies, and shifts of the zero frequency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorframe import dtypes
from tensorframe.backends.registry import resolve_device
from tensorframe.dtypes import COMPLEX, FLOAT, DType, complex_of
from tensorframe.errors import AxisError, DTypeError, ShapeError
from tensorframe.frontend.creation.ranges import positions
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.manipulation.views import roll
from tensorframe.frontend.operands import converted, floating, operand, widened
from tensorframe.frontend.parameters import choice, integer, integers, number
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op
from tensorframe.graph.shape import Shape, normalize_axes, normalize_axis
from tensorframe.ops.elementwise import CONJ, DIVIDE, LESS, SUBTRACT, WHERE
from tensorframe.ops.fourier import FFTN, IFFTN, IRFFTN, RFFTN

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

Axes = tuple[int, ...]

# the same scaling, seen from the inverse transform
_OPPOSITE = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def fft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Tensor:
    """Discrete Fourier transform along `axis`, of `n` points: `x` is cut or padded with zeros to that size.

    `norm` says which direction divides by n: `"backward"` the inverse, `"forward"` this one, `"ortho"` each by the
    root. Complex, of the precision of `x`: float32 gives complex64.

    >>> tfr.fft.fft(np.asarray([1.0, 1.0, 1.0, 1.0])).numpy()
    array([4.+0.j, 0.+0.j, 0.+0.j, 0.+0.j])
    """
    return _along_one("fft", FFTN, _precise(x), n, axis, norm)


def ifft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Tensor:
    """Inverse of `fft`: `ifft(fft(x))` is `x`.

    >>> tfr.fft.ifft(np.asarray([4.0, 0.0])).numpy()
    array([2.+0.j, 2.+0.j])
    """
    return _along_one("ifft", IFFTN, _precise(x), n, axis, norm)


def rfft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Tensor:
    """Transform of real values: the n // 2 + 1 frequencies from zero up; the others are their conjugates.

    >>> tfr.fft.rfft(np.asarray([1.0, 0.0, 0.0, 0.0])).numpy()
    array([1.+0.j, 1.+0.j, 1.+0.j])
    """
    return _along_one("rfft", RFFTN, _real("rfft", x), n, axis, norm)


def irfft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Tensor:
    """Inverse of `rfft`: `n` real values, by default 2 * (m - 1) from m frequencies.

    An odd `n` must be given: it cannot be told from the frequencies.

    >>> tfr.fft.irfft(np.asarray([1.0, 1.0, 1.0])).numpy()
    array([1., 0., 0., 0.])
    """
    x = _complex(x)
    points = _points_from_half("irfft", x, n, axis)
    return _along_one("irfft", IRFFTN, x, points, axis, norm)


def hfft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Tensor:
    """Transform of a signal that is conjugate symmetric in time, given by its first half: a real spectrum.

    >>> tfr.fft.hfft(np.asarray([1.0, 2.0, 3.0])).numpy()
    array([ 8., -2.,  0., -2.])
    """
    x = _complex(x)
    points = _points_from_half("hfft", x, n, axis)
    return _along_one(
        "hfft", IRFFTN, apply(CONJ, x), points, axis, _OPPOSITE[_scaling("hfft", norm)]
    )


def ihfft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Tensor:
    """Inverse of `hfft`: the first half of a conjugate symmetric signal, from its real spectrum.

    >>> tfr.fft.ihfft(np.asarray([4.0, 0.0, 0.0, 0.0])).numpy()
    array([1.-0.j, 1.-0.j, 1.-0.j])
    """
    x = _real("ihfft", x)
    return apply(CONJ, _along_one("ihfft", RFFTN, x, n, axis, _OPPOSITE[_scaling("ihfft", norm)]))


def fftn(
    x: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = "backward",
) -> Tensor:
    """Discrete Fourier transform over `axes` (all without them), of `s` points along each.

    With `s` alone the axes are the last `len(s)`; -1 in `s` is the size that the axis has.

    >>> tfr.fft.fftn(np.ones((2, 2))).numpy().real
    array([[4., 0.],
           [0., 0.]])
    """
    return _along("fftn", FFTN, _precise(x), s, axes, norm)


def ifftn(
    x: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = "backward",
) -> Tensor:
    """Inverse of `fftn`.

    >>> tfr.fft.ifftn(np.ones((2, 2))).numpy().real
    array([[1., 0.],
           [0., 0.]])
    """
    return _along("ifftn", IFFTN, _precise(x), s, axes, norm)


def rfftn(
    x: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = "backward",
) -> Tensor:
    """Transform of real values over `axes`: the last of them keeps the frequencies from zero up.

    >>> tfr.fft.rfftn(np.ones((4, 6))).shape
    (4, 4)
    """
    return _along("rfftn", RFFTN, _real("rfftn", x), s, axes, norm)


def irfftn(
    x: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = "backward",
) -> Tensor:
    """Inverse of `rfftn`: real values; without `s` the last axis gets 2 * (m - 1) points from m frequencies.

    >>> tfr.fft.irfftn(np.ones((4, 4))).shape
    (4, 6)
    """
    x = _complex(x)
    axes, sizes = _axes_and_sizes("irfftn", x, s, axes)
    if axes and (s is None or integers("irfftn", "s", s)[-1] == -1):
        sizes = (*sizes[:-1], 2 * (x.shape[axes[-1]] - 1))
    return _transform("irfftn", IRFFTN, x, sizes, axes, norm)


def fft2(
    x: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = "backward",
) -> Tensor:
    """`fftn` over the last two axes.

    >>> tfr.fft.fft2(np.ones((3, 2, 2))).numpy()[0].real
    array([[4., 0.],
           [0., 0.]])
    """
    return fftn(x, s, axes, norm)


def ifft2(
    x: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = "backward",
) -> Tensor:
    """`ifftn` over the last two axes.

    >>> tfr.fft.ifft2(np.ones((3, 2, 2))).shape
    (3, 2, 2)
    """
    return ifftn(x, s, axes, norm)


def rfft2(
    x: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = "backward",
) -> Tensor:
    """`rfftn` over the last two axes.

    >>> tfr.fft.rfft2(np.ones((3, 2, 4))).shape
    (3, 2, 3)
    """
    return rfftn(x, s, axes, norm)


def irfft2(
    x: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = "backward",
) -> Tensor:
    """`irfftn` over the last two axes.

    >>> tfr.fft.irfft2(np.ones((3, 2, 3))).shape
    (3, 2, 4)
    """
    return irfftn(x, s, axes, norm)


def fftfreq(n: int, /, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Frequencies that `fft` of `n` points, `d` apart, belongs to: zero and up, then the negative ones.

    >>> tfr.fft.fftfreq(4).numpy()
    array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    n, spacing = integer("fftfreq", "n", n), number("fftfreq", "d", d)
    index = _indices("fftfreq", n, n, device)
    positive = apply(LESS, index, (n + 1) // 2)
    signed = apply(WHERE, positive, index, apply(SUBTRACT, index, n))
    return apply(DIVIDE, converted(signed, _real_dtype("fftfreq", dtype)), n * spacing)


def rfftfreq(n: int, /, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Frequencies that `rfft` of `n` points, `d` apart, belongs to: zero and up.

    >>> tfr.fft.rfftfreq(4).numpy()
    array([0.  , 0.25, 0.5 ], dtype=float32)
    """
    n, spacing = integer("rfftfreq", "n", n), number("rfftfreq", "d", d)
    index = _indices("rfftfreq", n, n // 2 + 1, device)
    return apply(DIVIDE, converted(index, _real_dtype("rfftfreq", dtype)), n * spacing)


def _indices(name: str, n: int, count: int, device: Any) -> Tensor:
    if n < 1:
        raise ShapeError(f"{name}: takes at least one point, got {n}")
    return positions(count, resolve_device(device))


def _real_dtype(name: str, dtype: Any) -> DType:
    real = dtypes.default_float() if dtype is None else dtypes.as_dtype(dtype)
    if real not in FLOAT:
        raise DTypeError(f"{name}: frequencies are real floating numbers, not {real}")
    return real


def fftshift(x: Any, /, axes: int | Sequence[int] | None = None) -> Tensor:
    """The zero frequency moved to the middle of `axes` (all without them).

    >>> tfr.fft.fftshift(np.asarray([0, 1, 2, -2, -1])).numpy()
    array([-2, -1,  0,  1,  2])
    """
    tensor = operand(x)
    shifted = normalize_axes("fftshift", axes, tensor.ndim)
    return roll(tensor, tuple(tensor.shape[axis] // 2 for axis in shifted), axis=shifted)


def ifftshift(x: Any, /, axes: int | Sequence[int] | None = None) -> Tensor:
    """Inverse of `fftshift`; they differ where the size of an axis is odd.

    >>> tfr.fft.ifftshift(np.asarray([-2, -1, 0, 1, 2])).numpy()
    array([ 0,  1,  2, -2, -1])
    """
    tensor = operand(x)
    shifted = normalize_axes("ifftshift", axes, tensor.ndim)
    return roll(tensor, tuple(-(tensor.shape[axis] // 2) for axis in shifted), axis=shifted)


def _precise(x: Any) -> Tensor:
    """Return the operand in a dtype that transforms exist for: half precision becomes float32."""
    (tensor,) = floating(x)
    return widened(tensor)


def _real(name: str, x: Any) -> Tensor:
    tensor = _precise(x)
    if tensor.dtype in COMPLEX:
        message = f"{name}: takes real values, got {tensor.dtype}"
        raise DTypeError(message, suggestions=("the transform without r", "tfr.real(x)"))
    return tensor


def _complex(x: Any) -> Tensor:
    tensor = _precise(x)
    return converted(tensor, complex_of(tensor.dtype))


def _points_from_half(name: str, x: Tensor, n: int | None, axis: int) -> int:
    return 2 * (x.shape[normalize_axis(name, axis, x.ndim)] - 1) if n is None else n


def _along_one(name: str, op: Op, x: Tensor, n: int | None, axis: int, norm: str | None) -> Tensor:
    dimension = normalize_axis(name, axis, x.ndim)
    size = x.shape[dimension] if n is None else integer(name, "n", n)
    return _transform(name, op, x, (size,), (dimension,), norm)


def _along(
    name: str,
    op: Op,
    x: Tensor,
    s: Sequence[int] | None,
    axes: Sequence[int] | None,
    norm: str | None,
) -> Tensor:
    axes_along, sizes = _axes_and_sizes(name, x, s, axes)
    return _transform(name, op, x, sizes, axes_along, norm)


def _axes_and_sizes(
    name: str, x: Tensor, s: Sequence[int] | None, axes: Sequence[int] | None
) -> tuple[Axes, Shape]:
    given = None if s is None else integers(name, "s", s)
    if axes is None:
        named: tuple[int, ...] = tuple(range(0 if given is None else x.ndim - len(given), x.ndim))
    else:
        named = integers(name, "axes", axes)
    numbers = tuple(normalize_axis(name, axis, x.ndim) for axis in named)
    if len(set(numbers)) != len(numbers):
        raise AxisError(f"{name}: axes {named} name an axis twice")
    wanted = (-1,) * len(numbers) if given is None else given
    if len(wanted) != len(numbers):
        raise ShapeError(f"{name}: {len(wanted)} sizes s={wanted} for {len(numbers)} axes")
    sizes = [x.shape[axis] if n == -1 else n for n, axis in zip(wanted, numbers, strict=True)]
    return numbers, tuple(sizes)


def _transform(name: str, op: Op, x: Tensor, sizes: Shape, axes: Axes, norm: str | None) -> Tensor:
    for size, axis in zip(sizes, axes, strict=True):
        if size < 1:
            message = (
                f"{name}: takes at least one point, got {size} along axis {axis} of shape {x.shape}"
            )
            raise ShapeError(message)
    if not axes:
        if op is RFFTN or op is IRFFTN:
            raise AxisError(f"{name}: takes at least one axis")
        return converted(x, complex_of(x.dtype))
    return call(op, x, attrs=(sizes, axes, _scaling(name, norm)))


def _scaling(name: str, norm: str | None) -> str:
    """Return the name of the scaling; None is NumPy's word for `"backward"`."""
    way: str = choice(name, "norm", "backward" if norm is None else norm, tuple(_OPPOSITE))
    return way
