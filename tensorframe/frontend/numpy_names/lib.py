"""The namespace `tfr.lib`: what programs name of NumPy's `lib`; text, versions and files of it are NumPy's own."""

from __future__ import annotations

from types import SimpleNamespace

from numpy.lib import NumpyVersion, array_utils, format, mixins

from tensorframe.frontend.manipulation.sliding import sliding_window_view
from tensorframe.frontend.manipulation.views import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
)
from tensorframe.frontend.numpy_names.strided import as_strided

stride_tricks = SimpleNamespace(
    as_strided=as_strided,
    broadcast_arrays=broadcast_arrays,
    broadcast_shapes=broadcast_shapes,
    broadcast_to=broadcast_to,
    sliding_window_view=sliding_window_view,
)

__all__ = ["NumpyVersion", "array_utils", "format", "mixins", "stride_tricks"]
