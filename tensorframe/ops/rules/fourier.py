"""Gradients of Fourier transforms: transforms again, the other way, with the scaling of the other direction.

A transform is a linear map, and the rule its adjoint. Half spectra of real values are those of PyTorch's derivation in
`torch/csrc/autograd/FunctionsManual.cpp` (`fft_r2c_backward`, `fft_c2r_backward`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorframe.graph.shape import Shape
from tensorframe.ops.term import Term, arange, call, equal, logical_not, logical_or, where

Axes = tuple[int, ...]

# the adjoint of what is not scaled is the inverse that is not scaled
_OPPOSITE = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def adjoint(name: str) -> Callable[..., Sequence[Any]]:
    """Return the rule of a complex transform, whose adjoint is the transform of this name."""

    def rule(ct: Term, _out: Term, x: Term, sizes: Shape, axes: Axes, norm: str) -> Sequence[Any]:
        back = call(name, ct, attrs=(sizes, axes, _OPPOSITE[norm]))
        return (lambda: _resized(back, x.shape),)

    return rule


def of_half_spectrum(
    ct: Term, _out: Term, x: Term, sizes: Shape, axes: Axes, norm: str
) -> Sequence[Any]:
    """Rule of the transform of real values: each frequency with a mirror image counts once, not twice."""

    def cotangent() -> Term:
        once = where(_is_mirrored(ct, sizes, axes), ct * 0.5, ct)
        whole = call("irfftn", once, attrs=(sizes, axes, _OPPOSITE[norm]))
        return _resized(whole, x.shape)

    return (cotangent,)


def of_real_values(
    ct: Term, _out: Term, x: Term, sizes: Shape, axes: Axes, norm: str
) -> Sequence[Any]:
    """Rule of the transform back to real values: a frequency with a mirror image counts twice."""

    def cotangent() -> Term:
        half = call("rfftn", ct, attrs=(sizes, axes, _OPPOSITE[norm]))
        twice = where(_is_mirrored(half, sizes, axes), half * 2, half)
        return _resized(twice, x.shape)

    return (cotangent,)


def _is_mirrored(half: Term, sizes: Shape, axes: Axes) -> Term:
    """Return which frequencies of a half spectrum stand for two: neither zero nor half the number of points."""
    last = axes[-1]
    frequency = arange(half, half.shape[last])
    alone = logical_or(equal(frequency, 0), equal(frequency * 2, sizes[-1]))
    shape = [half.shape[last] if axis == last else 1 for axis in range(len(half.shape))]
    return logical_not(alone).reshaped(tuple(shape))


def _resized(x: Term, shape: Shape) -> Term:
    """Return the elements as the operand was before it was cut, or padded with zeros, to the numbers of points."""
    kept = tuple(map(min, x.shape, shape))
    if kept != x.shape:
        x = x.sliced((0,) * len(shape), kept, (1,) * len(shape))
    after = tuple([size - own for size, own in zip(shape, kept, strict=True)])
    return x.padded((0,) * len(shape), after)
