"""The namespace `tfr.fft`: discrete Fourier transforms, their frequencies, and shifts of the zero frequency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from tensorframe import dtypes
from tensorframe.backends.registry import resolve_device
from tensorframe.dtypes import COMPLEX, FLOAT, DType, DTypeLike, complex_of
from tensorframe.errors import AxisError, DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.convert import OnDevice, as_value
from tensorframe.frontend.creation.ranges import positions
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.fast_paths.memoization import memoized, memoized_of
from tensorframe.frontend.manipulation.views import roll
from tensorframe.frontend.operands import converted, floating, operand, widened
from tensorframe.frontend.outputs import Output, delivered
from tensorframe.frontend.parameters import choice, integer, integers, number
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op
from tensorframe.graph.shape import Shape, normalize_axes, normalize_axis
from tensorframe.ops.elementwise import CONJ, DIVIDE, LESS, SUBTRACT, WHERE
from tensorframe.ops.fourier import FFTN, IFFTN, IRFFTN, RFFTN
from tensorframe.ops.movement import PAD

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
Norm = Literal["backward", "ortho", "forward"] | None

_OPPOSITE = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


@memoized
def fft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = "backward",
    out: Output = None,
) -> Tensor:
    """Discrete Fourier transform along `axis`, of `n` points: `a` is cut or padded with zeros to that size.

    `norm` says which direction divides by n: `"backward"` the inverse, `"forward"` this one, `"ortho"` each by the
    root. Complex, of the precision of `a`: float32 gives complex64.

    >>> tfr.fft.fft(np.asarray([1.0, 1.0, 1.0, 1.0])).numpy()
    array([4.+0.j, 0.+0.j, 0.+0.j, 0.+0.j])
    >>> tfr.fft.fft(np.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
    [[(4+0j), (6+0j)], [(-2+0j), (-2+0j)]]
    """
    return delivered("fft", _along_one("fft", FFTN, _precise(a), n, axis, norm), out)


@memoized
def ifft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = "backward",
    out: Output = None,
) -> Tensor:
    """Inverse of `fft`: `ifft(fft(a))` is `a`.

    It carries the factor 1/n unless `norm` says otherwise; `n` crops or pads with zeros beforehand.

    >>> tfr.fft.ifft(np.asarray([4.0, 0.0])).numpy()
    array([2.+0.j, 2.+0.j])
    >>> tfr.fft.ifft(np.asarray([[4.0, 0.0], [2.0, 0.0]]), axis=1).shape
    (2, 2)
    """
    return delivered("ifft", _along_one("ifft", IFFTN, _precise(a), n, axis, norm), out)


@memoized
def rfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = "backward",
    out: Output = None,
) -> Tensor:
    """Transform of real values: the n // 2 + 1 frequencies from zero up; the others are their conjugates.

    >>> tfr.fft.rfft(np.asarray([1.0, 0.0, 0.0, 0.0])).numpy()
    array([1.+0.j, 1.+0.j, 1.+0.j])
    >>> tfr.fft.rfft(np.ones((8, 3)), axis=0).shape
    (5, 3)
    """
    return delivered("rfft", _along_one("rfft", RFFTN, _real("rfft", a), n, axis, norm), out)


@memoized
def irfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = "backward",
    out: Output = None,
) -> Tensor:
    """Inverse of `rfft`: `n` real values, by default 2 * (m - 1) from m frequencies.

    An odd `n` must be given: it cannot be told from the frequencies.

    >>> tfr.fft.irfft(np.asarray([1.0, 1.0, 1.0])).numpy()
    array([1., 0., 0., 0.])
    >>> tfr.fft.irfft(np.ones((2, 5)), axis=1).shape
    (2, 8)
    """
    a = _complex(a)
    points = _points_from_half("irfft", a, n, axis)
    return delivered("irfft", _along_one("irfft", IRFFTN, a, points, axis, norm), out)


def hfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = "backward",
    out: Output = None,
) -> Tensor:
    """Transform of a signal that is conjugate symmetric in time, given by its first half: a real spectrum.

    >>> tfr.fft.hfft(np.asarray([1.0, 2.0, 3.0])).numpy()
    array([ 8., -2.,  0., -2.])
    >>> tfr.fft.hfft(np.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
    [[4.0, 6.0], [-2.0, -2.0]]
    """
    a = _complex(a)
    points = _points_from_half("hfft", a, n, axis)
    result = _along_one(
        "hfft", IRFFTN, apply(CONJ, a), points, axis, _OPPOSITE[_scaling("hfft", norm)]
    )
    return delivered("hfft", result, out)


def ihfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = "backward",
    out: Output = None,
) -> Tensor:
    """Inverse of `hfft`: the first half of a conjugate symmetric signal, from its real spectrum.

    >>> tfr.fft.ihfft(np.asarray([4.0, 0.0, 0.0, 0.0])).numpy()
    array([1.-0.j, 1.-0.j, 1.-0.j])
    >>> tfr.fft.ihfft(np.ones((4, 6)), axis=0).shape
    (3, 6)
    """
    a = _real("ihfft", a)
    half = _along_one("ihfft", RFFTN, a, n, axis, _OPPOSITE[_scaling("ihfft", norm)])
    return delivered("ihfft", apply(CONJ, half), out)


@memoized
def fftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
    out: Output = None,
) -> Tensor:
    """Discrete Fourier transform over `axes` (all without them), of `s` points along each.

    With `s` alone the axes are the last `len(s)`; -1 in `s` is the size that the axis has.

    >>> tfr.fft.fftn(np.ones((2, 2))).numpy().real
    array([[4., 0.],
           [0., 0.]])
    """
    return delivered("fftn", _along("fftn", FFTN, _precise(a), s, axes, norm), out)


@memoized
def ifftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
    out: Output = None,
) -> Tensor:
    """Inverse of `fftn`.

    `ifftn(fftn(a))` is `a` but for rounding, with the same `axes` and `norm` in both.

    >>> tfr.fft.ifftn(np.ones((2, 2))).numpy().real
    array([[1., 0.],
           [0., 0.]])
    """
    return delivered("ifftn", _along("ifftn", IFFTN, _precise(a), s, axes, norm), out)


@memoized
def rfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
    out: Output = None,
) -> Tensor:
    """Transform of real values over `axes`: the last of them keeps the frequencies from zero up.

    >>> tfr.fft.rfftn(np.ones((4, 6))).shape
    (4, 4)
    """
    return delivered("rfftn", _along("rfftn", RFFTN, _real("rfftn", a), s, axes, norm), out)


@memoized
def irfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
    out: Output = None,
) -> Tensor:
    """Inverse of `rfftn`: real values; without `s` the last axis gets 2 * (m - 1) points from m frequencies.

    >>> tfr.fft.irfftn(np.ones((4, 4))).shape
    (4, 6)
    """
    a = _complex(a)
    axes, sizes = _axes_and_sizes("irfftn", a, s, axes)
    if axes and (s is None or integers("irfftn", "s", s)[-1] == -1):
        sizes = (*sizes[:-1], 2 * (a.shape[axes[-1]] - 1))
    return delivered("irfftn", _transform("irfftn", IRFFTN, a, sizes, axes, norm), out)


def fft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Norm = "backward",
    out: Output = None,
) -> Tensor:
    """`fftn` over the last two axes.

    The two-dimensional discrete Fourier transform, of a picture or of each in a stack of them.

    >>> tfr.fft.fft2(np.ones((3, 2, 2))).numpy()[0].real
    array([[4., 0.],
           [0., 0.]])
    """
    return fftn(a, s, axes, norm, out)


def ifft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Norm = "backward",
    out: Output = None,
) -> Tensor:
    """`ifftn` over the last two axes.

    The inverse of `fft2`, for a picture's spectrum or for each in a stack of them.

    >>> tfr.fft.ifft2(np.ones((3, 2, 2))).shape
    (3, 2, 2)
    """
    return ifftn(a, s, axes, norm, out)


def rfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Norm = "backward",
    out: Output = None,
) -> Tensor:
    """`rfftn` over the last two axes.

    Real input has a symmetric spectrum: half of it is computed, n // 2 + 1 columns.

    >>> tfr.fft.rfft2(np.ones((3, 2, 4))).shape
    (3, 2, 3)
    """
    return rfftn(a, s, axes, norm, out)


def irfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Norm = "backward",
    out: Output = None,
) -> Tensor:
    """`irfftn` over the last two axes.

    The inverse of `rfft2`: real numbers of half a spectrum, for each in a stack of them.

    >>> tfr.fft.irfft2(np.ones((3, 2, 3))).shape
    (3, 2, 4)
    """
    return irfftn(a, s, axes, norm, out)


@memoized_of(0)
def fftfreq(
    n: int, d: float = 1.0, device: OnDevice = None, *, dtype: DTypeLike | None = None
) -> Tensor:
    """Frequencies that `fft` of `n` points, `d` apart, belongs to: zero and up, then the negative ones.

    >>> tfr.fft.fftfreq(4).numpy()
    array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    n, spacing = integer("fftfreq", "n", n), number("fftfreq", "d", d)
    index = _indices("fftfreq", n, n, device)
    positive = apply(LESS, index, (n + 1) // 2)
    signed = apply(WHERE, positive, index, apply(SUBTRACT, index, n))
    return apply(DIVIDE, converted(signed, _real_dtype("fftfreq", dtype)), n * spacing)


@memoized_of(0)
def rfftfreq(
    n: int, d: float = 1.0, device: OnDevice = None, *, dtype: DTypeLike | None = None
) -> Tensor:
    """Frequencies that `rfft` of `n` points, `d` apart, belongs to: zero and up.

    In cycles per unit of `d`; n // 2 + 1 of them, the last one the highest.

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


def _real_dtype(name: str, dtype: DTypeLike | None) -> DType:
    real = dtypes.default_float() if dtype is None else dtypes.as_dtype(dtype)
    if real not in FLOAT:
        raise DTypeError(f"{name}: frequencies are real floating numbers, not {real}")
    return real


def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Tensor:
    """The zero frequency moved to the middle of `axes` (all without them).

    >>> tfr.fft.fftshift(np.asarray([0, 1, 2, -2, -1])).numpy()
    array([-2, -1,  0,  1,  2])
    >>> tfr.fft.fftshift(np.asarray([[0, 1, -1], [10, 11, 9]]), axes=1).tolist()
    [[-1, 0, 1], [9, 10, 11]]
    """
    tensor = operand(x)
    shifted = normalize_axes("fftshift", axes, tensor.ndim)
    return roll(tensor, tuple(tensor.shape[axis] // 2 for axis in shifted), axis=shifted)


def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Tensor:
    """Inverse of `fftshift`; they differ where the size of an axis is odd.

    >>> tfr.fft.ifftshift(np.asarray([-2, -1, 0, 1, 2])).numpy()
    array([ 0,  1,  2, -2, -1])
    >>> tfr.fft.ifftshift(np.asarray([[-1, 0, 1], [9, 10, 11]]), axes=1).tolist()
    [[0, 1, -1], [10, 11, 9]]
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
    x = _with_elements(x, axes)
    if not axes:
        if op is RFFTN or op is IRFFTN:
            raise AxisError(f"{name}: takes at least one axis")
        return converted(x, complex_of(x.dtype))
    return call(op, x, attrs=(sizes, axes, _scaling(name, norm)))


def _with_elements(x: Tensor, axes: Axes) -> Tensor:
    """Return the tensor with a zero where an axis has no elements, since libraries read the first one in any case."""
    missing = tuple([int(axis in axes and not size) for axis, size in enumerate(x.shape)])
    if not any(missing):
        return x
    return call(PAD, x, attrs=((0,) * x.ndim, missing, as_value("fft", 0, x.dtype)))


def _scaling(name: str, norm: str | None) -> str:
    """Return the name of the scaling; None is NumPy's word for `"backward"`."""
    way: str = choice(name, "norm", "backward" if norm is None else norm, tuple(_OPPOSITE))
    return way
