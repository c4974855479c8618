"""Fourier transforms through NumPy's pocketfft, which keeps single precision single."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import Function, spells

Array = Any


def _transform(name: str) -> Function:
    along_one = name.removesuffix("n")

    def run(x: Array, sizes: tuple[int, ...], axes: tuple[int, ...], norm: str) -> Array:
        # not looked up before: NumPy loads this part of it when it is asked for
        if (
            len(axes) == 1
        ):  # by the function of one axis, which is all that of several calls, in half the time
            return getattr(np.fft, along_one)(x, sizes[0], axes[0], norm)
        return getattr(np.fft, name)(x, s=sizes, axes=axes, norm=norm)

    return run


for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    spells(_name)(_transform(_name))
