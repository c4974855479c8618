"""Fourier transforms through NumPy's pocketfft, which keeps single precision single."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import Function, spells

Array = Any


def _transform(name: str) -> Function:
    def run(x: Array, sizes: tuple[int, ...], axes: tuple[int, ...], norm: str) -> Array:
        # not looked up before: NumPy loads this part of it when it is asked for
        return getattr(np.fft, name)(x, s=sizes, axes=axes, norm=norm)

    return run


for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    spells(_name)(_transform(_name))
